//! The mouse.

use super::choose::pick;
use super::walk::stand_on_line;
use super::{act, scroll, scroll_pane, stand};
use crate::app::action::{Action, matching};
use crate::app::hand::STRATEGIES;
use crate::app::model::{Effect, Mode, Model};
use crate::app::render::{areas, hint_at, listed_at, overlay_inside, palette_first, top_line};
use ratatui::layout::Position;

pub(super) fn wheel(
    model: &mut Model,
    (x, y): (u16, u16),
    notches: i32,
    effects: &mut Vec<Effect>,
) {
    let on_pane = areas(model).pane.contains(Position { x, y });
    match &mut model.mode {
        Mode::Help(line) => {
            *line = line.saturating_add_signed(notches as isize);
        }
        Mode::Text(..) => scroll(model, i64::from(notches) * 3),
        Mode::Palette { .. } | Mode::HandOver { .. } => {
            let key = if notches > 0 { "down" } else { "up" };
            for _ in 0..notches.unsigned_abs() {
                super::key_pressed(model, key, effects);
            }
        }
        Mode::Walk if on_pane => scroll_pane(model, i64::from(notches) * 3),
        Mode::Walk => stand_on_line(model, i64::from(notches) * 3, effects),
        _ => {}
    }
}

/// An entry of the window that is open; beside it closes.
fn chosen_in_window(model: &mut Model, at: Position, effects: &mut Vec<Effect>) {
    let inside = overlay_inside(model).filter(|inside| inside.contains(at));
    let line = inside.map(|inside| (inside, usize::from(at.y - inside.y)));
    match (&mut model.mode, line) {
        (Mode::Palette { typed, selected }, Some((inside, line))) => {
            let Some(line) = line.checked_sub(1) else { return };
            let found = matching(typed);
            let action = found.get(palette_first(*selected, inside) + line).map(|one| one.action);
            model.mode = Mode::Walk;
            if let Some(action) = action {
                act(model, action, effects);
            }
        }
        // The first click chooses, the second begins: there may be a bound to set.
        (Mode::HandOver { strategy, .. }, Some((_, line))) if *strategy == line => {
            super::hand::dialog_key(model, "enter", effects);
        }
        (Mode::HandOver { strategy, .. }, Some((_, line))) => {
            // The last lines tell of the bound.
            *strategy = if line < STRATEGIES.len() { line } else { *strategy };
        }
        _ => model.mode = Mode::Walk,
    }
}

pub(super) fn clicked(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    let footer = areas(model).footer;
    let hint = footer.contains(Position { x, y }).then(|| hint_at(model, x)).flatten();
    model.message = None;
    if model.mode != Mode::Walk {
        chosen_in_window(model, Position { x, y }, effects);
        return;
    }
    if let Some(action) = hint {
        return super::done(model, action, effects);
    }
    let areas = areas(model);
    let at = Position { x, y };
    if areas.rows.contains(at) {
        let line = top_line(model, areas.rows.height) + usize::from(y - areas.rows.y);
        let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
        stand(model, step, effects);
    } else if areas.minimap.contains(at) {
        // The whole schedule stands in this one column.
        let lines = model.lines.len() + 1;
        let line = usize::from(y - areas.minimap.y) * lines / usize::from(areas.minimap.height);
        let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
        stand(model, step, effects);
    } else if areas.choices.contains(at) {
        if let Some(place) = listed_at(model, areas.choices, y - areas.choices.y) {
            pick(model, place, effects);
        }
    } else if areas.pane.contains(at) && y == areas.pane.y {
        act(model, Action::NextPane, effects);
    }
}
