//! Virtual time: how late a step may be.
//!
//! Every task has a clock. A deadline counts from the clock of the task that sets it, and an expiry
//! (a sleep that ends, a time limit that passes, a timer that goes off) raises the clock of its task
//! to the deadline. Clocks join, by maximum, from an operation to the operations that depend on it,
//! from a task to those that it creates and wakes, and from a task that ends to the one that joins it.
//! So the clock of a step is a time before which the step cannot happen.
//!
//! The *base* of a state is the least clock that the next step of any task could have. For an access
//! to memory, which no other task can delay, this is the task's own clock: the clock of what it finds
//! would rise with each iteration of a loop that polls it, and a loop with a time limit would expire
//! before a task that was never chosen. An expiry is enabled if its time is at most the base plus the
//! *slack*: no step is later than the slack by its task's clock. The base depends on the state only and not on the order in which
//! independent steps led to it, so that independent steps still commute. No step lowers the base, so
//! a step enables expiries and disables none; and the earliest expiry is enabled where nothing else
//! is.
//!
//! A task that runs long without waiting takes time, too: every [`STEPS`] steps since its clock last
//! rose by an expiry add a second to it, and so do system calls and readings of clocks, of which each
//! counts as a step here: a loop that only makes these would otherwise wait for its time limit for very
//! long ([`seconds`]). Reading a clock takes a microsecond, which is counted separately ([`Moment`]), so
//! that it does not delay the task's other steps.

use crate::reduction::events::{Access, Event, Map};
use crate::reduction::pending::PendingOperation;
use traces::{Operation, TaskId};

/// In nanoseconds, like all times here.
pub const SECOND: u64 = 1_000_000_000;

/// How far reading a clock advances it, so that a loop that waits for time to pass ends.
pub const READING: u64 = 1_000;

/// After this many steps without an expiry, a task has taken a second.
pub const STEPS: u32 = 10_000;

/// A task that has waited for so long by looking at the time only does not wait for a time.
pub const LONGEST: u64 = 86_400 * SECOND;

/// How much later it is after [`STEPS`] steps of a task that has only read the time for this long: a
/// second, or a small part of that time, so that a loop that waits for an hour ends as well, and not
/// much later than it should.
#[must_use]
pub fn seconds(waited: u64) -> u64 {
    const PART: u64 = 32;
    (waited / PART).max(SECOND)
}

/// If this many objects have clocks, those that cannot raise any task's clock are forgotten.
const FORGET: usize = 1 << 16;

/// How late a step may be by the clock of its task: a time, or none if any delay is possible.
pub type Slack = Option<u64>;

/// The default of `--slack`.
pub const SLACK: Slack = Some(SECOND);

/// The time at a step: the clock, and how many readings of clocks it was preceded by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Moment {
    /// Nanoseconds.
    pub clock: u64,
    /// Readings of clocks that happened before.
    pub readings: u64,
}

impl Moment {
    /// The later of the two, for both parts.
    pub fn join(&mut self, other: Moment) {
        self.clock = self.clock.max(other.clock);
        self.readings = self.readings.max(other.readings);
    }

    /// What a clock shows.
    #[must_use]
    pub fn now(self) -> u64 {
        self.clock.saturating_add(self.readings.saturating_mul(READING))
    }

    /// A deadline by the task's clock, given as a time that a clock shows: a time in the past is now.
    #[must_use]
    pub fn deadline(self, shown: u64) -> u64 {
        self.clock.saturating_add(shown.saturating_sub(self.now()))
    }
}

#[derive(Debug, Clone, Default)]
struct ObjectMoments {
    changed: Moment,
    read: Moment,
    shared: Moment,
}

/// The clocks of all tasks and objects of an execution.
#[derive(Debug, Clone)]
pub struct Clocks {
    tasks: Vec<Moment>,
    objects: Map<u64, ObjectMoments>,
    /// The latest moment of any task so far.
    latest: Moment,
    /// Whether clocks differ. While all are equal, joining them changes nothing.
    differ: bool,
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks::with_room(0)
    }
}

impl Clocks {
    /// Clocks for executions with this many tasks, for which no memory is allocated later.
    #[must_use]
    pub fn with_room(tasks: usize) -> Clocks {
        Clocks {
            tasks: Vec::with_capacity(tasks),
            objects: Map::default(),
            latest: Moment::default(),
            differ: false,
        }
    }

    /// An execution begins with one task.
    pub fn begin(&mut self, moment: Moment) {
        self.tasks.clear();
        self.tasks.push(moment);
        self.objects.clear();
        self.latest = moment;
        self.differ = false;
    }

