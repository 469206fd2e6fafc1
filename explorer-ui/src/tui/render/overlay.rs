//! Windows on top of the screen: help, palette, texts, the search dialog, the tour.

use super::paint::{borders, glyphs, paragraph, put, styled};
use crate::report::text::{clip, count, width, wrap};
use crate::tui::commands::{self, matching};
use crate::tui::model::Model;
use crate::tui::model::mode::Mode;
use crate::tui::theme::Role;
use crate::tui::tour::PAGES;
use crate::walk::search::strategies;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, List, ListState, StatefulWidget, Widget};

pub(super) fn draw(model: &Model, buffer: &mut Buffer, screen: Rect) {
    match &model.mode {
        Mode::Help(first) => {
            let lines = help_lines(model);
            let (title, keys) = (" commands and keys ", " / finds, esc closes ");
            let area = window(model, buffer, screen, lines.len(), title, keys);
            let first = (*first).min(lines.len().saturating_sub(usize::from(area.height)));
            paragraph(lines.into_iter().skip(first)).render(area, buffer);
        }
        Mode::Text(title, lines, first) => {
            let title = format!(" {title} ");
            let keys = " arrows scroll, y copies, esc closes ";
            let area = wide_window(model, buffer, screen, lines.len(), &title, keys);
            let style = model.theme.style(Role::Text);
            let lines = lines.iter().skip(*first).take(usize::from(area.height));
            paragraph(lines.map(|text| vec![(format!(" {text}"), style)])).render(area, buffer);
        }
        Mode::Palette { typed, selected } => {
            let found = matching(typed);
            let lines = found.len().max(1) + 1;
            let area =
                window(model, buffer, screen, lines, " commands ", " enter runs it, esc closes ");
            let cursor = if model.ascii { "_" } else { "▏" };
            let prompt = vec![
                (" : ".to_owned(), model.theme.style(Role::Key)),
                (format!("{typed}{cursor}"), model.theme.style(Role::Text)),
            ];
            put(buffer, area, 0, prompt);
            let cut = glyphs(model).cut;
            let entries = found.iter().map(|one| {
                let keys = model.keys.names_of(one.action);
                let room = usize::from(area.width).saturating_sub(44);
                vec![
                    (format!(" {:<20}", one.name), model.theme.style(Role::Title)),
                    (format!("{keys:<23}"), model.theme.style(Role::Key)),
                    (clip(one.what, room, cut), model.theme.style(Role::Dim)),
                ]
            });
            let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
            let first = palette_first(*selected, area);
            list(model, buffer, below, entries, *selected, first);
        }
        Mode::StartSearch { strategy, bound } => {
            hand_over(model, buffer, screen, *strategy, *bound)
        }
        Mode::Normal | Mode::Prompt(..) => tour(model, buffer, screen),
    }
}

/// Draws a list from the entry `first` on, and marks the selected entry.
fn list(
    model: &Model,
    buffer: &mut Buffer,
    area: Rect,
    entries: impl Iterator<Item = Vec<(String, Style)>>,
    selected: usize,
    first: usize,
) {
    let list = List::new(entries.map(styled)).highlight_style(model.theme.style(Role::Selected));
    let mut state = ListState::default().with_offset(first).with_selected(Some(selected));
    StatefulWidget::render(list, area, buffer, &mut state);
}

/// The first entry of the palette that is shown.
pub(in crate::tui) fn palette_first(selected: usize, inside: Rect) -> usize {
    (selected + 1).saturating_sub(usize::from(inside.height).saturating_sub(1).max(1))
}

/// The inside of the palette or the search dialog, whose entries the mouse selects.
pub(in crate::tui) fn inside(model: &Model) -> Option<Rect> {
    let lines = match &model.mode {
        Mode::Palette { typed, .. } => matching(typed).len().max(1) + 1,
        Mode::StartSearch { .. } => strategies().len() + 3,
        _ => return None,
    };
    let (width, height) = model.size;
    if width < super::layout::LEAST.0 || height < super::layout::LEAST.1 {
        return None;
    }
    let outer = middle(Rect { x: 0, y: 0, width, height }, usual(width), lines);
    Some(Block::bordered().inner(outer))
}

/// A page of the tour, in the lower right corner, where it hides the least.
fn tour(model: &Model, buffer: &mut Buffer, screen: Rect) {
    let Some(page) = model.tour.and_then(|at| PAGES.get(at)) else { return };
    let wide = screen.width.saturating_sub(4).min(64);
    let lines = wrap(page.text, usize::from(wide.saturating_sub(4)));
    let high = (lines.len() as u16 + 2).min(screen.height.saturating_sub(3));
    let corner =
        Rect { x: screen.width - wide - 1, y: screen.height - high - 1, width: wide, height: high };
    let number = model.tour.unwrap_or(0) + 1;
    let title = format!(" tour {number} of {} ", PAGES.len());
    let area = framed_at(model, buffer, corner, &title, " esc ends it ");
    let style = model.theme.style(Role::Text);
    let lines = lines.into_iter().map(|text| vec![(format!(" {text}"), style)]);
    paragraph(lines).render(area, buffer);
}

