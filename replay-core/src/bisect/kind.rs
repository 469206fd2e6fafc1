//! What kind of bug it is, where the pattern is clear. Pure.
//!
//! The kinds are those of Lu et al., "Learning from Mistakes: A Comprehensive Study on Real World
//! Concurrency Bug Characteristics", 2008, with deadlocks told apart by what closes the circle.

use super::{Bisected, Cause, Event, Shape};
use std::fmt;
use traces::{Failure, FailureKind, ObjectKind, Operation, TaskId, Trace, WaitEdge};

/// A kind of bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What belongs together was separated by another task.
    Atomicity,
    /// Something was expected to come first, and nothing makes it.
    Order,
    /// Locks are taken in orders that close a circle.
    LockOrder,
    /// A task waits for a lock that it has itself.
    SelfDeadlock,
    /// A wake-up came before there was anybody to wake.
    LostWakeup,
    /// A wait came back with nobody waking it, and what it waited for was taken for granted.
    SpuriousWakeup,
    /// Who was woken found that another had come first.
    StolenWakeup,
    /// Something was published before it was ready.
    Publication,
    /// A value was the same again, and what it stood for was not.
    Aba,
    /// Tasks move for ever and get nowhere.
    Livelock,
    /// Every schedule fails: it is no question of the schedule.
    Always,
    /// Of many schedules, none passes: it may be no question of the schedule.
    NonePasses,
    /// None of these patterns is clear.
    NotClassified,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Atomicity => "atomicity violation",
            Kind::Order => "order violation",
            Kind::LockOrder => "lock-order deadlock",
            Kind::SelfDeadlock => "self-deadlock",
            Kind::LostWakeup => "lost wake-up",
            Kind::SpuriousWakeup => "spurious wake-up",
            Kind::StolenWakeup => "stolen wake-up",
            Kind::Publication => "race on publication",
            Kind::Aba => "ABA",
            Kind::Livelock => "livelock",
            Kind::Always => "no question of the schedule",
            Kind::NonePasses => "hardly a question of the schedule",
            Kind::NotClassified => "not classified",
        })
    }
}

impl Kind {
    /// What it means, in a sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Atomicity => "steps that belong together were separated by another thread",
            Kind::Order => "one thread relies on another having come first, and nothing makes it",
            Kind::LockOrder => "locks are taken in orders that close a circle of waiting",
            Kind::SelfDeadlock => "a thread waits for a lock that it has itself",
            Kind::LostWakeup => {
                "the wake-up came before there was anybody to wake, and none follows"
            }
            Kind::SpuriousWakeup => {
                "a wait came back with nobody waking it, and what it waited for was taken for granted"
            }
            Kind::StolenWakeup => {
                "a thread was woken, but another came first, and what it waited for is gone again"
            }
            Kind::Publication => "something was made visible to others before it was ready",
            Kind::Aba => "a value was the same again, but what it stands for had changed",
            Kind::Livelock => "the threads move for ever and get nowhere",
            Kind::Always => "every schedule of the program was run, and each of them fails",
            Kind::NonePasses => {
                "none of the schedules that were run passes, random ones among them"
            }
            Kind::NotClassified => "no known pattern is clear here",
        }
    }
}

/// The kind of the bug behind a failing trace, and of what was found out about it.
#[must_use]
pub fn classify(trace: &Trace, bisected: Option<&Bisected>) -> Kind {
    let Some(failure) = &trace.failure else { return Kind::NotClassified };
    match failure.kind {
        FailureKind::SelfDeadlock => return Kind::SelfDeadlock,
        FailureKind::Livelock => return Kind::Livelock,
        FailureKind::Deadlock if closes_over_locks(trace, failure) => return Kind::LockOrder,
        FailureKind::Deadlock if lost_wakeup(trace, failure) => return Kind::LostWakeup,
        _ => {}
    }
    // One that makes no difference makes the smallest schedule longer, and is not in it.
    if trace.execution.spurious().next().is_some() {
        return Kind::SpuriousWakeup;
    }
    let Some(bisected) = bisected else { return Kind::NotClassified };
    if bisected.always {
        return Kind::Always;
    }
    let evidence = &bisected.evidence;
    match &bisected.cause {
        Some(cause) if evidence.is_enough() && is_stolen(trace, failure, cause) => {
            Kind::StolenWakeup
        }
        Some(cause) if evidence.is_exact() => of_cause(trace, failure, cause),
        // One order, or that one came between two others, is a pattern even where others lead there.
        Some(cause)
            if evidence.is_enough()
                && (cause.shape != Shape::Before || cause.orders.len() == 1) =>
        {
            of_cause(trace, failure, cause)
        }
        None if bisected.passing.is_none() && evidence.without_failing >= MANY => Kind::NonePasses,
        _ => Kind::NotClassified,
    }
}

