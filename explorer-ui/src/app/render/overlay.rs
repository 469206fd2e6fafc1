//! What lies over the rest: help and the palette.

use super::put;
use crate::app::action::{ACTIONS, matching};
use crate::app::hand::STRATEGIES;
use crate::app::model::{Mode, Model};
use crate::app::theme::Role;
use crate::app::tour::PAGES;
use crate::views::text::{count, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};
use replay_core::StrategyName;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, screen: Rect) {
    match &model.mode {
        Mode::Help(first) => {
            let lines = help_lines(model);
            let (title, keys) = (" everything that can be done ", " esc closes ");
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
            let first = (selected + 1).saturating_sub(room);
            for (place, one) in found.iter().enumerate().skip(first).take(room) {
                let line = (place - first) as u16 + 1;
                let keys = model.keys.of(one.action).join(" ");
                put(
                    buffer,
                    area,
                    line,
                    vec![
                        (format!(" {:<18}", one.name), model.theme.style(Role::Title)),
                        (format!("{keys:<18}"), model.theme.style(Role::Key)),
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

/// A page of the tour, in the lower right, where it hides the least.
fn tour(model: &Model, buffer: &mut Buffer, screen: Rect) {
    let Some(page) = model.tour.and_then(|at| PAGES.get(at)) else { return };
    let wide = screen.width.saturating_sub(4).min(64);
    let mut lines: Vec<String> = vec![String::new()];
    for word in page.text.split(' ') {
        let last = lines.len() - 1;
        if width(&lines[last]) + width(word) + 2 > usize::from(wide.saturating_sub(2)) {
            lines.push(String::new());
        }
        let last = lines.len() - 1;
        lines[last] += " ";
        lines[last] += word;
    }
    let high = (lines.len() as u16 + 2).min(screen.height.saturating_sub(3));
    let corner =
        Rect { x: screen.width - wide - 1, y: screen.height - high - 1, width: wide, height: high };
    let number = model.tour.unwrap_or(0) + 1;
    let title = format!(" tour {number} of {} ", PAGES.len());
    let area = framed_at(model, buffer, corner, &title, " esc ends it ");
    for (line, text) in lines.into_iter().enumerate() {
        put(buffer, area, line as u16, vec![(text, model.theme.style(Role::Text))]);
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
        lines.push(vec![
            (format!("   {keys:<24}"), model.theme.style(Role::Key)),
            (one.what.to_owned(), model.theme.style(Role::Text)),
        ]);
    }
    lines.push(vec![(" Signs".to_owned(), model.theme.style(Role::Title))]);
    let signs = super::glyphs(model);
    let ascii = model.ascii;
    let nearest = format!("nearest 1{}", signs.preemption);
    let relations = if ascii { ["^ v", "' ,", "="] } else { ["▲ ▼", "△ ▽", "‖"] };
    let ways = if ascii { ["+ ~", ". x"] } else { ["● ◐", "○ ✗"] };
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
        (ways[1], "it has not been there; it would take more preemptions than it may make"),
    ] {
        lines.push(vec![
            (format!("   {sign:<24}"), model.theme.style(Role::Notice)),
            (what.to_owned(), model.theme.style(Role::Text)),
        ]);
    }
    lines
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
    framed(model, buffer, screen, (screen.width.saturating_sub(4).min(100), lines), title, keys)
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

fn framed(
    model: &Model,
    buffer: &mut Buffer,
    screen: Rect,
    (wide, lines): (u16, usize),
    title: &str,
    keys: &str,
) -> Rect {
    let high =
        (lines.min(usize::from(u16::MAX) - 2) as u16 + 2).min(screen.height.saturating_sub(2));
    let outer = Rect {
        x: (screen.width - wide) / 2,
        y: (screen.height - high) / 2,
        width: wide,
        height: high,
    };
    framed_at(model, buffer, outer, title, keys)
}

/// Clears a place, frames it, and says where its inside is.
fn framed_at(model: &Model, buffer: &mut Buffer, outer: Rect, title: &str, keys: &str) -> Rect {
    let (wide, high) = (outer.width, outer.height);
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
    Rect { x: outer.x + 1, y: outer.y + 1, width: wide - 2, height: high - 2 }
}
