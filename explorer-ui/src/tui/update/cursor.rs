//! Moves the cursor and requests what the new position shows.

use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::panes;
use std::sync::Arc;
use traces::TaskId;

/// At most this many source files of other tasks are read at a position.
const OTHER_SOURCES: usize = 3;

/// Selects a step and starts the look-ahead from there.
pub(super) fn move_cursor(model: &mut Model, step: usize, effects: &mut Vec<Effect>) {
    model.view.cursor = step.min(model.loaded().len());
    model.task_states = model.loaded().task_statuses(model.view.cursor);
    model.generation += 1;
    let was_looking = std::mem::take(&mut model.looking_ahead);
    model.ahead.clear();
    request_source(model, effects);
    let moves: Vec<TaskId> =
        model.task_states.iter().filter(|one| one.enabled).map(|one| one.task).collect();
    // A running search gets all processors.
    let searching = model.search.as_ref().is_some_and(|search| search.is_running());
    let inside = model.view.cursor < model.loaded().len();
    let known = model.ahead_elsewhere.at(&model.view.loaded, model.view.cursor);
    if let Some(known) = known {
        model.ahead.clone_from(known);
        if was_looking {
            effects.push(Effect::CancelLookAhead);
        }
        return;
    }
    model.looking_ahead = !searching && model.can_run.is_ok() && !moves.is_empty() && inside;
    if model.looking_ahead {
        effects.push(Effect::LookAhead {
            generation: model.generation,
            loaded: Arc::clone(&model.view.loaded),
            step: model.view.cursor,
            moves,
        });
    }
}

/// Requests that the verdict on the displayed schedule is checked, unless that was done. A running
/// search gets all processors; the check starts when it has ended.
pub(super) fn request_check(model: &mut Model, effects: &mut Vec<Effect>) {
    let loaded = Arc::clone(&model.view.loaded);
    let searching = model.search.as_ref().is_some_and(|search| search.is_running());
    let known = model.checks.of(&loaded).is_some();
    if loaded.verdict().is_some() && model.can_run.is_ok() && !searching && !known {
        model.checks.start(&loaded);
        effects.push(Effect::Check(loaded));
    }
}

/// Requests the source files to show, unless they were read before or cannot be read.
pub(super) fn request_source(model: &Model, effects: &mut Vec<Effect>) {
    let others = model.other_sources().into_iter().map(|position| position.file);
    let mut paths: Vec<String> = model.shown_source().map(|(path, _)| path).into_iter().collect();
    paths.extend(others.take(OTHER_SOURCES));
    paths.extend(model.last_own_source().map(|(path, _)| path));
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        if !model.sources.contains_key(&path) {
            effects.push(Effect::Source(path));
        }
    }
}

/// Requests the stacks and values that the displayed pane lacks.
pub(super) fn request_inspection(model: &mut Model) -> Option<Effect> {
    let loaded = Arc::clone(&model.view.loaded);
    model.inspections.keep_only(&loaded);
    if model.can_run.is_err() {
        return None;
    }
    let request = panes::inspection(model)?;
    model.inspections.record_request(&request).then_some(Effect::Inspect(request))
}
