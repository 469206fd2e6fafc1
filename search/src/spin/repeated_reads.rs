//! Reads that find what they found before: a task that goes round in a loop and waits makes them.
//!
//! What they read need not be one object: who waits by a sequence lock, for the other side of a queue or for
//! everybody else's number looks at several, one after the other ([`crate::spin`] says when such a task waits).

/// How often in a row a read has found the same when its task counts as waiting.
const TIMES: u8 = 2;
/// A task's reads are remembered in so many groups of so many.
const GROUPS: usize = 8;
const GROUP: usize = 4;
/// How often a read that has no room leaves those alone that have.
const KEPT: u8 = 3;

/// What a task found, the last time that it came to a read.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// Whose execution: what is left of others counts no more.
    execution: u64,
    /// How often in a row it found that.
    times: u8,
    /// How often it still stays where others want its place.
    kept: u8,
    /// How many reads and how many writes of the task had come before.
    reads: u32,
    writes: u32,
    site: u64,
    object: u64,
    value: u64,
}

impl Found {
    /// Whether its task, which has come to so many reads and writes, wrote nothing or read nothing since.
    fn goes_on(&self, (reads, writes): (u32, u32)) -> bool {
        self.writes == writes || self.reads.wrapping_add(1) == reads
    }
}

/// The last reads of each task.
///
/// A loop may make more of them than there is room for. So what is there goes only after others have wanted its
/// place several times: that happens to what is left of earlier code, and not to what comes again with each turn.
#[derive(Debug, Default)]
pub struct RepeatedReads {
    execution: u64,
    /// [`GROUPS`] times [`GROUP`] for each task.
    found: Vec<Found>,
    tasks: Vec<Task>,
}

/// What a task did in this execution. (Nothing here depends on what others do meanwhile: executions that differ in
/// the order of what does not matter are to be the same.)
#[derive(Debug, Clone, Copy, Default)]
struct Task {
    reads: u32,
    writes: u32,
    /// Whose turn it is to make room.
    turn: u32,
}

impl RepeatedReads {
    /// An execution begins.
    pub fn begin(&mut self) {
        self.execution += 1;
        self.tasks.fill(Task::default());
    }

    /// A task comes to a write: whoever gets on may find the same for another reason.
    pub fn writes(&mut self, task: usize) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.writes = task.writes.wrapping_add(1);
        }
    }

    /// Whether a task that comes to a read at a place in the code found the same there several times, having read
    /// nothing else or having written nothing in between. What it is about to find does not count: that depends on
    /// when it is asked, and two executions that differ in nothing else are to be the same.
    #[must_use]
    pub fn waits(&self, task: usize, site: u64, object: u64) -> bool {
        let known = self.known(task, site, object).map(|at| &self.found[at]);
        let counts = self.tasks.get(task).map_or((0, 0), |task| (task.reads, task.writes));
        known.is_some_and(|known| known.times >= TIMES && known.goes_on(counts))
    }

    /// A task's read at a place in the code finds this value.
    pub fn found(&mut self, task: usize, site: u64, object: u64, value: u64) {
        if self.tasks.len() <= task {
            self.tasks.resize(task + 1, Task::default());
            self.found.resize((task + 1) * GROUPS * GROUP, Found::default());
        }
        let execution = self.execution;
        let Task { reads, writes, turn } = self.tasks[task];
        self.tasks[task].reads = reads.wrapping_add(1);
        let (at, times) = match self.known(task, site, object) {
            Some(at) => {
                let before = &self.found[at];
                let same = before.value == value && before.goes_on((reads, writes));
                (at, if same { TIMES.min(before.times + 1) } else { 1 })
            }
            None => {
                let at = Self::group(task, site, object) + turn as usize % GROUP;
                self.tasks[task].turn = turn.wrapping_add(1);
                let there = &mut self.found[at];
                if there.execution == execution && there.kept > 0 {
                    there.kept -= 1;
                    return;
                }
                (at, 1)
            }
        };
        self.found[at] = Found { execution, times, kept: KEPT, reads, writes, site, object, value };
    }

    /// Where the group begins that has room for what is found there.
    fn group(task: usize, site: u64, object: u64) -> usize {
        let hash = (site ^ object.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (task * GROUPS + (hash >> 61) as usize) * GROUP
    }

    /// Where it stands what the task found there last, if that is remembered.
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

    /// A task reads: whether that is recognised.
    fn read(
        alike: &mut RepeatedReads,
        task: usize,
        (site, object, value): (u64, u64, u64),
    ) -> bool {
        let waits = alike.waits(task, site, object);
        alike.found(task, site, object, value);
        waits
    }

    /// How many of the reads of a loop's turn are recognised.
    fn turn(alike: &mut RepeatedReads, reads: u64) -> usize {
        (0..reads).filter(|at| read(alike, 1, (0x40_1000 + at * 7, at * 8, 5))).count()
    }

    #[test]
    fn every_loop_has_reads_that_are_recognised() {
        for reads in 1..100 {
            let mut alike = RepeatedReads::default();
            alike.begin();
            // Something else came before.
            (0..200).for_each(|at| assert!(!read(&mut alike, 1, (0x50_0000 + at * 5, 8, 1))));
            let turns: Vec<_> = (0..10).map(|_| turn(&mut alike, reads)).collect();
            assert_eq!(turns[..2], [0, 0]);
            assert!(turns[9] > 0, "a loop of {reads} reads: {turns:?}");
        }
    }

    #[test]
    fn whoever_writes_in_between_gets_on_unless_it_reads_one_thing_only() {
        let mut alike = RepeatedReads::default();
        alike.begin();
        for (others, recognised) in [(0, true), (1, false)] {
            let turns = [(); 4].map(|()| {
                alike.writes(0);
                (0..others).for_each(|other| assert!(!read(&mut alike, 0, (2 + other, 16, 1))));
                read(&mut alike, 0, (1, 8, others))
            });
            assert_eq!(turns, [false, false, recognised, recognised]);
        }
    }

    #[test]
    fn another_value_task_or_execution_begins_anew() {
        let mut alike = RepeatedReads::default();
        alike.begin();
        let mut thrice = |task, value| [(); 3].map(|()| read(&mut alike, task, (1, 8, value)));
        assert_eq!(thrice(1, 5), [false, false, true]);
        // What it is about to find is not known yet.
        assert_eq!(thrice(1, 6), [true, false, true]);
        assert_eq!(thrice(2, 6), [false, false, true]);
        assert!(alike.waits(1, 1, 8));
        alike.begin();
        assert!(!alike.waits(1, 1, 8));
    }
}
