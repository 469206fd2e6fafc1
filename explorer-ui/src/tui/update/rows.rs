//! Finds rows of the schedule, and shows only those that match a filter.

use super::cursor::move_cursor;
use super::jobs;
use crate::report::filter::Filter;
use crate::report::text::{count, grouped};
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::found_rows::FoundRows;
use crate::tui::model::job::{Job, Purpose, RowSearch};
use crate::tui::render::paint::glyphs;
use std::sync::Arc;

/// Finds the next or previous matching row; an empty text repeats the last search.
pub(super) fn search(model: &mut Model, text: String, back: bool, effects: &mut Vec<Effect>) {
    if !text.is_empty() {
        model.search_text = text;
        model.found_rows = None;
    }
    if !model.search_text.is_empty() {
        next(model, back, effects);
    }
}

/// Moves to the next or previous row of the last search.
pub(super) fn next_match(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    if model.search_text.is_empty() {
        let key = model.keys.name_of(Action::Search, "search");
        return model.notify(format!("no text was searched for yet: {key} searches"));
    }
    next(model, back, effects);
}

/// Moves among the known rows, or finds them first.
fn next(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    match model.found_rows.take().filter(|rows| rows.is_of(&model.view.loaded)) {
        Some(rows) => {
            show_match(model, &rows, back, effects);
            model.found_rows = Some(rows);
        }
        None => find(model, model.search_text.clone(), Purpose::Move(back), effects),
    }
}

/// Shows only the rows that match; all of them for an empty text.
pub(super) fn filter(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    if text.is_empty() {
        if model.shown_rows.take().is_some() {
            model.update_lines();
            model.notify("all rows are shown");
        }
        return;
    }
    find(model, text.to_owned(), Purpose::Show, effects);
}

/// Applies the filter to a schedule that it was not applied to yet.
pub(super) fn refilter(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(rows) = &model.shown_rows else { return };
    if !rows.is_of(&model.view.loaded) && model.busy.is_none() {
        let text = rows.text.clone();
        find(model, text, Purpose::Show, effects);
    }
}

fn find(model: &mut Model, text: String, purpose: Purpose, effects: &mut Vec<Effect>) {
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(why) => return model.fail(why),
    };
    let what = format!("searching for `{text}`");
    let loaded = Arc::clone(&model.view.loaded);
    let search = RowSearch { loaded, text, filter, purpose, glyphs: glyphs(model) };
    jobs::start(model, Job::Find(search), what, effects);
}

/// Applies the result of a search.
pub(super) fn found(
    model: &mut Model,
    search: RowSearch,
    steps: Arc<Vec<usize>>,
    effects: &mut Vec<Effect>,
) {
    let rows = FoundRows::new(search.text, search.loaded, steps);
    match search.purpose {
        Purpose::Move(back) => {
            show_match(model, &rows, back, effects);
            model.matches = !rows.is_empty();
            model.found_rows = Some(rows);
        }
        Purpose::Show if rows.is_empty() => {
            model.fail(format!("no row matches `{}`", rows.text));
            if model.shown_rows.as_ref().is_some_and(|shown| !shown.is_of(&model.view.loaded)) {
                model.shown_rows = None;
            }
            model.update_lines();
        }
        Purpose::Show => {
            let (shown, all) = (rows.len() as u64, model.loaded().len() as u64);
            model.notify(format!("{} of {} shown", grouped(shown), count(all, "row")));
            model.shown_rows = Some(rows);
            model.update_lines();
        }
    }
}

/// Moves to a match and says which one it is.
fn show_match(model: &mut Model, rows: &FoundRows, back: bool, effects: &mut Vec<Effect>) {
    let Some((place, wrapped)) = rows.beside(model.view.cursor, back) else {
        return model.fail(format!("no row matches `{}`", rows.text));
    };
    if let Some(step) = rows.step(place) {
        move_cursor(model, step, effects);
    }
    let mut text = format!("match {} of {}", grouped(place as u64 + 1), grouped(rows.len() as u64));
    if wrapped {
        text += if back { ", wrapped around to the end" } else { ", wrapped around to the start" };
    }
    model.notify(text);
}