    /// Whether nothing has happened since an execution [began](Clocks::begin) at this moment.
    #[must_use]
    pub fn are_new(&self, moment: Moment) -> bool {
        !self.differ && self.objects.is_empty() && self.tasks == [moment]
    }

    /// Whether clocks differ, so that steps have to be [reported](Clocks::step).
    #[must_use]
    #[inline]
    pub fn differ(&self) -> bool {
        self.differ
    }

    /// The time of a task.
    #[must_use]
    pub fn of(&self, task: TaskId) -> Moment {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    fn set(&mut self, task: TaskId, moment: Moment) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Moment::default());
        }
        self.tasks[task.index()] = moment;
        self.latest.join(moment);
    }

    /// The task reads a clock, and gets this.
    pub fn read(&mut self, task: TaskId, alone: bool) -> u64 {
        let mut moment = self.of(task);
        moment.readings += 1;
        self.advance(task, moment, alone);
        moment.now()
    }

    /// The task's clock rises to `deadline`. `alone`: no other task exists.
    pub fn raise(&mut self, task: TaskId, deadline: u64, alone: bool) {
        let mut moment = self.of(task);
        moment.clock = moment.clock.max(deadline);
        self.advance(task, moment, alone);
    }

    /// The task has taken [`STEPS`] steps, and with them this long.
    pub fn age(&mut self, task: TaskId, by: u64, alone: bool) {
        let deadline = self.of(task).clock.saturating_add(by);
        self.raise(task, deadline, alone);
    }

    fn advance(&mut self, task: TaskId, moment: Moment, alone: bool) {
        self.differ |= !alone && moment != self.of(task);
        self.set(task, moment);
    }

    /// A task enables another one: creates it, wakes it, or lets it leave a loop.
    pub fn enable(&mut self, by: TaskId, task: TaskId) {
        let mut moment = self.of(task);
        moment.join(self.of(by));
        self.set(task, moment);
    }

    /// A task creates another one. `alone`: it is the only task.
    pub fn create(&mut self, by: TaskId, task: TaskId, alone: bool) {
        if alone && self.of(by) == self.latest {
            // No object can be later than this task.
            self.objects.clear();
            self.differ = false;
        }
        self.set(task, self.of(by));
    }

    /// The earliest moment at which the task could execute the operation.
    #[must_use]
    pub fn before(&self, event: &Event) -> Moment {
        let mut moment = self.of(event.task);
        if let (Operation::Join, Some(other)) = (event.operation, event.other) {
            moment.join(self.of(other));
        }
        for &(object, access) in event.accesses() {
            let Some(object) = self.objects.get(&object) else { continue };
            moment.join(object.changed);
            let (read, shared) = match access {
                Access::Read => (false, true),
                Access::Share | Access::Unshare => (true, false),
                _ => (true, true),
            };
            if read {
                moment.join(object.read);
            }
            if shared {
                moment.join(object.shared);
            }
        }
        moment
    }

    /// The task executes the operation, which is an expiry if it has a deadline here.
    pub fn step(&mut self, event: &Event, expires: Option<u64>) {
        let mut moment = self.before(event);
        moment.clock = moment.clock.max(expires.unwrap_or(0));
        self.differ = true;
        self.set(event.task, moment);
        for &(number, access) in event.accesses() {
            let object = self.objects.entry(number).or_default();
            let to = match access {
                Access::Read => &mut object.read,
                Access::Share | Access::Unshare => &mut object.shared,
                _ => &mut object.changed,
            };
            to.join(moment);
        }
        if let (Operation::Create, Some(other)) = (event.operation, event.other) {
            self.set(other, moment);
        }
    }

    /// Bounds the memory: forgets objects whose moments every living task has reached. `living` lists
    /// the tasks that have not ended.
    pub fn forget(&mut self, living: impl Iterator<Item = TaskId>) {
        if self.objects.len() < FORGET || !self.objects.len().is_power_of_two() {
            return;
        }
        let mut least = self.latest;
        for moment in living.map(|task| self.of(task)) {
            least.clock = least.clock.min(moment.clock);
            least.readings = least.readings.min(moment.readings);
        }
        let is_reached =
            |moment: &Moment| moment.clock <= least.clock && moment.readings <= least.readings;
        self.objects.retain(|_, object| {
            ![object.changed, object.read, object.shared].iter().all(is_reached)
        });
    }
}

/// A task that could take a step if time did not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The task.
    pub task: TaskId,
    /// The earliest time of its step.
    pub at: u64,
    /// Whether the step is an expiry.
    pub expires: bool,
}

