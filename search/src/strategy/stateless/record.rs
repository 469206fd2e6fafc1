//! What an execution shows: its events, what was pending, and its path through the tree.

use super::rules::{conflicts, waits_for};
use crate::reduction::events::{Access, Clock, Event, Map, Order, covers, join};
use crate::reduction::pending::PendingOperation;
use traces::{Operation, TaskId};

/// A set of events that contains everything before each of them: how many of each task's events.
pub(super) type Configuration = Vec<u32>;

/// The data choices of a step: the outcome that was taken, and the number of outcomes.
pub(super) type Data = Vec<(u32, u32)>;

/// One step of an execution.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) event: Event,
    /// The clock before the event, without the order that its own accesses add.
    pub(super) before: Clock,
    pub(super) clock: Clock,
    pub(super) data: Data,
    /// The pending operations of all tasks before the step.
    pub(super) tasks: Vec<PendingOperation>,
}

impl Step {
    /// Whether every data choice had the first outcome.
    pub(super) fn is_default(&self) -> bool {
        self.data.iter().all(|&(taken, _)| taken == 0)
    }

    fn value(&self) -> u64 {
        let own = self.tasks.iter().find(|next| next.task == self.event.task);
        own.map_or(0, |next| next.value)
    }
}

/// An operation that was pending at the end.
#[derive(Debug)]
struct Pending {
    event: Event,
    before: Clock,
    /// Whether no event of the execution can enable it.
    hopeless: bool,
}

/// The event that ended the process.
#[derive(Debug)]
pub(super) struct Exit {
    pub(super) at: usize,
    /// Its clock as if it had not ended the process.
    pub(super) needs: Clock,
}

/// The next event of a task: its step, if it was run, and the clock before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextEvent<'r> {
    pub(super) at: Option<usize>,
    pub(super) event: &'r Event,
    pub(super) before: &'r Clock,
}

/// An execution.
#[derive(Debug)]
pub(super) struct Record<'s> {
    pub(super) steps: &'s [Step],
    pub(super) exit: Option<Exit>,
    /// By task: its steps.
    own: Vec<Vec<usize>>,
    pending: Vec<Option<Pending>>,
    /// By object of locks and semaphores: the events that change it, with the change.
    changes: Map<u64, Vec<(usize, u32, i64)>>,
    /// By semaphore: its value at the start.
    values: Map<u64, i64>,
}

/// What happens at a configuration on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// The default task runs this step.
    Runs(usize),
    /// This step of another task takes what the default task would take.
    Taken(usize),
    /// The process ends, and the default task does not run again.
    Never,
}

/// One configuration on the path.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) from: Configuration,
    /// The task that runs by default.
    pub(super) task: usize,
    /// The configuration before the step of [`Course::Runs`].
    pub(super) upto: Configuration,
    pub(super) course: Course,
}

impl Turn {
    /// Whether something was run before the step of the default task.
    pub(super) fn is_delayed(&self) -> bool {
        self.upto != self.from
    }
}

/// The number of the task's events in the configuration.
pub(super) fn count(of: &[u32], task: usize) -> u32 {
    of.get(task).copied().unwrap_or(0)
}

/// Whether the configuration contains the event.
pub(super) fn contains(configuration: &[u32], event: &Event) -> bool {
    covers(configuration, event)
}

/// Whether the configuration has everything of this clock, but for one event of `own`.
fn has_all(configuration: &[u32], clock: &[u32], own: usize) -> bool {
    clock
        .iter()
        .enumerate()
        .all(|(task, &needed)| needed <= count(configuration, task) + u32::from(task == own))
}