/// Where so many runs fail and none passes, that is worth saying.
const MANY: usize = 100;

fn of_cause(trace: &Trace, failure: &Failure, cause: &Cause) -> Kind {
    match cause.shape {
        Shape::Between { inner, outer } if is_aba(trace, inner, outer) => Kind::Aba,
        Shape::Between { inner, outer } if is_publication(trace, inner, outer, cause.guarded) => {
            Kind::Publication
        }
        // What a task waits for came too early, or its wait too late.
        Shape::Before
            if failure.kind == FailureKind::Deadlock && waits_for_news(trace, failure) =>
        {
            Kind::Order
        }
        _ if failure.kind == FailureKind::Deadlock => Kind::NotClassified,
        Shape::Before if is_awaited_in_vain(trace, cause) => Kind::Publication,
        Shape::Between { .. } | Shape::Overlap { .. } => Kind::Atomicity,
        Shape::Before => Kind::Order,
    }
}

fn kind_of(trace: &Trace, object: Option<u32>) -> Option<ObjectKind> {
    Some(trace.execution.objects.get(object? as usize)?.kind)
}

/// Whether a task waits to be told something.
fn waits_for_news(trace: &Trace, failure: &Failure) -> bool {
    let kind = |wait: &WaitEdge| kind_of(trace, wait.object);
    let told = |kind| matches!(kind, Some(ObjectKind::Condition | ObjectKind::Semaphore));
    failure.waits.iter().any(|wait| told(kind(wait)))
}

/// Whether the last that the failing task did was to come back from a wait, and what decides is that
/// another came before: it took what the wake-up was for.
fn is_stolen(trace: &Trace, failure: &Failure, cause: &Cause) -> bool {
    let steps = &trace.execution.steps;
    let Some(task) = failure.task.filter(|_| failure.waits.is_empty()) else { return false };
    let Some(last) = steps.iter().rposition(|step| step.task == task) else { return false };
    let wakes = |operation| matches!(operation, Operation::Signal | Operation::Broadcast);
    steps[last].operation == Operation::Wake
        && cause.orders.iter().any(|order| {
            order.after.step == Some(last)
                && order.before.task != task
                && !wakes(order.before.operation)
        })
}

/// Whether the waits are a circle of tasks each of which has the mutex that another waits for.
fn closes_over_locks(trace: &Trace, failure: &Failure) -> bool {
    let holder = |wait: &WaitEdge| match kind_of(trace, wait.object)? {
        ObjectKind::Mutex => wait.holder,
        ObjectKind::Futex => taker(trace, wait),
        _ => None,
    };
    let next = |task| holder(failure.waits.iter().find(|wait| wait.task == task)?);
    failure.waits.iter().any(|start| {
        let path = std::iter::successors(Some(start.task), |&task| next(task));
        path.skip(1).take(failure.waits.len()).any(|task| task == start.task)
    })
}

