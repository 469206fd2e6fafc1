//! Where text is typed: what to look for, numbers, names, the palette.

use super::{act, aside, choose, fail, keep, say, stand};
use crate::app::action::{Action, matching};
use crate::app::aside::{Search, Task};
use crate::app::model::{Ask, Effect, Mode, Model};
use crate::app::render::glyphs;
use crate::views::rows::object;
use std::collections::HashSet;
use std::sync::Arc;
use traces::{Execution, Frame, Site};

pub(super) fn palette_key(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let Mode::Palette { typed: text, selected } = &mut model.mode else { return };
    let found = matching(text);
    match key {
        "esc" | "ctrl-c" => model.mode = Mode::Walk,
        "enter" => {
            let action = found.get(*selected).map(|one| one.action);
            model.mode = Mode::Walk;
            if let Some(action) = action {
                act(model, action, effects);
            }
        }
        "down" | "ctrl-n" => *selected = (*selected + 1).min(found.len().saturating_sub(1)),
        "up" | "ctrl-p" => *selected = selected.saturating_sub(1),
        other => typed(model, other),
    }
}

pub(super) fn prompt_key(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    match key {
        "esc" | "ctrl-c" => model.mode = Mode::Walk,
        "enter" => {
            let mode = std::mem::replace(&mut model.mode, Mode::Walk);
            let Mode::Prompt(ask, text) = mode else { return };
            match ask {
                Ask::Text => search(model, text, false, effects),
                Ask::TextBefore => search(model, text, true, effects),
                Ask::Step => match text.trim().parse::<usize>() {
                    Ok(step) => stand(model, step.saturating_sub(1), effects),
                    Err(_) => fail(model, format!("`{text}` is no number of a step")),
                },
                Ask::Object => until_object(model, text.trim(), effects),
                Ask::Line => until_line(model, text.trim(), effects),
                Ask::Task => choose::pick_called(model, text.trim(), effects),
                Ask::Expression => keep::watch_expression(model, text.trim()),
                Ask::Note => keep::note(model, text.trim(), effects),
            }
        }
        other => typed(model, other),
    }
}

/// A key where text is typed.
pub(super) fn typed(model: &mut Model, key: &str) {
    let text = match &mut model.mode {
        Mode::Palette { typed, selected } => {
            *selected = 0;
            typed
        }
        Mode::Prompt(_, text) => text,
        Mode::Walk | Mode::Help(_) | Mode::Text(..) | Mode::HandOver { .. } => return,
    };
    match key {
        "backspace" => drop(text.pop()),
        "ctrl-u" => text.clear(),
        "space" => text.push(' '),
        letter if letter.chars().count() == 1 && text.len() < 200 => text.push_str(letter),
        _ => {}
    }
}

fn search(model: &mut Model, text: String, back: bool, effects: &mut Vec<Effect>) {
    let text = if text.is_empty() { model.looked_for.clone() } else { text };
    model.looked_for.clone_from(&text);
    if text.is_empty() {
        return;
    }
    let cursor = model.spot.cursor;
    let search = Search {
        loaded: Arc::clone(&model.spot.loaded),
        from: if back { cursor } else { cursor + 1 },
        back,
        glyphs: glyphs(model),
        text,
    };
    let what = format!("looking for `{}`", search.text);
    aside::begin(model, Task::Find(search), what, effects);
}

/// The next row that holds the text that was looked for last, or the one before.
pub(super) fn next_match(model: &mut Model, back: bool, effects: &mut Vec<Effect>) {
    if model.looked_for.is_empty() {
        return say(model, "nothing was looked for yet (/ does)".into());
    }
    search(model, String::new(), back, effects);
}

/// What a key does while the rows that hold a text are gone through.
pub(super) fn of_matches(model: &Model, key: &str) -> Option<Action> {
    match key {
        "n" if model.keys_of_matches() => Some(Action::NextMatch),
        "N" if model.keys_of_matches() => Some(Action::PreviousMatch),
        _ => None,
    }
}

/// On to the next step on an object whose name holds the text; one that is called just so first.
fn until_object(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let trace = &loaded.trace;
    let wanted = text.to_lowercase();
    let names: Vec<String> = (0..trace.execution.objects.len() as u32)
        .map(|index| object(trace, Some(index)).unwrap_or_default().to_lowercase())
        .collect();
    if wanted.is_empty() || !names.iter().any(|name| name.contains(&wanted)) {
        return fail(model, format!("no object is called `{text}`"));
    }
    let exact = names.contains(&wanted);
    let is = |name: &String| if exact { *name == wanted } else { name.contains(&wanted) };
    let meant: Vec<bool> = names.iter().map(is).collect();
    let touched = |&step: &usize| {
        let index = trace.execution.steps[step].object;
        index.and_then(|index| meant.get(index as usize)).copied().unwrap_or(false)
    };
    match (model.spot.cursor + 1..loaded.len()).find(touched) {
        Some(step) => stand(model, step, effects),
        None => say(model, format!("`{text}` is not touched any more in this schedule")),
    }
}

/// On to the next step at a line: of the file that is shown, or of one that is named.
fn until_line(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let (file, number) = match text.rsplit_once(':') {
        Some((file, number)) => (Some(file.to_owned()), number),
        None => (model.shown_source().map(|(file, _)| file), text),
    };
    let (Some(file), Ok(number)) = (file, number.trim().parse::<u32>()) else {
        return fail(model, format!("`{text}` is no line: try 41, or queue.c:41"));
    };
    let loaded = model.loaded();
    let Execution { steps, places, .. } = &loaded.trace.execution;
    let in_directory = format!("/{file}");
    let there = |frames: &[Frame]| {
        frames.iter().any(|frame| {
            let same = frame.file == file || frame.file.ends_with(&in_directory);
            same && frame.line == number
        })
    };
    let sites: HashSet<Site> =
        places.iter().filter(|(_, frames)| there(frames)).map(|(site, _)| *site).collect();
    let at = |&step: &usize| !sites.is_empty() && sites.contains(&steps[step].site);
    match (model.spot.cursor + 1..loaded.len()).find(at) {
        Some(step) => stand(model, step, effects),
        None => say(model, format!("no step from here on is at {file}:{number}")),
    }
}
