//! Virtual time: how late a step may be.
//!
//! Every task has a clock. A deadline counts from the clock of the task that sets it, and an expiry
//! (a sleep that ends, a time limit that passes, a timer that goes off) raises the clock of its task
//! to the deadline. Clocks join, by maximum, from an operation to the operations that depend on it,
//! from a task to those that it creates and wakes, and from a task that ends to the one that joins it.
//! So the clock of a step is a time before which the step cannot happen.
//!
//! The *base* of a state is the least time at which the next step of any task could have happened
//! ([`Clocks::ready`]). An expiry is enabled if its time is at most the base plus the *slack*: no step
//! is later than the slack. Nothing can delay an operation that does not wait, so its time is the clock
//! of its task; that of an acquisition is, too, unless others held the mutex for a while since. The clock
//! of what such a step finds would be of no use: it rises with each iteration of a loop that polls, and a
//! loop with a time limit would expire before a task that was never chosen. For the same reason a task
//! that waits for a mutex counts like one that can run, as long as the owner has it for a moment only. An
//! operation that waits can happen since what it waits for is there: neither another post of its semaphore, nor
//! another expiration of its timer, nor a handler that runs before it makes it later. So a periodic timer gets no
//! further ahead of a task that can run than the slack.
//!
//! The base depends on the state only and not on the order in which independent steps led to it, so
//! that independent steps still commute. No step lowers the base, so a step enables expiries and
//! disables none; and the earliest expiry is enabled where nothing else is.
//!
//! A task that runs long without waiting takes time, too: every [`STEPS`] steps since its clock last
//! rose by an expiry add a second to it, and so do system calls and readings of clocks, of which each
//! counts as a step here: a loop that only makes these would otherwise wait for its time limit for very
//! long ([`seconds`]). The step with which a second is over is an expiry, too: a loop that polls with a time
//! limit waits for other tasks as a sleep does. Reading a clock takes a microsecond, which is counted separately ([`Moment`]), so
//! that it does not delay the task's other steps.

use crate::reduction::events::{Access, Event, Map};
use crate::reduction::pending::PendingOperation;
use traces::primitives::Dependence;
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
    /// Since when what waits for the object can have it.
    since: Moment,
    /// The timer that changed `since` last, if one did.
    timer: Option<TaskId>,
    read: Moment,
    shared: Moment,
    /// The clock at which a task acquired the object exclusively for the last time.
    held_from: Option<u64>,
    /// The end of the last time that the object was held for longer than a moment.
    held_until: u64,
}

/// Whether nothing that other tasks do delays the operation: it does not wait.
#[must_use]
pub fn is_undelayed(operation: Operation) -> bool {
    use Operation as O;
    let acquires = matches!(
        operation.description().dependence,
        Dependence::Locks | Dependence::Shares | Dependence::Takes
    );
    let waits = acquires
        || operation.may_time_out()
        || operation.is_condition_wake()
        || matches!(operation, O::BarrierPass | O::Once | O::SignalWait | O::Handler)
        || matches!(operation, O::Timer | O::Sleep | O::Yield);
    !waits
}

