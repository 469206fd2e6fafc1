//! Scrolls windows and information panes.

use crate::tui::model::Model;
use crate::tui::model::mode::Mode;
use crate::tui::panes;
use crate::tui::panes::id::PaneId;
use crate::tui::render::overlay::help_lines;
use ratatui::crossterm::event::KeyCode;

/// How many lines a key scrolls a window; none for keys that do not scroll.
pub(super) fn by_key(model: &Model, key: KeyCode) -> Option<i64> {
    let page = i64::from(model.size.1.saturating_sub(4));
    Some(match key {
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown | KeyCode::Char(' ') => page,
        KeyCode::PageUp => -page,
        _ => return None,
    })
}

/// Scrolls the help or text window that is open.
pub(super) fn window(model: &mut Model, lines: i64) {
    let room = usize::from(model.size.1.saturating_sub(4));
    let most = match &model.mode {
        Mode::Help(_) => help_lines(model).len().saturating_sub(1),
        Mode::Text(_, text, _) => text.len().saturating_sub(room),
        _ => return,
    };
    if let Mode::Help(first) | Mode::Text(_, _, first) = &mut model.mode {
        *first = (*first as i64 + lines).clamp(0, most as i64) as usize;
    }
}

/// Scrolls a displayed pane, not beyond its last line.
pub(super) fn pane(model: &mut Model, pane: PaneId, lines: i64) {
    let most = panes::hidden_lines(model, pane) as i64;
    let top = model.pane_tops.entry(pane).or_default();
    *top = (*top as i64 + lines).clamp(0, most) as usize;
}

/// Selects a pane. It is shown from its first line, unless it is displayed already.
pub(super) fn select_pane(model: &mut Model, pane: PaneId) {
    if !panes::is_displayed(model, pane) {
        model.pane_tops.remove(&pane);
    }
    model.pane = pane;
}
