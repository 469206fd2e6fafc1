//! Recognises reads that find the same value again: a task that waits in a loop makes them.
//!
//! A loop may read several objects one after another: a sequence lock, the other side of a queue,
//! or the numbers of all other tasks ([`crate::spin`] describes when such a task counts as
//! waiting).

/// A task counts as waiting at a read that found the same value this many times in a row.
const TIMES: u8 = 2;
/// The number of groups of remembered reads per task, and the size of a group.
const GROUPS: usize = 8;
const GROUP: usize = 4;
/// A remembered read is replaced only when this many other reads needed its slot.
const REJECTIONS: u8 = 3;

/// The last value that a task found at a read.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The execution in which it was found; entries of other executions are unused.
    execution: u64,
    /// How often in a row the value was found.
    times: u8,
    /// How many more reads that need this slot are rejected before it is replaced.
    rejections: u8,
    /// The numbers of reads and writes of the task before this read.
    reads: u32,
    writes: u32,
    site: u64,
    object: u64,
    value: u64,
}

impl Found {
    /// Whether its task, which now has these numbers of reads and writes, wrote nothing or read
    /// nothing since.
    fn is_unchanged_since(&self, (reads, writes): (u32, u32)) -> bool {
        self.writes == writes || self.reads.wrapping_add(1) == reads
    }
}

/// The last reads of each task.
///
/// A loop may make more reads than there are slots. A slot is therefore replaced only after several
/// other reads needed it: that happens to slots of earlier code, but not to those that each
/// iteration of the loop uses again.
#[derive(Debug, Clone, Default)]
pub struct RepeatedReads {
    execution: u64,
    /// [`GROUPS`] times [`GROUP`] slots for each task.
    found: Vec<Found>,
    tasks: Vec<Task>,
}

/// The counts of a task in this execution. (They must not depend on what other tasks do meanwhile:
/// executions that differ only in the order of independent operations must give the same result.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Task {
    reads: u32,
    writes: u32,
    /// The slot of a group that is replaced next.
    next_slot: u32,
}

impl RepeatedReads {
    /// Begins an execution.
    pub fn begin(&mut self) {
        self.execution += 1;
        self.tasks.fill(Task::default());
    }

    /// Whether nothing was recorded since the execution began.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.tasks.iter().all(|task| *task == Task::default())
    }

    /// Records that a task arrives at a write. A task that writes makes progress, and may read the
    /// same value for another reason.
    pub fn writes(&mut self, task: usize) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.writes = task.writes.wrapping_add(1);
        }
    }

    /// Forgets the reads of a task, which has another reason to repeat them than to wait.
    pub fn forget(&mut self, task: usize) {
        let slots = task * GROUPS * GROUP..(task + 1) * GROUPS * GROUP;
        if let Some(found) = self.found.get_mut(slots) {
            found.fill(Found::default());
        }
    }

    /// Whether a task at this read found the same value there several times, and in between read
    /// nothing else or wrote nothing. The value that it is about to read does not count: it depends
    /// on when the function is called, and executions that differ in nothing else must give the
    /// same result.
    #[must_use]
    pub fn waits(&self, task: usize, site: u64, object: u64) -> bool {
        let known = self.known(task, site, object).map(|at| &self.found[at]);
        let counts = self.tasks.get(task).map_or((0, 0), |task| (task.reads, task.writes));
        known.is_some_and(|known| known.times >= TIMES && known.is_unchanged_since(counts))
    }

    /// Records the value that a task's read at this site finds.
    pub fn found(&mut self, task: usize, site: u64, object: u64, value: u64) {
        if self.tasks.len() <= task {
            self.tasks.resize(task + 1, Task::default());
            self.found.resize((task + 1) * GROUPS * GROUP, Found::default());
        }
        let execution = self.execution;
        let Task { reads, writes, next_slot } = self.tasks[task];
        self.tasks[task].reads = reads.wrapping_add(1);
        let (at, times) = match self.known(task, site, object) {
            Some(at) => {
                let before = &self.found[at];
                let same = before.value == value && before.is_unchanged_since((reads, writes));
                (at, if same { TIMES.min(before.times + 1) } else { 1 })
            }
            None => {
                let at = Self::group(task, site, object) + next_slot as usize % GROUP;
                self.tasks[task].next_slot = next_slot.wrapping_add(1);
                let there = &mut self.found[at];
                if there.execution == execution && there.rejections > 0 {
                    there.rejections -= 1;
                    return;
                }
                (at, 1)
            }
        };
        self.found[at] =
            Found { execution, times, rejections: REJECTIONS, reads, writes, site, object, value };
    }

    /// The index of the first slot of the group for this read.
    fn group(task: usize, site: u64, object: u64) -> usize {
        let hash = (site ^ object.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (task * GROUPS + (hash >> 61) as usize) * GROUP
    }

    /// The index of the slot that remembers this read, if there is one.
    fn known(&self, task: usize, site: u64, object: u64) -> Option<usize> {
        let from = Self::group(task, site, object);
        let group = self.found.get(from..from + GROUP)?;
        let here = (self.execution, site, object);
        let is_here = |found: &Found| (found.execution, found.site, found.object) == here;
        group.iter().position(is_here).map(|at| from + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a read; returns whether the task counts as waiting.
    fn read(
        recent: &mut RepeatedReads,
        task: usize,
        (site, object, value): (u64, u64, u64),
    ) -> bool {
        let waits = recent.waits(task, site, object);
        recent.found(task, site, object, value);
        waits
    }

    /// How many of the reads of a loop's iteration are recognised.
    fn iteration(recent: &mut RepeatedReads, reads: u64) -> usize {
        (0..reads).filter(|at| read(recent, 1, (0x40_1000 + at * 7, at * 8, 5))).count()
    }

    #[test]
    fn every_loop_has_reads_that_are_recognised() {
        for reads in 1..100 {
            let mut recent = RepeatedReads::default();
            recent.begin();
            // Earlier code has used the slots.
            (0..200).for_each(|at| assert!(!read(&mut recent, 1, (0x50_0000 + at * 5, 8, 1))));
            let results: Vec<_> = (0..10).map(|_| iteration(&mut recent, reads)).collect();
            assert_eq!(results[..2], [0, 0]);
            assert!(results[9] > 0, "a loop of {reads} reads: {results:?}");
        }
    }

    #[test]
    fn a_task_that_writes_in_between_makes_progress_unless_it_reads_one_object_only() {
        let mut recent = RepeatedReads::default();
        recent.begin();
        for (others, recognised) in [(0, true), (1, false)] {
            let results = [(); 4].map(|()| {
                recent.writes(0);
                (0..others).for_each(|other| assert!(!read(&mut recent, 0, (2 + other, 16, 1))));
                read(&mut recent, 0, (1, 8, others))
            });
            assert_eq!(results, [false, false, recognised, recognised]);
        }
    }

    #[test]
    fn another_value_task_or_execution_resets_the_count() {
        let mut recent = RepeatedReads::default();
        recent.begin();
        let mut thrice = |task, value| [(); 3].map(|()| read(&mut recent, task, (1, 8, value)));
        assert_eq!(thrice(1, 5), [false, false, true]);
        // The value that it is about to read is not known yet.
        assert_eq!(thrice(1, 6), [true, false, true]);
        assert_eq!(thrice(2, 6), [false, false, true]);
        assert!(recent.waits(1, 1, 8));
        recent.begin();
        assert!(!recent.waits(1, 1, 8));
    }
}
