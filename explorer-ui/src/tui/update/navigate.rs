//! Movement along a schedule.

use super::cursor::move_cursor;
use crate::tui::keys::actions::Action;
use crate::tui::model::effect::Effect;
use crate::tui::model::{JumpList, Model};
use crate::walk::check::CheckState;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::moves::Movement;
use std::sync::Arc;

/// Moves the cursor as an action says, or reports why there is no such step.
pub(super) fn go_by(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let (at, end) = (model.view.cursor, loaded.len());
    if let Some(movement) = movement(action) {
        return match movement.from(loaded, at) {
            Ok(step) => move_cursor(model, step, effects),
            Err(otherwise) => model.notify(otherwise),
        };
    }
    let (found, otherwise) = match action {
        Action::First => (Some(0), ""),
        Action::Last => (Some(end), ""),
        Action::NoReturn => {
            let found = model.check().and_then(|check| check.forecast.no_return);
            (found.and_then(|found| found.step()), no_point(model))
        }
        Action::Decisive => {
            let found = loaded.verdict().map(|_| model.decisive_step());
            (found, "this schedule passes: no step decides")
        }
        Action::NextChange | Action::PreviousChange if model.expressions.is_empty() => {
            (None, "no expression is watched (E watches one)")
        }
        Action::NextChange => (changes(model).find(|&step| step > at), "no later change is known"),
        Action::PreviousChange => {
            (changes(model).rfind(|&step| step < at), "no earlier change is known")
        }
        Action::NextBookmark => {
            let next = model.view.notes.range(at + 1..).next().map(|(&step, _)| step);
            (next, "no later bookmark (m sets one)")
        }
        Action::PreviousBookmark => {
            let before = model.view.notes.range(..at).next_back().map(|(&step, _)| step);
            (before, "no earlier bookmark (m sets one)")
        }
        _ => return,
    };
    go(model, found, otherwise, effects);
}

/// Why no point of no return is known.
fn no_point(model: &Model) -> &'static str {
    let check = model.check();
    match check.map(|check| (&check.state, check.forecast.no_return)) {
        _ if model.loaded().verdict().is_none() => "this schedule passes",
        Some((_, Some(found))) if found.lost_after == 0 => "every schedule fails",
        Some((_, Some(_))) => "too many schedules follow to prove from which step on all fail",
        Some((CheckState::Failed(_), None)) | None => "the point of no return is not known",
        Some((_, None)) => "the point of no return is still being searched for",
    }
}

/// The known changes of watched expressions, in ascending order of steps.
fn changes(model: &Model) -> std::vec::IntoIter<usize> {
    let changes = model.expressions.iter().flat_map(|one| model.inspections.changes(one));
    let mut steps: Vec<usize> = changes.map(|change| change.step).collect();
    steps.sort_unstable();
    steps.into_iter()
}

/// The movement along the schedule that an action stands for.
fn movement(action: Action) -> Option<Movement> {
    Some(match action {
        Action::NextPreemption => Movement::NextPreemption,
        Action::PreviousPreemption => Movement::PreviousPreemption,
        Action::NextSwitch => Movement::NextSwitch,
        Action::PreviousSwitch => Movement::PreviousSwitch,
        Action::NextChoice => Movement::NextChoice,
        Action::PreviousChoice => Movement::PreviousChoice,
        Action::UntilPreempted => Movement::UntilPreempted,
        Action::UntilBlocked => Movement::UntilBlocked,
        Action::NextOnObject => Movement::NextOnObject,
        Action::PreviousOnObject => Movement::PreviousOnObject,
        Action::NextOfTask => Movement::NextOfTask,
        Action::PreviousOfTask => Movement::PreviousOfTask,
        Action::NextEffect => Movement::NextEffect,
        Action::PreviousCause => Movement::PreviousCause,
        _ => return None,
    })
}

pub(super) fn move_by_lines(model: &mut Model, by: i64, effects: &mut Vec<Effect>) {
    let line = model.line_of(model.view.cursor) as i64 + by;
    let line = line.clamp(0, model.lines.len() as i64) as usize;
    let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
    move_cursor(model, step, effects);
}

/// The most positions in the jump list.
const MAX_JUMPS: usize = 100;

/// Records the position before a jump, which is a movement by more than one line.
pub(super) fn record_jump(model: &mut Model, (loaded, step): &(Arc<LoadedTrace>, usize)) {
    if !Arc::ptr_eq(loaded, &model.view.loaded) {
        // Step numbers of another schedule mean other steps.
        model.jumps = JumpList::default();
        return;
    }
    let cursor = model.view.cursor;
    // Returning from a jump is not a jump.
    let known = |places: &[usize]| places.last() == Some(step);
    let returned = known(&model.jumps.back) || known(&model.jumps.forward);
    if !returned && model.line_of(cursor).abs_diff(model.line_of(*step)) > 1 {
        model.jumps.forward.clear();
        model.jumps.back.push(*step);
        let more = model.jumps.back.len().saturating_sub(MAX_JUMPS);
        model.jumps.back.drain(..more);
    }
}

/// Returns to the position before the last jump, or goes forward again.
pub(super) fn along_jumps(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    let cursor = model.view.cursor;
    let JumpList { back: before, forward: after } = &mut model.jumps;
    let (from, to) = if back { (before, after) } else { (after, before) };
    match from.pop() {
        Some(step) => {
            to.push(cursor);
            move_cursor(model, step, effects);
        }
        None => model.notify("no jump to return from"),
    }
}

fn go(model: &mut Model, step: Option<usize>, otherwise: &str, effects: &mut Vec<Effect>) {
    match step {
        Some(step) => move_cursor(model, step, effects),
        None => model.notify(otherwise),
    }
}
