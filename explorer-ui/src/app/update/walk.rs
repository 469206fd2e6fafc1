//! Walking along a schedule.

use super::{say, stand};
use crate::app::action::Action;
use crate::app::loaded::Loaded;
use crate::app::model::{Effect, Model, Trail};
use crate::views::rows::Mark;
use std::sync::Arc;

/// Goes to where an action leads from here, or says why it leads nowhere.
pub(super) fn go_by(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let (at, end) = (model.spot.cursor, loaded.len());
    let switched = |step: &usize| loaded.mark(*step) != Mark::None;
    let chosen = |step: &usize| loaded.enabled(*step).len() > 1;
    let (found, otherwise) = match action {
        Action::First => (Some(0), ""),
        Action::Last => (Some(end), ""),
        Action::NextPreemption => {
            let next = loaded.preemptions().iter().copied().find(|&step| step > at);
            (next, "no preemption follows")
        }
        Action::PreviousPreemption => {
            let before = loaded.preemptions().iter().copied().rfind(|&step| step < at);
            (before, "no preemption before here")
        }
        Action::NextSwitch => ((at + 1..end).find(switched), "no switch follows"),
        Action::PreviousSwitch => ((0..at.min(end)).rfind(switched), "no switch before here"),
        Action::NextChoice => ((at + 1..end).find(chosen), "no other task can move from here on"),
        Action::PreviousChoice => {
            ((0..at.min(end)).rfind(chosen), "no other task could move before here")
        }
        Action::UntilPreempted => (until_preempted(loaded, at), "it is preempted no more"),
        Action::UntilBlocked => (until_blocked(loaded, at), "it does not have to wait any more"),
        Action::NextOnObject | Action::PreviousOnObject => {
            let found = on_object(loaded, at, action == Action::NextOnObject);
            (found, "no other step on this object in that direction")
        }
        Action::NextOfTask | Action::PreviousOfTask => {
            let found = of_task(loaded, at, action == Action::NextOfTask);
            (found, "this task has no other step in that direction")
        }
        Action::NextEffect => {
            let found = neighbours(loaded, at, true).min();
            (found, "no step of another task follows directly from this one")
        }
        Action::PreviousCause => {
            let found = neighbours(loaded, at, false).max();
            (found, "this step follows directly from no step of another task")
        }
        Action::NextChange | Action::PreviousChange if model.expressions.is_empty() => {
            (None, "no expression is watched (E watches one)")
        }
        Action::NextChange => (changes(model).find(|&step| step > at), "no change is known after"),
        Action::PreviousChange => {
            (changes(model).rfind(|&step| step < at), "no change is known before")
        }
        Action::NextBookmark => {
            let next = model.spot.notes.range(at + 1..).next().map(|(&step, _)| step);
            (next, "no bookmark follows (m sets one)")
        }
        Action::PreviousBookmark => {
            let before = model.spot.notes.range(..at).next_back().map(|(&step, _)| step);
            (before, "no bookmark before here (m sets one)")
        }
        _ => return,
    };
    go(model, found, otherwise, effects);
}

/// The steps that changed a watched expression, as far as they are known, ascending.
fn changes(model: &Model) -> std::vec::IntoIter<usize> {
    let changes = model.expressions.iter().flat_map(|one| model.sights.changes(one));
    let mut steps: Vec<usize> = changes.map(|change| change.step).collect();
    steps.sort_unstable();
    steps.into_iter()
}

/// The step at which another task takes over from the one that moves here, which could go on.
fn until_preempted(loaded: &Loaded, at: usize) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at)?.task;
    let after = |&&step: &&usize| step > at && steps[step - 1].task == task;
    loaded.preemptions().iter().find(after).copied()
}

pub(super) fn stand_on_line(model: &mut Model, by: i64, effects: &mut Vec<Effect>) {
    let line = model.line_of(model.spot.cursor) as i64 + by;
    let line = line.clamp(0, model.lines.len() as i64) as usize;
    let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
    stand(model, step, effects);
}

/// So many places one can come back to.
const MOST_PLACES: usize = 100;

/// Where one jumped away from is worth coming back to; a line more or less is no jump.
pub(super) fn remember(model: &mut Model, (loaded, step): &(Arc<Loaded>, usize)) {
    if !Arc::ptr_eq(loaded, &model.spot.loaded) {
        // Steps of another schedule are other steps.
        model.trail = Trail::default();
        return;
    }
    let cursor = model.spot.cursor;
    // Coming back is no jump either.
    let known = |places: &[usize]| places.last() == Some(step);
    let came = known(&model.trail.back) || known(&model.trail.forward);
    if !came && model.line_of(cursor).abs_diff(model.line_of(*step)) > 1 {
        model.trail.forward.clear();
        model.trail.back.push(*step);
        let more = model.trail.back.len().saturating_sub(MOST_PLACES);
        model.trail.back.drain(..more);
    }
}

/// Back to where one was before the last jump, or forward again.
pub(super) fn along_trail(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    let cursor = model.spot.cursor;
    let Trail { back: before, forward: after } = &mut model.trail;
    let (from, to) = if back { (before, after) } else { (after, before) };
    match from.pop() {
        Some(step) => {
            to.push(cursor);
            stand(model, step, effects);
        }
        None => say(model, "no jump to come back from".into()),
    }
}

fn go(model: &mut Model, step: Option<usize>, otherwise: &str, effects: &mut Vec<Effect>) {
    match step {
        Some(step) => stand(model, step, effects),
        None => say(model, otherwise.to_owned()),
    }
}

/// The step before which the task that moves here first cannot move; or its end.
fn until_blocked(loaded: &Loaded, at: usize) -> Option<usize> {
    let task = loaded.trace.execution.steps.get(at)?.task;
    (at + 1..=loaded.len()).find(|&step| step == loaded.len() || !loaded.may_move(task, step))
}

fn on_object(loaded: &Loaded, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let object = steps.get(at)?.object?;
    let same = |&step: &usize| steps[step].object == Some(object);
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The next or last step of the task that moves here; at the end, of the task that moved last.
fn of_task(loaded: &Loaded, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).or(steps.last())?.task;
    let same = |&step: &usize| steps[step].task == task;
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The steps of other tasks that follow directly from a step, or that it follows directly from.
fn neighbours(loaded: &Loaded, at: usize, after: bool) -> impl Iterator<Item = usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).map(|step| step.task);
    let links = match (task, after) {
        (None, _) => Vec::new(),
        (Some(_), true) => loaded.graph().effects(at),
        (Some(_), false) => loaded.graph().causes(at),
    };
    links.into_iter().map(|link| link.step).filter(move |&step| Some(steps[step].task) != task)
}
