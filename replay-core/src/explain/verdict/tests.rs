//! Verdicts on executions made by hand.

use super::*;
use crate::bisect::{Bisected, Cause, Event, Evidence, Order, Shape};
use crate::lock_cycle::Hold;
use traces::execution::Pending;
use traces::{
    EnabledChange, Execution, Failure, FailureKind, HistoryEvent, Object, ObjectKind,
    ObjectLocation, Operation, Site, Step, TaskId, TaskRecord, Trace, WaitEdge,
};

use Operation::{Create, Lock, Read, Signal, Unlock, Update, Wait, Write};

/// An execution with these objects, steps of (task, operation, object, value) and failure. Every
/// task is enabled throughout.
fn trace(kinds: &[ObjectKind], steps: &[(u16, Operation, u32, u64)], failure: Failure) -> Trace {
    let object = |(at, &kind): (usize, &ObjectKind)| Object {
        kind,
        place: ObjectLocation::Other(at as u32),
        name: format!("o{at}"),
    };
    let site = |at: usize| Site { module: 0, offset: at as u64 + 1 };
    let step = |(at, &(task, operation, object, value)): (usize, &(u16, Operation, u32, u64))| {
        Step { task: TaskId(task), operation, object: Some(object), site: site(at), value }
    };
    let enabled = (0..4).map(|task| EnabledChange { step: 0, task: TaskId(task), enabled: true });
    Trace {
        execution: Execution {
            tasks: vec![TaskRecord::default(); 4],
            objects: kinds.iter().enumerate().map(object).collect(),
            steps: steps.iter().enumerate().map(step).collect(),
            enabled: enabled.collect(),
            ..Execution::default()
        },
        failure: Some(failure),
        ..Trace::default()
    }
}

fn failure(kind: FailureKind, task: Option<u16>, waits: &[(u16, u32, Option<u16>)]) -> Failure {
    let edge = |&(task, object, holder): &(u16, u32, Option<u16>)| WaitEdge {
        task: TaskId(task),
        object: Some(object),
        holder: holder.map(TaskId),
        site: None,
    };
    Failure {
        kind,
        signature: String::new(),
        message: String::new(),
        task: task.map(TaskId),
        site: None,
        place: String::new(),
        waits: waits.iter().map(edge).collect(),
        stacks: Vec::new(),
        past: Vec::new(),
    }
}

fn asserted(task: u16) -> Failure {
    failure(FailureKind::Assertion, Some(task), &[])
}

/// The pattern in short, with step numbers from 0.
fn short(trace: &Trace) -> String {
    let verdict = from_recording(trace).expect("it fails");
    let at = |moment: &Moment| moment.step.map_or("-".to_owned(), |step| step.to_string());
    let text = match &verdict.pattern {
        Pattern::LockCycle(holds) => {
            let hold = |hold: &Hold| format!("{}:{}>{}", hold.task, hold.holds, hold.waits);
            format!("cycle {}", holds.iter().map(hold).collect::<Vec<_>>().join(" "))
        }
        Pattern::OwnLock { since, .. } => format!("own {since:?}"),
        Pattern::LostWakeup { wakeup, .. } => {
            format!("lost {}", wakeup.as_ref().map_or("never".into(), at))
        }
        Pattern::Between { inner, outer } => format!(
            "{}-{} between {} and {}",
            at(&inner.0),
            at(&inner.1),
            at(&outer.0),
            at(&outer.1)
        ),
        Pattern::Orders(orders) => format!("{} before {}", at(&orders[0].0), at(&orders[0].1)),
        Pattern::LastWrite { read, write } => format!("{} read {}", at(read), at(write)),
        Pattern::Spins(moments) => format!("{} spin", moments.len()),
        other => format!("{other:?}"),
    };
    format!("{text}, decides {:?}", verdict.decisive_in(trace))
}

#[test]
fn patterns_are_recognised() {
    use ObjectKind::{Condition, Memory, Mutex, Task};
    let deadlock = |waits: &[(u16, u32, Option<u16>)]| failure(FailureKind::Deadlock, None, waits);
    let locks = [Mutex, Mutex, Task];
    let taken = [(1, Lock, 0, 0), (2, Lock, 1, 0)];
    let memory = [Memory, Memory];
    let table: &[(&str, Trace)] = &[
        (
            "cycle T1:0>1 T2:1>0, decides Some(1)",
            trace(&locks, &taken, deadlock(&[(1, 1, Some(2)), (2, 0, Some(1)), (0, 2, Some(1))])),
        ),
        ("own Some(0), decides Some(0)", trace(&locks, &taken, deadlock(&[(1, 0, Some(1))]))),
        // The signal comes before the wait.
        (
            "lost 0, decides Some(0)",
            trace(&[Condition], &[(0, Signal, 0, 0), (1, Wait, 0, 0)], deadlock(&[(1, 0, None)])),
        ),
        (
            "lost never, decides Some(0)",
            trace(&[Condition], &[(1, Wait, 0, 0)], deadlock(&[(1, 0, None)])),
        ),
        // Another task was woken instead.
        (
            "Message, decides None",
            trace(&[Condition], &[(1, Wait, 0, 0), (0, Signal, 0, 0)], deadlock(&[(1, 0, None)])),
        ),
        // A lost update; main reads the result.
        (
            "2-2 between 1 and 3, decides Some(2)",
            trace(
                &memory,
                &[
                    (1, Read, 0, 0),
                    (2, Read, 0, 0),
                    (1, Write, 0, 1),
                    (2, Write, 0, 1),
                    (0, Read, 0, 1),
                ],
                asserted(0),
            ),
        ),
        // Check, then use.
        (
            "1-1 between 0 and 2, decides Some(1)",
            trace(&memory, &[(1, Read, 0, 9), (2, Write, 0, 0), (1, Read, 0, 0)], asserted(1)),
        ),
        // Two variables that belong together.
        (
            "1-2 between 0 and 3, decides Some(1)",
            trace(
                &memory,
                &[(1, Write, 0, 1), (2, Read, 0, 1), (2, Read, 1, 0), (1, Write, 1, 5)],
                asserted(2),
            ),
        ),
        // Used before it was set.
        (
            "0 before 1, decides Some(0)",
            trace(&memory, &[(1, Read, 0, 0), (2, Write, 0, 7)], asserted(1)),
        ),
        (
            "1 read 0, decides Some(0)",
            trace(&memory, &[(2, Write, 0, 7), (1, Read, 0, 7)], asserted(1)),
        ),
        // Accesses of one task alone explain nothing.
        (
            "Message, decides None",
            trace(&memory, &[(1, Write, 0, 7), (1, Read, 0, 7)], asserted(1)),
        ),
        ("Message, decides None", trace(&[Task], &[(0, Create, 0, 0)], asserted(0))),
        (
            "2 spin, decides Some(0)",
            trace(
                &memory,
                &[(1, Read, 0, 0), (2, Read, 1, 0)],
                failure(FailureKind::Livelock, None, &[]),
            ),
        ),
    ];
    for (expected, trace) in table {
        assert_eq!(short(trace), *expected);
    }
}

