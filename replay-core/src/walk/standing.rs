//! Who stands where at a step of a recorded execution: what each task would do next, whether it may,
//! and if not, why and who could change that. Pure, and exact for past steps, too: a task that is
//! parked before an operation does that operation next, whatever comes between.

use super::positions::Positions;
use std::fmt;
use traces::order::Held;
use traces::{Execution, Operation, Place, Site, TaskId, TaskState, Trace, WaitEdge};

/// Why a task may not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The object is a lock that another task has, since that step.
    Held {
        /// An index into [`Execution::objects`].
        object: u32,
        /// Who has it.
        holder: TaskId,
        /// Since which step, from 0.
        since: usize,
    },
    /// That task must end first.
    NotEnded(TaskId),
    /// Nobody has woken it yet: a condition, a futex.
    NotWoken(u32),
    /// There is nothing to take: a semaphore.
    Empty(u32),
    /// Others have not come to the barrier yet.
    NotAllCame(u32),
    /// A writer waits for the lock, and it prefers writers.
    Writer {
        /// An index into [`Execution::objects`].
        object: u32,
        /// Who waits.
        writer: TaskId,
    },
    /// What the runtime said at the end of the execution.
    Said(String),
    /// Nothing more is known.
    Unknown,
}

/// One task at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whose.
    pub task: TaskId,
    /// The step at which it moves next in this execution, if it does.
    pub next: Option<usize>,
    /// What it would do.
    pub operation: Option<Operation>,
    /// To what.
    pub object: Option<u32>,
    /// Where.
    pub site: Option<Site>,
    /// Whether it may move.
    pub enabled: bool,
    /// Why not, where it may not.
    pub why: Option<Why>,
}

/// The tasks that are there before step `step` moves (or at the end, for the number of steps), in
/// order. For more than one question to an execution, keep its [`Positions`].
#[must_use]
pub fn standing(trace: &Trace, step: usize) -> Vec<Standing> {
    Positions::of(trace).standing(trace, step)
}

impl Positions {
    /// The tasks that are there before step `step` moves (or at the end, for the number of steps),
    /// in order.
    #[must_use]
    pub fn standing(&self, trace: &Trace, step: usize) -> Vec<Standing> {
        let execution = &trace.execution;
        let step = step.min(execution.steps.len());
        let held = self.locks(execution, step);
        let mut found = Vec::new();
        for task in self.alive(trace, step) {
            let next = self.next_of(task, step);
            let able = self.may_move(task, step) && !is_blocked(trace, task, step);
            let mut standing = Standing {
                task,
                next,
                operation: None,
                object: None,
                site: None,
                enabled: able,
                why: None,
            };
            if let Some(next) = next {
                let next = &execution.steps[next];
                standing.operation = Some(next.operation);
                standing.object = next.object;
                standing.site = Some(next.site);
                standing.why = (!able).then(|| held.why(execution, next.operation, next.object));
            } else {
                at_the_end(trace, &mut standing, &held);
            }
            found.push(standing);
        }
        found
    }

    /// Who waits for what, and for whom, before a step: the wait-for graph.
    #[must_use]
    pub fn waits(&self, trace: &Trace, step: usize) -> Vec<WaitEdge> {
        let edge = |one: Standing| {
            let holder = match one.why? {
                Why::Held { holder, .. } => Some(holder),
                Why::NotEnded(task) | Why::Writer { writer: task, .. } => Some(task),
                _ => None,
            };
            Some(WaitEdge { task: one.task, object: one.object, holder, site: one.site })
        };
        self.standing(trace, step).into_iter().filter_map(edge).collect()
    }

    /// The tasks that were created and have not ended before a step, ascending.
    fn alive(&self, trace: &Trace, step: usize) -> Vec<TaskId> {
        // One that neither moves again nor could, and that the end does not know, has ended.
        let waits = |task: TaskId| {
            trace.failure.as_ref().is_some_and(|failure| {
                let mut stacks = failure.stacks.iter();
                stacks.any(|stack| stack.task == task && stack.state != TaskState::Exited)
            })
        };
        (0..self.tasks() as u16)
            .map(TaskId)
            .filter(|&task| {
                self.may_move(task, step)
                    || (self.is_created(task, step)
                        && (self.next_of(task, step).is_some() || waits(task)))
            })
            .collect()
    }
}

/// Whether a task waits at the end: what changed after the last step stands in no record.
fn is_blocked(trace: &Trace, task: TaskId, step: usize) -> bool {
    let at_end = step >= trace.execution.steps.len();
    if let Some(pending) = trace.execution.tasks.get(task.index()).and_then(|task| task.pending) {
        return at_end && pending.blocked;
    }
    let stacks = trace.failure.iter().flat_map(|failure| &failure.stacks);
    at_end
        && stacks
            .filter(|stack| stack.task == task)
            .any(|stack| matches!(stack.state, TaskState::Blocked(_)))
}

