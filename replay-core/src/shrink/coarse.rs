//! Reduces large schedules in few runs. Pure.
//!
//! Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
//! 2002) applied to switches. Steps cannot be removed, because the program executes them anyway;
//! instead the switches among many stretches are removed at once, by letting each task execute its
//! part without interruption.

use super::candidates::{Stretch, stretches};
use traces::{Choice, Execution, TaskId};

/// A schedule divided into stretches of one task each.
pub(super) struct Coarse(Vec<Stretch>);

impl Coarse {
    pub(super) fn of(execution: &Execution) -> Coarse {
        Coarse(stretches(execution))
    }

    /// The number of stretches.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The choices of the first `count` stretches.
    pub(super) fn beginning(&self, count: usize) -> Vec<Choice> {
        self.0.iter().take(count).flat_map(|stretch| stretch.choices.iter().copied()).collect()
    }

    /// Removes the switches within a window of stretches: the tasks run one after the other, in the
    /// order of their first or of their last stretch there. None if that changes nothing.
    pub(super) fn joined(&self, from: usize, to: usize, by_last: bool) -> Option<Vec<Choice>> {
        let window = &self.0[from..to.min(self.0.len())];
        let mut tasks: Vec<TaskId> = Vec::new();
        if by_last {
            for stretch in window {
                tasks.retain(|&task| task != stretch.task);
                tasks.push(stretch.task);
            }
        } else {
            for stretch in window {
                if !tasks.contains(&stretch.task) {
                    tasks.push(stretch.task);
                }
            }
        }
        if tasks.len() == window.len() {
            return None;
        }
        let mut choices = self.beginning(from);
        for task in tasks {
            let own = window.iter().filter(|stretch| stretch.task == task);
            choices.extend(own.flat_map(|stretch| stretch.choices.iter().copied()));
        }
        let rest = self.0.iter().skip(to).flat_map(|stretch| stretch.choices.iter().copied());
        choices.extend(rest);
        Some(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Operation, Site, Step};

    #[test]
    fn each_task_runs_its_stretches_without_a_switch() {
        let steps = [0, 1, 0, 1, 2, 1].map(|task| Step {
            task: TaskId(task),
            operation: Operation::Lock,
            object: None,
            site: Site { module: 0, offset: 0 },
            value: 0,
        });
        let execution = Execution { steps: steps.to_vec(), ..Default::default() };
        let coarse = Coarse::of(&execution);
        let tasks_of = |choices: Option<Vec<Choice>>| {
            let task = |choice: &Choice| match choice {
                Choice::Task(task) => task.0.to_string(),
                Choice::Data { .. } => "?".into(),
            };
            choices.map(|choices| choices.iter().map(task).collect::<String>())
        };
        assert_eq!(coarse.len(), 6);
        assert_eq!(tasks_of(Some(coarse.beginning(2))), Some("01".into()));
        assert_eq!(tasks_of(coarse.joined(0, 6, false)), Some("001112".into()));
        assert_eq!(tasks_of(coarse.joined(0, 6, true)), Some("002111".into()));
        assert_eq!(tasks_of(coarse.joined(0, 4, false)), Some("001121".into()));
        assert_eq!(tasks_of(coarse.joined(0, 2, false)), None);
    }
}
