//! The beginning of an execution, as choices.

use traces::{Choice, Execution};

/// The choices of the first steps, including the data choices that these made.
pub(crate) fn first_choices(execution: &Execution, steps: usize) -> Vec<Choice> {
    let mut left = steps;
    let within = |choice: &Choice| match choice {
        Choice::Task(_) if left == 0 => false,
        Choice::Task(_) => {
            left -= 1;
            true
        }
        Choice::Data { .. } => true,
    };
    execution.choices().take_while(within).collect()
}
