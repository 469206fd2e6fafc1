//! A picture: a column for each task, steps from top to bottom, an arrow for each cause in another task.

use super::schedule::{Schedule, is_preemption};
use crate::report::text::clip;
use std::io::{self, Write};

const ROW: usize = 22;
const COLUMN: usize = 260;
const LEFT: usize = 56;
const TOP: usize = 40;
/// The number of characters of a label that fit into a column.
const LABEL: usize = 34;
/// The colours of tasks, distinguishable with common kinds of colour blindness.
const COLOURS: [&str; 6] = ["#4477aa", "#cc6677", "#228833", "#aa7722", "#66509b", "#338899"];

pub(super) fn write(schedule: &Schedule<'_>, out: &mut dyn Write) -> io::Result<()> {
    let steps = &schedule.trace.execution.steps;
    let tasks = schedule.tasks();
    let (width, height) = (LEFT + COLUMN * tasks + 20, TOP + ROW * steps.len() + 20);
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"head\" markerWidth=\"7\" markerHeight=\"7\" refX=\"6\" refY=\"3\" \
         orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\" fill=\"#888\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    )?;
    for task in 0..tasks {
        let x = column(task);
        let title = escape(&clip(&schedule.title(task), LABEL, "..."));
        let colour = COLOURS[task % COLOURS.len()];
        writeln!(
            out,
            "<text x=\"{x}\" y=\"24\" font-weight=\"bold\" fill=\"{colour}\">{title}</text>\n\
             <line x1=\"{0}\" y1=\"{TOP}\" x2=\"{0}\" y2=\"{1}\" stroke=\"#dddddd\"/>",
            x - 8,
            height - 20
        )?;
    }
    schedule.for_each_step(|row| {
        let at = row.step.unwrap_or_default();
        let (task, y) = (steps[at].task.index(), middle(at));
        let failed = row.cells.first().is_some_and(|cell| cell.failed);
        let colour = if failed { "#cc0000" } else { COLOURS[task % COLOURS.len()] };
        let mark = if is_preemption(row) { "!" } else { "" };
        let label = escape(&clip(&Schedule::label(row), LABEL, "..."));
        let place = escape(row.cells.first().map_or("", |cell| &cell.site));
        writeln!(
            out,
            "<text x=\"8\" y=\"{0}\" fill=\"#888888\">{1}{mark}</text>\n\
             <circle cx=\"{2}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>\n\
             <text x=\"{3}\" y=\"{0}\" fill=\"{colour}\">{label}<title>{place}</title></text>",
            y + 4,
            at + 1,
            column(task) - 8,
            column(task)
        )?;
        for (from, reason) in schedule.arrivals(at) {
            writeln!(
                out,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{y}\" stroke=\"#888888\" \
                 stroke-opacity=\"0.6\" marker-end=\"url(#head)\"><title>{reason}</title></line>",
                column(steps[from].task.index()) - 8,
                middle(from),
                column(task) - 11,
            )?;
        }
        Ok(())
    })?;
    writeln!(out, "</svg>")
}

fn column(task: usize) -> usize {
    LEFT + 16 + COLUMN * task
}

fn middle(step: usize) -> usize {
    TOP + ROW * step + ROW / 2
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
