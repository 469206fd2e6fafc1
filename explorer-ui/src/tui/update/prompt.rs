//! Text input: prompts in the footer, and the text of the palette.

use super::cursor::move_cursor;
use super::{choices, rows, search, tools};
use crate::tui::keys::actions::Action;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::mode::{Mode, Question};
use crate::walk::moves::{AtLine, OnObject};
use ratatui::crossterm::event::KeyCode;

/// The longest text that can be typed, in bytes.
const MAX_TEXT: usize = 200;

pub(super) fn pressed(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    if key.closes() {
        model.mode = Mode::Normal;
    } else if key.code != KeyCode::Enter {
        typed(model, key);
    } else if let Mode::Prompt(question, text) = std::mem::replace(&mut model.mode, Mode::Normal) {
        answer(model, question, text, effects);
    }
}

fn answer(model: &mut Model, question: Question, text: String, effects: &mut Vec<Effect>) {
    match question {
        Question::Text => rows::search(model, text, false, effects),
        Question::TextBefore => rows::search(model, text, true, effects),
        Question::Filter => rows::filter(model, text.trim(), effects),
        Question::Step => match text.trim().parse::<usize>() {
            Ok(step) => move_cursor(model, step.saturating_sub(1), effects),
            Err(_) => model.fail(format!("`{text}` is not a step number")),
        },
        Question::Object => until_object(model, text.trim(), effects),
        Question::Line => until_line(model, text.trim(), effects),
        Question::Task => choices::pick_by_name(model, text.trim(), effects),
        Question::Expression => tools::watch_expression(model, text.trim()),
        Question::Wish => search::make_happen(model, text.trim(), effects),
        Question::Note => tools::note(model, text.trim(), effects),
    }
}

/// Edits the text that is being typed.
pub(super) fn typed(model: &mut Model, key: Key) {
    if let Some(KeyCode::Char(letter)) = key.plain() {
        return typed_letter(model, letter);
    }
    let Some(text) = text(model) else { return };
    if key.plain() == Some(KeyCode::Backspace) {
        text.pop();
    } else if key == Key::control('u') {
        text.clear();
    }
}

/// Appends a letter to the text that is being typed.
pub(super) fn typed_letter(model: &mut Model, letter: char) {
    if let Some(text) = text(model)
        && text.len() < MAX_TEXT
    {
        text.push(letter);
    }
}

fn text(model: &mut Model) -> Option<&mut String> {
    match &mut model.mode {
        Mode::Palette { typed, selected } => {
            *selected = 0;
            Some(typed)
        }
        Mode::Prompt(_, text) => Some(text),
        Mode::Normal | Mode::Help(_) | Mode::Text(..) | Mode::StartSearch { .. } => None,
    }
}

/// The action of `n` and `N` while a text search is active.
pub(super) fn match_action(model: &Model, key: Key) -> Option<Action> {
    match key.plain()? {
        KeyCode::Char('n') if model.match_keys_active() => Some(Action::NextMatch),
        KeyCode::Char('N') if model.match_keys_active() => Some(Action::PreviousMatch),
        _ => None,
    }
}

/// Moves to the next step on an object with exactly this name or, if there is none, on one whose
/// name contains it.
fn until_object(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let Some(object) = OnObject::called(loaded, text) else {
        return model.fail(format!("no object is called `{text}`"));
    };
    match (model.view.cursor + 1..loaded.len()).find(|&step| object.has(loaded, step)) {
        Some(step) => move_cursor(model, step, effects),
        None => model.notify(format!("no later step of this schedule is on `{text}`")),
    }
}

/// Moves to the next step at a source line, of the displayed file or of a named one.
fn until_line(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let (file, number) = match text.rsplit_once(':') {
        Some((file, number)) => (Some(file.to_owned()), number),
        None => (model.shown_source().map(|(file, _)| file), text),
    };
    let (Some(file), Ok(number)) = (file, number.trim().parse::<u32>()) else {
        return model.fail(format!("`{text}` is not a source line: try 41, or queue.c:41"));
    };
    let loaded = model.loaded();
    let line = AtLine::of(loaded, &file, number);
    match (model.view.cursor + 1..loaded.len()).find(|&step| line.has(loaded, step)) {
        Some(step) => move_cursor(model, step, effects),
        None => model.notify(format!("no later step of this schedule is at {file}:{number}")),
    }
}
