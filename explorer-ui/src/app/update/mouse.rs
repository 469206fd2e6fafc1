//! The mouse.

use super::choose::pick;
use super::walk::stand_on_line;
use super::{act, scroll, scroll_pane, stand};
use crate::app::action::{Action, matching};
use crate::app::hand::STRATEGIES;
use crate::app::model::{Effect, Mode, Model};
use crate::app::render::{
    Divider, areas, divider_at, hint_at, is_wide, lane_step_at, listed_at, moved, overlay_inside,
    palette_first, pane_named_at, top_line,
};
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
    let at = Position { x, y };
    model.dragged = divider_at(model, at).map(|divider| (divider, false));
    if model.dragged.is_none() {
        pointed(model, at, effects);
    }
}

/// What stands at a place is gone to, or done.
fn pointed(model: &mut Model, at: Position, effects: &mut Vec<Effect>) {
    let areas = areas(model);
    if stand_at(model, at, effects) {
    } else if areas.choices.contains(at)
        && let Some(place) = listed_at(model, areas.choices, at.y - areas.choices.y)
    {
        pick(model, place, effects);
    }
}

/// Stands where the mouse is in the schedule: on its rows, in the small pictures of all of it.
fn stand_at(model: &mut Model, at: Position, effects: &mut Vec<Effect>) -> bool {
    let areas = areas(model);
    let line = if areas.rows.contains(at) {
        top_line(model, areas.rows.height) + usize::from(at.y - areas.rows.y)
    } else if areas.minimap.contains(at) {
        // The whole schedule stands in this one column.
        let lines = model.lines.len() + 1;
        usize::from(at.y - areas.minimap.y) * lines / usize::from(areas.minimap.height)
    } else if let Some(step) = lane_step_at(model, at) {
        stand(model, step, effects);
        return true;
    } else {
        return false;
    };
    let step = model.lines.get(line).copied().unwrap_or(model.loaded().len());
    stand(model, step, effects);
    true
}

/// The mouse is moved with its button pressed: what it holds goes along.
pub(super) fn dragged(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    if model.mode != Mode::Walk {
        return;
    }
    let at = Position { x, y };
    match model.dragged {
        Some((divider, _)) => {
            model.division = moved(model, divider, at);
            model.dragged = Some((divider, true));
        }
        None => drop(stand_at(model, at, effects)),
    }
}

/// The mouse is let go: a heading that was pressed and not moved turns the pane.
pub(super) fn released(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    let Some((Divider::Pane, false)) = model.dragged.take() else { return };
    let pane = areas(model).pane;
    if !pane.contains(Position { x, y }) || y != pane.y {
        return;
    }
    match pane_named_at(model, x - pane.x) {
        Some(named) => {
            model.pane = named;
            model.pane_top = 0;
        }
        None => act(model, Action::NextPane, effects),
    }
}

/// The schedule gets more room, or less.
pub(super) fn widen(model: &mut Model, wider: bool) {
    let width = areas(model).schedule.width;
    if !is_wide(model) || model.zoomed {
        return super::say(
            model,
            "the panes stand below here: the mouse drags their headings".into(),
        );
    }
    const BY: u16 = 4;
    let x = if wider { width.saturating_add(BY) } else { width.saturating_sub(BY) };
    model.division = moved(model, Divider::Side, Position { x, y: 0 });
    // As far as it goes, and no further.
    model.division.side = Some(areas(model).schedule.width);
}
