//! Fits a schedule to a program that was rebuilt. Addresses and lines have changed, so the choices
//! are determined again from the operations and the names of objects.
//!
//! A schedule is a sequence of stretches of one task each. The end of a stretch is identified by
//! the operation, the name of its object and the number of times the task has executed it; the
//! stretch is run in the new program up to that point.

use crate::Error;
use crate::control::beginning::first_choices;
use crate::control::runner::{RunOutcome, Runner};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use traces::{Choice, Execution, ObjectLocation, Operation, Step, TaskId, Trace};

/// Longer schedules are not fitted: each stretch takes one run.
const MOST: usize = 300;

/// The result of fitting a schedule.
#[derive(Debug)]
pub enum Realigned {
    /// The schedule fits; the execution of the new program.
    Fits(Box<Trace>),
    /// The new program behaves differently.
    Not {
        /// The number of stretches that fit,
        fitted: usize,
        /// of this many.
        of: usize,
    },
}

/// Identifies the end of a stretch.
type End = (Operation, String, u32);

/// Fits the schedule of an execution to the program of `runner`, and runs it.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn realign(
    runner: &Runner,
    old: &Execution,
    interrupt: &AtomicBool,
) -> Result<Realigned, Error> {
    let stretches = stretches(old);
    let mut choices: Vec<Choice> = Vec::new();
    let mut latest = None;
    let of = stretches.len();
    for (fitted, (task, end)) in stretches.into_iter().enumerate() {
        let mut attempt = choices.clone();
        attempt.push(Choice::Task(task));
        let RunOutcome::Ran(now) = runner.run(attempt, interrupt)? else {
            return Ok(Realigned::Not { fitted, of });
        };
        // By default the task continues as long as it is enabled; the stretch is a prefix of that.
        let from = choices.iter().filter(|choice| matches!(choice, Choice::Task(_))).count();
        let mut ends = Ends::default();
        let ended = now.execution.steps.iter().enumerate().find(|(at, step)| {
            ends.of(&now.execution, step) == end && step.task == task && *at >= from
        });
        let Some((at, _)) = ended.filter(|_| fitted < MOST) else {
            return Ok(Realigned::Not { fitted, of });
        };
        if now.execution.steps[from..=at].iter().any(|step| step.task != task) {
            return Ok(Realigned::Not { fitted, of });
        }
        choices = first_choices(&now.execution, at + 1);
        latest = Some(now);
    }
    // The default schedule follows the last stretch.
    let last = match latest {
        Some(now) => now,
        None => match runner.run(Vec::new(), interrupt)? {
            RunOutcome::Ran(now) => now,
            _ => return Ok(Realigned::Not { fitted: 0, of }),
        },
    };
    Ok(Realigned::Fits(last))
}

/// How often each task has executed each operation on each object.
#[derive(Debug, Default)]
struct Ends(HashMap<(TaskId, Operation, String), u32>);

impl Ends {
    fn of(&mut self, execution: &Execution, step: &Step) -> End {
        let object = step.object.and_then(|object| execution.objects.get(object as usize));
        // A local variable has a name only while its function runs.
        let name = object.map(|object| match object.place {
            ObjectLocation::Stack { task, below } => format!("{task} {below:x}"),
            _ => object.name.clone(),
        });
        let name = name.unwrap_or_default();
        let count = self.0.entry((step.task, step.operation, name.clone())).or_default();
        *count += 1;
        (step.operation, name, *count)
    }
}

/// The stretches of an execution: the task, and the end of the stretch.
fn stretches(execution: &Execution) -> Vec<(TaskId, End)> {
    let mut ends = Ends::default();
    let mut found: Vec<(TaskId, End)> = Vec::new();
    for step in &execution.steps {
        let end = ends.of(execution, step);
        match found.last_mut() {
            Some((task, last)) if *task == step.task => *last = end,
            _ => found.push((step.task, end)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Object, ObjectKind, ObjectLocation, Site};

    #[test]
    fn a_stretch_ends_at_a_counted_operation_on_a_named_object() {
        let step = |task: u16, operation| Step {
            task: TaskId(task),
            operation,
            object: Some(0),
            site: Site { module: 0, offset: 0 },
            value: 0,
        };
        let (lock, unlock) = (Operation::Lock, Operation::Unlock);
        let execution = Execution {
            objects: vec![Object {
                kind: ObjectKind::Mutex,
                place: ObjectLocation::Other(0),
                name: "m".into(),
            }],
            steps: vec![
                step(1, lock),
                step(1, unlock),
                step(2, lock),
                step(2, unlock),
                step(1, lock),
                step(1, unlock),
            ],
            ..Default::default()
        };
        let end = |count| (unlock, "m".to_owned(), count);
        assert_eq!(
            stretches(&execution),
            [(TaskId(1), end(1)), (TaskId(2), end(1)), (TaskId(1), end(2))]
        );
        assert_eq!(first_choices(&execution, 2).len(), 2);
    }
}
