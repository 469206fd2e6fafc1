//! The schedule of a trace with its happens-before graph: the input of every export format.

use crate::report::names::task_title;
use crate::report::rows::{Mark, Row, Selection, rows};
use crate::report::style::Style;
use crate::report::task_lifetimes::task_count;
use replay_core::graph::{Cause, HappensBefore};
use traces::{TaskId, Trace};

/// The input of an export format.
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

    /// The label of a step: `lock m`, `try lock m = busy`.
    pub(super) fn label(row: &Row) -> String {
        let Some(cell) = row.cells.first() else { return String::new() };
        let parts = [cell.operation.as_str(), &cell.object, &cell.value];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The number of tasks.
    pub(super) fn tasks(&self) -> usize {
        task_count(self.trace)
    }

    /// The title of a task.
    pub(super) fn title(&self, task: usize) -> String {
        task_title(self.trace, TaskId(task as u16))
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