/// What is known of a task that does not move any more in this execution.
fn at_the_end(trace: &Trace, standing: &mut Standing, held: &Locks) {
    let pending = trace.execution.tasks.get(standing.task.index()).and_then(|task| task.pending);
    if let Some(pending) = pending {
        standing.operation = Some(pending.operation);
        standing.object = pending.object;
        standing.site = Some(pending.site);
        let why = || held.why(&trace.execution, pending.operation, pending.object);
        standing.why = (!standing.enabled).then(why);
        return;
    }
    let Some(failure) = &trace.failure else {
        standing.why = (!standing.enabled).then_some(Why::Unknown);
        return;
    };
    if let Some(wait) = failure.waits.iter().find(|wait| wait.task == standing.task) {
        standing.object = wait.object;
        standing.site = wait.site;
    }
    if standing.enabled {
        return;
    }
    let holder = standing.object.and_then(|object| held.holder(object).map(|at| (object, at)));
    standing.why = Some(match holder {
        Some((object, (holder, since))) => Why::Held { object, holder, since },
        None => {
            let stack = failure.stacks.iter().find(|stack| stack.task == standing.task);
            match stack.map(|stack| &stack.state) {
                Some(TaskState::Blocked(what)) => Why::Said(what.clone()),
                _ => Why::Unknown,
            }
        }
    });
}

pub(super) fn task_of(execution: &Execution, object: Option<u32>) -> Option<TaskId> {
    match execution.objects.get(object? as usize)?.place {
        Place::Task(task) => Some(task),
        _ => None,
    }
}

/// Who has which lock at a position, and since when.
#[derive(Debug, Clone)]
pub struct Locks {
    held: Vec<(u32, TaskId, usize)>,
    /// The writers that keep readers out of a read-write lock, and of which.
    writers: Vec<(u32, TaskId)>,
}

impl Locks {
    /// After the steps before `step`.
    #[must_use]
    pub fn before(execution: &Execution, step: usize) -> Locks {
        let mut holding = Holding::new(execution);
        (0..step).for_each(|at| holding.take(execution, at));
        holding.locks
    }

    /// Every lock that is held: the object, who has it, since which step.
    pub fn all(&self) -> impl Iterator<Item = (u32, TaskId, usize)> + '_ {
        self.held.iter().copied()
    }

    /// Who has an object (where several read, who has for longest), and since which step.
    #[must_use]
    pub fn holder(&self, object: u32) -> Option<(TaskId, usize)> {
        self.held.iter().find(|lock| lock.0 == object).map(|&(_, task, since)| (task, since))
    }

    fn why(&self, execution: &Execution, operation: Operation, object: Option<u32>) -> Why {
        use Operation as O;
        let Some(object) = object else { return Why::Unknown };
        let waiting = self.writers.iter().find(|writer| writer.0 == object);
        if let (O::ReadLock, Some(&(_, writer))) = (operation, waiting) {
            return Why::Writer { object, writer };
        }
        if let Some((holder, since)) = self.holder(object) {
            return Why::Held { object, holder, since };
        }
        match operation {
            O::Join => task_of(execution, Some(object)).map_or(Why::Unknown, Why::NotEnded),
            O::BarrierPass => Why::NotAllCame(object),
            O::Wake | O::TimedWake | O::SpuriousWake | O::FutexWoken => Why::NotWoken(object),
            O::SemWait | O::SemTimedWait => Why::Empty(object),
            _ => Why::Unknown,
        }
    }
}

/// Who has what, kept up to date step by step.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    mutexes: Held,
    pub(super) locks: Locks,
}

impl Holding {
    /// Before the first step.
    pub(super) fn new(execution: &Execution) -> Holding {
        let tasks = execution.steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        Holding {
            mutexes: Held::new(tasks.max(execution.tasks.len())),
            locks: Locks { held: Vec::new(), writers: Vec::new() },
        }
    }

    /// Takes up a step.
    pub(super) fn take(&mut self, execution: &Execution, at: usize) {
        let done = &execution.steps[at];
        let Locks { held, writers } = &mut self.locks;
        self.mutexes.accesses(execution, done);
        match (done.operation, done.object) {
            (Operation::WriteLock, Some(object)) if done.value != 0 => {
                writers.push((object, done.task));
            }
            (Operation::WriteWake, _) => writers.retain(|&(_, task)| task != done.task),
            _ => {}
        }
        if done.operation == Operation::Wait {
            // It gives its mutex up until it is woken. Which of several, the step does not say;
            // nearly always there is one.
            held.retain(|&(_, task, _)| task != done.task);
            return;
        }
        let before = |object: u32| held.iter().any(|lock| (lock.0, lock.1) == (object, done.task));
        let gained: Vec<u32> =
            self.mutexes.of(done.task).filter(|&object| !before(object)).collect();
        let has = |object: u32| self.mutexes.of(done.task).any(|mutex| mutex == object);
        held.retain(|&(object, task, _)| task != done.task || has(object));
        held.extend(gained.into_iter().map(|object| (object, done.task, at)));
    }
}