impl Candidate {
    /// The candidate with this pending operation, which is an expiry if it has a deadline here.
    #[must_use]
    pub fn new(clocks: &Clocks, next: &PendingOperation, expires: Option<u64>) -> Candidate {
        let ready = match next.operation {
            // Nothing that others do delays these, so such a step is late by its task's own clock.
            // The clock of what it finds would rise with each step of a loop that polls it.
            Operation::Read
            | Operation::Write
            | Operation::Update
            | Operation::Await
            | Operation::Yield
            | Operation::Sleep => clocks.of(next.task),
            _ => clocks.before(&Event::new(next, 0)),
        };
        let at = ready.clock.max(expires.unwrap_or(0));
        Candidate { task: next.task, at, expires: expires.is_some() }
    }
}

/// The base of a state with these candidates: no step that follows can be earlier.
#[must_use]
pub fn base(candidates: &[Candidate]) -> u64 {
    candidates.iter().map(|one| one.at).min().unwrap_or(u64::MAX)
}

/// Removes from `candidates` everything but the expiries that are enabled, the earliest first, and
/// calls `withhold` for those that are not.
pub fn due(candidates: &mut Vec<Candidate>, slack: Slack, mut withhold: impl FnMut(TaskId)) {
    let until = slack.map_or(u64::MAX, |slack| base(candidates).saturating_add(slack));
    candidates.retain(|one| {
        if one.expires && one.at > until {
            withhold(one.task);
        }
        one.expires && one.at <= until
    });
    candidates.sort_unstable_by_key(|one| (one.at, one.task));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(task: u16, at: u64, expires: bool) -> Candidate {
        Candidate { task: TaskId(task), at, expires }
    }

    /// The tasks whose expiry is enabled, and those whose is not.
    fn split(candidates: &[Candidate], slack: Slack) -> (Vec<u16>, Vec<u16>) {
        let (mut all, mut withheld) = (candidates.to_vec(), Vec::new());
        due(&mut all, slack, |task| withheld.push(task.0));
        (all.iter().map(|one| one.task.0).collect(), withheld)
    }

    #[test]
    fn an_expiry_is_enabled_within_the_slack_of_the_base() {
        let waits = [one(0, 0, false), one(1, 30 * SECOND, true), one(2, SECOND, true)];
        assert_eq!(split(&waits, Some(0)), (vec![], vec![1, 2]));
        assert_eq!(split(&waits, Some(SECOND)), (vec![2], vec![1]));
        assert_eq!(split(&waits, None), (vec![2, 1], vec![]));
        assert_eq!(split(&waits[1..], Some(SECOND)), (vec![2], vec![1]));
        assert_eq!(split(&waits[1..2], Some(0)), (vec![1], vec![]));
    }

    #[test]
    fn a_deadline_counts_from_what_the_clock_shows() {
        let mut clocks = Clocks::default();
        clocks.begin(Moment::default());
        let main = TaskId::MAIN;
        let shown = clocks.read(main, true);
        assert_eq!(shown, READING);
        assert_eq!(clocks.of(main).deadline(shown + 500), 500);
        assert_eq!(clocks.of(main).deadline(0), 0, "a deadline that has passed is now");
        clocks.raise(main, 500, true);
        assert_eq!(clocks.of(main).now(), shown + 500);
        assert!(!clocks.differ(), "the only task");
    }

    #[test]
    fn a_task_that_reads_the_time_waits_not_much_longer_than_it_has_to() {
        for limit in [SECOND, 3 * SECOND, 30 * SECOND, 600 * SECOND, 3_600 * SECOND, LONGEST] {
            let (mut waited, mut turns) = (0, 0);
            while waited < limit {
                waited += seconds(waited);
                turns += 1;
            }
            assert!(waited - limit <= SECOND.max(limit / 32), "{limit}: {waited}");
            assert!(turns <= 300, "{limit}: {turns} times 10,000 readings");
        }
    }

    #[test]
    fn clocks_join_where_operations_depend_on_each_other() {
        let mut clocks = Clocks::default();
        clocks.begin(Moment::default());
        let (one, other) = (TaskId(1), TaskId(2));
        clocks.create(TaskId::MAIN, one, true);
        clocks.create(TaskId::MAIN, other, false);
        clocks.raise(one, SECOND, false);
        let event = |task, operation, object| {
            Event::new(&PendingOperation::new(task, operation, object, 0), 0)
        };
        clocks.step(&event(one, Operation::Write, 16), None);
        assert_eq!(clocks.before(&event(other, Operation::Read, 16)).clock, SECOND);
        assert_eq!(clocks.before(&event(other, Operation::Read, 24)).clock, 0);
        clocks.step(&event(other, Operation::Read, 16), None);
        assert_eq!(clocks.of(other).clock, SECOND);
        clocks.enable(other, TaskId::MAIN);
        assert_eq!(clocks.of(TaskId::MAIN).clock, SECOND);
    }
}
