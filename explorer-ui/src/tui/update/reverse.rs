//! Reverses the order of two steps: one is marked, then the other is selected.

use super::choices::show;
use crate::report::text::count;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::walk::loaded_trace::LoadedTrace;
use replay_core::reverse::{StepIdentity, WishedOrder};
use std::sync::Arc;

/// Marks the selected step, or asks for a schedule in which the order of it and the marked one is
/// reversed. The marked step itself: forgets it and the pinned orders.
pub(super) fn reverse(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Err(why) = &model.can_run {
        let why = format!("the program cannot be run: {why}");
        return model.fail(why);
    }
    let (at, key) = (model.view.cursor, model.keys.name_of(Action::Reverse, "reverse"));
    let steps = &model.view.loaded.trace.execution.steps;
    let Some(task) = steps.get(at).map(|step| step.task) else {
        return model.notify("there is no step at the end: select one of those above");
    };
    let Some(marked) = model.marked_step() else {
        model.reversal.marked = Some((Arc::clone(&model.view.loaded), at));
        return model.notify(format!(
            "step {} is marked: {key} at a step of another task asks for the other order",
            at + 1
        ));
    };
    if marked == at {
        let orders = model.reversal.pinned.len() as u64;
        model.reversal = Default::default();
        return model.notify(match orders {
            0 => "no step is marked any more".to_owned(),
            _ => format!("forgotten: the mark, and {}", count(orders, "pinned order")),
        });
    }
    if steps[marked].task == task {
        return model.fail(format!(
            "both steps are of {task}, which runs them in this order: {key} at a step of another task"
        ));
    }
    let (earlier, later) = (marked.min(at), marked.max(at));
    let execution = &model.view.loaded.trace.execution;
    let step = |at| StepIdentity::of(execution, at);
    let (Some(first), Some(second)) = (step(later), step(earlier)) else { return };
    // Orders that do not hold here were left by undoing, or are to be reversed now.
    let mut wishes = model.reversal.pinned.clone();
    wishes.retain(|wish| wish.holds(execution) && (wish.first, wish.second) != (second, first));
    wishes.push(WishedOrder { first, second });
    model.busy = Some(format!(
        "running schedules with step {} before step {} (esc cancels)",
        later + 1,
        earlier + 1
    ));
    effects.push(Effect::Reverse(wishes));
}

/// Shows the schedule with the other order, which stays pinned for further ones.
pub(super) fn reversed(
    model: &mut Model,
    (loaded, step): (Arc<LoadedTrace>, usize),
    both: bool,
    wishes: Vec<WishedOrder>,
    effects: &mut Vec<Effect>,
) {
    model.busy = None;
    let ends = match &loaded.trace.failure {
        Some(failure) => format!("fails: {}", failure.message),
        None => crate::report::summary::cut(&loaded.trace).unwrap_or_else(|| "passes".to_owned()),
    };
    show(model, loaded, step, effects);
    let orders = wishes.len();
    model.reversal.marked = None;
    model.reversal.pinned = wishes;
    let only = if both { "" } else { ", without the other step," };
    let pinned = if orders > 1 { format!(" ({orders} orders are pinned)") } else { String::new() };
    model.notify(format!("in this order{only} it {ends}{pinned}"));
}
