//! The schedule with a column for each task and a row for each step.

use crate::report::async_tasks::Changes;
use crate::report::names::enabled_text;
use crate::report::names::task_title;
use crate::report::rows::{Cell, Layout, Mark, Row, for_each_row};
use crate::report::style::{Glyphs, Role, Style};
use crate::report::task_lifetimes::{lifetimes, task_count};
use crate::report::text::{clip, fill, width};
use std::ops::RangeInclusive;
use traces::{TaskId, Trace};

/// With more tasks, a list is easier to read than columns.
const MAX_TASKS: usize = 6;
/// The minimum width of a column.
const MIN_WIDTH: usize = 16;
/// Cells between two columns.
const GAP: usize = 2;

/// The schedule in columns; none if there are too many tasks for the width.
#[must_use]
pub fn render(trace: &Trace, style: &Style, layout: &Layout) -> Option<String> {
    let tasks = task_count(trace);
    if tasks > MAX_TASKS {
        return None;
    }
    let glyphs = style.glyphs();
    let picture = Picture::new(trace, style, layout, tasks)?;
    let mut text = picture.head(trace);
    let mut changes = Changes::of(&trace.execution);
    for_each_row(trace, layout.selection, glyphs, |row| {
        let first = row.step.zip(row.cells.first());
        let above =
            first.and_then(|(step, cell)| Some((cell.task, changes.above(step, cell.task)?)));
        if let Some((task, above)) = above {
            text.push_str(&picture.above(&row, task, &above));
        }
        text.push_str(&picture.row(&row, trace.execution.steps.len()));
    });
    Some(text)
}

struct Picture<'a> {
    style: &'a Style,
    glyphs: &'static Glyphs,
    gutter: usize,
    widths: Vec<usize>,
    /// The width of the column of enabled tasks, if it is shown.
    enabled: Option<usize>,
    lifetimes: Vec<Option<RangeInclusive<usize>>>,
}

