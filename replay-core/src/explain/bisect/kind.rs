//! Classifies the bug, if its pattern is clear. Pure.
//!
//! The kinds are those of Lu et al., "Learning from Mistakes: A Comprehensive Study on Real World
//! Concurrency Bug Characteristics", 2008, with deadlocks divided by their cause.

use super::cause::{Cause, Event, Shape};
use super::experiment::Bisected;
use crate::explain::lock_cycle::lock_cycle;
use std::fmt;
use traces::{Failure, FailureKind, ObjectKind, Operation, Trace, WaitEdge};

/// A kind of bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Another task interrupted operations that must be atomic.
    Atomicity,
    /// An operation relies on another one coming first, but no synchronization enforces it.
    Order,
    /// Locks are acquired in orders that form a cycle.
    LockOrder,
    /// A task waits for a lock that it holds.
    SelfDeadlock,
    /// A wake-up came before the task waited.
    LostWakeup,
    /// The code does not handle a spurious wake-up.
    SpuriousWakeup,
    /// A woken task found that another task had consumed what it waited for.
    StolenWakeup,
    /// An object was published before it was initialised.
    Publication,
    /// A value was equal, but had been changed and changed back.
    Aba,
    /// Tasks keep running without progress.
    Livelock,
    /// Every schedule fails: the failure does not depend on the schedule.
    Always,
    /// None of many schedules passes: the failure may not depend on the schedule.
    NonePasses,
    /// No pattern applies clearly.
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
            Kind::Always => "independent of the schedule",
            Kind::NonePasses => "probably independent of the schedule",
            Kind::NotClassified => "not classified",
        })
    }
}

impl Kind {
    /// An explanation of one sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Atomicity => "another thread interrupted operations that must be atomic",
            Kind::Order => {
                "one thread relies on another coming first, and no synchronization enforces it"
            }
            Kind::LockOrder => "threads acquire locks in orders that form a cycle",
            Kind::SelfDeadlock => "a thread waits for a lock that it holds",
            Kind::LostWakeup => {
                "the wake-up came before the thread waited, and no other wake-up follows"
            }
            Kind::SpuriousWakeup => {
                "a wait returned without a wake-up, and the code did not check its condition again"
            }
            Kind::StolenWakeup => {
                "a thread was woken, but another thread had already consumed what it waited for"
            }
            Kind::Publication => "an object was published before it was initialised",
            Kind::Aba => {
                "a value was equal to the expected one, but had been changed and changed \
                          back"
            }
            Kind::Livelock => "the threads keep running without progress",
            Kind::Always => "every schedule of the program was run, and all of them fail",
            Kind::NonePasses => "none of the schedules that were run passes, including random ones",
            Kind::NotClassified => "the failure matches no known pattern",
        }
    }
}

/// The kind of bug behind a failing trace, given the result of its bisection.
#[must_use]
pub fn classify(trace: &Trace, bisected: Option<&Bisected>) -> Kind {
    let Some(failure) = &trace.failure else { return Kind::NotClassified };
    match failure.kind {
        FailureKind::Satisfied => return Kind::NotClassified,
        FailureKind::SelfDeadlock => return Kind::SelfDeadlock,
        FailureKind::Livelock => return Kind::Livelock,
        FailureKind::Deadlock if lock_cycle(trace, failure).is_some() => return Kind::LockOrder,
        FailureKind::Deadlock if lost_wakeup(trace, failure) => return Kind::LostWakeup,
        _ => {}
    }
    // A spurious wake-up that does not matter would have been removed from the smallest schedule.
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
        // A single order, or a stretch between two events, is a clear pattern even if other orders
        // fail too.
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

/// This many failing runs without a passing one are worth reporting.
const MANY: usize = 100;

fn of_cause(trace: &Trace, failure: &Failure, cause: &Cause) -> Kind {
    match cause.shape {
        Shape::Between { inner, outer } if is_aba(trace, inner, outer) => Kind::Aba,
        Shape::Between { inner, outer } if is_publication(trace, inner, outer, cause.guarded) => {
            Kind::Publication
        }
        // A wake-up came too early, or the wait began too late.
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

/// Whether a task waits for a wake-up.
fn waits_for_news(trace: &Trace, failure: &Failure) -> bool {
    let kind = |wait: &WaitEdge| kind_of(trace, wait.object);
    let is_signalled = |kind| matches!(kind, Some(ObjectKind::Condition | ObjectKind::Semaphore));
    failure.waits.iter().any(|wait| is_signalled(kind(wait)))
}

/// Whether the failing task's last step was a return from a wait, and the cause is that another
/// task came first: that task consumed what the wake-up was for.
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

/// Whether a task waits for a wake-up, and the last wake-up came before its wait began.
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

/// No object has an address below this.
const LEAST_POINTER: u64 = 1 << 16;

/// A task reads a word, other tasks change it and change it back, and the first task's
/// compare-and-exchange succeeds because the value is equal. The task may read something else in between,
/// to which the word points.
fn is_aba(trace: &Trace, inner: (Event, Event), outer: (Event, Event)) -> bool {
    let word = outer.1.object;
    let (Some(last), Some(exchange)) = (inner.1.step, outer.1.step) else { return false };
    let steps = &trace.execution.steps;
    let is_own = |at: &usize| steps[*at].task == outer.1.task;
    let before = |at: usize| (0..at).rev().filter(|&at| steps[at].object == word);
    let Some(read) = before(exchange).find(is_own) else { return false };
    let changes: Vec<usize> = before(exchange)
        .take_while(|at| *at > read)
        .filter(|at| steps[*at].operation.is_write())
        .collect();
    kind_of(trace, word) == Some(ObjectKind::Memory)
        && outer.1.operation == Operation::Update
        && changes.len() > 1
        && changes[0] == last
        && steps[last].value == steps[read].value
}

/// A task writes one word and then another; in between, another task reads the first word, trusts
/// it and reads the second. It trusts the first word if it waited for it, uses it as a pointer, or
/// continues only because of its value (`guarded`).
fn is_publication(
    trace: &Trace,
    inner: (Event, Event),
    outer: (Event, Event),
    guarded: bool,
) -> bool {
    let memory = |event: Event| kind_of(trace, event.object) == Some(ObjectKind::Memory);
    // A sequentially consistent store is compiled to an exchange.
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

/// Whether the early read was preceded by a wait: its task was in a spin loop until another word
/// changed, and the task that changed that word had not yet written this one.
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
    use traces::{Execution, Object, ObjectLocation, Site, Step, TaskId};

    fn object(kind: ObjectKind) -> Object {
        Object { kind, place: ObjectLocation::Other(0), name: "x".into() }
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
    fn deadlocks_are_classified_by_the_objects_of_their_cycle() {
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
    fn aba_and_early_publication_are_recognised() {
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
        let through = trace(
            &memory,
            &[
                step(1, Read, 0, 7),
                step(1, Read, 1, 5),
                step(2, Update, 0, 8),
                step(2, Write, 1, 6),
                step(2, Update, 0, 7),
                step(1, Update, 0, 7),
            ],
            &[],
        );
        let of = |at, number| event(&through, at, number);
        assert!(is_aba(&through, (of(3, 2), of(4, 3)), (of(1, 2), of(5, 3))));
        assert!(!is_aba(&through, (of(2, 1), of(3, 2)), (of(1, 2), of(5, 3))));
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