impl<'s> Record<'s> {
    /// An execution that ended with these pending operations. `exits`: its last step ended the process.
    pub(super) fn new(
        steps: &'s mut [Step],
        pending: &[PendingOperation],
        order: &Order,
        exits: bool,
    ) -> Record<'s> {
        let exit = if exits { Record::end(steps) } else { None };
        let last = exit.as_ref().and_then(|_| steps.last());
        // After the end the operations of the other tasks are what they were before it.
        let over = last.map(|last| last.event.task);
        let pending = last.map_or(pending, |last| &last.tasks).to_vec();
        let steps: &'s [Step] = steps;
        let mut record = Record {
            steps,
            exit,
            own: Vec::new(),
            pending: Vec::new(),
            changes: Map::default(),
            values: Map::default(),
        };
        for (at, step) in steps.iter().enumerate() {
            let event = &step.event;
            record.room(event.task.index());
            record.own[event.task.index()].push(at);
            for &(object, access) in event.accesses() {
                let change = match access {
                    Access::Lock | Access::Post(_) => 1,
                    Access::Write if event.operation.acquires_lock() => 1,
                    Access::Unlock | Access::Take => -1,
                    _ => continue,
                };
                let all = record.changes.entry(object).or_default();
                all.push((event.task.index(), event.index, change));
                if matches!(access, Access::Take | Access::Post(_)) {
                    record.values.entry(object).or_insert(step.value() as i64);
                }
            }
        }
        for next in pending.iter().filter(|next| Some(next.task) != over) {
            let event = Event::new(next, order.count(next.task));
            let mut before = Clock::new();
            order.before(&event, &mut before);
            let hopeless = match next.operation {
                Operation::Join => !next.enabled,
                Operation::Wake => !next.woken,
                _ => false,
            };
            for &(object, _) in event.accesses().iter().filter(|(_, one)| *one == Access::Take) {
                let change = record
                    .changes
                    .get(&object)
                    .map_or(0, |all| all.iter().map(|&(_, _, change)| change).sum::<i64>());
                record.values.entry(object).or_insert(next.value as i64 - change);
            }
            record.room(next.task.index());
            record.pending[next.task.index()] = Some(Pending { event, before, hopeless });
        }
        record
    }

    /// Orders the last step after everything else.
    fn end(steps: &mut [Step]) -> Option<Exit> {
        let (last, others) = steps.split_last_mut()?;
        let mut needs = last.clock.clone();
        std::mem::swap(&mut needs, &mut last.clock);
        let mut alone = last.before.clone();
        for step in others.iter().rev() {
            if !covers(&alone, &step.event) && conflicts(&step.event, &last.event) {
                join(&mut alone, &step.clock);
            }
        }
        let me = last.event.task.index();
        let mut all = vec![0; me + 1];
        all[me] = last.event.index + 1;
        join(&mut alone, &all);
        for step in others.iter() {
            let mut one = vec![0; step.event.task.index() + 1];
            one[step.event.task.index()] = step.event.index + 1;
            join(&mut all, &one);
        }
        last.clock = all;
        Some(Exit { at: others.len(), needs: alone })
    }

    fn room(&mut self, task: usize) {
        let tasks = self.own.len().max(task + 1);
        self.own.resize(tasks, Vec::new());
        self.pending.resize_with(tasks, || None);
    }

    pub(super) fn tasks(&self) -> usize {
        self.own.len()
    }

    /// The configuration of all events but that of the exit.
    pub(super) fn all_but_exit(&self) -> Configuration {
        let mut all: Configuration = self.own.iter().map(|own| own.len() as u32).collect();
        if let Some(exit) = &self.exit {
            all[self.steps[exit.at].event.task.index()] -= 1;
        }
        all
    }

    /// The event of this number of the task.
    pub(super) fn event(&self, task: usize, index: u32) -> Option<NextEvent<'_>> {
        if let Some(&at) = self.own[task].get(index as usize) {
            let Step { event, before, .. } = &self.steps[at];
            return Some(NextEvent { at: Some(at), event, before });
        }
        let pending = self.pending[task].as_ref().filter(|it| it.event.index == index)?;
        Some(NextEvent { at: None, event: &pending.event, before: &pending.before })
    }

    /// The task's first event that is not in the configuration.
    pub(super) fn next(&self, of: &[u32], task: usize) -> Option<NextEvent<'_>> {
        self.event(task, count(of, task))
    }

    /// Whether the event is pending at the end and cannot be enabled.
    pub(super) fn is_hopeless(&self, next: &NextEvent<'_>) -> bool {
        let pending = self.pending[next.event.task.index()].as_ref();
        next.at.is_none() && pending.is_some_and(|it| it.hopeless)
    }

    /// Whether the locks and semaphores that the event takes are free after the configuration.
    pub(super) fn is_free(&self, of: &[u32], event: &Event) -> bool {
        event.accesses().iter().all(|&(object, access)| {
            let changed = || -> i64 {
                let all = self.changes.get(&object).map_or(&[][..], Vec::as_slice);
                let inside = all.iter().filter(|&&(task, index, _)| index < count(of, task));
                inside.map(|&(_, _, change)| change).sum()
            };
            match access {
                Access::Lock => changed() == 0,
                Access::Take => self.values.get(&object).copied().unwrap_or(0) + changed() > 0,
                _ => true,
            }
        })
    }

    /// Whether the task is enabled after the configuration.
    pub(super) fn is_enabled(&self, of: &[u32], task: usize) -> bool {
        self.next(of, task).is_some_and(|next| {
            !self.is_hopeless(&next)
                && has_all(of, next.before, task)
                && self.is_free(of, next.event)
        })
    }

    /// The task that runs by default: the first one, but the end of the process comes last.
    fn default_task(&self, of: &[u32]) -> Option<usize> {
        let ends = |&task: &usize| {
            self.next(of, task).is_some_and(|it| it.event.operation == Operation::ExitNow)
        };
        let mut enabled = (0..self.tasks()).filter(|&task| self.is_enabled(of, task));
        let first = enabled.next()?;
        if !ends(&first) {
            return Some(first);
        }
        Some(enabled.find(|task| !ends(task)).unwrap_or(first))
    }

    fn is_over(&self, of: &[u32]) -> bool {
        self.exit.as_ref().is_some_and(|exit| contains(of, &self.steps[exit.at].event))
    }

    /// Whether the execution continues by default after this configuration.
    pub(super) fn is_default_after(&self, configuration: &[u32]) -> bool {
        let mut of = configuration.to_vec();
        while !self.is_over(&of)
            && let Some(task) = self.default_task(&of)
        {
            let step = self.next(&of, task).and_then(|next| next.at).map(|at| &self.steps[at]);
            let runs = |step: &&Step| has_all(&of, &step.clock, task) && step.is_default();
            if step.filter(runs).is_none() {
                return false;
            }
            of[task] += 1;
        }
        true
    }

    /// The path of the execution: the configurations at which a default task is chosen. None if the
    /// execution has an order that this strategy does not know.
    pub(super) fn path(&self) -> Option<Vec<Turn>> {
        let mut of: Configuration = vec![0; self.tasks()];
        let mut turns = Vec::new();
        let is_exit = |at: usize| self.exit.as_ref().is_some_and(|exit| exit.at == at);
        while !self.is_over(&of)
            && let Some(task) = self.default_task(&of)
        {
            let next = self.next(&of, task)?;
            let from = of.clone();
            let takes = waits_for(next.event).and_then(|object| {
                let outside = |step: &Step| !contains(&of, &step.event);
                let first = |step: &Step| outside(step) && step.event.access(object).is_some();
                self.steps.iter().position(first).filter(|&at| !is_exit(at))
            });
            let turn = |from, upto, course| Turn { from, task, upto, course };
            if let Some(at) = next.at
                && has_all(&of, &self.steps[at].clock, task)
            {
                of[task] += 1;
                turns.push(turn(from.clone(), from, Course::Runs(at)));
            } else if let Some(at) = takes {
                if self.steps[at].event.task.index() == task {
                    return None;
                }
                join(&mut of, &self.steps[at].clock);
                turns.push(turn(from.clone(), from, Course::Taken(at)));
            } else if let Some(at) = next.at {
                if waits_for(next.event).is_some() && !is_exit(at) {
                    return None;
                }
                join(&mut of, &self.steps[at].clock);
                let mut upto = of.clone();
                upto[task] -= 1;
                turns.push(turn(from, upto, Course::Runs(at)));
            } else {
                self.exit.as_ref()?;
                turns.push(turn(from.clone(), from, Course::Never));
                break;
            }
        }
        Some(turns)
    }

    /// The clock of an event that would come after the configuration, itself not included.
    pub(super) fn clock_after(&self, of: &[u32], event: &Event, before: &[u32]) -> Clock {
        let mut clock = before.to_vec();
        for step in self.steps.iter().rev().filter(|step| contains(of, &step.event)) {
            if !covers(&clock, &step.event) && conflicts(&step.event, event) {
                join(&mut clock, &step.clock);
            }
        }
        clock
    }

    /// The steps in the second configuration, and not in the first, that no other of them follows.
    pub(super) fn maxima(&self, from: &[u32], upto: &[u32]) -> Vec<usize> {
        let tasks = (0..self.tasks()).filter(|&task| count(upto, task) > count(from, task));
        let lasts: Vec<usize> =
            tasks.map(|task| self.own[task][count(upto, task) as usize - 1]).collect();
        let follows = |&before: &usize| {
            let event = &self.steps[before].event;
            lasts.iter().any(|&at| at != before && covers(&self.steps[at].clock, event))
        };
        lasts.iter().copied().filter(|at| !follows(at)).collect()
    }

    /// Of these steps the one of the last task.
    pub(super) fn greatest(&self, from: &[u32], upto: &[u32]) -> Option<usize> {
        self.maxima(from, upto).into_iter().max_by_key(|&at| self.steps[at].event.task)
    }

    /// The event of a task that was pending before a step, as it was then.
    pub(super) fn pending_at(&self, at: usize, event: &Event) -> Event {
        let then = self.steps[at].tasks.iter().find(|next| next.task == event.task);
        then.map_or_else(|| event.clone(), |next| Event::new(next, event.index))
    }

    /// The number of a step among those of its task.
    pub(super) fn number(&self, at: usize) -> (TaskId, u32) {
        (self.steps[at].event.task, self.steps[at].event.index)
    }
}