/// Who has the lock that a word is, if it is one as in Rust's standard library: 0 while nobody has it,
/// and whoever changes it from there does.
fn taker(trace: &Trace, wait: &WaitEdge) -> Option<TaskId> {
    let execution = &trace.execution;
    let word = execution.objects.get(wait.object? as usize)?;
    let is_word = |object: u32| {
        let object = &execution.objects[object as usize];
        object.kind == ObjectKind::Memory && object.place == word.place
    };
    let (mut value, mut holder) = (0, None);
    for step in execution.steps.iter().filter(|step| step.object.is_some_and(is_word)) {
        let exchanged = step.operation == Operation::Update;
        if exchanged && value == 0 && step.value != 0 {
            holder = Some(step.task);
        }
        if step.value == 0 {
            holder = None;
        }
        value = step.value;
    }
    holder.filter(|&holder| holder != wait.task)
}

/// Whether a task waits to be woken, and the last that could have woken it came before its wait.
fn lost_wakeup(trace: &Trace, failure: &Failure) -> bool {
    use Operation as O;
    let steps = &trace.execution.steps;
    failure.waits.iter().any(|wait| {
        let woken = matches!(
            kind_of(trace, wait.object),
            Some(ObjectKind::Condition | ObjectKind::Futex | ObjectKind::Semaphore)
        );
        let Some(began) = steps.iter().rposition(|step| step.task == wait.task) else {
            return false;
        };
        let wakes = |operation| matches!(operation, O::Signal | O::Broadcast | O::FutexWake);
        let mut of_object = steps.iter().enumerate().filter(|(_, step)| {
            step.object == wait.object && wakes(step.operation) && step.task != wait.task
        });
        woken && of_object.next_back().is_some_and(|(last, _)| last < began)
    })
}

fn value(trace: &Trace, event: Event) -> Option<u64> {
    Some(trace.execution.steps.get(event.step?)?.value)
}

/// Nothing lies below.
const LEAST_POINTER: u64 = 1 << 16;

/// One word: read by one, changed and changed back by another, then exchanged by the first since
/// it is as it was.
fn is_aba(trace: &Trace, inner: (Event, Event), outer: (Event, Event)) -> bool {
    let word = outer.0.object;
    let same = [inner.0, inner.1, outer.1].iter().all(|event| event.object == word);
    let memory = kind_of(trace, word) == Some(ObjectKind::Memory);
    let changes = |event: Event| event.operation.is_write();
    memory
        && same
        && inner.0.number < inner.1.number
        && changes(inner.0)
        && changes(inner.1)
        && outer.1.operation == Operation::Update
        && value(trace, outer.0).is_some()
        && value(trace, outer.0) == value(trace, inner.1)
}

/// One word is written, and another after it; in between another task reads it and then the second,
/// trusting the first: it was waiting for it, takes it for a pointer, or goes on only where it is
/// there (`guarded`).
fn is_publication(
    trace: &Trace,
    inner: (Event, Event),
    outer: (Event, Event),
    guarded: bool,
) -> bool {
    let memory = |event: Event| kind_of(trace, event.object) == Some(ObjectKind::Memory);
    // A store that is sequentially consistent is an exchange.
    let writes = |event: Event| {
        memory(event) && matches!(event.operation, Operation::Write | Operation::Update)
    };
    let reads = |event: Event| {
        memory(event) && matches!(event.operation, Operation::Read | Operation::Await)
    };
    let pointer = value(trace, inner.0).is_some_and(|value| value >= LEAST_POINTER);
    let trusted = guarded || inner.0.operation == Operation::Await || pointer;
    writes(outer.0)
        && writes(outer.1)
        && reads(inner.0)
        && reads(inner.1)
        && trusted
        && outer.0.object != outer.1.object
        && inner.0.object == outer.0.object
        && inner.1.object == outer.1.object
}

