//! A schedule of a program that was rebuilt since: addresses and lines are others now, so its
//! choices are found anew, by what the tasks do to what.
//!
//! A schedule is what each task does in one go before another takes over. Where such a stretch ends
//! is known by the operation, the name of its object, and how often the task had done that by then;
//! so the same stretch is run in the new program until that same point.

use crate::Error;
use crate::walk::{Walk, Walked};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use traces::{Choice, Execution, Operation, Place, Step, TaskId, Trace};

/// Schedules with more stretches are not fitted: each takes a run.
const MOST: usize = 300;

/// What became of a schedule.
#[derive(Debug)]
pub enum Realigned {
    /// It was fitted; this is the execution of the new program.
    Fits(Box<Trace>),
    /// The new program does not do what the schedule says.
    Not {
        /// How many stretches could be fitted,
        fitted: usize,
        /// of how many.
        of: usize,
    },
}

/// How the end of a stretch is known again.
type End = (Operation, String, u32);

/// Fits the schedule of an execution to the program of `walk`, and runs it.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn realign(walk: &Walk, old: &Execution, interrupt: &AtomicBool) -> Result<Realigned, Error> {
    let stretches = stretches(old);
    let mut choices: Vec<Choice> = Vec::new();
    let mut latest = None;
    let of = stretches.len();
    for (fitted, (task, end)) in stretches.into_iter().enumerate() {
        let mut attempt = choices.clone();
        attempt.push(Choice::Task(task));
        let Walked::Ran(now) = walk.run(attempt, interrupt)? else {
            return Ok(Realigned::Not { fitted, of });
        };
        // By default the task goes on as long as it can: the stretch is a beginning of that.
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
        choices = up_to(&now.execution, at + 1);
        latest = Some(now);
    }
    // What follows the last stretch comes by default.
    let last = match latest {
        Some(now) => now,
        None => match walk.run(Vec::new(), interrupt)? {
            Walked::Ran(now) => now,
            _ => return Ok(Realigned::Not { fitted: 0, of }),
        },
    };
    Ok(Realigned::Fits(last))
}

/// The choices of the first so many steps.
fn up_to(execution: &Execution, steps: usize) -> Vec<Choice> {
    let mut tasks = 0;
    let within = |choice: &Choice| {
        tasks += usize::from(matches!(choice, Choice::Task(_)));
        tasks <= steps
    };
    execution.choices().take_while(within).collect()
}

/// How often each task did what to what.
#[derive(Debug, Default)]
struct Ends(HashMap<(TaskId, Operation, String), u32>);

impl Ends {
    fn of(&mut self, execution: &Execution, step: &Step) -> End {
        let object = step.object.and_then(|object| execution.objects.get(object as usize));
        // A local variable has its name only while its function runs.
        let name = object.map(|object| match object.place {
            Place::Stack { task, below } => format!("{task} {below:x}"),
            _ => object.name.clone(),
        });
        let name = name.unwrap_or_default();
        let count = self.0.entry((step.task, step.operation, name.clone())).or_default();
        *count += 1;
        (step.operation, name, *count)
    }
}

/// Who goes until where.
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
    use traces::{Object, ObjectKind, Place, Site};

    #[test]
    fn a_stretch_ends_at_an_operation_on_a_named_object_counted_within_the_task() {
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
                place: Place::Other(0),
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
        assert_eq!(up_to(&execution, 2).len(), 2);
    }
}
