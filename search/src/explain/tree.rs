//! What a systematic search has left to explore: which prefixes of schedules are explored, which
//! partly, and which not yet.

use std::collections::BTreeMap;
use traces::Choice;

/// The open branches at and below one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenBranches {
    /// The choices of the execution that ran last, or those up to the node where this subtree
    /// begins.
    pub path: Vec<Choice>,
    /// The alternatives that are left: the number of choices of the path before it, and the choice.
    pub others: Vec<(usize, Choice)>,
    /// Whether nothing below the path was run yet.
    pub fresh: bool,
}

/// How far a search has explored a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every schedule with this prefix was run, as far as the bound allows.
    Explored,
    /// Some were run.
    Partly,
    /// None was run.
    Pending,
}

/// A search as a tree: everything that is not open was explored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The open branches.
    pub left: Vec<OpenBranches>,
    /// Whether something was given up on the way, so that not all that was explored was seen.
    pub gaps: bool,
}

impl Tree {
    /// How far the search is with the schedules that begin so.
    #[must_use]
    pub fn progress(&self, beginning: &[Choice]) -> Progress {
        let mut partly = false;
        for left in &self.left {
            let along = left.path.iter().zip(beginning).take_while(|(a, b)| a == b).count();
            if along == beginning.len() {
                // All that is left lies below, or above, where it is none of this beginning's.
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

    /// How many branches wait at each depth: after so many choices.
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

    /// Takes in what a depth-first search has left.
    pub(crate) fn add(&mut self, branches: Option<OpenBranches>, has_holes: bool) {
        self.gaps |= has_holes;
        self.left.extend(branches);
    }
}