/// What was read too soon was waited for: before that, its reader went round a loop until another word
/// changed, and the task that changed it had yet to write this one.
fn is_awaited_in_vain(trace: &Trace, cause: &Cause) -> bool {
    let [order] = cause.orders.as_slice() else { return false };
    let (read, write) = (order.before, order.after);
    let memory = |object| kind_of(trace, object) == Some(ObjectKind::Memory);
    let Some(read_at) = read.step else { return false };
    if read.operation != Operation::Read
        || !matches!(write.operation, Operation::Write | Operation::Update)
        || !memory(read.object)
    {
        return false;
    }
    let before = &trace.execution.steps[..read_at];
    let awaited = before.iter().rposition(|step| {
        step.task == read.task && step.operation == Operation::Await && memory(step.object)
    });
    let Some(awaited) = awaited else { return false };
    let sign = before[awaited].object;
    let mut writes = before[..awaited].iter().rev();
    let shown = writes.find(|step| step.object == sign && step.operation.is_write());
    sign != read.object && shown.is_some_and(|step| step.task == write.task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Execution, Object, Place, Site, Step};

    fn object(kind: ObjectKind) -> Object {
        Object { kind, place: Place::Other(0), name: "x".into() }
    }

    fn step(task: u16, operation: Operation, object: u32, value: u64) -> Step {
        let site = Site { module: 0, offset: 1 };
        Step { task: TaskId(task), operation, object: Some(object), site, value }
    }

    fn trace(kinds: &[ObjectKind], steps: &[Step], waits: &[(u16, u32, Option<u16>)]) -> Trace {
        let kind = if waits.is_empty() { FailureKind::Assertion } else { FailureKind::Deadlock };
        Trace {
            execution: Execution {
                objects: kinds.iter().map(|&kind| object(kind)).collect(),
                steps: steps.to_vec(),
                ..Default::default()
            },
            failure: Some(Failure {
                kind,
                signature: String::new(),
                message: String::new(),
                task: None,
                site: None,
                place: String::new(),
                waits: waits
                    .iter()
                    .map(|&(task, object, holder)| WaitEdge {
                        task: TaskId(task),
                        object: Some(object),
                        holder: holder.map(TaskId),
                        site: None,
                    })
                    .collect(),
                past: Vec::new(),
                stacks: Vec::new(),
            }),
            ..Trace::default()
        }
    }

    fn event(trace: &Trace, at: usize, number: u32) -> Event {
        let Step { task, operation, object, site, .. } = trace.execution.steps[at];
        Event { task, number, occurrence: 1, operation, object, site, step: Some(at) }
    }

    #[test]
    fn deadlocks_are_told_apart_by_what_closes_the_circle() {
        use ObjectKind::{Condition, Mutex, Task};
        let circle = [(1, 0, Some(2)), (2, 1, Some(1))];
        assert_eq!(classify(&trace(&[Mutex, Mutex], &[], &circle), None), Kind::LockOrder);
        assert_eq!(classify(&trace(&[Mutex, Task], &[], &circle), None), Kind::NotClassified);
        let waits = [(1, 0, None)];
        let early = [step(2, Operation::Signal, 0, 0), step(1, Operation::Wait, 0, 0)];
        assert_eq!(classify(&trace(&[Condition], &early, &waits), None), Kind::LostWakeup);
        let late = [early[1], early[0]];
        assert_eq!(classify(&trace(&[Condition], &late, &waits), None), Kind::NotClassified);
    }

    #[test]
    fn a_value_that_came_back_and_one_that_came_too_soon() {
        use Operation::{Await, Read, Update, Write};
        let memory = [ObjectKind::Memory; 2];
        let back = trace(
            &memory,
            &[
                step(1, Read, 0, 7),
                step(2, Write, 0, 8),
                step(2, Write, 0, 7),
                step(1, Update, 0, 7),
            ],
            &[],
        );
        let of = |at, number| event(&back, at, number);
        assert!(is_aba(&back, (of(1, 1), of(2, 2)), (of(0, 1), of(3, 2))));
        assert!(!is_aba(&back, (of(1, 1), of(1, 1)), (of(0, 1), of(3, 2))));
        let soon = trace(
            &memory,
            &[
                step(1, Write, 0, 1),
                step(2, Await, 0, 1),
                step(2, Read, 1, 0),
                step(1, Write, 1, 5),
            ],
            &[],
        );
        let of = |at, number| event(&soon, at, number);
        let outer = (of(0, 1), of(3, 2));
        assert!(is_publication(&soon, (of(1, 1), of(2, 2)), outer, false));
        assert!(!is_publication(&soon, (of(2, 2), of(1, 1)), outer, false));
    }
}
