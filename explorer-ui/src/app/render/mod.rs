//! Draws the model. Changes nothing.

mod choices;
mod columns;
mod lanes;
mod layout;
mod overlay;
mod panes;
mod schedule;

pub(in crate::app) use choices::listed_at;
pub(in crate::app) use lanes::step_at as lane_step_at;
pub use layout::{Divider, Division};
pub(in crate::app) use layout::{areas, divider_at, is_wide, moved};
pub(in crate::app) use overlay::{help_lines, inside as overlay_inside, palette_first};
pub(in crate::app) use panes::{count as pane_lines, named_at as pane_named_at, text as pane_text};

use super::action::Action;
use super::model::{Mode, Model};
use super::theme::Role;
use crate::views;
use crate::views::style::Glyphs;
use crate::views::summary::cut;
use crate::views::text::{clean, clip, clip_front, count, grouped, width};
use layout::{LEAST, WIDE};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use traces::Trace;

/// The signs to draw with.
pub(in crate::app) fn glyphs(model: &Model) -> &'static Glyphs {
    views::Style { color: false, ascii: model.ascii }.glyphs()
}

/// The line at the top of so many rows: the cursor is kept in the middle.
pub(in crate::app) fn top_line(model: &Model, height: u16) -> usize {
    let cursor = model.line_of(model.spot.cursor);
    let height = usize::from(height);
    let last = (model.lines.len() + 1).saturating_sub(height);
    cursor.saturating_sub(height / 2).min(last)
}

/// Draws everything.
pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let size = frame.area();
    let buffer = frame.buffer_mut();
    buffer.set_style(size, model.theme.style(Role::Text));
    if size.width < LEAST.0 || size.height < LEAST.1 {
        let text = format!("at least {}x{}, please", LEAST.0, LEAST.1);
        put(buffer, size, 0, vec![(text, model.theme.style(Role::Bad))]);
        return;
    }
    if (size.width, size.height) != model.size {
        // The event that tells of the new size is on its way.
        return;
    }
    let areas = areas(model);
    header(model, buffer, areas.header);
    lanes::draw(model, buffer, areas.lanes);
    schedule::draw(model, buffer, &areas);
    choices::draw(model, buffer, areas.choices);
    panes::draw(model, buffer, areas.pane);
    if size.width >= WIDE && !model.zoomed {
        let style = model.theme.style(Role::Border);
        let sign = if model.ascii { "|" } else { "│" };
        for y in areas.header.height..areas.footer.y {
            buffer.set_string(areas.schedule.width, y, sign, style);
        }
    }
    footer(model, buffer, areas.footer);
    overlay::draw(model, buffer, size);
}

/// The first picture: what is opened, and what is done until there is more to see.
pub fn opening(name: &str, doing: &str, frame: &mut Frame<'_>) {
    let area = frame.area();
    let text = Style::default();
    put(frame.buffer_mut(), area, 0, vec![(format!(" heddle {}", clean(name)), text)]);
    let doing = format!(" {} ... (q leaves)", clean(doing));
    put(frame.buffer_mut(), area, area.height.saturating_sub(1), vec![(doing, text)]);
}

/// What an execution is, in a line.
pub(in crate::app) fn headline(trace: &Trace) -> String {
    let failure = trace.failure.as_ref();
    let ends = match failure {
        Some(failure) => format!("{}: {}", failure.kind, clean(&failure.message)),
        None => cut(trace).unwrap_or_else(|| "passes".to_owned()),
    };
    let name = clean(trace.header.program.rsplit('/').next().unwrap_or_default());
    let steps = count(trace.execution.steps.len() as u64, "step");
    format!("{name}  {ends}  {steps}")
}

/// Puts pieces of text on a line of an area; what does not fit is cut.
fn put(buffer: &mut Buffer, area: Rect, line: u16, pieces: Vec<(String, Style)>) {
    if line >= area.height || area.width == 0 {
        return;
    }
    let spans: Vec<Span<'_>> =
        pieces.into_iter().map(|(text, style)| Span::styled(text, style)).collect();
    Line::from(spans).render(Rect { y: area.y + line, height: 1, ..area }, buffer);
}

