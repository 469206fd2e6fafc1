//! Starts and stops searches, and shows what they find.

use super::choices::show;
use super::cursor::{move_cursor, request_check};
use super::scroll;
use crate::report::text::count;
use crate::tui::keys::actions::Action;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::mode::{Mode, Question};
use crate::tui::panes;
use crate::walk::search::{SearchState, SearchStatus, SearchUpdate, strategies};
use ratatui::crossterm::event::KeyCode;
use replay_core::StrategyChoice;
use replay_core::runner::{SearchFrom, SearchLimits};
use std::sync::Arc;
use traces::{Choice, FailureKind};

/// The largest bound of the dialog.
const MAX_BOUND: u32 = 20;

/// Opens the dialog that starts a search.
pub(super) fn open_dialog(model: &mut Model) {
    if let Err(why) = &model.can_run {
        let why = format!("the program cannot be run: {why}");
        return model.fail(why);
    }
    if model.view.cursor >= model.loaded().len() {
        return model.notify("no choices are left at the end: select the step to search from");
    }
    let before = model.search.as_ref().map(|search| &search.order);
    let strategy = before
        .and_then(|order| strategies().iter().position(|it| it.name == order.strategy.name()));
    let bound = before.and_then(|order| order.bound);
    model.mode = Mode::StartSearch { strategy: strategy.unwrap_or(0), bound };
}

/// A key press in the dialog.
pub(super) fn dialog_key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Mode::StartSearch { strategy, bound } = &mut model.mode else { return };
    if key.closes() {
        model.mode = Mode::Normal;
        return;
    }
    match key.plain() {
        Some(KeyCode::Down | KeyCode::Char('j')) => {
            *strategy = (*strategy + 1).min(strategies().len() - 1);
        }
        Some(KeyCode::Up | KeyCode::Char('k')) => *strategy = strategy.saturating_sub(1),
        Some(KeyCode::Right | KeyCode::Char('l' | '+')) => {
            *bound = Some(bound.map_or(0, |bound| (bound + 1).min(MAX_BOUND)));
        }
        Some(KeyCode::Left | KeyCode::Char('h' | '-')) => {
            *bound = bound.and_then(|bound| bound.checked_sub(1));
        }
        Some(KeyCode::Char(digit)) if digit.is_ascii_digit() => *bound = digit.to_digit(10),
        Some(KeyCode::Enter | KeyCode::Char(' ')) => {
            let strategy = StrategyChoice::of(strategies()[*strategy]);
            let bound = bound.filter(|_| strategy.is_bounded());
            model.mode = Mode::Normal;
            let order = SearchFrom {
                beginning: model.loaded().before(model.view.cursor).to_vec(),
                strategy,
                bound,
                workers: model.workers,
                limits: SearchLimits::default(),
                wishes: Vec::new(),
                resume: false,
            };
            start(model, order, effects);
        }
        Some(KeyCode::Char('q')) => model.mode = Mode::Normal,
        _ => {}
    }
}

fn start(model: &mut Model, order: SearchFrom, effects: &mut Vec<Effect>) {
    let number = model.search.as_ref().map_or(1, |search| search.number + 1);
    model.search = Some(SearchState::new(number, order.clone()));
    begin(model, number, order, effects);
}

/// Asks for the tasks and lines to bring together: those pinned before, and that of the selected step.
pub(super) fn ask_wish(model: &mut Model) {
    if let Err(why) = &model.can_run {
        let why = format!("the program cannot be run: {why}");
        return model.fail(why);
    }
    let here = model.loaded().trace.execution.steps.get(model.view.cursor).map(|step| step.task);
    if let (Some(task), Some((file, line))) = (here, model.shown_source()) {
        let file = file.rsplit('/').next().unwrap_or_default();
        let pinned = format!("{task}@{file}:{line}");
        match &mut model.wish {
            wish if wish.contains(&pinned) => {}
            wish if wish.is_empty() => *wish = pinned,
            // A condition is at the end.
            wish => {
                let at = wish.find(": ").unwrap_or(wish.len());
                wish.insert_str(at, &format!(" && {pinned}"));
            }
        }
    }
    model.mode = Mode::Prompt(Question::Wish, model.wish.clone());
}

/// Searches for a schedule that satisfies a predicate; an empty text forgets it.
pub(super) fn make_happen(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    text.clone_into(&mut model.wish);
    if text.is_empty() {
        return model.notify("nothing is pinned any more");
    }
    let order = SearchFrom {
        beginning: Vec::new(),
        strategy: StrategyChoice::WHEN,
        bound: None,
        workers: model.workers,
        limits: SearchLimits::default(),
        wishes: vec![text.to_owned()],
        resume: false,
    };
    start(model, order, effects);
}

/// Continues the search that was stopped.
pub(super) fn resume(model: &mut Model, effects: &mut Vec<Effect>) {
    let start = model.keys.name_of(Action::HandOver, "hand-over");
    let Some(search) = &mut model.search else {
        return model.notify(format!("no search was stopped: {start} starts one"));
    };
    if search.is_running() {
        return model.notify("the search is running");
    }
    let Some(order) = search.resume() else {
        return model.notify(format!("that search is complete: {start} starts another one"));
    };
    let number = search.number;
    begin(model, number, order, effects);
}

