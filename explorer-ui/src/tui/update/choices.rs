//! Choices: another task runs next, another schedule is displayed.

use super::cursor::{move_cursor, request_check};
use crate::tui::model::effect::Effect;
use crate::tui::model::{Model, ScheduleView};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::moves::{self, Picked};
use std::sync::Arc;
use traces::Choice;

/// Runs the task with this index in the list of tasks.
pub(super) fn pick(model: &mut Model, place: usize, effects: &mut Vec<Effect>) {
    let Some(one) = model.task_states.get(place).cloned() else {
        return model.fail(format!("the list of tasks has no number {}", place + 1));
    };
    match moves::pick(model.loaded(), model.view.cursor, &one) {
        Picked::Blocked(why) => model.fail(why),
        Picked::Follows(step) => move_cursor(model, step, effects),
        Picked::Run(choices, cursor) => {
            run(model, choices, cursor, format!("running with {} next", one.task), effects);
        }
    }
}

/// Runs the task with this number or name.
pub(super) fn pick_by_name(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    match moves::task_called(model.loaded(), &model.task_states, name) {
        Some(place) => pick(model, place, effects),
        None => model.fail(format!("there is no task `{name}` here")),
    }
}

fn run(
    model: &mut Model,
    choices: Vec<Choice>,
    cursor: usize,
    what: String,
    effects: &mut Vec<Effect>,
) {
    match &model.can_run {
        Ok(()) => {
            model.busy = Some(what);
            effects.push(Effect::Run { choices, cursor });
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            model.fail(why);
        }
    }
}

/// Gives the step before the cursor its next outcome, if it has several.
pub(super) fn other_data(model: &mut Model, effects: &mut Vec<Effect>) {
    let at = model.view.cursor;
    let mut choices = model.loaded().before(at).to_vec();
    let Some(Choice::Data { taken, of }) = choices.pop_if(|it| matches!(it, Choice::Data { .. }))
    else {
        return model.notify("the previous step has only one outcome");
    };
    let taken = (taken + 1) % of;
    choices.push(Choice::Data { taken, of });
    run(model, choices, at, format!("running with outcome {} of {of}", taken + 1), effects);
}

/// Runs the enabled task that is nearest to a failure or, with `all`, the whole schedule to it.
pub(super) fn best_move(model: &mut Model, all: bool, effects: &mut Vec<Effect>) {
    if let Err(why) = &model.can_run {
        let why = format!("there is no look-ahead: {why}");
        return model.fail(why);
    }
    let at = model.view.cursor;
    let running = at.checked_sub(1).map(|before| model.loaded().trace.execution.steps[before].task);
    let best = model
        .task_states
        .iter()
        .enumerate()
        .filter_map(|(place, one)| {
            let nearest = model.ahead.get(&one.task)?.nearest.as_ref()?;
            let switch = u32::from(running != Some(one.task));
            let distance = nearest.preemptions.saturating_add(switch);
            Some((distance, place, nearest.choices.clone()))
        })
        .min_by_key(|&(distance, place, _)| (distance, place));
    match best {
        Some((_, _, choices)) if all => {
            // The cursor goes to the end, where it fails.
            let what = match model.looking_ahead {
                true => "running the schedule to the nearest failure that is known so far",
                false => "running the schedule to the nearest failure",
            };
            run(model, choices, usize::MAX, what.into(), effects);
        }
        Some((_, place, _)) => pick(model, place, effects),
        None if model.looking_ahead => model.notify("the look-ahead is still running"),
        None => model.notify("the look-ahead found no failure from here"),
    }
}

pub(super) fn undo(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    let from = if back { model.past.pop() } else { model.future.pop() };
    let Some(view) = from else {
        return model.notify(if back { "nothing to undo" } else { "nothing to redo" });
    };
    model.rebuild_from = None;
    let cursor = view.cursor;
    let left = std::mem::replace(&mut model.view, view);
    if back {
        model.future.push(left)
    } else {
        model.past.push(left)
    }
    model.update_lines();
    move_cursor(model, cursor, effects);
    request_check(model, effects);
}

/// Shows the schedule that was opened.
pub(super) fn original(model: &mut Model, effects: &mut Vec<Effect>) {
    if Arc::ptr_eq(&model.view.loaded, &model.original) {
        return model.notify("this is the schedule that was opened");
    }
    show(model, Arc::clone(&model.original), model.view.cursor, effects);
}

/// Runs the edited schedule of the last session.
pub(super) fn restore_edited(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(saved) = model.saved.clone() else {
        return model.notify("the last session saved no edited schedule");
    };
    run(model, saved.choices, saved.cursor, "running the edited schedule".into(), effects);
}

/// The most schedules that undo remembers, and the most steps of all of these together: both limit
/// its memory.
const MAX_UNDO: usize = 500;
const MAX_UNDO_STEPS: usize = 4_000_000;

/// Shows another execution; undo returns to the one before.
pub(super) fn show(
    model: &mut Model,
    loaded: Arc<LoadedTrace>,
    cursor: usize,
    effects: &mut Vec<Effect>,
) {
    let before = &model.view.loaded;
    let common = before.before(before.len()).iter().zip(loaded.before(loaded.len()));
    let common = common.take_while(|(one, other)| one == other);
    let steps = common.filter(|(one, _)| matches!(one, Choice::Task(_))).count();
    // Notes on the common prefix hold for the new schedule too.
    let notes = model.view.notes.range(..=steps).map(|(&at, text)| (at, text.clone())).collect();
    let left = std::mem::replace(&mut model.view, ScheduleView { loaded, cursor: 0, notes });
    model.past.push(left);
    let mut sum = 0;
    let remembered = model.past.iter().rev().take_while(|view| {
        sum += view.loaded.len();
        sum <= MAX_UNDO_STEPS
    });
    let remembered = remembered.take(MAX_UNDO).count().max(1);
    model.past.drain(..model.past.len() - remembered);
    model.future.clear();
    model.rebuild_from = None;
    model.update_lines();
    move_cursor(model, cursor, effects);
    request_check(model, effects);
}