impl<'a> Picture<'a> {
    fn new(trace: &Trace, style: &'a Style, layout: &Layout, tasks: usize) -> Option<Picture<'a>> {
        let gutter = gutter(trace.execution.steps.len());
        // The rows are made twice, because all of them at once take much memory.
        let mut widest = 0;
        let mut natural: Vec<usize> =
            (0..tasks).map(|task| width(&task_title(trace, TaskId(task as u16)))).collect();
        for_each_row(trace, layout.selection, style.glyphs(), |row| {
            for cell in &row.cells {
                let needed = match width(&cell.site) {
                    0 => cell.label_width(),
                    site => cell.label_width() + 2 + site,
                };
                let column = &mut natural[cell.task.index()];
                *column = needed.max(*column);
            }
            if layout.enabled {
                widest = widest.max(width(&enabled_text(&row.enabled)));
            }
        });
        let enabled = layout
            .enabled
            .then(|| widest.clamp("enabled".len(), (layout.width / 4).max("enabled".len())));
        let taken = gutter + 3 + enabled.map_or(0, |cells| cells + GAP);
        let room = layout.width.checked_sub(taken + GAP * tasks.saturating_sub(1))?;
        let widths = share(&natural, room)?;
        Some(Picture {
            style,
            glyphs: style.glyphs(),
            gutter,
            widths,
            enabled,
            lifetimes: lifetimes(trace),
        })
    }

    fn head(&self, trace: &Trace) -> String {
        let mut line = self.style.paint(Role::Dim, &format!("{:>1$}   ", "step", self.gutter));
        for (task, &cells) in self.widths.iter().enumerate() {
            let id = TaskId(task as u16);
            let title = clip(&task_title(trace, id), cells, self.glyphs.cut);
            line.push_str(&self.style.paint(Role::TaskTitle(id), &title));
            line.push_str(&fill(width(&title), cells + GAP));
        }
        if self.enabled.is_some() {
            line.push_str(&self.style.paint(Role::Dim, "enabled"));
        }
        finish(line)
    }

    /// The line above a row whose task begins to execute another asynchronous task.
    fn above(&self, row: &Row, task: TaskId, text: &str) -> String {
        let mut line = fill(0, self.gutter + 3);
        for (other, &cells) in self.widths.iter().enumerate() {
            let id = TaskId(other as u16);
            if id == task {
                let text = clip(text, cells, self.glyphs.cut);
                line.push_str(&self.style.paint(Role::TaskTitle(id), &text));
                line.push_str(&fill(width(&text), cells));
            } else {
                line.push_str(&self.lane(row, id, 0, cells));
            }
            line.push_str(&fill(0, GAP));
        }
        finish(line)
    }

    fn row(&self, row: &Row, end: usize) -> String {
        let mut line = step_gutter(row, self.gutter, self.style);
        for (task, &cells) in self.widths.iter().enumerate() {
            let id = TaskId(task as u16);
            match row.cells.iter().find(|cell| cell.task == id) {
                Some(cell) => line.push_str(&fit(cell, cells, self.style)),
                None => line.push_str(&self.lane(row, id, end, cells)),
            }
            line.push_str(&fill(0, GAP));
        }
        if let Some(cells) = self.enabled {
            let text = clip(&enabled_text(&row.enabled), cells, self.glyphs.cut);
            line.push_str(&self.style.paint(Role::Dim, &text));
        }
        finish(line)
    }

    fn lane(&self, row: &Row, task: TaskId, end: usize, cells: usize) -> String {
        let at = row.step.unwrap_or(end);
        let alive = matches!(&self.lifetimes[task.index()], Some(span) if span.contains(&at));
        let sign = match row.enabled.binary_search(&task) {
            _ if !alive => "",
            Ok(_) => self.glyphs.lane,
            Err(_) => self.glyphs.waiting,
        };
        let sign = clip(sign, cells, "");
        self.style.paint(Role::Task(task), &sign) + &fill(width(&sign), cells)
    }
}

/// The width of the column of step numbers.
pub(super) fn gutter(steps: usize) -> usize {
    steps.to_string().len().max("step".len())
}

/// The number of a step and the mark of a switch, followed by spaces.
pub(super) fn step_gutter(row: &Row, cells: usize, style: &Style) -> String {
    let number = row.step.map(|step| (step + 1).to_string()).unwrap_or_default();
    let number = format!("{number:>cells$}");
    let glyphs = style.glyphs();
    match row.mark {
        Mark::None => style.paint(Role::Dim, &number) + "   ",
        Mark::Switch => style.paint(Role::Dim, &number) + glyphs.switch + "  ",
        Mark::Preemption => style.paint(Role::Bad, &(number + glyphs.preemption)) + "  ",
    }
}

/// A cell of the given width: the label at the left, the site at the right.
pub(super) fn fit(cell: &Cell, cells: usize, style: &Style) -> String {
    let cut = style.glyphs().cut;
    let site = width(&cell.site);
    // Drop the site before clipping the result off the label.
    let site_fits = site > 0 && site + 2 + cell.least_width() <= cells;
    let label = cell.label(if site_fits { cells - site - 2 } else { cells }, cut);
    let role = if cell.failed { Role::Bad } else { Role::Task(cell.task) };
    let used = width(&label);
    let label = style.paint(role, &label);
    if site_fits {
        label + &fill(used + site, cells) + &style.paint(Role::Dim, &cell.site)
    } else {
        label + &fill(used, cells)
    }
}

/// Ends a line, without trailing spaces.
pub(super) fn finish(line: String) -> String {
    format!("{}\n", line.trim_end())
}

/// Divides `room` among the columns: a column that needs less than an equal share leaves the rest to the
/// others.
fn share(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let mut widths = vec![0; natural.len()];
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|&column| natural[column]);
    let mut remaining = room;
    for (done, &column) in order.iter().enumerate() {
        let part = remaining / (order.len() - done);
        widths[column] = natural[column].min(part);
        if widths[column] < natural[column].min(MIN_WIDTH) {
            return None;
        }
        remaining -= widths[column];
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn narrow_columns_leave_width_to_wide_columns() {
        assert_eq!(share(&[10, 40, 40], 70), Some(vec![10, 30, 30]));
        assert_eq!(share(&[10, 20], 70), Some(vec![10, 20]));
        assert_eq!(share(&[40, 40], 20), None);
        assert_eq!(share(&[], 20), Some(vec![]));
    }
}