/// A heading with a line behind it.
fn heading(model: &Model, buffer: &mut Buffer, area: Rect, title: &str, more: &str) {
    let sign = if model.ascii { "-" } else { "─" };
    let more = if more.is_empty() { String::new() } else { format!("{more} ") };
    let used = width(title) + width(&more) + 3;
    let rest = usize::from(area.width).saturating_sub(used);
    let border = model.theme.style(Role::Border);
    put(
        buffer,
        area,
        0,
        vec![
            (sign.to_owned(), border),
            (format!(" {title} "), model.theme.style(Role::Title)),
            (more, model.theme.style(Role::Dim)),
            (sign.repeat(rest), border),
        ],
    );
}

fn header(model: &Model, buffer: &mut Buffer, area: Rect) {
    let loaded = model.loaded();
    let execution = &loaded.trace.execution;
    let theme = model.theme;
    let program = &loaded.trace.header.program;
    let name = clean(program.rsplit('/').next().unwrap_or_default());
    let args: Vec<String> =
        loaded.trace.header.args.iter().map(|arg| clean(&String::from_utf8_lossy(arg))).collect();
    let dot = glyphs(model).dot;
    let mut pieces = vec![
        (" heddle ".to_owned(), theme.style(Role::Key)),
        (format!("{name} {}", args.join(" ")).trim_end().to_owned(), theme.style(Role::Title)),
        ("  ".to_owned(), theme.style(Role::Text)),
    ];
    match &loaded.trace.failure {
        Some(failure) => {
            pieces.push((format!("{}: ", failure.kind), theme.style(Role::Bad)));
            pieces.push((clean(&failure.message), theme.style(Role::Bad)));
        }
        None => pieces.push(match cut(&loaded.trace) {
            Some(cut) => (cut, theme.style(Role::Bad)),
            None => ("passes".to_owned(), theme.style(Role::Good)),
        }),
    }
    let facts = format!(
        "  {} {dot} {} {dot} {}",
        count(loaded.len() as u64, "step"),
        count(execution.tasks.len() as u64, "task"),
        count(loaded.preemptions().len() as u64, "preemption"),
    );
    let room = usize::from(area.width).saturating_sub(width(&facts));
    let mut used = 0;
    for (text, _) in &mut pieces {
        *text = clip(text, room.saturating_sub(used), glyphs(model).cut);
        used += width(text);
    }
    pieces.push((facts, theme.style(Role::Dim)));
    put(buffer, area, 0, pieces);
}

fn footer(model: &Model, buffer: &mut Buffer, area: Rect) {
    let theme = model.theme;
    let (left, right) = footer_parts(model, area);
    put(buffer, right, 0, vec![(place(model), theme.style(Role::Dim))]);
    let room = usize::from(left.width);
    let signs = glyphs(model);
    let said = |text: String, role| vec![(clip(&text, room, signs.cut), theme.style(role))];
    let pieces = match (&model.mode, &model.busy, &model.message) {
        (Mode::Prompt(ask, text), _, _) => {
            let label = format!(" {} ", ask.label());
            let cursor = if model.ascii { "_" } else { "▏" };
            // The end of a long text is where one types.
            let room = room.saturating_sub(width(&label) + 1);
            let text = clip_front(text, room, signs.cut);
            let plain = theme.style(Role::Text);
            vec![(label, theme.style(Role::Key)), (text, plain), (cursor.to_owned(), plain)]
        }
        (_, Some(busy), _) => said(format!(" {busy} ..."), Role::Notice),
        (_, _, Some(message)) => {
            let role = if message.bad { Role::Bad } else { Role::Notice };
            said(format!(" {}", clean(&message.text)), role)
        }
        _ => match model.spot.notes.get(&model.spot.cursor) {
            Some(note) if note.is_empty() => said(" a bookmark".to_owned(), Role::Notice),
            Some(note) => said(format!(" note: {}", clean(note)), Role::Notice),
            None => hints(model, room),
        },
    };
    put(buffer, left, 0, pieces);
}

/// Where the footer says something, and where it says where the cursor stands.
fn footer_parts(model: &Model, area: Rect) -> (Rect, Rect) {
    let cells = width(&place(model)) as u16;
    // Where there is little room, what is said comes first.
    let cells = if area.width > cells * 3 { cells } else { 0 };
    let left = Rect { width: area.width - cells, ..area };
    (left, Rect { x: area.x + left.width, width: cells, ..area })
}

/// Where the cursor stands, and how a search goes meanwhile.
fn place(model: &Model) -> String {
    let searching = match &model.handed {
        Some(handed) if handed.is_running() => {
            let runs = grouped(handed.progress.executions);
            format!(" {runs} run, {} found", handed.found.len())
        }
        _ => String::new(),
    };
    let at = model.spot.cursor;
    match at < model.loaded().len() {
        true => {
            let steps = grouped(model.loaded().len() as u64);
            format!("{searching} {} of {steps} ", grouped(at as u64 + 1))
        }
        false => format!("{searching} at the end "),
    }
}

