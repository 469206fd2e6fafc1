//! The unexplored part of a systematic search: which prefixes of schedules are explored completely,
//! which partly, and which not at all.

use std::collections::BTreeMap;
use traces::Choice;

/// The open branches at and below one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenBranches {
    /// The choices of the execution that ran last, or its prefix up to the node at which this
    /// subtree begins.
    pub path: Vec<Choice>,
    /// The unexplored alternatives: for each, the number of choices of the path before it, and the
    /// choice.
    pub others: Vec<(usize, Choice)>,
    /// Whether no execution below the path has run yet.
    pub fresh: bool,
}

/// The explored part of the schedules with a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every schedule with this prefix was run, as far as the bound allows.
    Explored,
    /// Some of the schedules with this prefix were run.
    Partly,
    /// None of the schedules with this prefix was run.
    Pending,
}

/// A search as a tree: everything that is not open was explored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The open branches.
    pub left: Vec<OpenBranches>,
    /// Whether executions were given up or cut, so that some explored schedules were not observed
    /// completely.
    pub gaps: bool,
}

impl Tree {
    /// How far the search has explored the schedules with this prefix.
    #[must_use]
    pub fn progress(&self, beginning: &[Choice]) -> Progress {
        let mut partly = false;
        for left in &self.left {
            let along = left.path.iter().zip(beginning).take_while(|(a, b)| a == b).count();
            if along == beginning.len() {
                // If no open branch continues this prefix, the prefix itself may continue below an
                // open branch.
                let below = left.others.iter().any(|&(depth, _)| depth >= along);
                if left.fresh && along == left.path.len() {
                    return Progress::Pending;
                }
                partly |= below || left.fresh;
                continue;
            }
            if left.fresh && along == left.path.len() {
                return Progress::Pending;
            }
            let next = beginning[along];
            if left.others.iter().any(|&(depth, other)| depth == along && other == next) {
                return Progress::Pending;
            }
        }
        if partly { Progress::Partly } else { Progress::Explored }
    }

    /// The number of open branches at each depth; the depth is the number of choices before the
    /// branch.
    #[must_use]
    pub fn by_depth(&self) -> BTreeMap<usize, u64> {
        let mut depths = BTreeMap::new();
        for left in &self.left {
            for &(depth, _) in &left.others {
                *depths.entry(depth).or_default() += 1;
            }
        }
        depths
    }

    /// Adds the open branches of a depth-first search.
    pub(crate) fn add(&mut self, branches: Option<OpenBranches>, has_holes: bool) {
        self.gaps |= has_holes;
        self.left.extend(branches);
    }
}
