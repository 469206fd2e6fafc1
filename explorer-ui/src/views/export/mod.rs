//! A trace in the forms that other programs read.

pub mod chrome;
pub mod dot;
pub mod json;
pub mod shiviz;
pub mod svg;

use super::rows::{Mark, Row, Selection, rows};
use super::style::Style;
use replay_core::graph::{Cause, HappensBefore};
use traces::{TaskId, Trace};

/// A form that a trace can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One object with every step, its causes and who could have moved (docs/json.md)
    Json,
    /// The Chrome trace format, for Perfetto and chrome://tracing
    Chrome,
    /// Graphviz: the happens-before graph
    Dot,
    /// A log for ShiViz, with vector clocks
    Shiviz,
    /// A picture: a column for each task, arrows between them
    Svg,
}

/// The trace in a form.
#[must_use]
pub fn render(trace: &Trace, format: Format) -> String {
    let schedule = Schedule::of(trace);
    match format {
        Format::Json => json::render(&schedule),
        Format::Chrome => chrome::render(&schedule),
        Format::Dot => dot::render(&schedule),
        Format::Shiviz => shiviz::render(&schedule),
        Format::Svg => svg::render(&schedule),
    }
}

/// What all forms are made from.
pub(super) struct Schedule<'a> {
    pub(super) trace: &'a Trace,
    pub(super) graph: HappensBefore,
    /// One for each step.
    pub(super) rows: Vec<Row>,
}

impl<'a> Schedule<'a> {
    pub(super) fn of(trace: &'a Trace) -> Schedule<'a> {
        let glyphs = Style { ascii: true, ..Style::default() }.glyphs();
        let mut rows = rows(trace, Selection::default(), glyphs);
        rows.retain(|row| row.step.is_some());
        Schedule { trace, graph: HappensBefore::of(&trace.execution), rows }
    }

    /// `lock m`, `try lock m = busy`: what a step did.
    pub(super) fn label(row: &Row) -> String {
        let Some(cell) = row.cells.first() else { return String::new() };
        let parts = [cell.operation.as_str(), &cell.object, &cell.value];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// How many tasks there are.
    pub(super) fn tasks(&self) -> usize {
        super::lanes::task_count(self.trace)
    }

    /// What a task is called.
    pub(super) fn title(&self, task: usize) -> String {
        super::task_title(self.trace, TaskId(task as u16))
    }

    /// The direct causes of a step in other tasks: step and reason.
    pub(super) fn arrivals(&self, step: usize) -> Vec<(usize, &'static str)> {
        let causes = self.graph.causes(step).into_iter();
        let steps = &self.trace.execution.steps;
        causes
            .filter(|link| steps[link.step].task != steps[step].task)
            .map(|link| (link.step, reason(link.cause)))
            .collect()
    }
}

pub(super) fn reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Program => "program",
        Cause::Creation => "creation",
        Cause::Join => "join",
        Cause::Object(_) => "object",
    }
}

pub(super) fn is_preemption(row: &Row) -> bool {
    row.mark == Mark::Preemption
}

#[cfg(test)]
mod tests;