#[test]
fn critical_sections_stand_for_accesses_that_were_not_recorded() {
    let mutexes = [ObjectKind::Mutex; 2];
    let steps = [
        (1, Lock, 0, 0),
        (1, Unlock, 0, 0),
        (2, Lock, 0, 0),
        (2, Unlock, 0, 0),
        (2, Lock, 1, 0),
        (2, Unlock, 1, 0),
    ];
    let mut trace = trace(&mutexes, &steps, asserted(2));
    let site = Site { module: 0, offset: 9 };
    trace.execution.tasks[1].pending =
        Some(Pending { operation: Lock, object: Some(1), site, blocked: false });
    assert_eq!(short(&trace), "2-4 between 0 and -, decides Some(2)");
}

#[test]
fn the_past_of_a_block_decides() {
    let mut failure = failure(FailureKind::UseAfterFree, Some(1), &[]);
    let event = |what: &str, step| HistoryEvent {
        what: what.into(),
        task: TaskId(2),
        step,
        frames: Vec::new(),
        locks: Vec::new(),
    };
    failure.past = vec![event("allocated", 0), event("freed", 2)];
    let steps = [(2, Read, 0, 0), (2, Read, 0, 0), (1, Read, 0, 0)];
    let trace = trace(&[ObjectKind::Memory], &steps, failure);
    assert_eq!(short(&trace), "Past, decides Some(1)");
}

#[test]
fn a_bisection_replaces_a_guess_and_confirms_a_proof() {
    let memory = [ObjectKind::Memory; 2];
    let event = |task: u16, step: usize| Event {
        task: TaskId(task),
        number: 1,
        occurrence: 1,
        operation: Update,
        object: Some(1),
        site: Site { module: 0, offset: 1 },
        step: Some(step),
    };
    let bisected = |failing: Trace, evidence: Evidence, always: bool| Bisected {
        failing,
        passing: None,
        reversed: 0,
        cause: Some(Cause {
            orders: vec![Order { before: event(1, 0), after: event(2, 1) }],
            shape: Shape::Before,
            guarded: false,
        }),
        evidence,
        always,
    };
    let guess = || trace(&memory, &[(2, Write, 0, 7), (1, Read, 0, 7)], asserted(1));
    let enough = Evidence { with_failing: 3, without_passing: 5, ..Evidence::default() };
    let verdict = from_bisection(&bisected(guess(), enough, false)).expect("it fails");
    assert!(matches!(verdict.pattern, Pattern::Orders(_)), "{verdict:?}");
    assert_eq!(verdict.basis, Basis::Runs(enough));
    // Orders that runs do not support are no verdict.
    let weak = Evidence { with_failing: 3, ..Evidence::default() };
    let verdict = from_bisection(&bisected(guess(), weak, false)).expect("it fails");
    assert!(matches!(verdict.pattern, Pattern::LastWrite { .. }), "{verdict:?}");
    // If every schedule fails, no order is to blame.
    let verdict = from_bisection(&bisected(guess(), enough, true)).expect("it fails");
    assert_eq!((verdict.pattern, verdict.basis), (Pattern::Always, Basis::AllSchedules));
    let cycle = failure(FailureKind::Deadlock, None, &[(1, 1, Some(2)), (2, 0, Some(1))]);
    let proof = trace(&[ObjectKind::Mutex; 2], &[(1, Lock, 0, 0), (2, Lock, 1, 0)], cycle);
    let verdict = from_bisection(&bisected(proof, enough, false)).expect("it fails");
    assert!(matches!(verdict.pattern, Pattern::LockCycle(_)), "{verdict:?}");
}

#[test]
fn a_long_execution_is_judged_in_one_pass() {
    // Two tasks that take turns on one of many objects: linear work, or this would take minutes.
    let steps: Vec<(u16, Operation, u32, u64)> = (0..400_000)
        .map(|at: u64| {
            ((at % 2) as u16 + 1, if at.is_multiple_of(3) { Write } else { Read }, 0, at)
        })
        .collect();
    let trace = trace(&[ObjectKind::Memory], &steps, asserted(1));
    let verdict = from_recording(&trace).expect("it fails");
    assert!(matches!(verdict.pattern, Pattern::Between { .. }), "{verdict:?}");
}
