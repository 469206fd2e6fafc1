//! Columns of the schedule: hides and pins tasks, and sets the width.

use crate::report::names::task_title;
use crate::report::text::count;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::pane_sizes::Divider;
use crate::tui::render::layout::{areas, is_wide, moved};
use ratatui::layout::Position;
use traces::TaskId;

/// The task of the selected step; at the end, the task of the last step.
fn selected(model: &Model) -> Option<TaskId> {
    let steps = &model.loaded().trace.execution.steps;
    steps.get(model.view.cursor).or(steps.last()).map(|step| step.task)
}

/// Hides the task of the selected step or, with `others`, all tasks except it and the pinned ones.
pub(super) fn hide(model: &mut Model, others: bool) {
    let Some(task) = selected(model) else {
        return model.fail("no task here: the schedule is empty");
    };
    if others {
        let tasks = (0..model.loaded().tasks()).map(|number| TaskId(number as u16));
        let kept = |one: &TaskId| *one == task || model.pinned.contains(one);
        model.hidden = tasks.filter(|one| !kept(one)).collect();
    } else if model.loaded().tasks() <= model.hidden.len() + 1 {
        return model.notify("the last visible task cannot be hidden");
    } else {
        model.hidden.insert(task);
        model.pinned.remove(&task);
    }
    model.update_lines();
    let hidden = count(model.hidden.len() as u64, "task");
    let key = model.keys.name_of(Action::ShowTasks, "show-tasks");
    model.notify(format!("{hidden} hidden; {key} shows all again"));
}

/// Shows all tasks.
pub(super) fn show_all(model: &mut Model) {
    let hidden = std::mem::take(&mut model.hidden);
    model.update_lines();
    model.notify(format!("{} shown again", count(hidden.len() as u64, "task")));
}

/// Pins or unpins the column of the selected step's task. A pinned task has a column even while it
/// is idle.
pub(super) fn pin(model: &mut Model) {
    let Some(task) = selected(model) else {
        return model.fail("no task here: the schedule is empty");
    };
    let title = task_title(&model.loaded().trace, task);
    model.hidden.remove(&task);
    if model.pinned.remove(&task) {
        model.notify(format!("{title} is not pinned any more"));
    } else {
        model.pinned.insert(task);
        model.notify(format!("{title} is pinned: it keeps its column"));
    }
    model.update_lines();
}

/// Widens or narrows the schedule.
pub(super) fn widen(model: &mut Model, wider: bool) {
    let width = areas(model).schedule.width;
    if !is_wide(model) || model.zoomed {
        return model
            .notify("the panes are below the schedule: drag their headings with the mouse");
    }
    /// Columns per key press.
    const BY: u16 = 4;
    let x = if wider { width.saturating_add(BY) } else { width.saturating_sub(BY) };
    model.pane_sizes = moved(model, Divider::Side, Position { x, y: 0 });
    // `moved` does not know the limits of the layout: store the width that results.
    model.pane_sizes.side = Some(areas(model).schedule.width);
}
