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
    let at = |clocks: &mut Clocks, next: &PendingOperation| {
        Candidate::new(clocks, (next.task, next.operation), None, || next).at
    };
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

/// What one task waits for was there since the timer expired after the task took it last; what other tasks take does
/// not matter. Several timers that expire in turn make it no later.
#[test]
fn what_was_taken_is_there_since_the_next_expiration() {
    use Operation as O;
    let (timer, further, reader) = (TaskId(1), TaskId(2), TaskId(3));
    let expire = |clocks: &mut Clocks, task, time: u64| {
        clocks.step(
            &Event::new(&PendingOperation::new(task, O::Timer, 0, 0), 0),
            Some(time * SECOND),
        );
    };
    let next = |operation, object| PendingOperation {
        writes: true,
        ..PendingOperation::new(reader, operation, object, 0)
    };
    for operation in [O::Ready, O::SignalWait, O::Handler] {
        let mut clocks = Clocks::default();
        clocks.begin(Moment::default());
        clocks.create(TaskId::MAIN, timer, true);
        for task in [further, reader, TaskId(4)] {
            clocks.create(TaskId::MAIN, task, false);
        }
        let wait = next(operation, 16);
        for time in [1, 2, 3] {
            expire(&mut clocks, timer, 2 * time - 1);
            expire(&mut clocks, further, 2 * time);
            assert_eq!(clocks.ready(&wait), 2 * SECOND, "{operation:?} after {time} times");
            // Another task takes something else.
            let other = PendingOperation { task: TaskId(4), ..next(O::Ready, 24) };
            clocks.step(&Event::new(&other, 0), None);
        }
        clocks.leave(reader, operation);
        clocks.step(&Event::new(&wait, 0), None);
        clocks.leave(reader, O::Read);
        clocks.step(&Event::new(&next(O::Read, 32), 1), None);
        assert_eq!(clocks.of(reader).clock, 6 * SECOND);
        for time in [9, 11] {
            expire(&mut clocks, timer, time);
            assert_eq!(clocks.ready(&wait), 9 * SECOND, "{operation:?} at {time} s");
        }
    }
}

/// What no task waits for any more after a timer was armed is no longer there; a timer that was disarmed could end
/// since then.
#[test]
fn nothing_is_there_of_a_timer_that_was_set() {
    use Operation as O;
    let (timer, reader) = (TaskId(1), TaskId(2));
    let mut clocks = Clocks::default();
    clocks.begin(Moment::default());
    clocks.create(TaskId::MAIN, timer, true);
    clocks.create(TaskId::MAIN, reader, false);
    let event = |task, operation| Event::new(&PendingOperation::new(task, operation, 0, 0), 0);
    clocks.step(&event(timer, O::Timer), Some(SECOND));
    clocks.raise(TaskId::MAIN, 2 * SECOND, false);
    clocks.step(&event(TaskId::MAIN, O::TimerSet), None);
    assert_eq!(clocks.ready(&PendingOperation::new(timer, O::Timer, 0, 0)), 2 * SECOND);
    clocks.step(&event(TaskId(3), O::Timer), Some(4 * SECOND));
    assert_eq!(clocks.ready(&PendingOperation::new(timer, O::Timer, 0, 0)), 2 * SECOND);
    let wait = PendingOperation::new(reader, O::SignalWait, 0, 0);
    assert_eq!(clocks.ready(&wait), 4 * SECOND);
}
