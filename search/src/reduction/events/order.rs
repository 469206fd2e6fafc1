//! The happens-before order of the running execution, and rewinding it to an earlier step.

use super::access::Group;
use super::clock::{Clock, join};
use super::event::Event;
use super::hash::{Map, mix};
use crate::reduction::pending::PendingOperation;
use crate::strategy::interface::Decision;
use crate::strategy::view::View;
use traces::{Operation, TaskId};

#[derive(Debug, Clone, Default)]
struct ObjectClocks {
    /// The clock of the last operation that commutes with no other: a write, or an exclusive lock.
    changed: Clock,
    /// By [`Group`]: the joined clocks of its accesses since that operation.
    groups: [Clock; Group::COUNT],
}

/// The happens-before order of the running execution.
#[derive(Debug, Clone, Default)]
pub struct Order {
    tasks: Vec<Clock>,
    counts: Vec<u32>,
    numbers: Map<u64, u32>,
    objects: Vec<ObjectClocks>,
    /// By task: whether it was waiting, not yet woken, when the last step was chosen.
    waiting: Vec<bool>,
    hash: u64,
    /// By task: the weight of its operations in the hash.
    weights: Vec<u64>,
    /// The task and the index of the last operation.
    last: (u16, u32),
    /// The objects that the last operation accessed.
    accessed: Vec<u64>,
    /// For each access of the step that is being executed, the index of its object.
    slots: Vec<usize>,
    /// The number of steps that the last rewind retained.
    retained: usize,
    /// The most steps that the next rewind retains, if the order is that of another search's execution.
    adopted: Option<usize>,
    journal: Journal,
}

/// The values that each step overwrote, so that [`Order::rewind`] can restore an earlier state.
#[derive(Debug, Clone, Default)]
struct Journal {
    /// By step: the state before it.
    marks: Vec<Mark>,
    /// The overwritten slots, each with the start of its old content in `values`, which extends to
    /// the start of the next.
    overwritten: Vec<(Slot, usize)>,
    values: Vec<u32>,
    /// The objects that the operation before each step accessed.
    accessed: Vec<u64>,
}

#[derive(Debug, Clone)]
struct Mark {
    overwritten: usize,
    hash: u64,
    last: (u16, u32),
    /// The start of its part of [`Journal::accessed`], which extends to the start of the next.
    accessed: usize,
}

/// A part of an [`Order`] that a step overwrites.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Task(usize),
    Count(usize),
    Waiting(usize),
    Changed(usize),
    Group(usize, Group),
}

impl Journal {
    /// Saves the old content of a slot; does nothing if no step was marked.
    fn keep(&mut self, slot: Slot, was: &[u32]) {
        if !self.marks.is_empty() {
            self.overwritten.push((slot, self.values.len()));
            self.values.extend_from_slice(was);
        }
    }

    fn clear(&mut self) {
        self.marks.clear();
        self.overwritten.clear();
        self.values.clear();
        self.accessed.clear();
    }
}

impl Order {
    /// Marks the beginning of a step, to which [`Order::rewind`] can return. Call it before each
    /// step of an execution or before none.
    pub fn mark(&mut self) {
        self.journal.marks.push(Mark {
            overwritten: self.journal.overwritten.len(),
            hash: self.hash,
            last: self.last,
            accessed: self.journal.accessed.len(),
        });
        self.journal.accessed.extend_from_slice(&self.accessed);
    }

    /// Restores the state before `step`, if that step was marked; otherwise the state at the start.
    /// Returns the number of steps that remain.
    pub fn rewind(&mut self, step: usize) -> usize {
        let step = self.adopted.take().map_or(step, |adopted| adopted.min(step));
        let Some(mark) = self.journal.marks.get(step).cloned() else {
            self.clear();
            return 0;
        };
        let journal = &mut self.journal;
        let next = journal.marks.get(step + 1).map_or(journal.accessed.len(), |next| next.accessed);
        self.accessed.clear();
        self.accessed.extend_from_slice(&journal.accessed[mark.accessed..next]);
        journal.accessed.truncate(mark.accessed);
        while journal.overwritten.len() > mark.overwritten
            && let Some((slot, from)) = journal.overwritten.pop()
        {
            let was = &journal.values[from..];
            let clock = match slot {
                Slot::Count(task) => {
                    self.counts[task] = was[0];
                    None
                }
                Slot::Waiting(task) => {
                    self.waiting[task] = was[0] != 0;
                    None
                }
                Slot::Task(task) => Some(&mut self.tasks[task]),
                Slot::Changed(object) => Some(&mut self.objects[object].changed),
                Slot::Group(object, group) => {
                    Some(&mut self.objects[object].groups[group as usize])
                }
            };
            if let Some(clock) = clock {
                clock.clear();
                clock.extend_from_slice(was);
            }
            journal.values.truncate(from);
        }
        journal.marks.truncate(step);
        self.retained = step;
        self.hash = mark.hash;
        self.last = mark.last;
        step
    }

