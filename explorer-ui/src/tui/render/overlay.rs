//! Windows on top of the screen: help, palette, texts, the search dialog, the tour.

use super::paint::{glyphs, put};
use crate::report::text::{clip, count, width, wrap};
use crate::tui::commands::{self, matching};
use crate::tui::model::Model;
use crate::tui::model::mode::Mode;
use crate::tui::model::search::strategies;
use crate::tui::theme::Role;
use crate::tui::tour::PAGES;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};

pub(super) fn draw(model: &Model, buffer: &mut Buffer, screen: Rect) {
    match &model.mode {
        Mode::Help(first) => {
            let lines = help_lines(model);
            let (title, keys) = (" commands and keys ", " / finds, esc closes ");
            let area = window(model, buffer, screen, lines.len(), title, keys);
            let first = (*first).min(lines.len().saturating_sub(usize::from(area.height)));
            for (line, pieces) in lines.into_iter().skip(first).enumerate() {
                put(buffer, area, line as u16, pieces);
            }
        }
        Mode::Text(title, lines, first) => {
            let title = format!(" {title} ");
            let keys = " arrows scroll, y copies, esc closes ";
            let area = wide_window(model, buffer, screen, lines.len(), &title, keys);
            for (line, text) in lines.iter().skip(*first).enumerate() {
                let style = model.theme.style(Role::Text);
                put(buffer, area, line as u16, vec![(format!(" {text}"), style)]);
            }
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
            let room = usize::from(area.height).saturating_sub(1).max(1);
            let cut = glyphs(model).cut;
            let first = palette_first(*selected, area);
            for (place, one) in found.iter().enumerate().skip(first).take(room) {
                let line = (place - first) as u16 + 1;
                let keys = model.keys.names_of(one.action);
                put(
                    buffer,
                    area,
                    line,
                    vec![
                        (format!(" {:<20}", one.name), model.theme.style(Role::Title)),
                        (format!("{keys:<23}"), model.theme.style(Role::Key)),
                        (
                            clip(one.what, usize::from(area.width).saturating_sub(44), cut),
                            model.theme.style(Role::Dim),
                        ),
                    ],
                );
                if place == *selected {
                    let row = Rect { y: area.y + line, height: 1, ..area };
                    buffer.set_style(row, model.theme.style(Role::Selected));
                }
            }
        }
        Mode::StartSearch { strategy, bound } => {
            hand_over(model, buffer, screen, *strategy, *bound)
        }
        Mode::Normal | Mode::Prompt(..) => tour(model, buffer, screen),
    }
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
    Some(within(outer))
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
    for (line, text) in lines.into_iter().enumerate() {
        put(buffer, area, line as u16, vec![(format!(" {text}"), model.theme.style(Role::Text))]);
    }
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
    for (line, descriptor) in strategies().into_iter().enumerate() {
        let pieces = vec![
            (format!("  {:<10}", descriptor.name), model.theme.style(Role::Title)),
            (descriptor.summary.to_owned(), text),
        ];
        put(buffer, area, line as u16, pieces);
        if line == strategy {
            let row = Rect { y: area.y + line as u16, height: 1.min(area.height), ..area };
            buffer.set_style(row, model.theme.style(Role::Selected));
        }
    }
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

/// The area inside a frame.
fn within(outer: Rect) -> Rect {
    Rect { x: outer.x + 1, y: outer.y + 1, width: outer.width - 2, height: outer.height - 2 }
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
    let (wide, high) = (outer.width, outer.height);
    // A terminal erases a double-width character of which a window covers the second half. The
    // buffer has to know, or the character would not be redrawn when the window closes.
    for y in outer.top()..outer.bottom() {
        let before = outer.x.checked_sub(1).and_then(|x| buffer.cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
    Clear.render(outer, buffer);
    buffer.set_style(outer, model.theme.style(Role::Text));
    let border = model.theme.style(Role::Border);
    let signs = if model.ascii { ["+", "-", "|"] } else { ["╭", "─", "│"] };
    let corners = if model.ascii { ["+"; 4] } else { ["╭", "╮", "╰", "╯"] };
    let line = signs[1].repeat(usize::from(wide.saturating_sub(2)));
    let edge = |left: &str, right: &str| vec![(format!("{left}{line}{right}"), border)];
    put(buffer, outer, 0, edge(corners[0], corners[1]));
    put(buffer, outer, high - 1, edge(corners[2], corners[3]));
    for y in 1..high - 1 {
        buffer.set_string(outer.x, outer.y + y, signs[2], border);
        buffer.set_string(outer.x + wide - 1, outer.y + y, signs[2], border);
    }
    let at = |x: u16, y: u16, text: &str| Rect {
        x: outer.x + x,
        y: outer.y + y,
        width: (width(text) as u16).min(wide.saturating_sub(x)),
        height: 1,
    };
    put(buffer, at(2, 0, title), 0, vec![(title.to_owned(), model.theme.style(Role::Title))]);
    put(buffer, at(2, high - 1, keys), 0, vec![(keys.to_owned(), model.theme.style(Role::Dim))]);
    within(outer)
}
