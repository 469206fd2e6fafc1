//! The clocks of tasks.

use super::moment::Moment;
use super::objects::ObjectMoments;
use crate::reduction::events::{Access, Event, Group, Map};
use crate::reduction::pending::PendingOperation;
use traces::primitives::Dependence;
use traces::{Operation, TaskId};

/// If this many objects have clocks, those that cannot raise any task's clock are forgotten.
const FORGET: usize = 1 << 16;
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

    /// The task has taken [`STEPS`](super::STEPS) steps, and with them this long.
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
            let own = access.group().map(|group| group as usize);
            let others = object.groups.iter().enumerate().filter(|(group, _)| Some(*group) != own);
            others.for_each(|(_, others)| moment.join(*others));
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
                _ => moment.join(object.since(event)),
            }
            if !matches!(access, Access::Share | Access::Read) {
                moment.join(object.groups[Group::Shared as usize]);
            }
        }
        moment
    }

    /// The latest clock of any task so far. Nothing that happened is later.
    pub(super) fn latest(&self) -> u64 {
        self.latest.clock
    }

    /// When the task could have executed this operation at the earliest, if nothing that others do delays such an
    /// operation: it does not wait.
    pub(super) fn ready_undelayed(&self, task: TaskId, operation: Operation) -> Option<u64> {
        let is_undelayed =
            is_undelayed(operation) || matches!(operation, Operation::Yield | Operation::Sleep);
        is_undelayed.then(|| self.unhandled(task).clock)
    }

    /// When the task could have executed its operation at the earliest. Only a task that holds a mutex for a while
    /// delays those that wait for it. The clock of the last access of others would rise with each iteration of a loop
    /// that polls.
    #[must_use]
    pub fn ready(&self, next: &PendingOperation) -> u64 {
        if let Some(clock) = self.ready_undelayed(next.task, next.operation) {
            return clock;
        }
        let own = self.unhandled(next.task);
        match next.operation {
            Operation::Handler if next.interrupts_step => own.clock,
            Operation::Lock => {
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
    pub(super) fn enabled_since(&mut self, next: &PendingOperation) -> u64 {
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
            object.enable(event, (number, access), moment, expires.is_some());
            match access {
                Access::Lock => object.held_from = Some(moment.clock),
                Access::Write if acquires => object.held_from = Some(moment.clock),
                Access::Unlock if moment.clock > object.held_from.unwrap_or(self.equal_until) => {
                    object.held_until = moment.clock;
                }
                _ => {}
            }
            let to = match access.group() {
                Some(group) => &mut object.groups[group as usize],
                None => &mut object.changed,
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
            let mut moments = [object.changed, object.since].into_iter().chain(object.groups);
            object.has_expirations() || !moments.all(|moment| is_reached(&moment))
        });
    }
}

#[cfg(test)]
mod tests;