/// The dialog that starts a search.
fn hand_over(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    strategy: usize,
    bound: Option<u32>,
) {
    let keys = " arrows choose, enter begins, esc closes ";
    let lines = strategies().len() + 3;
    let area = window(model, buffer, screen, lines, " search from this step ", keys);
    let text = model.theme.style(Role::Text);
    let entries = strategies().into_iter().map(|descriptor| {
        vec![
            (format!("  {:<10}", descriptor.name), model.theme.style(Role::Title)),
            (descriptor.summary.to_owned(), text),
        ]
    });
    list(model, buffer, area, entries, strategy, 0);
    let within = match (strategies()[strategy].bound, bound) {
        (None, _) => "this strategy has no bound: it runs until it is complete or stopped".into(),
        (Some(_), None) => "no bound (right, left or a digit sets one)".to_owned(),
        (Some(unit), Some(bound)) => {
            format!("at most {} from here (right, left)", count(bound.into(), unit.singular()))
        }
    };
    let line = strategies().len() as u16 + 1;
    put(buffer, area, line, vec![(format!("  {within}"), model.theme.style(Role::Notice))]);
}

/// Columns of keys and signs before their meaning.
const MARGIN: usize = 27;

/// The lines of the help, with the current key bindings.
pub(in crate::tui) fn help_lines(model: &Model) -> Vec<Vec<(String, Style)>> {
    let mut lines = Vec::new();
    let mut group = "";
    for one in commands::all() {
        if one.group != group {
            group = one.group;
            lines.push(vec![(format!(" {group}"), model.theme.style(Role::Title))]);
        }
        let keys = model.keys.names_of(one.action);
        lines.extend(meaning(model, &keys, Role::Key, one.what));
    }
    lines.push(vec![(" Signs".to_owned(), model.theme.style(Role::Title))]);
    let signs = glyphs(model);
    let ascii = model.ascii;
    let nearest = format!("nearest 1{}", signs.preemption);
    let relations = if ascii { ["^ v", "' ,", "="] } else { ["▲ ▼", "△ ▽", "‖"] };
    let ways = if ascii { ["+ ~", ". -", "x"] } else { ["● ◐", "○ ◌", "✗"] };
    for (sign, what) in [
        (signs.switch, "a context switch"),
        (signs.preemption, "a preemption: the previous task was still enabled"),
        (&nearest, "look-ahead: the nearest failure takes this many preemptions"),
        (signs.lane, "the task was enabled"),
        (signs.waiting, "the task was blocked"),
        (relations[0], "a direct predecessor of the selected step; a direct successor"),
        (relations[1], "happens before the selected step; happens after it"),
        (relations[2], "concurrent with the selected step: the order could be reversed"),
        (ways[0], "the search explored all schedules that start so; some of them"),
        (ways[1], "not explored yet; pruned as equivalent to explored ones"),
        (ways[2], "needs more preemptions than the bound of the search"),
    ] {
        lines.extend(meaning(model, sign, Role::Notice, what));
    }
    lines
}

/// The meaning of a key or a sign, wrapped.
fn meaning(model: &Model, sign: &str, role: Role, what: &str) -> Vec<Vec<(String, Style)>> {
    let cells = usize::from(usual(model.size.0)).saturating_sub(2 + MARGIN).max(10);
    let sign = |at: usize| if at == 0 { sign } else { "" };
    let line = |(at, part): (usize, String)| {
        vec![
            (format!("   {:<1$}", sign(at), MARGIN - 3), model.theme.style(role)),
            (part, model.theme.style(Role::Text)),
        ]
    };
    wrap(what, cells).into_iter().enumerate().map(line).collect()
}

/// Draws an empty window in the middle of the screen; returns its inside.
fn window(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    lines: usize,
    title: &str,
    keys: &str,
) -> Rect {
    framed(model, buffer, screen, (usual(screen.width), lines), title, keys)
}

/// Like `window`, as wide as the screen.
fn wide_window(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    lines: usize,
    title: &str,
    keys: &str,
) -> Rect {
    framed(model, buffer, screen, (screen.width.saturating_sub(4), lines), title, keys)
}

/// The width of a window on a screen of this width.
fn usual(width: u16) -> u16 {
    width.saturating_sub(4).min(100)
}

/// A rectangle in the middle of the screen with this width and room for this many lines.
fn middle(screen: Rect, wide: u16, lines: usize) -> Rect {
    let high =
        (lines.min(usize::from(u16::MAX) - 2) as u16 + 2).min(screen.height.saturating_sub(2));
    Rect { x: (screen.width - wide) / 2, y: (screen.height - high) / 2, width: wide, height: high }
}

fn framed(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    (wide, lines): (u16, usize),
    title: &str,
    keys: &str,
) -> Rect {
    framed_at(model, buffer, middle(screen, wide, lines), title, keys)
}

/// Draws an empty frame; returns its inside.
fn framed_at(model: &Model, buffer: &mut Buffer, outer: Rect, title: &str, keys: &str) -> Rect {
    // A terminal erases a double-width character of which a window covers the second half. The
    // buffer has to know, or the character would not be redrawn when the window closes.
    for y in outer.top()..outer.bottom() {
        let before = outer.x.checked_sub(1).and_then(|x| buffer.cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
    Clear.render(outer, buffer);
    // A title begins one column after the corner.
    let edge = |text: &str, role: Role| {
        let sign = borders(model).horizontal_top.to_owned();
        styled(vec![
            (sign, model.theme.style(Role::Border)),
            (text.to_owned(), model.theme.style(role)),
        ])
    };
    let frame = Block::bordered()
        .border_set(borders(model))
        .border_style(model.theme.style(Role::Border))
        .style(model.theme.style(Role::Text))
        .title_top(edge(title, Role::Title))
        .title_bottom(edge(keys, Role::Dim));
    let inside = frame.inner(outer);
    frame.render(outer, buffer);
    inside
}
