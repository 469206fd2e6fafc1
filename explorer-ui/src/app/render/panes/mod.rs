//! The lower right: source, locks, causes and the like.

mod graph;
mod search;
mod values;

use super::{areas, glyphs, heading, put};
use crate::app::model::{Model, Pane};
use crate::app::theme::Role;
use crate::views::rows::object;
use crate::views::text::{clean, clip_front, fill, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use replay_core::graph::{Cause, Link};
use traces::{Frame, TaskState};

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    if area.height < 2 {
        return;
    }
    let shown: Vec<&str> = named(model, area).into_iter().map(|pane| pane.name()).collect();
    heading(model, buffer, area, model.pane.name(), &shown.join("  "));
    let inner = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let lines = laid_out(model, inner);
    // It may have become shorter since it was scrolled.
    let top = model.pane_top.min(lines.len().saturating_sub(usize::from(inner.height)));
    let seen = lines.into_iter().skip(top).take(usize::from(inner.height));
    for (line, pieces) in seen.enumerate() {
        put(buffer, inner, line as u16, pieces);
    }
}

/// The other panes that the heading names: as many as there is room for; the rest follows with the next
/// key.
fn named(model: &Model, area: Rect) -> Vec<Pane> {
    let place = Pane::ALL.iter().position(|&pane| pane == model.pane).unwrap_or(0);
    let others = Pane::ALL.iter().cycle().skip(place + 1).take(Pane::ALL.len() - 1);
    let mut room = usize::from(area.width).saturating_sub(model.pane.name().len() + 6);
    let fits = |other: &&Pane| {
        let left = room.checked_sub(other.name().len() + 2);
        room = left.unwrap_or(0);
        left.is_some()
    };
    others.take_while(fits).copied().collect()
}

/// The pane whose name stands at a cell of the heading.
pub(in crate::app) fn named_at(model: &Model, x: u16) -> Option<Pane> {
    let mut at = model.pane.name().len() + 3;
    named(model, areas(model).pane).into_iter().find(|pane| {
        let cells = at..at + pane.name().len();
        at = cells.end + 2;
        cells.contains(&usize::from(x))
    })
}

fn laid_out(model: &Model, inner: Rect) -> Lines {
    let lines = lines(model, inner.height);
    match model.pane {
        Pane::Search | Pane::Findings | Pane::Values | Pane::Locks => {
            wrapped(lines, usize::from(inner.width))
        }
        _ => lines,
    }
}

/// How many lines the pane would show with room for all.
pub(in crate::app) fn count(model: &Model) -> usize {
    let area = areas(model).pane;
    let inner = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    laid_out(model, inner).len()
}

/// Prose goes on in the next line, a little to the right.
fn wrapped(lines: Lines, cells: usize) -> Lines {
    const INDENT: usize = 4;
    let mut all = Lines::new();
    for pieces in lines {
        let (mut line, mut used): (Vec<(String, Style)>, usize) = (Vec::new(), 0);
        for (text, style) in pieces {
            for word in text.split_inclusive(' ') {
                if used + width(word.trim_end()) > cells && used > INDENT {
                    all.push(std::mem::take(&mut line));
                    line.push((fill(0, INDENT), style));
                    used = INDENT;
                }
                used += width(word);
                line.push((word.to_owned(), style));
            }
        }
        all.push(line);
    }
    all
}

fn lines(model: &Model, height: u16) -> Lines {
    match model.pane {
        Pane::Source => source(model, height),
        Pane::Locks => locks(model),
        Pane::Causes => causes(model),
        Pane::Graph => graph::graph(model, height),
        Pane::Values => values::values(model),
        Pane::Stacks => stacks(model),
        Pane::Output => output(model),
        Pane::Findings => search::findings(model),
        Pane::Search => search::dashboard(model),
        Pane::Tree => search::tree(model, height),
    }
}

/// What the pane says, all of it.
pub(in crate::app) fn text(model: &Model) -> String {
    let height = areas(model).pane.height.saturating_sub(1).max(20);
    let line = |pieces: Vec<(String, Style)>| {
        let text: String = pieces.into_iter().map(|(text, _)| text).collect();
        text.trim_end().to_owned() + "\n"
    };
    lines(model, height).into_iter().map(line).collect()
}

/// The cells for the tasks that stand on a line of the source.
const MARKS: usize = 6;

type Lines = Vec<Vec<(String, Style)>>;

fn one(model: &Model, text: impl Into<String>, role: Role) -> Vec<(String, Style)> {
    vec![(text.into(), model.theme.style(role))]
}