/// What a hint in the footer is about: the action, its key, what it does in a word or two, and the cell
/// that it begins in.
type Hint<'a> = (Action, &'a str, &'static str, usize);

/// Whether there is anything for an action to do: nobody is told of keys that would do nothing.
fn is_of_use(model: &Model, action: Action) -> bool {
    let at_end = model.spot.cursor >= model.loaded().len();
    let live = model.live.is_ok();
    let fails = model.loaded().trace.failure.is_some();
    let searching = model.handed.as_ref().is_some_and(|handed| handed.is_running());
    match action {
        Action::NextMatch | Action::PreviousMatch => model.matches,
        Action::Forward => !at_end,
        Action::Back => model.spot.cursor > 0,
        Action::Pick1 | Action::BestMove => live && !at_end && !model.matches,
        Action::HandOver => live && !at_end && !searching,
        Action::Stop => searching,
        Action::NextFound => model.handed.as_ref().is_some_and(|handed| !handed.found.is_empty()),
        // They are about the failure, and are told of where it shows.
        Action::Explain | Action::Shrink => live && fails && at_end,
        Action::Undo => !model.past.is_empty(),
        _ => true,
    }
}

/// The keys that matter most, as they are now, and as many as there is room for.
fn hinted(model: &Model, room: usize) -> Vec<Hint<'_>> {
    use Action as A;
    let all = [
        (A::NextMatch, "next match"),
        (A::PreviousMatch, "match before"),
        (A::Forward, "forward"),
        (A::Back, "back"),
        (A::Pick1, "pick"),
        (A::BestMove, "to a failure"),
        (A::Stop, "stop"),
        (A::HandOver, "search"),
        (A::NextFound, "found"),
        (A::Explain, "explain"),
        (A::Shrink, "shrink"),
        (A::Undo, "undo"),
        (A::NextPane, "pane"),
        (A::Palette, "commands"),
        (A::Help, "help"),
        (A::Quit, "quit"),
    ];
    let all = all.into_iter().filter(|(action, _)| is_of_use(model, *action));
    let known = all.filter_map(|(action, what)| {
        let key = match action {
            // While matches are gone through, these have the keys that they have everywhere else.
            A::NextMatch if model.keys_of_matches() => "n",
            A::PreviousMatch if model.keys_of_matches() => "N",
            _ => model.keys.of(action).first().copied()?,
        };
        Some((action, key, what, width(key) + 1 + width(what) + 3))
    });
    let known: Vec<_> = known.collect();
    // How to find all others goes last.
    let last = |action| matches!(action, A::Palette | A::Help);
    let kept: usize = known.iter().filter(|one| last(one.0)).map(|one| one.3).sum();
    let mut free = room.saturating_sub(1 + kept);
    let mut at = 1;
    let mut hints = Vec::new();
    for (action, key, what, cells) in known {
        if !last(action) {
            match free.checked_sub(cells) {
                Some(left) => free = left,
                None => continue,
            }
        } else if at + cells > room + 3 {
            continue;
        }
        hints.push((action, key, what, at));
        at += cells;
    }
    hints
}

fn hints(model: &Model, room: usize) -> Vec<(String, Style)> {
    let mut pieces = vec![(" ".to_owned(), model.theme.style(Role::Text))];
    for (_, key, what, _) in hinted(model, room) {
        pieces.push((key.to_owned(), model.theme.style(Role::Key)));
        pieces.push((format!(" {what}   "), model.theme.style(Role::Dim)));
    }
    pieces
}

/// The action whose hint stands in a cell of the footer.
pub(in crate::app) fn hint_at(model: &Model, x: u16) -> Option<Action> {
    let said = model.busy.is_some() || model.message.is_some();
    if said || model.spot.notes.contains_key(&model.spot.cursor) {
        return None;
    }
    let (left, _) = footer_parts(model, areas(model).footer);
    let x = usize::from(x);
    let hints = hinted(model, usize::from(left.width));
    let on = |hint: &&Hint<'_>| (hint.3..hint.3 + width(hint.1) + 1 + width(hint.2)).contains(&x);
    hints.iter().find(on).map(|hint| hint.0)
}