/// When signals came that a task handles between two of its other steps.
#[derive(Debug, Clone, Copy, Default)]
struct Signals {
    /// The clock at which the first came that was not handled yet, if it is known.
    first: Option<u64>,
    /// The clock of the task before it handled those after which it continues with what it was about to do.
    before: Option<u64>,
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
    /// The clock of all tasks before clocks began to differ: what a task holds without a known
    /// beginning, it has held since then or before.
    equal_until: u64,
    /// By task: signals that it handles between two steps.
    signals: Vec<Signals>,
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
            equal_until: 0,
            signals: Vec::with_capacity(tasks),
        }
    }

    /// An execution begins with one task.
    pub fn begin(&mut self, moment: Moment) {
        self.tasks.clear();
        self.tasks.push(moment);
        self.objects.clear();
        self.latest = moment;
        self.differ = false;
        self.signals.clear();
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
        if !alone && moment != self.of(task) {
            self.begin_to_differ(task);
        }
        self.set(task, moment);
    }

    /// The clock of `task` rises now.
    fn begin_to_differ(&mut self, task: TaskId) {
        if !std::mem::replace(&mut self.differ, true) {
            self.equal_until = self.of(task).clock;
        }
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
        for &(object, access) in event.observable_accesses() {
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

    /// The earliest moment at which what the operation waits for was there, for a task that has reached `own`.
    fn enabled(&self, own: Moment, event: &Event) -> Moment {
        let mut moment = own;
        if let (Operation::Join, Some(other)) = (event.operation, event.other) {
            moment.join(self.of(other));
        }
        for (object, access) in event.observable_accesses() {
            let Some(object) = self.objects.get(object) else { continue };
            match access {
                // Others that held the lock for a moment only delayed nothing.
                Access::Lock | Access::Share => {
                    moment.clock = moment.clock.max(object.held_until);
                }
                _ => moment.join(object.since),
            }
            if !matches!(access, Access::Share | Access::Read) {
                moment.join(object.shared);
            }
        }
        moment
    }

    /// When the task could have executed its operation at the earliest. Nothing that others do delays an
    /// operation that does not wait. Only a task that holds a mutex for a while delays those that wait
    /// for it. The clock of the last access of others would rise with each iteration of a loop that polls.
    #[must_use]
    pub fn ready(&self, next: &PendingOperation) -> u64 {
        use Operation as O;
        let own = self.unhandled(next.task);
        match next.operation {
            O::Handler if next.interrupts_step => own.clock,
            operation if is_undelayed(operation) => own.clock,
            O::Yield | O::Sleep => own.clock,
            O::Lock => {
                let object = self.objects.get(&next.object);
                object.map_or(own.clock, |object| own.clock.max(object.held_until))
            }
            _ => self.enabled(own, &Event::new(next, 0)).clock,
        }
    }

    /// The moment of a task, without what handlers took that ran before its next step. Else the signals of a periodic
    /// timer could keep a task from its next step permanently.
    fn unhandled(&self, task: TaskId) -> Moment {
        let own = self.of(task);
        let before = self.signals.get(task.index()).and_then(|signals| signals.before);
        Moment { clock: before.unwrap_or(own.clock), ..own }
    }

    /// The same for a step that is enabled. A signal that waits to be handled could have been handled when it came: the
    /// next ones, of a timer that goes off again and again, make that no later.
    fn enabled_since(&mut self, next: &PendingOperation) -> u64 {
        let ready = self.ready(next);
        match next.operation {
            Operation::Handler => *self.signals(next.task).first.get_or_insert(ready),
            _ => ready,
        }
    }

    fn signals(&mut self, task: TaskId) -> &mut Signals {
        let index = task.index();
        if self.signals.len() <= index {
            self.signals.resize(index + 1, Signals::default());
        }
        &mut self.signals[index]
    }

    /// The task takes a step. Its next one is no later because a handler runs before it.
    pub fn leave(&mut self, task: TaskId, operation: Operation) {
        let own = self.of(task).clock;
        if operation == Operation::Handler {
            let signals = self.signals(task);
            *signals = Signals { first: None, before: signals.before.or(Some(own)) };
        } else if let Some(signals) = self.signals.get_mut(task.index()) {
            *signals = Signals::default();
        }
    }

    /// A handler begins to run, before what the task was about to do. Returns what [`Clocks::continue_after_handler`]
    /// needs.
    pub fn begin_handler(&mut self, task: TaskId) -> Option<u64> {
        self.signals.get_mut(task.index())?.before.take()
    }

    /// The task continues after a handler with what it was about to do at this clock: that is no later.
    pub fn continue_after_handler(&mut self, task: TaskId, before: Option<u64>) {
        *self.signals(task) = Signals { first: None, before };
    }

    /// Whether the owner of the mutex holds it, by its clock, for a moment only.
    #[must_use]
    pub fn is_momentary(&self, mutex: u64, owner: TaskId) -> bool {
        let from = self.objects.get(&mutex).and_then(|object| object.held_from);
        self.of(owner).clock <= from.unwrap_or(self.equal_until)
    }

    /// The task executes the operation, which is an expiry if it has a deadline here.
    pub fn step(&mut self, event: &Event, expires: Option<u64>) {
        let mut moment = self.before(event);
        moment.clock = moment.clock.max(expires.unwrap_or(0));
        self.begin_to_differ(event.task);
        self.set(event.task, moment);
        let operation = event.operation;
        let acquires = operation.acquires_lock() && !operation.is_shared_lock();
        for &(number, access) in event.observable_accesses() {
            let object = self.objects.entry(number).or_default();
            object.enable(event, access, moment);
            match access {
                Access::Lock => object.held_from = Some(moment.clock),
                Access::Write if acquires => object.held_from = Some(moment.clock),
                Access::Unlock if moment.clock > object.held_from.unwrap_or(self.equal_until) => {
                    object.held_until = moment.clock;
                }
                _ => {}
            }
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
            ![object.changed, object.since, object.read, object.shared].iter().all(is_reached)
        });
    }
}

impl ObjectMoments {
    /// An access at this moment may let tasks continue that wait for the object.
    fn enable(&mut self, event: &Event, access: Access, moment: Moment) {
        let is_timer = event.operation == Operation::Timer;
        let enables = match access {
            Access::Read | Access::Share | Access::Take | Access::Post(false) => false,
            // Signals that were handled let no task continue.
            _ if event.operation == Operation::Handler => false,
            _ => !is_timer || self.timer != Some(event.task),
        };
        if enables {
            self.since.join(moment);
            self.timer = is_timer.then_some(event.task);
        }
    }
}