fn source(model: &Model, height: u16) -> Lines {
    let Some((path, line)) = model.shown_source() else {
        // Where other steps have lines it was; what a program does on its way out has none.
        let places = &model.loaded().trace.execution.places;
        let known = places.iter().any(|(_, frames)| frames.iter().any(|it| !it.file.is_empty()));
        let why = if known { "this step is in no source" } else { "was it built with -g?" };
        return vec![one(model, format!(" no line is known here: {why}"), Role::Dim)];
    };
    let name = clean(&path);
    let Some(Some(file)) = model.sources.get(&path) else {
        let room = usize::from(areas(model).pane.width).saturating_sub(18);
        let name = clip_front(&format!("{name}:{line}"), room, glyphs(model).cut);
        return vec![one(model, format!(" {name} cannot be read"), Role::Dim)];
    };
    let height = usize::from(height.saturating_sub(1)).max(1);
    let at = line.saturating_sub(1) as usize;
    let total = file.len() as usize;
    let top = at.saturating_sub(height / 2).min(total.saturating_sub(height));
    let digits = total.to_string().len();
    // Which tasks stand on which line.
    let loaded = model.loaded();
    // The end of a long path tells more than its beginning.
    let shown = clip_front(&name, usize::from(areas(model).pane.width) / 2, glyphs(model).cut);
    let mut title = one(model, format!(" {shown}"), Role::Dim);
    if let Some(function) = file.function(line, 0) {
        title.push((format!("  {}", clean(&function.name)), model.theme.style(Role::Title)));
    }
    if let Some(section) = file.section(line) {
        let (from, to) = (section.lines.start(), section.lines.end());
        let text = format!("  within {} ({from} to {to})", clean(&section.lock));
        title.push((text, model.theme.style(Role::Dim)));
    }
    if file.newer {
        let text = "  changed since the program was built: lines may have moved";
        title.push((text.to_owned(), model.theme.style(Role::Bad)));
    }
    let mut lines = vec![title];
    for number in (top..total).take(height) {
        let here: Vec<_> = model
            .standing
            .iter()
            .filter(|standing| {
                let frame = standing.site.and_then(|site| loaded.frames(site).first());
                frame.is_some_and(|frame| frame.file == path && frame.line as usize == number + 1)
            })
            .collect();
        let mut pieces = Vec::new();
        let mut used = 0;
        for (place, standing) in here.iter().enumerate() {
            let tag = standing.task.to_string();
            // Room for another, or for a sign that there are more.
            let last = place + 1 == here.len();
            if used + tag.len() + usize::from(!last) > MARKS {
                used += 1;
                pieces.push(("+".into(), model.theme.style(Role::Dim)));
                break;
            }
            used += tag.len();
            pieces.push((tag, model.theme.style(Role::Task(standing.task))));
        }
        pieces.push((fill(used, MARKS + 1), model.theme.style(Role::Text)));
        let current = number == at;
        let role = if current { Role::Notice } else { Role::Dim };
        pieces.push((format!("{:>digits$} ", number + 1), model.theme.style(role)));
        for (text, colour) in crate::views::source::pieces(file, number as u32 + 1) {
            let style = model.theme.style(colour.map_or(Role::Text, Role::Syntax));
            let bold = if current { Modifier::BOLD } else { Modifier::empty() };
            pieces.push((text, style.add_modifier(bold)));
        }
        lines.push(pieces);
    }
    lines
}

fn locks(model: &Model) -> Lines {
    let loaded = model.loaded();
    let trace = &loaded.trace;
    let held = loaded.locks(model.spot.cursor);
    let mut lines = Lines::new();
    for (lock, holder, since) in held.all() {
        let name = object(trace, Some(lock)).unwrap_or_default();
        let waiting: Vec<String> = model
            .standing
            .iter()
            .filter(|one| !one.enabled && one.object == Some(lock) && one.task != holder)
            .map(|one| one.task.to_string())
            .collect();
        let mut pieces = vec![
            (format!(" {name:<16} "), model.theme.style(Role::Title)),
            (format!("{holder}"), model.theme.style(Role::Task(holder))),
            (format!(" since step {}", since + 1), model.theme.style(Role::Dim)),
        ];
        if !waiting.is_empty() {
            let arrow = if model.ascii { "<-" } else { "◀" };
            let text = format!("  {arrow} {} wait", waiting.join(" "));
            let text = if waiting.len() == 1 { text + "s" } else { text };
            pieces.push((text, model.theme.style(Role::Notice)));
        }
        lines.push(pieces);
    }
    if lines.is_empty() {
        lines.push(one(model, " no lock is held here", Role::Dim));
    }
    let at_end = model.spot.cursor >= loaded.len();
    if let Some(failure) =
        trace.failure.as_ref().filter(|failure| at_end && !failure.waits.is_empty())
    {
        lines.push(Vec::new());
        for wait in &failure.waits {
            let what = object(trace, wait.object).unwrap_or_default();
            let holder = wait.holder.map_or("nobody known".to_owned(), |task| task.to_string());
            let arrow = glyphs(model).arrow;
            let text = format!(" {} {arrow} {what} {arrow} {holder}", wait.task);
            lines.push(one(model, text, Role::Bad));
        }
    }
    lines
}

