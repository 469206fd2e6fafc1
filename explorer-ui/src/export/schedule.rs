//! The schedule of a trace with its happens-before graph: the input of every export format.

use crate::report::names::task_title;
use crate::report::rows::{Mark, Row, Selection, for_each_row};
use crate::report::style::Style;
use crate::report::task_lifetimes::task_count;
use replay_core::graph::{Cause, HappensBefore};
use std::io;
use traces::{TaskId, Trace};

/// The input of an export format.
pub(super) struct Schedule<'a> {
    pub(super) trace: &'a Trace,
    pub(super) graph: HappensBefore,
}

impl<'a> Schedule<'a> {
    pub(super) fn of(trace: &'a Trace) -> Schedule<'a> {
        Schedule { trace, graph: HappensBefore::of(&trace.execution) }
    }

    /// Calls `visit` with the row of each step, until it fails. Rows are made one at a time: all of
    /// them take many times as much memory as the trace.
    pub(super) fn for_each_step(
        &self,
        mut visit: impl FnMut(&Row) -> io::Result<()>,
    ) -> io::Result<()> {
        let glyphs = Style { ascii: true, ..Style::default() }.glyphs();
        let mut result = Ok(());
        for_each_row(self.trace, Selection::default(), glyphs, |row| {
            if row.step.is_some() && result.is_ok() {
                result = visit(&row);
            }
        });
        result
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
