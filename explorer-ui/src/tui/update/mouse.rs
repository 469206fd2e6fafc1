//! Mouse events.

use super::choices::pick;
use super::cursor::move_cursor;
use super::navigate::move_by_lines;
use super::{actions, keys, scroll, search};
use crate::tui::commands::matching;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::mode::Mode;
use crate::tui::model::pane_sizes::Divider;
use crate::tui::panes;
use crate::tui::render::choices::listed_at;
use crate::tui::render::footer::hint_at;
use crate::tui::render::lanes::step_at as lane_step_at;
use crate::tui::render::layout::{areas, divider_at, moved};
use crate::tui::render::overlay::{inside as overlay_inside, palette_first};
use crate::tui::render::schedule::top_line;
use crate::walk::search::strategies;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Position;

/// Lines scrolled for one notch of the wheel.
const NOTCH: i64 = 3;

pub(super) fn wheel(
    model: &mut Model,
    (x, y): (u16, u16),
    notches: i32,
    effects: &mut Vec<Effect>,
) {
    let at = Position { x, y };
    let under_mouse = panes::at(model, at);
    let on_pane = under_mouse.is_some() || areas(model).pane.contains(at);
    let lines = i64::from(notches) * NOTCH;
    match &model.mode {
        Mode::Help(_) | Mode::Text(..) => scroll::window(model, lines),
        Mode::Palette { .. } | Mode::StartSearch { .. } => {
            let key = Key::of(if notches > 0 { KeyCode::Down } else { KeyCode::Up });
            for _ in 0..notches.unsigned_abs() {
                keys::pressed(model, key, effects);
            }
        }
        Mode::Normal if on_pane => {
            // The pane under the mouse; the row of tabs belongs to the selected one.
            scroll::pane(model, under_mouse.unwrap_or(model.pane), lines);
        }
        Mode::Normal => move_by_lines(model, lines, effects),
        Mode::Prompt(..) => {}
    }
}

pub(super) fn clicked(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    let at = Position { x, y };
    let hint = areas(model).footer.contains(at).then(|| hint_at(model, x)).flatten();
    model.message = None;
    if model.mode != Mode::Normal {
        clicked_in_window(model, at, effects);
        return;
    }
    if let Some(action) = hint {
        return actions::perform_in_tour(model, action, effects);
    }
    model.dragged = divider_at(model, at).map(|divider| (divider, false));
    if model.dragged.is_some() || move_cursor_to_mouse(model, at, effects) {
        return;
    }
    if let Some(pane) = panes::at(model, at).filter(|&pane| pane != model.pane) {
        return actions::show_pane(model, pane);
    }
    let choices = areas(model).choices;
    if choices.contains(at)
        && let Some(place) = listed_at(model, choices, at.y - choices.y)
    {
        pick(model, place, effects);
    }
}

/// A click on an entry of the open window selects it; a click outside closes the window.
fn clicked_in_window(model: &mut Model, at: Position, effects: &mut Vec<Effect>) {
    let inside = overlay_inside(model).filter(|inside| inside.contains(at));
    let line = inside.map(|inside| (inside, usize::from(at.y - inside.y)));
    match (&mut model.mode, line) {
        (Mode::Palette { typed, selected }, Some((inside, line))) => {
            let Some(line) = line.checked_sub(1) else { return };
            let found = matching(typed);
            let action = found.get(palette_first(*selected, inside) + line).map(|one| one.action);
            model.mode = Mode::Normal;
            if let Some(action) = action {
                actions::perform(model, action, effects);
            }
        }
        // The first click selects a strategy, so that a bound can be set; the second one starts it.
        (Mode::StartSearch { strategy, .. }, Some((_, line))) if *strategy == line => {
            search::dialog_key(model, Key::of(KeyCode::Enter), effects);
        }
        // The lines below the strategies show the bound.
        (Mode::StartSearch { strategy, .. }, Some((_, line))) if line < strategies().len() => {
            *strategy = line;
        }
        (Mode::StartSearch { .. }, Some(_)) => {}
        _ => model.mode = Mode::Normal,
    }
}

/// Selects the step under the mouse in the schedule, the minimap or the overview; false elsewhere.
fn move_cursor_to_mouse(model: &mut Model, at: Position, effects: &mut Vec<Effect>) -> bool {
    let areas = areas(model);
    let line = if areas.rows.contains(at) {
        top_line(model, areas.rows.height) + usize::from(at.y - areas.rows.y)
    } else if areas.minimap.contains(at) {
        let lines = model.lines.len() + 1;
        usize::from(at.y - areas.minimap.y) * lines / usize::from(areas.minimap.height)
    } else if let Some(step) = lane_step_at(model, at) {
        move_cursor(model, step, effects);
        return true;
    } else {
        return false;
    };
    let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
    move_cursor(model, step, effects);
    true
}

/// Dragging moves the border under the mouse or, on the schedule, the cursor.
pub(super) fn dragged(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    if model.mode != Mode::Normal {
        return;
    }
    let at = Position { x, y };
    match model.dragged {
        Some((divider, _)) => {
            model.pane_sizes = moved(model, divider, at);
            model.dragged = Some((divider, true));
        }
        None => drop(move_cursor_to_mouse(model, at, effects)),
    }
}

/// Releasing the button on the pane's heading without having dragged it selects a tab; on the
/// selected tab or beside the tabs, the next one.
pub(super) fn released(model: &mut Model, x: u16, y: u16) {
    let Some((Divider::Pane, false)) = model.dragged.take() else { return };
    let pane = areas(model).pane;
    if !pane.contains(Position { x, y }) || y != pane.y {
        return;
    }
    let tab = panes::tab_at(model, x - pane.x).filter(|&tab| tab != model.pane);
    let pane = tab.unwrap_or_else(|| panes::neighbour(model, true));
    scroll::select_pane(model, pane);
}