    /// Takes over the order of another search's execution, whose first `steps` steps the next execution
    /// has, too. Returns the number of steps that the next rewind retains at most.
    pub fn adopt(&mut self, before: &mut Order, steps: usize) -> usize {
        *self = std::mem::take(before);
        let steps = steps.min(self.journal.marks.len().saturating_sub(1));
        self.adopted = Some(steps);
        steps
    }

    /// The clocks after the first steps, each of which is a step of one of the tasks. The state before the
    /// step that follows them must have been marked.
    #[must_use]
    pub fn clocks_after(&self, tasks: &[TaskId]) -> Vec<Clock> {
        let mut order = self.clone();
        let mut clocks = vec![Clock::new(); tasks.len()];
        for (at, &task) in tasks.iter().enumerate().rev() {
            order.rewind(at + 1);
            clocks[at].extend_from_slice(order.clock(task));
        }
        clocks
    }

    /// The number of steps that the last rewind retained.
    #[must_use]
    pub fn retained(&self) -> usize {
        self.retained
    }

    /// Whether the last rewind retained this step: the running execution shares it with the
    /// previous one.
    #[must_use]
    #[inline]
    pub fn has(&self, step: usize) -> bool {
        step < self.retained
    }

    /// Returns to the state before the first step.
    pub fn clear(&mut self) {
        self.journal.clear();
        self.retained = 0;
        self.tasks.iter_mut().for_each(Clock::clear);
        self.counts.clear();
        self.waiting.clear();
        self.accessed.clear();
        self.hash = 0;
        for object in &mut self.objects {
            object.changed.clear();
            object.groups.iter_mut().for_each(Clock::clear);
        }
    }