fn begin(model: &mut Model, number: u64, order: SearchFrom, effects: &mut Vec<Effect>) {
    model.looking_ahead = false;
    model.checks.cancel();
    scroll::select_pane(model, panes::SEARCH);
    effects.push(Effect::Search { number, order });
    let stop = model.keys.name_of(Action::Stop, "stop");
    let found = model.keys.name_of(Action::NextFound, "next-found");
    model.notify(format!("searching from here: {stop} stops, {found} shows what was found"));
}

/// Cancels the running request or, without one, stops the search; else leaves the text search or
/// the zoom.
pub(super) fn stop(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.busy.take().is_some() {
        effects.push(Effect::Cancel);
        return model.notify("cancelled");
    }
    match &mut model.search {
        Some(search) if search.status == SearchStatus::Running => {
            search.status = SearchStatus::Stopping;
            effects.push(Effect::StopSearch);
        }
        _ if model.matches => model.matches = false,
        _ => model.zoomed = false,
    }
}

/// Applies an update, unless it is of an earlier search.
pub(super) fn received(
    model: &mut Model,
    number: u64,
    update: SearchUpdate,
    effects: &mut Vec<Effect>,
) {
    let Some(search) = model.search.as_mut().filter(|search| search.number == number) else {
        return;
    };
    let known = search.found.len();
    search.apply(update);
    let happened = search.found.get(known).filter(|(bug, _)| bug.kind == FailureKind::Satisfied);
    if let Some(choices) = happened.map(|it| it.1.trace.execution.choices_without_sites()) {
        // The execution without the predicate continues from there, and can be explored by hand.
        let tasks = choices.iter().filter(|choice| matches!(choice, Choice::Task(_)));
        let cursor = tasks.count();
        model.busy = Some("running the schedule that satisfies it".to_owned());
        model.happened = Some(search.order.wishes.join(" "));
        // It was asked for once; failures on the way did not end the search.
        if search.is_running() {
            search.status = SearchStatus::Stopping;
            effects.push(Effect::StopSearch);
        }
        effects.push(Effect::Run { choices, cursor });
    }
    let message = match (&search.status, search.found.get(known)) {
        (_, Some((bug, _))) if bug.kind == FailureKind::Satisfied => None,
        // A failure on the way to what was asked for.
        (SearchStatus::Running | SearchStatus::Stopping, Some(_))
            if !search.order.wishes.is_empty() =>
        {
            None
        }
        (_, Some((bug, _))) => {
            let key = model.keys.name_of(Action::NextFound, "next-found");
            Some(format!("found: {}: {} ({key} shows it)", bug.kind, bug.message))
        }
        (SearchStatus::Ended { what, .. }, None) => ended_text(search, what),
        _ => None,
    };
    let ended = !search.is_running();
    if let Some(message) = message {
        model.notify(message);
    }
    if ended {
        // The processors are free again: start the look-ahead.
        let (cursor, message) = (model.view.cursor, model.message.take());
        move_cursor(model, cursor, effects);
        request_check(model, effects);
        model.message = message;
    }
}

/// What an ended search found; none if the schedule that it was for is displayed.
fn ended_text(search: &SearchState, what: &str) -> Option<String> {
    let executions = count(search.progress.executions, "execution");
    if search.order.wishes.is_empty() {
        let found = count(search.found.len() as u64, "failure");
        return Some(format!("the search ended: {executions}, {found}; {what}"));
    }
    // Nothing was searched, for example because the predicate is invalid: the reason alone matters.
    if search.progress.executions == 0 {
        return Some(what.to_owned());
    }
    let happened = search.found.iter().any(|(bug, _)| bug.kind == FailureKind::Satisfied);
    (!happened).then(|| {
        format!("not reached in {executions}, which does not show that it is impossible; {what}")
    })
}

/// Shows the next or previous failure that the search found.
pub(super) fn show_found(model: &mut Model, next: bool, effects: &mut Vec<Effect>) {
    let Some(search) = model.search.as_mut().filter(|search| !search.found.is_empty()) else {
        let text = match &model.search {
            None => {
                let key = model.keys.name_of(Action::HandOver, "hand-over");
                format!("no search was started yet: {key} starts one")
            }
            Some(search) if search.is_running() => "the search has found no failure yet".into(),
            Some(_) => "the search found no failure".into(),
        };
        return model.notify(text);
    };
    let all = search.found.len();
    let at = match (search.shown, next) {
        (None, _) => 0,
        (Some(shown), true) => (shown + 1) % all,
        (Some(shown), false) => (shown + all - 1) % all,
    };
    search.shown = Some(at);
    let (bug, loaded) = &search.found[at];
    let text = format!("failure {} of {all}: {}: {}", at + 1, bug.kind, bug.message);
    let loaded = Arc::clone(loaded);
    let end = loaded.len();
    show(model, loaded, end, effects);
    model.notify(text);
}
