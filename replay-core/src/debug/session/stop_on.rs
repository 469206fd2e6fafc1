//! Steps of the schedule at which a run stops.

use traces::Execution;

/// The kind of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopOn {
    Nothing,
    /// Steps that preempt a task.
    Preemption,
    /// Steps at which another task runs.
    Switch,
    Step,
}

impl StopOn {
    /// Parses the name of a kind.
    pub(super) fn named(name: &str) -> Option<StopOn> {
        Some(match name {
            "off" => StopOn::Nothing,
            "preempt" => StopOn::Preemption,
            "switch" => StopOn::Switch,
            "step" => StopOn::Step,
            _ => return None,
        })
    }

    /// The name of such a step.
    pub(super) fn what(self) -> &'static str {
        match self {
            StopOn::Nothing | StopOn::Step => "stopped",
            StopOn::Preemption => "preemption",
            StopOn::Switch => "switch",
        }
    }

    /// Such steps of an execution, from 1.
    pub(super) fn steps(self, execution: &Execution) -> Box<dyn Iterator<Item = usize> + '_> {
        let steps = &execution.steps;
        match self {
            StopOn::Nothing => Box::new(std::iter::empty()),
            StopOn::Preemption => {
                Box::new(execution.preemptions().into_iter().map(|step| step + 1))
            }
            StopOn::Switch => Box::new(
                (1..steps.len())
                    .filter(|&at| steps[at].task != steps[at - 1].task)
                    .map(|at| at + 1),
            ),
            StopOn::Step => Box::new(1..=steps.len()),
        }
    }
}
