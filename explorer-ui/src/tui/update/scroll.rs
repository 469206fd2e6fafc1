//! Scrolls windows and the information pane.

use crate::tui::model::Model;
use crate::tui::model::mode::Mode;
use crate::tui::panes;
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

/// Scrolls the selected pane, not beyond its last line.
pub(super) fn pane(model: &mut Model, lines: i64) {
    let most = panes::hidden_lines(model) as i64;
    model.pane_top = (model.pane_top as i64 + lines).clamp(0, most) as usize;
}
