//! Which tasks have columns: some can be hidden, others kept in sight.

use super::{fail, say};
use crate::app::model::Model;
use crate::views::task_title;
use crate::views::text::count;
use traces::TaskId;

/// The task that moves at the cursor; at the end the one that moved last.
fn selected(model: &Model) -> Option<TaskId> {
    let steps = &model.loaded().trace.execution.steps;
    steps.get(model.spot.cursor).or(steps.last()).map(|step| step.task)
}

/// Hides the task of the selected step, or with `others` all but that and those that are pinned.
pub(super) fn hide(model: &mut Model, others: bool) {
    let Some(task) = selected(model) else { return fail(model, "there is no task here".into()) };
    if others {
        let tasks = (0..model.loaded().tasks()).map(|number| TaskId(number as u16));
        let kept = |one: &TaskId| *one == task || model.pinned.contains(one);
        model.hidden = tasks.filter(|one| !kept(one)).collect();
    } else if model.loaded().tasks() <= model.hidden.len() + 1 {
        return say(model, "somebody has to be seen".into());
    } else {
        model.hidden.insert(task);
        model.pinned.remove(&task);
    }
    model.relay();
    let hidden = count(model.hidden.len() as u64, "task");
    let key = model.keys.of(crate::app::action::Action::ShowTasks).first().copied();
    let key = key.unwrap_or("show-tasks").to_owned();
    say(model, format!("{hidden} hidden; {key} shows all again"));
}

/// Shows all tasks.
pub(super) fn show_all(model: &mut Model) {
    let hidden = std::mem::take(&mut model.hidden);
    model.relay();
    say(model, format!("{} shown again", count(hidden.len() as u64, "task")));
}

/// Keeps the column of the selected step's task, whether it does anything or not; or no more.
pub(super) fn pin(model: &mut Model) {
    let Some(task) = selected(model) else { return fail(model, "there is no task here".into()) };
    let title = task_title(&model.loaded().trace, task);
    model.hidden.remove(&task);
    if model.pinned.remove(&task) {
        say(model, format!("{title} has a column where it does something"));
    } else {
        model.pinned.insert(task);
        say(model, format!("{title} keeps its column"));
    }
    model.relay();
}
