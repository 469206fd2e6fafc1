//! How often a search took each branch: for strategies without a tree of open branches, and, for
//! reductions, to distinguish branches that were run from those that were left out as equivalent.
//!
//! A branch is counted exactly or not at all. If there are too many, those furthest from the start
//! are dropped, and none at that depth is counted any more.

use crate::reduction::events::{Map, mix};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use traces::Choice;

/// The most branches that are counted in one piece of work, and in a whole search.
const PIECE: usize = 1 << 14;
const SEARCH: usize = 1 << 18;

/// A branch: one alternative at a node, with the number of executions that took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCount {
    /// Hash of the choices before it.
    before: u64,
    /// The number of choices before it.
    depth: u32,
    /// The number of alternatives at its node.
    of: u32,
    /// The number of executions that took it.
    times: u64,
}

/// The counted branches, by the hash of the choices up to and including the branch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Visits {
    ways: Map<u64, BranchCount>,
    /// From this depth on, branches are not counted.
    end: Option<u32>,
    executions: u64,
}

impl Visits {
    /// The number of executions that were counted.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// The number of executions that began with the choices `before` and then took `next`; none if
    /// branches at this depth are not counted.
    #[must_use]
    pub fn times(&self, before: &[Choice], next: Choice) -> Option<u64> {
        if self.end.is_some_and(|end| before.len() >= end as usize) {
            return None;
        }
        let beginning = before.iter().fold(0, |hash, &choice| with(hash, choice));
        Some(self.ways.get(&with(beginning, next)).map_or(0, |taken| taken.times))
    }

    /// The depth up to which branches are counted; none if all depths are.
    #[must_use]
    pub fn end(&self) -> Option<usize> {
        self.end.map(|end| end as usize)
    }

    /// For each depth: the number of branches that were taken, and the number of branches that were
    /// available. Nodes with a single alternative are left out.
    #[must_use]
    pub fn by_depth(&self) -> BTreeMap<usize, (u64, u64)> {
        let mut depths: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        let mut places = BTreeSet::new();
        for taken in self.ways.values().filter(|taken| taken.of > 1) {
            let (gone, met) = depths.entry(taken.depth as usize).or_default();
            *gone += 1;
            *met += if places.insert(taken.before) { u64::from(taken.of) } else { 0 };
        }
        depths
    }

    /// Adds the counts of another piece of work.
    pub fn add(&mut self, other: Visits) {
        self.executions += other.executions;
        let end = self.end.into_iter().chain(other.end).min();
        if self.end != end {
            self.cut(end);
        }
        for (beginning, taken) in other.ways {
            self.count(beginning, taken, SEARCH);
        }
    }

    fn count(&mut self, beginning: u64, taken: BranchCount, most: usize) {
        if self.end.is_some_and(|end| taken.depth >= end) {
            return;
        }
        let known = self.ways.entry(beginning).or_insert(BranchCount { times: 0, ..taken });
        known.times += taken.times;
        if self.ways.len() > most {
            // Drops the deepest branches until half of the table is free, or only first choices
            // remain.
            let mut depths: Vec<u32> = self.ways.values().map(|taken| taken.depth).collect();
            let (_, &mut middle, _) = depths.select_nth_unstable(most / 2);
            self.cut(Some(middle.max(1)));
        }
    }

    fn cut(&mut self, end: Option<u32>) {
        self.end = end;
        self.ways.retain(|_, taken| end.is_none_or(|end| taken.depth < end));
    }
}

/// Counts branches while executions run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counting {
    visits: Visits,
    hash: u64,
    depth: u32,
}

impl Counting {
    pub(crate) fn begin(&mut self) {
        self.visits.executions += 1;
        (self.hash, self.depth) = (0, 0);
    }

    /// Records that one of `of` alternatives was chosen.
    #[inline]
    pub(crate) fn chose(&mut self, choice: Choice, of: usize) {
        if self.visits.end.is_some_and(|end| self.depth >= end) {
            return;
        }
        let before = self.hash;
        self.hash = with(before, choice);
        let taken = BranchCount { before, depth: self.depth, of: of as u32, times: 1 };
        self.visits.count(self.hash, taken, PIECE);
        self.depth += 1;
    }

    /// The counts since the last call.
    pub(crate) fn take(&mut self) -> Visits {
        std::mem::take(&mut self.visits)
    }
}

/// The hash of a list of choices, given the hash of all but the last.
fn with(before: u64, choice: Choice) -> u64 {
    let code = match choice {
        Choice::Task(task) => u64::from(task.0) + 1,
        Choice::Data { taken, of } => 1 << 63 | u64::from(of) << 32 | u64::from(taken),
    };
    mix(before.rotate_left(1) ^ code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;

    fn task(number: usize) -> Choice {
        Choice::Task(TaskId(number as u16))
    }

    /// Random executions of `choices` binary choices each.
    fn drawn(executions: u64, choices: usize) -> Vec<Vec<Choice>> {
        let bit = |execution: u64, at: usize| mix(execution << 8 | at as u64) as usize & 1;
        (0..executions)
            .map(|execution| (0..choices).map(|at| task(bit(execution, at))).collect())
            .collect()
    }

    fn counted(executions: &[Vec<Choice>]) -> Visits {
        let mut counting = Counting::default();
        for execution in executions {
            counting.begin();
            execution.iter().for_each(|&choice| counting.chose(choice, 2));
        }
        counting.take()
    }

    #[test]
    fn counts_are_exact_up_to_the_reported_depth() {
        let executions = drawn(3_000, 40);
        let (first, second) = executions.split_at(1_000);
        let mut visits = counted(first);
        assert!(visits.ways.len() <= PIECE && visits.end.is_some(), "there are too many to count");
        visits.add(counted(second));
        assert_eq!(visits.executions(), 3_000);
        let end = visits.end().expect("not all of them are counted");
        assert!(end >= 8, "the room is used: {end}");
        for execution in executions.iter().take(200) {
            for depth in 0..40 {
                for next in 0..2 {
                    let before = &execution[..depth];
                    let went = |other: &&Vec<Choice>| {
                        other.starts_with(before) && other[depth] == task(next)
                    };
                    let times = executions.iter().filter(went).count() as u64;
                    let expected = (depth < end).then_some(times);
                    assert_eq!(visits.times(before, task(next)), expected, "depth {depth}");
                }
            }
        }
    }

    #[test]
    fn each_depth_has_the_numbers_of_taken_and_available_branches() {
        let visits =
            counted(&[vec![task(0), task(0)], vec![task(0), task(1)], vec![task(0), task(0)]]);
        assert_eq!(visits.by_depth(), BTreeMap::from([(0, (1, 2)), (1, (2, 2))]));
        // A node with a single alternative is left out of the shares, but its branch is counted.
        let mut counting = Counting::default();
        counting.begin();
        counting.chose(task(3), 1);
        counting.chose(Choice::Data { taken: 1, of: 2 }, 2);
        let visits = counting.take();
        assert_eq!(visits.by_depth(), BTreeMap::from([(1, (1, 2))]));
        assert_eq!(visits.times(&[], task(3)), Some(1));
        assert_eq!(visits.times(&[task(3)], Choice::Data { taken: 1, of: 2 }), Some(1));
        assert_eq!(visits.times(&[task(3)], Choice::Data { taken: 0, of: 2 }), Some(0));
    }
}
