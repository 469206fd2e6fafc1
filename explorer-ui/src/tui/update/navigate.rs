//! Movement along a schedule.

use super::cursor::move_cursor;
use crate::report::rows::Mark;
use crate::tui::keys::actions::Action;
use crate::tui::model::check::CheckState;
use crate::tui::model::effect::Effect;
use crate::tui::model::loaded_trace::LoadedTrace;
use crate::tui::model::{JumpList, Model};
use std::sync::Arc;

/// Moves the cursor as an action says, or reports why there is no such step.
pub(super) fn go_by(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let (at, end) = (model.view.cursor, loaded.len());
    let switched = |step: &usize| loaded.mark(*step) != Mark::None;
    let chosen = |step: &usize| loaded.enabled(*step).len() > 1;
    let (found, otherwise) = match action {
        Action::First => (Some(0), ""),
        Action::Last => (Some(end), ""),
        Action::NoReturn => {
            let found = model.check().and_then(|check| check.no_return);
            (found.and_then(|found| found.step()), no_point(model))
        }
        Action::Decisive => {
            let found = loaded.verdict().map(|_| model.decisive_step());
            (found, "this schedule passes: no step decides")
        }
        Action::NextPreemption => {
            let next = loaded.preemptions().iter().copied().find(|&step| step > at);
            (next, "no later preemption")
        }
        Action::PreviousPreemption => {
            let before = loaded.preemptions().iter().copied().rfind(|&step| step < at);
            (before, "no earlier preemption")
        }
        Action::NextSwitch => ((at + 1..end).find(switched), "no later context switch"),
        Action::PreviousSwitch => ((0..at.min(end)).rfind(switched), "no earlier context switch"),
        Action::NextChoice => ((at + 1..end).find(chosen), "no later step has a choice"),
        Action::PreviousChoice => ((0..at.min(end)).rfind(chosen), "no earlier step has a choice"),
        Action::UntilPreempted => (until_preempted(loaded, at), "this task is not preempted later"),
        Action::UntilBlocked => (until_blocked(loaded, at), "this task is not blocked later"),
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
            (found, "no step of another task is a direct successor of this one")
        }
        Action::PreviousCause => {
            let found = neighbours(loaded, at, false).max();
            (found, "no step of another task is a direct predecessor of this one")
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
    match check.map(|check| (&check.state, check.no_return)) {
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

/// The step at which the selected step's task is preempted next.
fn until_preempted(loaded: &LoadedTrace, at: usize) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at)?.task;
    let after = |&&step: &&usize| step > at && steps[step - 1].task == task;
    loaded.preemptions().iter().find(after).copied()
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

/// The first later step at which the selected step's task is not enabled, or the end.
fn until_blocked(loaded: &LoadedTrace, at: usize) -> Option<usize> {
    let task = loaded.trace.execution.steps.get(at)?.task;
    (at + 1..=loaded.len()).find(|&step| step == loaded.len() || !loaded.is_enabled(task, step))
}

fn on_object(loaded: &LoadedTrace, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let object = steps.get(at)?.object?;
    let same = |&step: &usize| steps[step].object == Some(object);
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The next or previous step of the selected step's task; at the end, of the last step's task.
fn of_task(loaded: &LoadedTrace, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).or(steps.last())?.task;
    let same = |&step: &usize| steps[step].task == task;
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The direct successors or predecessors of a step in other tasks.
fn neighbours(loaded: &LoadedTrace, at: usize, after: bool) -> impl Iterator<Item = usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).map(|step| step.task);
    let links = match (task, after) {
        (None, _) => Vec::new(),
        (Some(_), true) => loaded.graph().effects(at),
        (Some(_), false) => loaded.graph().causes(at),
    };
    links.into_iter().map(|link| link.step).filter(move |&step| Some(steps[step].task) != task)
}
