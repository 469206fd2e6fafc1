//! How an execution differs from the path that it should repeat.

use crate::{Decision, Divergence, GiveUp, View};
use traces::TaskId;

fn diverged(view: &View<'_>, what: String) -> Decision {
    Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
}

/// The last step made another data choice than in an earlier execution.
pub(crate) fn in_data_choice(view: &View<'_>) -> Decision {
    diverged(view, "the previous step had another data choice in an earlier execution".into())
}

/// Other tasks are enabled than in an earlier execution.
pub(crate) fn in_enabled_tasks(view: &View<'_>) -> Decision {
    diverged(view, "an earlier execution had other enabled tasks here".into())
}

/// An earlier execution made a data choice where this one chooses a task.
pub(crate) fn in_kind_of_choice(view: &View<'_>) -> Decision {
    let what = "an earlier execution made a data choice here, where a task must be chosen";
    diverged(view, what.into())
}

/// The task, which an earlier execution chose, is not enabled; none if it is enabled.
pub(crate) fn unless_enabled(view: &View<'_>, task: TaskId) -> Option<Decision> {
    view.enabled.binary_search(&task).is_err().then(|| {
        diverged(view, format!("{task} was enabled here in an earlier execution, but is not now"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::Operation;

    #[test]
    fn each_difference_says_what_the_earlier_execution_did() {
        let view = View {
            step: 4,
            running: None,
            yielded: false,
            site: 0,
            enabled: &[TaskId(1)],
            operations: &[Operation::Lock],
            digest: 0,
            expiries: &[],
            gave_way: false,
            tasks: &[],
        };
        assert!(unless_enabled(&view, TaskId(1)).is_none());
        let cases = [
            (
                in_data_choice(&view),
                "the previous step had another data choice in an earlier execution",
            ),
            (in_enabled_tasks(&view), "an earlier execution had other enabled tasks here"),
            (
                in_kind_of_choice(&view),
                "an earlier execution made a data choice here, where a task must be chosen",
            ),
            (
                unless_enabled(&view, TaskId(0)).expect("T0 is not enabled"),
                "T0 was enabled here in an earlier execution, but is not now",
            ),
        ];
        for (decision, what) in cases {
            let expected = Divergence { step: 4, what: what.to_owned() };
            assert_eq!(decision, Decision::GiveUp(GiveUp::Diverged(expected)));
        }
    }
}
