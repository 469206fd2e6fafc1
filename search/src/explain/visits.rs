//! How often a search took each branch: for strategies without a tree of open branches, and, for
//! reductions, to distinguish branches that were run from those that were left out as equivalent.
//!
//! A branch is counted exactly or not at all. If there are too many, those furthest from the start
//! are dropped, and none at that depth is counted any more.

use crate::reduction::events::{Map, mix};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use traces::Choice;

/// The most ways that are counted in a piece of work, and in a search.
const PIECE: usize = 1 << 14;
const SEARCH: usize = 1 << 18;

/// One of several ways that executions with the same beginning could go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCount {
    /// Stands for the choices before it.
    before: u64,
    /// How many choices these are.
    depth: u32,
    /// Among how many ways it is one.
    of: u32,
    /// How many executions went it.
    times: u64,
}

/// The ways that were gone, by what stands for the choices up to and with them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Visits {
    ways: Map<u64, BranchCount>,
    /// From this depth on nothing is counted.
    end: Option<u32>,
    executions: u64,
}

impl Visits {
    /// How many executions were counted.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// How many executions began with these choices and then this one; none where that is not counted:
    /// it lies too far from the start.
    #[must_use]
    pub fn times(&self, before: &[Choice], next: Choice) -> Option<u64> {
        if self.end.is_some_and(|end| before.len() >= end as usize) {
            return None;
        }
        let beginning = before.iter().fold(0, |hash, &choice| with(hash, choice));
        Some(self.ways.get(&with(beginning, next)).map_or(0, |taken| taken.times))
    }

    /// Up to how many choices ways are counted; none: all of them.
    #[must_use]
    pub fn end(&self) -> Option<usize> {
        self.end.map(|end| end as usize)
    }

    /// At each depth, after so many choices: how many ways were gone, of how many that were met.
    /// Where there was only one nothing was chosen.
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

    /// Takes in what another piece of work counted.
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
            // So that half of the room is free again, or all but the first choice are gone.
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

/// Counts while executions run.
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

    /// One of so many was chosen.
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

    /// What was counted since this was asked last.
    pub(crate) fn take(&mut self) -> Visits {
        std::mem::take(&mut self.visits)
    }
}

/// What stands for some choices and one more.
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

    /// Executions of so many choices among two, drawn without a pattern.
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
    fn what_is_counted_is_counted_exactly_and_the_rest_is_said_to_be_not() {
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
    fn each_depth_tells_the_ways_that_were_gone_of_those_that_were_met() {
        let visits =
            counted(&[vec![task(0), task(0)], vec![task(0), task(1)], vec![task(0), task(0)]]);
        assert_eq!(visits.by_depth(), BTreeMap::from([(0, (1, 2)), (1, (2, 2))]));
        // Where there was no choice there is no share of the ways, but the way was gone.
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
