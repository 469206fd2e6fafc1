//! Repeats an execution with more scheduling points than it was recorded with, such as those of a
//! predicate: arrivals at its sites, departures from them, and accesses to what it reads.
//!
//! The additional points are steps of the same task between two steps of the recorded execution. So
//! the recorded steps are found again one after the other: where the default schedule runs another
//! task than the recording, the recorded one is chosen, and the program runs again.

use super::program::Runner;
use crate::control::beginning::first_choices;
use crate::control::command::{Outcome, record_again};
use crate::{Error, SearchOptions};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use traces::{Choice, Execution, Operation, Site, Step, Trace};

/// The most runs for one execution. Each switch that the default schedule does not make takes one.
const MOST_RUNS: u64 = 300;

/// An execution with more scheduling points.
pub(super) struct Refined {
    /// The execution. It follows the recorded one as far as that fits, and then the default schedule.
    pub(super) trace: Trace,
    /// For each number of steps of the recorded execution, from 0 on, after how many steps of this one
    /// they are done.
    pub(super) steps: Vec<usize>,
    /// How many executions were run.
    pub(super) runs: u64,
}

/// Repeats an execution with the scheduling points of these options; none if it was interrupted, or no
/// run could be recorded.
pub(super) fn refined(
    runner: &Runner,
    options: &SearchOptions,
    recorded: &Execution,
    interrupt: &AtomicBool,
) -> Result<Option<Refined>, Error> {
    let known: HashSet<(Site, Operation)> =
        recorded.steps.iter().map(|step| (step.site, step.operation)).collect();
    let mut best: Option<Refined> = None;
    let mut choices = Vec::new();
    for run in 1..=MOST_RUNS {
        let again = record_again(&runner.target, choices, options, interrupt)?;
        let Outcome::Recorded(trace) = again else { break };
        let (steps, next) = found_again(recorded, &known, &trace.execution);
        if best.as_ref().is_some_and(|best| steps.len() <= best.steps.len()) {
            break;
        }
        best = Some(Refined { trace: *trace, steps, runs: run });
        match next {
            Some(next) => choices = next,
            None => break,
        }
    }
    Ok(best)
}

/// For each number of recorded steps, how many steps of the other execution they are; and the choices
/// that repeat one more, if the two differ.
fn found_again(
    recorded: &Execution,
    known: &HashSet<(Site, Operation)>,
    now: &Execution,
) -> (Vec<usize>, Option<Vec<Choice>>) {
    let mut steps = vec![0];
    let mut at = 0;
    for (number, wanted) in recorded.steps.iter().enumerate() {
        if is_at_site(wanted) {
            // The sites of an earlier search.
            steps.push(at);
            continue;
        }
        let is_added = |step: &Step| {
            step.task == wanted.task
                && (is_at_site(step) || !known.contains(&(step.site, step.operation)))
        };
        let added = now.steps[at..].iter().take_while(|step| is_added(step)).count();
        let here = at + added;
        let Some(step) = now.steps.get(here) else { return (steps, None) };
        let data = |execution: &Execution, step: usize| -> Vec<Choice> {
            let made = execution.data.iter().filter(|choice| choice.step == step as u64);
            made.map(|choice| Choice::Data { taken: choice.taken, of: choice.of }).collect()
        };
        let is_it =
            (step.task, step.operation, step.site) == (wanted.task, wanted.operation, wanted.site);
        let chosen = data(recorded, number);
        if is_it && data(now, here) == chosen {
            at = here + 1;
            steps.push(at);
            continue;
        }
        // The task itself does something else: the execution cannot be repeated further.
        if step.task == wanted.task && !is_it {
            return (steps, None);
        }
        let mut choices = first_choices(now, here);
        choices.push(Choice::Task(wanted.task));
        choices.extend(chosen.into_iter().filter(|_| is_it));
        return (steps, Some(choices));
    }
    (steps, None)
}

fn is_at_site(step: &Step) -> bool {
    matches!(step.operation, Operation::Site | Operation::Depart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;

    fn execution(steps: &[(u16, Operation, u64)]) -> Execution {
        let step = |&(task, operation, offset): &(u16, Operation, u64)| Step {
            task: TaskId(task),
            operation,
            object: None,
            site: Site { module: 0, offset },
            value: 0,
        };
        Execution { steps: steps.iter().map(step).collect(), ..Execution::default() }
    }

    fn again(recorded: &Execution, now: &Execution) -> (Vec<usize>, Option<Vec<Choice>>) {
        let known = recorded.steps.iter().map(|step| (step.site, step.operation)).collect();
        found_again(recorded, &known, now)
    }

    #[test]
    fn additional_points_lie_between_the_recorded_steps() {
        use Operation::{Depart, Lock, Site, Unlock, Write};
        let recorded = execution(&[(1, Lock, 1), (1, Unlock, 2), (2, Lock, 1)]);
        let now = execution(&[
            (1, Lock, 1),
            (1, Site, 9),
            (1, Depart, 9),
            (1, Write, 8),
            (1, Unlock, 2),
            (2, Lock, 1),
        ]);
        assert_eq!(again(&recorded, &now), (vec![0, 1, 5, 6], None));
        assert_eq!(again(&now, &now).0.len(), 7, "an execution repeats itself");
    }

    #[test]
    fn a_task_that_the_default_schedule_does_not_run_is_chosen() {
        use Operation::{Depart, Lock, Site, Unlock};
        let recorded = execution(&[(1, Lock, 1), (2, Lock, 1), (1, Unlock, 2)]);
        let now = execution(&[(1, Lock, 1), (1, Site, 9), (1, Depart, 9), (1, Unlock, 2)]);
        let task = |number| Choice::Task(TaskId(number));
        let (steps, next) = again(&recorded, &now);
        assert_eq!((steps, next), (vec![0, 1], Some(vec![task(1), task(2)])));
    }

    #[test]
    fn another_operation_of_the_same_task_ends_the_comparison() {
        use Operation::{Lock, Unlock};
        let recorded = execution(&[(1, Lock, 1), (1, Unlock, 2), (1, Lock, 3)]);
        let now = execution(&[(1, Lock, 1), (1, Lock, 3)]);
        assert_eq!(again(&recorded, &now), (vec![0, 1], None));
    }
}
