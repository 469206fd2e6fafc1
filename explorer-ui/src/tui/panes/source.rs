//! The source code at the selected step and, where there is room, at the positions of the other tasks
//! that take part.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use super::source_view::View;
use crate::report::text::{clean, clip_front};
use crate::tui::model::Model;
use crate::tui::render::layout::{BESIDE, SOURCE};
use crate::tui::render::paint::{fitted, glyphs};
use crate::tui::theme::Role;
use crate::walk::place::shown_task;
use ratatui::layout::Size;

/// The pane.
pub(super) struct Source;

impl Pane for Source {
    fn id(&self) -> PaneId {
        PaneId("source")
    }

    fn help(&self) -> &'static str {
        "the source at the selected step, and of other tasks involved"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-1"]
    }

    fn lines(&self, model: &Model, room: Size) -> Lines {
        source(model, room)
    }

    /// Two sources need more room than lists.
    fn share(&self) -> u16 {
        3
    }
}

/// The least height of a source above another one.
const ABOVE: u16 = 8;

fn source(model: &Model, room: Size) -> Lines {
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
    if !matches!(model.sources.get(&path), Some(Some(_))) {
        let cells = usize::from(room.width).saturating_sub(18);
        let name = clip_front(&format!("{}:{line}", clean(&path)), cells, glyphs(model).cut);
        let mut lines = vec![one(model, format!(" {name} cannot be read"), Role::Dim)];
        lines.extend(before_library(model, room).unwrap_or_default());
        return lines;
    }
    let beside = room.width / SOURCE;
    let above = if model.size.0 >= BESIDE { room.height / ABOVE } else { 1 };
    let most = usize::from(beside.max(above.min(2))).max(1);
    let task = shown_task(&model.loaded().trace, model.view.cursor);
    let mut views = vec![View { task, path, line, selected: true }];
    let others = model.other_sources().into_iter();
    let others = others.filter(|it| matches!(model.sources.get(&it.file), Some(Some(_))));
    let view = |it: crate::walk::place::SourcePosition| View {
        task: Some(it.task),
        path: it.file,
        line: it.line,
        selected: false,
    };
    views.extend(others.map(view).take(most - 1));
    // In the order of the tasks, so that each source keeps its place while the cursor moves.
    views.sort_by_key(|view| view.task);
    let number = views.len() as u16;
    if number == 1 {
        return views[0].lines(model, room, false);
    }
    if beside >= number {
        let size = Size { width: (room.width - (number - 1)) / number, ..room };
        let columns = views.iter().map(|view| view.lines(model, size, true)).collect();
        return side_by_side(model, columns, usize::from(size.width));
    }
    let size = Size { height: room.height / number, ..room };
    views.iter().flat_map(|view| view.lines(model, size, true)).collect()
}

/// The source at the last line in user code, for a step in a library whose source cannot be read.
fn before_library(model: &Model, room: Size) -> Option<Lines> {
    let (path, line) = model.last_own_source()?;
    if !matches!(model.sources.get(&path), Some(Some(_))) {
        return None;
    }
    let task = shown_task(&model.loaded().trace, model.view.cursor);
    let mut lines = vec![one(model, " the last line before it:".to_owned(), Role::Dim)];
    let view = View { task, path, line, selected: true };
    lines.extend(view.lines(model, Size { height: room.height.saturating_sub(2), ..room }, true));
    Some(lines)
}

/// Columns of lines beside each other, each of this width.
fn side_by_side(model: &Model, columns: Vec<Lines>, cells: usize) -> Lines {
    let (cut, border) = (glyphs(model).cut, model.theme.style(Role::Border));
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let mut lines = Lines::new();
    for _ in 0..height {
        let mut line = Vec::new();
        for (at, column) in columns.iter_mut().enumerate() {
            if at > 0 {
                line.push((if model.ascii { "|" } else { "│" }.to_owned(), border));
            }
            line.extend(fitted(column.next().unwrap_or_default(), cells, cut));
        }
        lines.push(line);
    }
    lines
}