/// A task that could take a step if time did not matter, or that waits for a mutex which another such
/// task holds for a moment.
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
    pub fn new(clocks: &mut Clocks, next: &PendingOperation, expires: Option<u64>) -> Candidate {
        let at = match expires {
            None => clocks.enabled_since(next),
            Some(deadline) => clocks.ready(next).max(deadline),
        };
        Candidate { task: next.task, at, expires: expires.is_some() }
    }
}

/// A task that waits for a mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MutexWaiter {
    /// The task.
    pub task: TaskId,
    /// When the task could have acquired the mutex if it had been free ([`Clocks::ready`]).
    pub at: u64,
    /// The task that holds the mutex.
    pub owner: TaskId,
    /// Whether no time has passed for its owner since it acquired the mutex ([`Clocks::is_momentary`]).
    pub momentary: bool,
}

impl MutexWaiter {
    /// The task with this pending acquisition, which waits for `owner`.
    #[must_use]
    pub fn new(clocks: &Clocks, next: &PendingOperation, owner: TaskId) -> MutexWaiter {
        MutexWaiter {
            task: next.task,
            at: clocks.ready(next),
            owner,
            momentary: clocks.is_momentary(next.object, owner),
        }
    }
}

/// Adds the tasks that wait for mutexes whose owners hold them for a moment only, and can run. Such a
/// task could have acquired the mutex before, so it is late like a task that can run now.
pub fn add_waiters(candidates: &mut Vec<Candidate>, waiters: &mut Vec<MutexWaiter>) {
    waiters.retain(|waiter| waiter.momentary);
    loop {
        let before = waiters.len();
        waiters.retain(|waiter| {
            let runs = candidates.iter().any(|one| one.task == waiter.owner && !one.expires);
            if runs {
                candidates.push(Candidate { task: waiter.task, at: waiter.at, expires: false });
            }
            !runs
        });
        if waiters.len() == before {
            return;
        }
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

    /// A timer whose signals interrupt a task again and again gets no further ahead of its next step than the slack.
    #[test]
    fn a_signal_and_the_step_that_it_interrupts_are_late_since_they_could_happen() {
        let (one, other) = (TaskId(1), TaskId(2));
        let timer = Event::new(&PendingOperation::new(one, Operation::Timer, 0, 0), 0);
        let read = PendingOperation::new(other, Operation::Read, 16, 0);
        let at =
            |clocks: &mut Clocks, next: &PendingOperation| Candidate::new(clocks, next, None).at;
        for interrupts_step in [false, true] {
            let handler = PendingOperation {
                interrupts_step,
                ..PendingOperation::new(other, Operation::Handler, 0, 0)
            };
            let mut clocks = Clocks::default();
            clocks.begin(Moment::default());
            clocks.create(TaskId::MAIN, one, true);
            clocks.create(TaskId::MAIN, other, false);
            for time in [1, 2, 3] {
                clocks.step(&timer, Some(time * SECOND));
                let since = if interrupts_step { 0 } else { SECOND };
                assert_eq!(at(&mut clocks, &handler), since, "after {time} s");
            }
            clocks.leave(other, Operation::Handler);
            clocks.step(&Event::new(&handler, 0), None);
            assert_eq!(at(&mut clocks, &read), 0);
            clocks.leave(other, Operation::Read);
            clocks.step(&Event::new(&read, 1), None);
            assert_eq!(at(&mut clocks, &read), 3 * SECOND);
        }
    }

    /// However often a timer goes off meanwhile, what the task waits for was there since it came first.
    #[test]
    fn an_operation_that_waits_is_late_since_it_could_happen() {
        use Operation as O;
        let (one, other) = (TaskId(1), TaskId(2));
        let next = |task, operation, value| PendingOperation {
            value,
            writes: true,
            ..PendingOperation::new(task, operation, 16, 0)
        };
        let step = |clocks: &mut Clocks, next: &PendingOperation| {
            clocks.leave(next.task, next.operation);
            clocks.step(&Event::new(next, 0), None);
        };
        let mut clocks = Clocks::default();
        clocks.begin(Moment::default());
        clocks.create(TaskId::MAIN, one, true);
        clocks.create(TaskId::MAIN, other, false);
        let timer = Event::new(&PendingOperation::new(one, O::Timer, 0, 0), 0);
        for time in [1, 2, 3] {
            clocks.step(&timer, Some(time * SECOND));
            // The timer posts, calls a function that holds a lock for a moment, and sends a signal.
            step(&mut clocks, &next(one, O::SemPost, time - 1));
            let lock = PendingOperation { object: 32, ..next(one, O::Lock, 0) };
            step(&mut clocks, &lock);
            step(&mut clocks, &PendingOperation { operation: O::Unlock, ..lock.clone() });
            assert_eq!(clocks.ready(&next(other, O::SemWait, 1)), SECOND, "after {time} s");
            assert_eq!(clocks.ready(&next(other, O::SignalWait, 0)), SECOND, "after {time} s");
            for operation in [O::Lock, O::SpinLock, O::ReadLock, O::WriteLock] {
                let waits = PendingOperation { object: 32, ..next(other, operation, 0) };
                assert_eq!(clocks.ready(&waits), 0, "{operation:?} after {time} s");
            }
            for operation in [O::TimerSet, O::Kill, O::Create, O::SemPost, O::Unlock] {
                assert_eq!(clocks.ready(&next(other, operation, 0)), 0, "{operation:?}");
            }
        }
        step(&mut clocks, &next(other, O::SemWait, 1));
        assert_eq!(clocks.of(other).clock, 3 * SECOND, "clocks join");
    }

    /// A wait that a handler ended is over when the handler runs, and not since it began.
    #[test]
    fn a_task_is_no_later_after_a_handler_unless_that_ended_its_wait() {
        let (one, other) = (TaskId(1), TaskId(2));
        let next = |operation| PendingOperation::new(other, operation, 16, 0);
        for ends in [false, true] {
            let mut clocks = Clocks::default();
            clocks.begin(Moment::default());
            clocks.create(TaskId::MAIN, one, true);
            clocks.create(TaskId::MAIN, other, false);
            let timer = PendingOperation::new(one, Operation::Timer, 0, 0);
            clocks.step(&Event::new(&timer, 0), Some(SECOND));
            clocks.leave(other, Operation::Handler);
            clocks.step(&Event::new(&next(Operation::Handler), 0), None);
            let before = clocks.begin_handler(other);
            // The handler takes a step.
            assert_eq!(clocks.ready(&next(Operation::Write)), SECOND);
            clocks.leave(other, Operation::Write);
            clocks.step(&Event::new(&next(Operation::Write), 0), None);
            if !ends {
                clocks.continue_after_handler(other, before);
            }
            assert_eq!(clocks.ready(&next(Operation::Read)), if ends { SECOND } else { 0 });
        }
    }

    /// A loop that polls under a lock holds it for moments; a task that sleeps with it holds it for a while.
    #[test]
    fn only_a_mutex_that_was_held_for_a_while_delays_its_acquisition() {
        let (one, other) = (TaskId(1), TaskId(2));
        let next = |task, operation| PendingOperation {
            writes: true,
            ..PendingOperation::new(task, operation, 16, 0)
        };
        for sleeps in [false, true] {
            let mut clocks = Clocks::default();
            clocks.begin(Moment::default());
            clocks.create(TaskId::MAIN, one, true);
            clocks.create(TaskId::MAIN, other, false);
            clocks.raise(one, SECOND, false);
            clocks.step(&Event::new(&next(one, Operation::Lock), 0), None);
            assert!(clocks.is_momentary(16, one));
            if sleeps {
                clocks.raise(one, 2 * SECOND, false);
            }
            assert_eq!(clocks.is_momentary(16, one), !sleeps);
            clocks.step(&Event::new(&next(one, Operation::Unlock), 1), None);
            let ready = clocks.ready(&next(other, Operation::Lock));
            assert_eq!(ready, if sleeps { 2 * SECOND } else { 0 });
            clocks.step(&Event::new(&next(other, Operation::Lock), 0), None);
            assert_eq!(clocks.of(other), clocks.of(one), "clocks join");
        }
    }

    #[test]
    fn a_task_that_waits_for_one_that_can_run_is_late_as_well() {
        let waiter = |task, at, owner, momentary| MutexWaiter {
            task: TaskId(task),
            at,
            owner: TaskId(owner),
            momentary,
        };
        let mut candidates = vec![one(0, 9, false), one(1, 20, true)];
        let mut waiters = vec![
            waiter(2, 5, 3, true),
            waiter(3, 7, 0, true),
            waiter(4, 1, 0, false),
            waiter(5, 2, 1, true),
            waiter(6, 3, 7, true),
            waiter(7, 3, 6, true),
        ];
        add_waiters(&mut candidates, &mut waiters);
        let added: Vec<_> = candidates[2..].iter().map(|one| (one.task.0, one.at)).collect();
        assert_eq!(added, [(3, 7), (2, 5)]);
        assert_eq!(base(&candidates), 5);
    }
}