/// A reason with what it needs to be read.
#[derive(Debug, Clone, Copy)]
pub struct Reason<'a>(pub &'a Why, pub &'a Execution);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |object: u32| match self.1.objects.get(object as usize) {
            Some(object) => object.name.as_str(),
            None => "something",
        };
        match self.0 {
            Why::Held { object, holder, since } => {
                write!(f, "{} is held by {holder} since step {}", name(*object), since + 1)
            }
            Why::NotEnded(task) => write!(f, "{task} has not ended"),
            Why::NotWoken(object) => write!(f, "nobody has woken it from {}", name(*object)),
            Why::Empty(object) => write!(f, "{} is at 0", name(*object)),
            Why::NotAllCame(object) => write!(f, "not all have come to {}", name(*object)),
            Why::Writer { object, writer } => {
                write!(f, "{} is wanted by {writer}, a writer, which goes first", name(*object))
            }
            Why::Said(what) => write!(f, "waits: {what}"),
            Why::Unknown => f.write_str("it waits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{EnabledChange, Object, ObjectKind, Step, TaskRecord};

    /// T1 and T2 each lock a mutex (object 0); T0 (objects 1 and 2 are the tasks) joins T1.
    fn trace() -> Trace {
        use Operation::{Create, Join, Lock, Start, Unlock};
        let steps = [
            (0, Create, Some(1)), // 0
            (0, Create, Some(2)), // 1
            (1, Start, None),     // 2
            (1, Lock, Some(0)),   // 3
            (2, Start, None),     // 4
            (1, Unlock, Some(0)), // 5
            (2, Lock, Some(0)),   // 6
            (2, Unlock, Some(0)), // 7
            (0, Join, Some(1)),   // 8
        ];
        let change = |step, task, enabled| EnabledChange { step, task: TaskId(task), enabled };
        let object = |kind, place, name: &str| Object { kind, place, name: name.into() };
        Trace {
            execution: Execution {
                tasks: vec![TaskRecord::default(); 3],
                objects: vec![
                    object(ObjectKind::Mutex, Place::Other(0), "m"),
                    object(ObjectKind::Task, Place::Task(TaskId(1)), "T1"),
                    object(ObjectKind::Task, Place::Task(TaskId(2)), "T2"),
                ],
                steps: steps
                    .into_iter()
                    .map(|(task, operation, object)| Step {
                        task: TaskId(task),
                        operation,
                        object,
                        site: Site { module: 0, offset: 1 },
                        value: 0,
                    })
                    .collect(),
                enabled: vec![
                    change(0, 0, true),
                    change(1, 1, true),
                    change(2, 2, true),
                    change(2, 0, false),
                    change(5, 2, false),
                    change(6, 2, true),
                    change(6, 1, false),
                    change(6, 0, true),
                ],
                ..Default::default()
            },
            ..Default::default()
        }
    }

    fn told(trace: &Trace, step: usize) -> Vec<String> {
        standing(trace, step)
            .iter()
            .map(|one| {
                let operation = one.operation.map_or("-", Operation::name);
                let why = match &one.why {
                    Some(why) => Reason(why, &trace.execution).to_string(),
                    None => "may move".into(),
                };
                format!("{} {operation}: {why}", one.task)
            })
            .collect()
    }

    #[test]
    fn who_may_move_and_why_the_others_may_not() {
        let trace = trace();
        assert_eq!(told(&trace, 0), ["T0 create: may move"]);
        assert_eq!(
            told(&trace, 2),
            ["T0 join: T1 has not ended", "T1 start: may move", "T2 start: may move"]
        );
        assert_eq!(
            told(&trace, 5),
            [
                "T0 join: T1 has not ended",
                "T1 unlock: may move",
                "T2 lock: m is held by T1 since step 4"
            ]
        );
        assert_eq!(told(&trace, 6), ["T0 join: may move", "T2 lock: may move"]);
    }

    #[test]
    fn who_waits_for_whom_is_known_at_every_step() {
        let trace = trace();
        let positions = Positions::of(&trace);
        let edges = |step| {
            let waits = positions.waits(&trace, step);
            waits
                .into_iter()
                .map(|wait| (wait.task.0, wait.holder.map(|t| t.0)))
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(0), []);
        assert_eq!(edges(2), [(0, Some(1))]);
        assert_eq!(edges(5), [(0, Some(1)), (2, Some(1))]);
        assert_eq!(edges(6), []);
    }

    #[test]
    fn locks_are_those_held_at_the_moment() {
        let trace = trace();
        let at = |step| Locks::before(&trace.execution, step).holder(0);
        assert_eq!(
            [at(3), at(4), at(6), at(7)],
            [None, Some((TaskId(1), 3)), None, Some((TaskId(2), 6))]
        );
    }
}
