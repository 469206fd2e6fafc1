//! Steps of the schedule at which a run stops by itself.

use traces::Execution;

/// Which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopOn {
    Nothing,
    /// A task that could have gone on was switched away from.
    Preemption,
    /// Another task moves.
    Switch,
    Step,
}

impl StopOn {
    /// By its name.
    pub(super) fn named(name: &str) -> Option<StopOn> {
        Some(match name {
            "off" => StopOn::Nothing,
            "preempt" => StopOn::Preemption,
            "switch" => StopOn::Switch,
            "step" => StopOn::Step,
            _ => return None,
        })
    }

    /// What such a step is.
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
