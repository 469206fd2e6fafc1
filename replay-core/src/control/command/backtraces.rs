//! The output of a recorded execution as the user asked for it: with Rust's backtraces.
//!
//! Printing a backtrace takes a panic a tenth of a second and many steps: it reads files, and it takes
//! locks. So executions are searched, recorded and compared without backtraces. One more execution of
//! the same schedule prints them, and only its output is shown.

use super::execution::{Outcome, record_again, run_single, single_job};
use super::replay::{plan, to_repeat};
use crate::Target;
use crate::control::environment_use;
use crate::launch::process::BACKTRACE;
use std::sync::atomic::AtomicBool;
use traces::wire::Job;
use traces::{Choice, Trace};

/// Replaces the output of a recorded execution by that of the same schedule with backtraces, if the
/// user's environment asks for them. If that execution does not end in the same way, the output stays
/// as it is.
pub fn print_backtraces(trace: &mut Trace, target: &Target, interrupt: &AtomicBool) {
    let prints = target.asks_for_backtraces()
        && environment_use::may_read(BACKTRACE, &trace.execution.modules);
    if !prints || trace.execution.steps.is_empty() {
        return;
    }
    let options = &to_repeat(trace);
    let target = Target { prints_backtraces: true, ..target.clone() };
    let job = Job { plan: plan(trace), ..single_job(options) };
    let step = match run_single(&target, job, options, interrupt) {
        // It printed none.
        Ok(Outcome::Recorded(now)) => return take_output(trace, *now),
        Ok(Outcome::Diverged { step, .. }) => step,
        _ => return,
    };
    // The first step that differs belongs to a backtrace. From there on the task that prints it runs, and
    // no other task is preempted either: the choices after it were for other steps.
    let choices = choices_before(trace, step);
    if let Ok(Outcome::Recorded(now)) = record_again(&target, choices, options, interrupt) {
        take_output(trace, *now);
    }
}

/// The schedule up to a step.
fn choices_before(trace: &Trace, step: u64) -> Vec<Choice> {
    let mut steps = 0;
    let is_before = |choice: &Choice| {
        steps += u64::from(matches!(choice, Choice::Task(_)));
        steps <= step
    };
    trace.execution.choices().take_while(is_before).collect()
}

/// Takes over the output of an execution that ended in the same way.
fn take_output(trace: &mut Trace, now: Trace) {
    // A verbose backtrace hides the line of the panic from the stacks, so places are not compared.
    let end = |trace: &Trace| trace.failure.as_ref().map(|failure| (failure.kind, failure.task));
    if end(trace) == end(&now) {
        trace.output = now.output;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::execution::DataChoice;
    use traces::{Operation, Site, Step, TaskId};

    #[test]
    fn a_schedule_is_followed_up_to_a_step() {
        let step = |task| Step {
            task: TaskId(task),
            operation: Operation::Update,
            object: None,
            site: Site { module: 0, offset: 0 },
            value: 0,
        };
        let mut trace = Trace::default();
        trace.execution.steps = vec![step(0), step(1), step(2)];
        trace.execution.data = vec![DataChoice { step: 1, taken: 0, of: 2 }];
        let task = |number| Choice::Task(TaskId(number));
        assert_eq!(choices_before(&trace, 0), []);
        assert_eq!(choices_before(&trace, 1), [task(0)]);
        let two = [task(0), task(1), Choice::Data { taken: 0, of: 2 }];
        assert_eq!(choices_before(&trace, 2), two);
    }
}
