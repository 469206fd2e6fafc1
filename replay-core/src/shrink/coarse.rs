//! Large schedules made small in few runs. Pure.
//!
//! Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
//! 2002) on switches: what is taken away is not a step, which the program would do anyway, but the
//! switches among many stretches at once, by letting each task do its part of them in one go.

use super::candidates::{Stretch, stretches};
use traces::{Choice, Execution, TaskId};

/// A schedule in stretches of one task each.
pub(super) struct Coarse(Vec<Stretch>);

impl Coarse {
    pub(super) fn of(execution: &Execution) -> Coarse {
        Coarse(stretches(execution))
    }

    /// How many stretches there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The choices of the first so many.
    pub(super) fn beginning(&self, count: usize) -> Vec<Choice> {
        self.0.iter().take(count).flat_map(|stretch| stretch.choices.iter().copied()).collect()
    }

    /// The schedule with the switches among some stretches taken away: the tasks come one after the
    /// other, in the order of their first stretches there or of their last. None where that is no
    /// change.
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
    fn each_task_does_its_part_in_one_go() {
        let steps = [0, 1, 0, 1, 2, 1].map(|task| Step {
            task: TaskId(task),
            operation: Operation::Lock,
            object: None,
            site: Site { module: 0, offset: 0 },
            value: 0,
        });
        let execution = Execution { steps: steps.to_vec(), ..Default::default() };
        let coarse = Coarse::of(&execution);
        let told = |choices: Option<Vec<Choice>>| {
            let task = |choice: &Choice| match choice {
                Choice::Task(task) => task.0.to_string(),
                Choice::Data { .. } => "?".into(),
            };
            choices.map(|choices| choices.iter().map(task).collect::<String>())
        };
        assert_eq!(coarse.len(), 6);
        assert_eq!(told(Some(coarse.beginning(2))), Some("01".into()));
        assert_eq!(told(coarse.joined(0, 6, false)), Some("001112".into()));
        assert_eq!(told(coarse.joined(0, 6, true)), Some("002111".into()));
        assert_eq!(told(coarse.joined(0, 4, false)), Some("001121".into()));
        assert_eq!(told(coarse.joined(0, 2, false)), None);
    }
}