fn causes(model: &Model) -> Lines {
    let loaded = model.loaded();
    let at = model.spot.cursor;
    if at >= loaded.len() {
        return vec![one(model, " stand on a step to see what it follows from", Role::Dim)];
    }
    let mut lines = Lines::new();
    let mut list = |title: &str, links: Vec<Link>| {
        lines.push(one(model, format!(" {title}"), Role::Dim));
        if links.is_empty() {
            lines.push(one(model, "   nothing", Role::Dim));
        }
        for link in links {
            let cell = loaded.reader.cell(&loaded.trace, link.step, glyphs(model));
            let why = match link.cause {
                Cause::Program => "same task".to_owned(),
                Cause::Creation => "created it".to_owned(),
                Cause::Join => "its end was waited for".to_owned(),
                Cause::Object(index) => object(&loaded.trace, Some(index)).unwrap_or_default(),
            };
            let label = cell.label(usize::MAX, "");
            let role = Role::Task(cell.task);
            lines.push(vec![
                (format!("   {:>5} ", link.step + 1), model.theme.style(Role::Dim)),
                (format!("{} {label}  ", cell.task), model.theme.style(role)),
                (format!("{}  ", cell.place), model.theme.style(Role::Dim)),
                (why, model.theme.style(Role::Notice)),
            ]);
        }
    };
    list("follows directly from", loaded.graph().causes(at));
    list("is followed directly by", loaded.graph().effects(at));
    lines
}

fn stacks(model: &Model) -> Lines {
    let (loaded, at) = (model.loaded(), model.spot.cursor);
    // Where it fails, they were taken when it was recorded.
    let failure = loaded.trace.failure.as_ref().filter(|_| at >= loaded.len());
    let stacks = match failure {
        Some(failure) => &failure.stacks[..],
        None => match (model.sights.stacks(at), &model.sights.trouble, &model.live) {
            (Some(stacks), ..) => stacks,
            (None, Some(why), _) | (None, None, Err(why)) => {
                let text = format!(" the program cannot be looked into: {}", clean(why));
                return vec![one(model, text, Role::Bad)];
            }
            (None, None, Ok(())) => return vec![one(model, " looking ...", Role::Dim)],
        },
    };
    let mut lines = Lines::new();
    if stacks.is_empty() {
        lines.push(one(model, " every task has ended", Role::Dim));
    }
    for stack in stacks {
        let state = match &stack.state {
            TaskState::Running => "running".to_owned(),
            TaskState::Runnable => "could move".to_owned(),
            TaskState::Blocked(what) => format!("waits: {}", clean(what)),
            TaskState::Exited => "ended".to_owned(),
        };
        lines.push(vec![
            (format!(" {} ", stack.task), model.theme.style(Role::Task(stack.task))),
            (state, model.theme.style(Role::Dim)),
        ]);
        lines.extend(frames(model, &stack.frames));
    }
    for past in failure.iter().flat_map(|failure| &failure.past) {
        lines.push(vec![
            (format!(" {} ", past.task), model.theme.style(Role::Task(past.task))),
            (clean(&past.words()), model.theme.style(Role::Dim)),
        ]);
        lines.extend(frames(model, &past.frames));
    }
    lines
}

fn frames(model: &Model, frames: &[Frame]) -> Lines {
    let line = |frame: &Frame| {
        vec![
            (format!("    {}  ", clean(&frame.function)), model.theme.style(Role::Text)),
            (clean(&frame.place()), model.theme.style(Role::Dim)),
        ]
    };
    frames.iter().map(line).collect()
}

fn output(model: &Model) -> Lines {
    let text = String::from_utf8_lossy(&model.loaded().trace.output);
    if text.is_empty() {
        return vec![one(model, " it printed nothing", Role::Dim)];
    }
    text.lines().map(|line| one(model, format!(" {}", clean(line)), Role::Text)).collect()
}
