//! The source code around the selected step.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::text::{clean, clip_front, fill};
use crate::tui::model::Model;
use crate::tui::render::layout::areas;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use crate::walk::place::failure_location;
use ratatui::style::Modifier;
use std::collections::HashMap;

/// The pane.
pub(super) struct Source;

impl Pane for Source {
    fn id(&self) -> PaneId {
        PaneId("source")
    }

    fn help(&self) -> &'static str {
        "the source code at the selected step, with every task's position"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-1"]
    }

    fn lines(&self, model: &Model, height: u16) -> Lines {
        source(model, height)
    }
}

/// Columns for the tasks whose next step is on a line.
const MARKS: usize = 6;

/// The lines of a file that the verdict names and, with `true`, the one at which the execution
/// failed.
fn marks(model: &Model, path: &str) -> HashMap<u32, bool> {
    let loaded = model.loaded();
    let steps = &loaded.trace.execution.steps;
    let mut marked = HashMap::new();
    let Some(verdict) = model.verdict() else { return marked };
    let named = verdict.steps().into_iter().filter_map(|at| steps.get(at)).map(|step| step.site);
    let named = named.chain(verdict.moments().into_iter().map(|moment| moment.site));
    let waiting = loaded.trace.failure.iter().flat_map(|failure| &failure.waits);
    for site in named.chain(waiting.filter_map(|wait| wait.site)) {
        let frame = loaded.frames(site).iter().find(|frame| frame.file == path);
        marked.extend(frame.map(|frame| (frame.line, false)));
    }
    if let Some((file, line)) = failure_location(&loaded.trace)
        && file == path
    {
        marked.insert(line, true);
    }
    marked
}

/// The sign of the failing line, or of one that the verdict names.
fn sign(model: &Model, fails: bool) -> String {
    let sign = match (fails, model.ascii) {
        (true, true) => "!",
        (true, false) => "✗",
        (false, true) => "*",
        (false, false) => "●",
    };
    sign.to_owned()
}

fn source(model: &Model, height: u16) -> Lines {
    let Some((path, line)) = model.shown_source() else {
        // If other steps have lines, the program has debug information; its exit code has none.
        let places = &model.loaded().trace.execution.places;
        let known = places.iter().any(|(_, frames)| frames.iter().any(|it| !it.file.is_empty()));
        let why = if known {
            "this step has no source location"
        } else {
            "was the program built with -g?"
        };
        return vec![one(model, format!(" no source line: {why}"), Role::Dim)];
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
    let loaded = model.loaded();
    // The end of a long path matters more than its beginning.
    let shown = clip_front(&name, usize::from(areas(model).pane.width) / 2, glyphs(model).cut);
    let mut title = one(model, format!(" {shown}"), Role::Dim);
    if let Some(function) = file.function(line, 0) {
        title.push((format!("  {}", clean(&function.name)), model.theme.style(Role::Title)));
    }
    if let Some(section) = file.section(line) {
        let (from, to) = (section.lines.start(), section.lines.end());
        let text =
            format!("  in the critical section of {} ({from} to {to})", clean(&section.lock));
        title.push((text, model.theme.style(Role::Dim)));
    }
    if file.newer {
        let text = "  changed since the program was built: lines may have moved";
        title.push((text.to_owned(), model.theme.style(Role::Bad)));
    }
    let marked = marks(model, &path);
    let mut lines = vec![title];
    for number in (top..total).take(height) {
        let here: Vec<_> = model
            .task_states
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
            // Leaves room for a sign that there are more tasks.
            let last = place + 1 == here.len();
            if used + tag.len() + usize::from(!last) > MARKS {
                used += 1;
                pieces.push(("+".into(), model.theme.style(Role::Dim)));
                break;
            }
            used += tag.len();
            pieces.push((tag, model.theme.style(Role::Task(standing.task))));
        }
        pieces.push((fill(used, MARKS), model.theme.style(Role::Text)));
        pieces.push(match marked.get(&(number as u32 + 1)) {
            Some(true) => (sign(model, true), model.theme.style(Role::Bad)),
            Some(false) => (sign(model, false), model.theme.style(Role::Notice)),
            None => (" ".to_owned(), model.theme.style(Role::Text)),
        });
        let current = number == at;
        let role = if current { Role::Notice } else { Role::Dim };
        pieces.push((format!("{:>digits$} ", number + 1), model.theme.style(role)));
        for (text, colour) in crate::report::source_line::pieces(file, number as u32 + 1) {
            let style = model.theme.style(colour.map_or(Role::Text, Role::Syntax));
            let bold = if current { Modifier::BOLD } else { Modifier::empty() };
            pieces.push((text, style.add_modifier(bold)));
        }
        lines.push(pieces);
    }
    lines
}
