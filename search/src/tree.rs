//! What a systematic search has left to do, as those see it who look at it from outside: which
//! beginnings of schedules it has been through, which it is in the middle of, which wait.

use crate::dfs::Dfs;
use std::collections::BTreeMap;
use traces::Choice;

/// What is left at and below one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The choices of the execution that was run last, or those up to the place where this begins.
    pub path: Vec<Choice>,
    /// What is still to be tried: after so many choices of the path, this one instead.
    pub others: Vec<(usize, Choice)>,
    /// Whether nothing below the path was run yet.
    pub fresh: bool,
}

/// How far a search is with a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Everything that begins so was run, as far as the bound allows.
    Explored,
    /// Some of it was run.
    Partly,
    /// Nothing of it was run.
    Pending,
}

/// A search as a tree: what is not left in it was explored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// Everything that is left.
    pub left: Vec<Left>,
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
    pub(crate) fn add(&mut self, dfs: &Dfs) {
        self.gaps |= dfs.has_holes();
        self.left.extend(dfs.left());
    }
}
