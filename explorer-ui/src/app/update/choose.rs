//! Choices: another task moves, another schedule is shown.

use super::{fail, say, stand};
use crate::app::loaded::Loaded;
use crate::app::model::{Effect, Model, Spot};
use replay_core::walk::standing::Reason;
use std::sync::Arc;
use traces::{Choice, TaskId};

/// The choices up to here, and then this task.
fn moving(model: &Model, task: TaskId) -> Vec<Choice> {
    let mut choices = model.loaded().before(model.spot.cursor).to_vec();
    choices.push(Choice::Task(task));
    choices
}

/// The task in this place of the list moves.
pub(super) fn pick(model: &mut Model, place: usize, effects: &mut Vec<Effect>) {
    let Some(one) = model.standing.get(place).cloned() else {
        return fail(model, format!("no task is number {} in the list", place + 1));
    };
    if !one.enabled {
        let why = one.why.as_ref();
        let reason = why.map(|why| Reason(why, &model.loaded().trace.execution).to_string());
        let reason = reason.unwrap_or_else(|| "it waits".into());
        return fail(model, format!("{} cannot move: {reason}", one.task));
    }
    if one.next == Some(model.spot.cursor) {
        return stand(model, model.spot.cursor + 1, effects);
    }
    let choices = moving(model, one.task);
    let cursor = model.spot.cursor + 1;
    run(model, choices, cursor, format!("{} moves", one.task), effects);
}

/// The task with this number or name moves.
pub(super) fn pick_called(model: &mut Model, called: &str, effects: &mut Vec<Effect>) {
    let tasks = &model.loaded().trace.execution.tasks;
    let number = called.trim_start_matches(['T', 't']).parse::<u16>().ok();
    let is = |task: TaskId| match (number, tasks.get(task.index())) {
        (Some(number), _) => task == TaskId(number),
        (None, Some(record)) => !called.is_empty() && record.name.contains(called),
        (None, None) => false,
    };
    match model.standing.iter().position(|one| is(one.task)) {
        Some(place) => pick(model, place, effects),
        None => fail(model, format!("there is no task `{called}` here")),
    }
}

fn run(
    model: &mut Model,
    choices: Vec<Choice>,
    cursor: usize,
    what: String,
    effects: &mut Vec<Effect>,
) {
    match &model.live {
        Ok(()) => {
            model.busy = Some(what);
            effects.push(Effect::Run { choices, cursor });
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            fail(model, why);
        }
    }
}

/// The step before the cursor takes the next way of its last data choice.
pub(super) fn other_data(model: &mut Model, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    let choices = model.loaded().before(at).to_vec();
    let Some(&Choice::Data { taken, of }) = choices.last() else {
        return say(model, "the step before made no choice of its own".into());
    };
    let mut choices = choices;
    choices.pop();
    let taken = (taken + 1) % of;
    choices.push(Choice::Data { taken, of });
    run(model, choices, at, format!("way {} of {of}", taken + 1), effects);
}

pub(super) fn best_move(model: &mut Model, all: bool, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    let running = at.checked_sub(1).map(|before| model.loaded().trace.execution.steps[before].task);
    let best = model
        .standing
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
            // All of it: one stands where it fails then.
            run(model, choices, usize::MAX, "the way to the failure".into(), effects);
        }
        Some((_, place, _)) => pick(model, place, effects),
        None if model.looking => say(model, "still looking ahead".into()),
        None => say(model, "no failure was found ahead of here".into()),
    }
}

pub(super) fn undo(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    let from = if back { model.past.pop() } else { model.future.pop() };
    let Some(spot) = from else {
        return say(model, if back { "nothing to undo" } else { "nothing to redo" }.into());
    };
    let cursor = spot.cursor;
    let left = std::mem::replace(&mut model.spot, spot);
    if back {
        model.future.push(left)
    } else {
        model.past.push(left)
    }
    model.relay();
    stand(model, cursor, effects);
}

pub(super) fn original(model: &mut Model, effects: &mut Vec<Effect>) {
    if Arc::ptr_eq(&model.spot.loaded, &model.original) {
        return say(model, "this is the schedule that it began with".into());
    }
    show(model, Arc::clone(&model.original), model.spot.cursor, effects);
}

/// So many schedules can be gone back to, and so many steps of them: nobody wants more, and each takes
/// memory.
const MOST_PAST: usize = 500;
const MOST_STEPS: usize = 4_000_000;

/// Shows another execution; the one before can be had back.
pub(super) fn show(
    model: &mut Model,
    loaded: Arc<Loaded>,
    cursor: usize,
    effects: &mut Vec<Effect>,
) {
    let before = &model.spot.loaded;
    let common = before.before(before.len()).iter().zip(loaded.before(loaded.len()));
    let common = common.take_while(|(one, other)| one == other);
    let steps = common.filter(|(one, _)| matches!(one, Choice::Task(_))).count();
    // What was noted of the common beginning holds for it here, too.
    let notes = model.spot.notes.range(..=steps).map(|(&at, text)| (at, text.clone())).collect();
    let left = std::mem::replace(&mut model.spot, Spot { loaded, cursor: 0, notes });
    model.past.push(left);
    let mut kept = 0;
    let rooms = model.past.iter().rev().take_while(|spot| {
        kept += spot.loaded.len();
        kept <= MOST_STEPS
    });
    let rooms = rooms.take(MOST_PAST).count().max(1);
    model.past.drain(..model.past.len() - rooms);
    model.future.clear();
    model.relay();
    stand(model, cursor, effects);
}
