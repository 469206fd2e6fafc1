//! Programs small enough to count their schedules by hand.

use super::super::program::{Call, MutexKind, Program, Statement};
use super::*;

fn calls(calls: &[Call]) -> Vec<Statement> {
    calls.iter().map(|&call| Statement::Call(call, None)).collect()
}

fn survey(program: &Program) -> Survey {
    let machine = Machine::new(program);
    let survey = enumerate(&machine, u64::MAX).unwrap();
    assert_eq!(reach(&machine).unwrap(), survey.outcomes);
    survey
}

const CREATE: [Call; 2] =
    [Call::Create { handle: 0, body: 1 }, Call::Create { handle: 1, body: 2 }];

#[test]
fn one_task_has_one_schedule() {
    let program =
        Program { bodies: vec![calls(&[Call::Yield, Call::Yield])], ..Default::default() };
    let survey = survey(&program);
    assert_eq!(survey.by_preemptions, [1]);
    // Two yields, exit, and the end.
    assert_eq!(survey.longest, 4);
}

#[test]
fn a_joined_task_interleaves_only_until_the_join() {
    // Create, join | start, post: main is blocked in between.
    let program = Program {
        semaphores: vec![0],
        handles: 1,
        bodies: vec![
            calls(&[Call::Create { handle: 0, body: 1 }, Call::Join { handle: 0 }]),
            calls(&[Call::SemPost(0)]),
        ],
        ..Default::default()
    };
    assert_eq!(survey(&program).by_preemptions, [1]);
}

#[test]
fn a_task_that_is_not_joined_may_be_cut_anywhere() {
    // Main's exit and end (E, X) against the task's start and post (s, p): the end comes after
    // none, one or both of the task's steps, 1 + 2 + 3 schedules. Switching away from main before
    // its exit costs one preemption, and so does switching away from the task between its steps.
    let program = Program {
        semaphores: vec![0],
        handles: 1,
        bodies: vec![calls(&[Call::Create { handle: 0, body: 1 }]), calls(&[Call::SemPost(0)])],
        ..Default::default()
    };
    let survey = survey(&program);
    assert_eq!(survey.schedules_within(None), 6);
    // E X, E s p X | E s X, s p E X | s E X, s E p X
    assert_eq!(survey.by_preemptions, [2, 2, 2]);
    assert_eq!(survey.cut_short, 3);
}

#[test]
fn two_locks_in_opposite_orders_can_deadlock() {
    let program = Program {
        mutexes: vec![MutexKind::Normal; 2],
        handles: 2,
        bodies: vec![
            calls(&[CREATE[0], CREATE[1], Call::Join { handle: 0 }, Call::Join { handle: 1 }]),
            calls(&[Call::Lock(0), Call::Lock(1), Call::Unlock(1), Call::Unlock(0)]),
            calls(&[Call::Lock(1), Call::Lock(0), Call::Unlock(0), Call::Unlock(1)]),
        ],
        ..Default::default()
    };
    let survey = survey(&program);
    let expected = [(Outcome::Exit(0), 0), (Outcome::Deadlock, 1)];
    assert_eq!(survey.outcomes, expected.into());
}

#[test]
fn a_signal_before_the_wait_is_lost() {
    let program = Program {
        mutexes: vec![MutexKind::Normal],
        conditions: 1,
        handles: 1,
        bodies: vec![
            calls(&[Call::Create { handle: 0, body: 1 }, Call::Join { handle: 0 }]),
            calls(&[
                Call::Lock(0),
                Call::Signal(0),
                Call::Wait { condition: 0, mutex: 0 },
                Call::Unlock(0),
            ]),
        ],
        ..Default::default()
    };
    let survey = survey(&program);
    assert_eq!(survey.outcomes, [(Outcome::Deadlock, 0)].into());
    assert_eq!(survey.lost_wakeups, 1);
}

#[test]
fn a_signal_with_two_waiters_is_a_data_choice() {
    let waits = calls(&[
        Call::Lock(0),
        Call::Wait { condition: 0, mutex: 0 },
        Call::Unlock(0),
        Call::SemWait(0),
    ]);
    let program = Program {
        mutexes: vec![MutexKind::Normal],
        conditions: 1,
        semaphores: vec![0],
        handles: 2,
        bodies: vec![
            calls(&[CREATE[0], CREATE[1], Call::Join { handle: 1 }]),
            waits.clone(),
            // The task created last waits, and no other task signals it.
            calls(&[Call::Signal(0)]),
        ],
        ..Default::default()
    };
    assert_eq!(survey(&program).with_data, 0);
    let program = Program {
        handles: 3,
        bodies: vec![
            calls(&[
                CREATE[0],
                Call::Create { handle: 1, body: 1 },
                Call::Create { handle: 2, body: 2 },
                Call::Join { handle: 2 },
            ]),
            waits,
            calls(&[Call::Signal(0)]),
        ],
        ..program
    };
    assert!(survey(&program).with_data > 0);
}

#[test]
fn relocking_blocks_counts_or_fails_depending_on_the_mutex() {
    for (kind, outcome) in [
        (MutexKind::Normal, Outcome::Deadlock),
        (MutexKind::Recursive, Outcome::Exit(0)),
        (MutexKind::ErrorChecking, Outcome::Exit(0)),
    ] {
        let relock = [Call::Lock(0), Call::Lock(0), Call::Unlock(0), Call::Unlock(0)];
        let program =
            Program { mutexes: vec![kind], bodies: vec![calls(&relock)], ..Default::default() };
        let survey = survey(&program);
        assert_eq!(survey.outcomes, [(outcome, 0)].into());
        assert_eq!(survey.with_refusal, u64::from(kind == MutexKind::ErrorChecking));
    }
}
