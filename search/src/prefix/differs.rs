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
