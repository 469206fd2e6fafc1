//! What a trace looks like as text. Pure functions from a trace to a string: no terminal, no file.

pub mod checks;
pub mod columns;
pub mod diff;
pub mod explain;
pub mod export;
pub mod failure;
pub mod junit;
pub(crate) mod lanes;
pub mod list;
pub mod next;
pub mod position;
pub mod report;
pub mod rows;
pub mod source;
pub mod style;
pub mod summary;
pub mod text;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use rows::Selection;
pub use style::Style;

use rows::Row;
use style::Role;
use text::clean;
use traces::{TaskId, Trace};

/// How much room there is, and what is to be shown of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How many cells a line has.
    pub width: usize,
    /// Which rows.
    pub selection: Selection,
    /// Whether each row names the tasks that could have moved.
    pub enabled: bool,
}

/// The schedule: in columns where they fit, as a list otherwise; and what its signs mean.
#[must_use]
pub fn schedule(trace: &Trace, style: &Style, layout: &Layout) -> String {
    if trace.execution.steps.is_empty() && trace.failure.is_some() && trace.header.found_at > 0 {
        return "no schedule was recorded: run again to be recorded, it did not fail like this; \
                something outside the schedule decides\n"
            .to_owned();
    }
    if trace.execution.steps.is_empty() {
        return "no steps: the program ended before its first scheduling point\n".to_owned();
    }
    let columns = columns::render(trace, style, layout);
    let lanes = columns.is_some();
    let mut text = columns.unwrap_or_else(|| list::render(trace, style, layout));
    text.push_str(&style.paint(Role::Dim, &legend(style, lanes)));
    text.push('\n');
    text
}

fn legend(style: &Style, lanes: bool) -> String {
    let glyphs = style.glyphs();
    let mut parts =
        vec![format!("{} switch", glyphs.switch), format!("{} preemption", glyphs.preemption)];
    if lanes {
        parts.push(format!("{} may move", glyphs.lane));
        parts.push(format!("{} waits", glyphs.waiting));
    }
    parts.join("   ")
}

/// `T1 producer`: the number, and the name or the function where one is known.
#[must_use]
pub fn task_title(trace: &Trace, task: TaskId) -> String {
    let name = trace.execution.tasks.get(task.index()).map(|record| {
        if record.name.is_empty() { short(&record.function) } else { record.name.as_str() }
    });
    match name {
        Some(name) if !name.is_empty() => format!("{task} {}", clean(name)),
        _ => task.to_string(),
    }
}

/// Of a path of many parts the last one: that a library started the thread says little.
fn short(function: &str) -> &str {
    let last = function.rsplit("::").next().unwrap_or(function);
    let whole = function.len() <= 24 || last.is_empty() || last.contains('>');
    if whole { function } else { last }
}

/// The tasks that could have moved at a row.
fn enabled_text(row: &Row) -> String {
    row.enabled.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
