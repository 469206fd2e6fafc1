//! The mouse.

use super::choose::pick;
use super::walk::stand_on_line;
use super::{act, scroll, scroll_pane, stand};
use crate::app::action::Action;
use crate::app::model::{Effect, Mode, Model};
use crate::app::render::{areas, top_line};
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
        Mode::Walk if on_pane => scroll_pane(model, i64::from(notches) * 3),
        Mode::Walk => stand_on_line(model, i64::from(notches) * 3, effects),
        _ => {}
    }
}

pub(super) fn clicked(model: &mut Model, x: u16, y: u16, effects: &mut Vec<Effect>) {
    model.message = None;
    if model.mode != Mode::Walk {
        model.mode = Mode::Walk;
        return;
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
        let place = usize::from(y - areas.choices.y);
        if let Some(place) = place.checked_sub(1).filter(|&place| place < model.standing.len()) {
            pick(model, place, effects);
        }
    } else if areas.pane.contains(at) && y == areas.pane.y {
        act(model, Action::NextPane, effects);
    }
}
