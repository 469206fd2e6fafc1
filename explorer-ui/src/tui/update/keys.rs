//! Key presses: in the normal mode they perform actions, in windows and prompts they edit.

use super::{actions, prompt, scroll, search};
use crate::tui::commands::matching;
use crate::tui::keys::actions::Action;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::mode::Mode;
use ratatui::crossterm::event::KeyCode;

pub(super) fn pressed(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    match &model.mode {
        Mode::Normal => match prompt::match_action(model, key).or(model.keys.action(key)) {
            Some(action) => actions::perform_in_tour(model, action, effects),
            None => {
                let help = model.keys.name_of(Action::Help, "help");
                model.notify(format!("{key} has no function here; {help} lists the keys"));
            }
        },
        Mode::Help(_) => match key.plain() {
            Some(KeyCode::Char('/' | ':')) => actions::perform(model, Action::Palette, effects),
            _ => scroll_or_close(model, key),
        },
        Mode::Text(_, lines, _) if key == Key::of(KeyCode::Char('y')) => {
            effects.push(Effect::Copy(lines.join("\n") + "\n"));
            model.notify("copied the text");
        }
        Mode::Text(..) => scroll_or_close(model, key),
        Mode::Palette { .. } => palette(model, key, effects),
        Mode::Prompt(..) => prompt::pressed(model, key, effects),
        Mode::StartSearch { .. } => search::dialog_key(model, key, effects),
    }
}

fn scroll_or_close(model: &mut Model, key: Key) {
    match key.plain().and_then(|code| scroll::by_key(model, code)) {
        Some(lines) => scroll::window(model, lines),
        None => model.mode = Mode::Normal,
    }
}

fn palette(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Mode::Palette { typed, selected } = &mut model.mode else { return };
    let found = matching(typed);
    let down = key.code == KeyCode::Down || key == Key::control('n');
    let up = key.code == KeyCode::Up || key == Key::control('p');
    if key.closes() {
        model.mode = Mode::Normal;
    } else if key.code == KeyCode::Enter {
        let action = found.get(*selected).map(|one| one.action);
        model.mode = Mode::Normal;
        if let Some(action) = action {
            actions::perform(model, action, effects);
        }
    } else if down {
        *selected = (*selected + 1).min(found.len().saturating_sub(1));
    } else if up {
        *selected = selected.saturating_sub(1);
    } else {
        prompt::typed(model, key);
    }
}
