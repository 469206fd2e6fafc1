use super::*;
use crate::time::candidates::Candidate;
use crate::time::moment::{READING, SECOND};

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
fn clocks_join_where_operations_depend_on_each_other() {
    let mut clocks = Clocks::default();
    clocks.begin(Moment::default());
    let (one, other) = (TaskId(1), TaskId(2));
    clocks.create(TaskId::MAIN, one, true);
    clocks.create(TaskId::MAIN, other, false);
    clocks.raise(one, SECOND, false);
    let event =
        |task, operation, object| Event::new(&PendingOperation::new(task, operation, object, 0), 0);
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
    let at = |clocks: &mut Clocks, next: &PendingOperation| Candidate::new(clocks, next, None).at;
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
