//! What lies over the rest: help and the palette.

use super::put;
use crate::app::action::{ACTIONS, matching};
use crate::app::hand::STRATEGIES;
use crate::app::model::{Mode, Model};
use crate::app::theme::Role;
use crate::app::tour::PAGES;
use crate::views::text::{count, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};
use replay_core::StrategyName;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, screen: Rect) {
    match &model.mode {
        Mode::Help(first) => {
            let lines = help_lines(model);
            let (title, keys) = (" everything that can be done ", " / finds, esc closes ");
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
            let area = window(model, buffer, screen, lines, " do ", " enter does it, esc closes ");
            let cursor = if model.ascii { "_" } else { "▏" };
            let prompt = vec![
                (" : ".to_owned(), model.theme.style(Role::Key)),
                (format!("{typed}{cursor}"), model.theme.style(Role::Text)),
            ];
            put(buffer, area, 0, prompt);
            let room = usize::from(area.height).saturating_sub(1).max(1);
            let first = palette_first(*selected, area);
            for (place, one) in found.iter().enumerate().skip(first).take(room) {
                let line = (place - first) as u16 + 1;
                let keys = model.keys.of(one.action).join(" ");
                put(
                    buffer,
                    area,
                    line,
                    vec![
                        (format!(" {:<20}", one.name), model.theme.style(Role::Title)),
                        (format!("{keys:<23}"), model.theme.style(Role::Key)),
                        (one.what.to_owned(), model.theme.style(Role::Dim)),
                    ],
                );
                if place == *selected {
                    let row = Rect { y: area.y + line, height: 1, ..area };
                    buffer.set_style(row, model.theme.style(Role::Selected));
                }
            }
        }
        Mode::HandOver { strategy, bound } => hand_over(model, buffer, screen, *strategy, *bound),
        Mode::Walk | Mode::Prompt(..) => tour(model, buffer, screen),
    }
}

/// The first entry of the palette that is shown.
pub(in crate::app) fn palette_first(selected: usize, inside: Rect) -> usize {
    (selected + 1).saturating_sub(usize::from(inside.height).saturating_sub(1).max(1))
}

/// Where the inside of the window is that lies over the rest, of those that the mouse chooses in.
pub(in crate::app) fn inside(model: &Model) -> Option<Rect> {
    let lines = match &model.mode {
        Mode::Palette { typed, .. } => matching(typed).len().max(1) + 1,
        Mode::HandOver { .. } => STRATEGIES.len() + 3,
        _ => return None,
    };
    let (width, height) = model.size;
    if width < super::layout::LEAST.0 || height < super::layout::LEAST.1 {
        return None;
    }
    let outer = middle(Rect { x: 0, y: 0, width, height }, usual(width), lines);
    Some(within(outer))
}

/// A page of the tour, in the lower right, where it hides the least.
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

/// What can be handed over to.
fn hand_over(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    strategy: usize,
    bound: Option<u32>,
) {
    let keys = " arrows choose, enter begins, esc closes ";
    let lines = STRATEGIES.len() + 3;
    let area = window(model, buffer, screen, lines, " search from this step ", keys);
    let text = model.theme.style(Role::Text);
    for (line, (name, what)) in STRATEGIES.iter().enumerate() {
        let pieces = vec![
            (format!("  {:<10}", name.name()), model.theme.style(Role::Title)),
            ((*what).to_owned(), text),
        ];
        put(buffer, area, line as u16, pieces);
        if line == strategy {
            let row = Rect { y: area.y + line as u16, height: 1.min(area.height), ..area };
            buffer.set_style(row, model.theme.style(Role::Selected));
        }
    }
    let (chosen, _) = STRATEGIES[strategy];
    let unit = if chosen == StrategyName::Delay { "delay" } else { "preemption" };
    let within = match bound {
        _ if !chosen.is_bounded() => {
            "it takes no bound: it goes on until it is done or stopped".into()
        }
        None => "no bound (right and left, or a digit, set one)".to_owned(),
        Some(bound) => format!("at most {} from here (right, left)", count(bound.into(), unit)),
    };
    let line = STRATEGIES.len() as u16 + 1;
    put(buffer, area, line, vec![(format!("  {within}"), model.theme.style(Role::Notice))]);
}

/// The cells before what a key or a sign means.
const MARGIN: usize = 27;

/// The lines of the help, as keys are now.
pub(in crate::app) fn help_lines(model: &Model) -> Vec<Vec<(String, Style)>> {
    let mut lines = Vec::new();
    let mut group = "";
    for one in ACTIONS {
        if one.group != group {
            group = one.group;
            lines.push(vec![(format!(" {group}"), model.theme.style(Role::Title))]);
        }
        let keys = model.keys.of(one.action).join(" ");
        lines.extend(meaning(model, &keys, Role::Key, one.what));
    }
    lines.push(vec![(" Signs".to_owned(), model.theme.style(Role::Title))]);
    let signs = super::glyphs(model);
    let ascii = model.ascii;
    let nearest = format!("nearest 1{}", signs.preemption);
    let relations = if ascii { ["^ v", "' ,", "="] } else { ["▲ ▼", "△ ▽", "‖"] };
    let ways = if ascii { ["+ ~", ". -", "x"] } else { ["● ◐", "○ ◌", "✗"] };
    for (sign, what) in [
        (signs.switch, "the scheduler switched to another task"),
        (signs.preemption, "and the one before could have gone on: a preemption"),
        (&nearest, "at a move: the nearest failure beyond it takes so many preemptions"),
        (signs.lane, "the task could move"),
        (signs.waiting, "the task waited"),
        (relations[0], "the selected step follows directly from it; it follows directly"),
        (relations[1], "happens before the selected step; happens after it"),
        (relations[2], "concurrent: could have come the other way round"),
        (ways[0], "the search has been through all that begins so; through some of it"),
        (ways[1], "it has not been there; it need not, since it would show what others showed"),
        (ways[2], "it would take more preemptions than the search may make"),
    ] {
        lines.extend(meaning(model, sign, Role::Notice, what));
    }
    lines
}

/// What a key or a sign means; what does not fit goes on below.
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

/// Clears a window in the middle of the screen, frames it, and says where its inside is.
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

/// The same, as wide as the screen has room.
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

/// How wide a window is on a screen of this width.
fn usual(width: u16) -> u16 {
    width.saturating_sub(4).min(100)
}

/// The middle of the screen, so wide and with room for so many lines.
fn middle(screen: Rect, wide: u16, lines: usize) -> Rect {
    let high =
        (lines.min(usize::from(u16::MAX) - 2) as u16 + 2).min(screen.height.saturating_sub(2));
    Rect { x: (screen.width - wide) / 2, y: (screen.height - high) / 2, width: wide, height: high }
}

/// What a frame leaves.
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

/// Clears a place, frames it, and says where its inside is.
fn framed_at(model: &Model, buffer: &mut Buffer, outer: Rect, title: &str, keys: &str) -> Rect {
    let (wide, high) = (outer.width, outer.height);
    // A wide letter of which a window covers the second half is gone in a terminal: here, too, or only
    // what lies beside it would be drawn again when the window goes.
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