    fn room(&mut self, task: TaskId) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Clock::new());
        }
        while self.weights.len() < self.tasks.len() {
            self.weights.push(mix(!(self.weights.len() as u64)) | 1);
        }
        if self.counts.len() <= task.index() {
            self.counts.resize(task.index() + 1, 0);
        }
        if self.waiting.len() <= task.index() {
            self.waiting.resize(task.index() + 1, false);
        }
    }

    /// The number of operations that the task has executed.
    #[must_use]
    pub fn count(&self, task: TaskId) -> u32 {
        self.counts.get(task.index()).copied().unwrap_or(0)
    }

    /// The clock of the task's next operation, as far as it is known before that operation runs.
    #[must_use]
    pub fn clock(&self, task: TaskId) -> &[u32] {
        self.tasks.get(task.index()).map_or(&[], Vec::as_slice)
    }

    /// Computes in `clock` what happened before `event`, without the order that the event's own
    /// accesses add. For a join, that includes the joined task.
    pub fn before(&self, event: &Event, clock: &mut Clock) {
        clock.clear();
        clock.extend_from_slice(self.clock(event.task));
        if let (Operation::Join, Some(other)) = (event.operation, event.other) {
            join(clock, self.clock(other));
        }
    }

    /// A hash of the happens-before order: equal for two executions that differ only in the order
    /// of independent operations.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Adds the outcome of a data choice of the last step, which also distinguishes executions, to
    /// the hash.
    pub fn note(&mut self, what: u64) {
        let (task, index) = self.last;
        let step = u64::from(task) << 32 | u64::from(index);
        self.hash = self.hash.wrapping_add(mix(mix(what) ^ mix(!step)));
    }

    /// Orders the tasks that the last step woke after that step, and returns them. Call it at each
    /// choice with the pending operations of all tasks.
    pub fn see(&mut self, tasks: &[PendingOperation], last: Option<TaskId>) -> Vec<TaskId> {
        let mut woken = Vec::new();
        for next in tasks {
            self.room(next.task);
            let at = next.task.index();
            let waits = matches!(
                next.operation,
                Operation::Wake
                    | Operation::TimedWake
                    | Operation::SpuriousWake
                    | Operation::FutexWoken
                    | Operation::BarrierPass
            );
            let was = std::mem::replace(&mut self.waiting[at], waits && !next.woken);
            if was != self.waiting[at] {
                self.journal.keep(Slot::Waiting(at), &[u32::from(was)]);
            }
            if waits && next.woken && was && last.is_some_and(|last| last != next.task) {
                let clock = last.map(|last| self.clock(last).to_vec()).unwrap_or_default();
                // A task with a time-out could have continued without being woken, so the wake-up
                // does not order it after the step. If both access the same object, that orders
                // them.
                if next.has_timeout && self.accessed.contains(&next.object) {
                    continue;
                }
                self.journal.keep(Slot::Task(at), &self.tasks[at]);
                join(&mut self.tasks[at], &clock);
                woken.push(next.task);
            }
        }
        woken
    }

    /// Executes the chosen task's pending operation, if it is known.
    #[inline]
    pub fn follow(&mut self, view: &View<'_>, decision: &Decision) {
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(*task)
        {
            let event = Event::new(next, self.count(*task));
            self.step(&event);
        }
    }

    /// Executes `event` and returns the task's clock after it.
    pub fn step(&mut self, event: &Event) -> &Clock {
        self.room(event.task);
        self.last = (event.task.0, event.index);
        self.accessed.clear();
        self.accessed.extend(event.accesses().iter().map(|&(object, _)| object));
        let me = event.task.index();
        let mut clock = std::mem::take(&mut self.tasks[me]);
        self.journal.keep(Slot::Task(me), &clock);
        self.journal.keep(Slot::Count(me), &[self.counts[me]]);
        if let (Operation::Join, Some(other)) = (event.operation, event.other) {
            join(&mut clock, self.clock(other));
        }
        self.slots.clear();
        for &(object, access) in event.accesses() {
            let fresh = self.objects.len() as u32;
            let number = *self.numbers.entry(object).or_insert(fresh);
            if number == fresh {
                self.objects.push(ObjectClocks::default());
            }
            self.slots.push(number as usize);
            let object = &self.objects[number as usize];
            join(&mut clock, &object.changed);
            let own = access.group().map(|group| group as usize);
            let others = object.groups.iter().enumerate().filter(|(group, _)| Some(*group) != own);
            others.for_each(|(_, others)| join(&mut clock, others));
        }
        if event.exits {
            for other in 0..self.tasks.len() {
                join(&mut clock, &self.tasks[other]);
            }
        }
        if clock.len() <= me {
            clock.resize(me + 1, 0);
        }
        clock[me] = event.index + 1;
        self.counts[me] = event.index + 1;
        for (&slot, &(_, access)) in self.slots.iter().zip(event.accesses()) {
            let object = &mut self.objects[slot];
            let (to, old) = match access.group() {
                Some(group) => (&mut object.groups[group as usize], Slot::Group(slot, group)),
                None => (&mut object.changed, Slot::Changed(slot)),
            };
            self.journal.keep(old, to);
            join(to, &clock);
        }
        if let (Operation::Create, Some(other)) = (event.operation, event.other) {
            self.room(other);
            self.journal.keep(Slot::Task(other.index()), &self.tasks[other.index()]);
            join(&mut self.tasks[other.index()], &clock);
        }
        // The clock is hashed as a weighted sum, so that trailing zeros do not change the hash.
        let counts = clock.iter().zip(&self.weights);
        let sum = counts.map(|(&count, weight)| u64::from(count).wrapping_mul(*weight));
        let sum = sum.fold(0, u64::wrapping_add);
        let own = mix((me as u64) << 32 | u64::from(event.index));
        self.hash = self.hash.wrapping_add(mix(own ^ sum));
        self.tasks[me] = clock;
        &self.tasks[me]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::simulation::{programs, run};
    use crate::strategy::random::Random;
    use crate::{Outcome, PrefixReplay, Reduction, Strategy};

    /// A random walk that sometimes rewinds its last steps and executes them again.
    struct RewindingWalk {
        walk: Random,
        rng: Rng,
        order: Order,
        straight: Order,
        steps: Vec<(Vec<PendingOperation>, Option<TaskId>, Event)>,
    }

    fn same(one: &Order, other: &Order) -> bool {
        let clocks = |order: &Order| -> Vec<Clock> {
            order.tasks.iter().filter(|clock| !clock.is_empty()).cloned().collect()
        };
        (one.hash, one.last, clocks(one)) == (other.hash, other.last, clocks(other))
    }

    impl Strategy for RewindingWalk {
        fn begin(&mut self, number: u64) -> bool {
            self.straight.clear();
            self.order.rewind(0);
            self.steps.clear();
            self.walk.begin(number)
        }

        fn choose(&mut self, view: &View<'_>) -> Decision {
            let decision = self.walk.choose(view);
            let Decision::Task(task) = decision else { panic!("a walk never gives up") };
            let next = view.next(task).expect("it has not ended");
            self.straight.see(view.tasks, view.running);
            let event = Event::new(next, self.straight.count(task));
            self.straight.step(&event);
            self.steps.push((view.tasks.to_vec(), view.running, event));
            let back = self.rng.below(self.steps.len() as u32) as usize;
            let known = self.order.rewind(back);
            assert!(known == back || self.order.journal.marks.is_empty());
            for (tasks, running, event) in &self.steps[known..] {
                self.order.mark();
                self.order.see(tasks, *running);
                self.order.step(event);
            }
            assert!(same(&self.order, &self.straight), "after {:?}", self.steps);
            decision
        }

        fn choose_data(&mut self, of: u32) -> u32 {
            self.walk.choose_data(of)
        }

        fn end(&mut self, _: Outcome) {}
    }

    impl PrefixReplay for RewindingWalk {}

    impl Reduction for RewindingWalk {
        fn needs_pending(&self) -> bool {
            true
        }
    }

    #[test]
    fn rewinding_and_repeating_steps_restores_the_order() {
        let programs = [
            programs::readers(4),
            programs::lastzero(4),
            programs::locked(3, 2),
            programs::opposite(),
        ];
        for program in programs {
            let mut walk = RewindingWalk {
                walk: Random::new(5),
                rng: Rng::new(1, 2),
                order: Order::default(),
                straight: Order::default(),
                steps: Vec::new(),
            };
            for number in 1..=20 {
                assert!(walk.begin(number));
                run(&program, &mut walk).ending.expect("it is not given up");
            }
        }
    }
}
