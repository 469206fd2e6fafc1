//! The schedule with a column for each task and a row for each step.

use super::lanes::{lives, task_count};
use super::rows::{Cell, Mark, Row, rows};
use super::style::{Glyphs, Role, Style};
use super::text::{clip, fill, width};
use super::{Layout, enabled_text, task_title};
use std::ops::RangeInclusive;
use traces::{TaskId, Trace};

/// More columns than this are no picture any more.
const MOST_TASKS: usize = 6;
/// A column below this cannot say what happens in it.
const LEAST_WIDTH: usize = 16;
/// Between two columns.
const GAP: usize = 2;

/// The schedule in columns; none where there are too many tasks for the width.
#[must_use]
pub fn render(trace: &Trace, style: &Style, layout: &Layout) -> Option<String> {
    let tasks = task_count(trace);
    if tasks > MOST_TASKS {
        return None;
    }
    let glyphs = style.glyphs();
    let rows = rows(trace, layout.selection, glyphs);
    let picture = Picture::new(trace, style, layout, &rows, tasks)?;
    let mut text = picture.head(trace);
    for row in &rows {
        text.push_str(&picture.row(row, trace.execution.steps.len()));
    }
    Some(text)
}

struct Picture<'a> {
    style: &'a Style,
    glyphs: &'static Glyphs,
    gutter: usize,
    widths: Vec<usize>,
    /// The width of the column with the enabled sets, if there is one.
    enabled: Option<usize>,
    lives: Vec<Option<RangeInclusive<usize>>>,
}

impl<'a> Picture<'a> {
    fn new(
        trace: &Trace,
        style: &'a Style,
        layout: &Layout,
        rows: &[Row],
        tasks: usize,
    ) -> Option<Picture<'a>> {
        let gutter = gutter(trace.execution.steps.len());
        let enabled = layout.enabled.then(|| {
            let widest = rows.iter().map(|row| width(&enabled_text(row))).max().unwrap_or(0);
            widest.clamp("may move".len(), (layout.width / 4).max("may move".len()))
        });
        let taken = gutter + 3 + enabled.map_or(0, |cells| cells + GAP);
        let room = layout.width.checked_sub(taken + GAP * tasks.saturating_sub(1))?;
        let natural: Vec<usize> =
            (0..tasks).map(|task| natural(trace, rows, TaskId(task as u16))).collect();
        let widths = share(&natural, room)?;
        Some(Picture {
            style,
            glyphs: style.glyphs(),
            gutter,
            widths,
            enabled,
            lives: lives(trace),
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
            line.push_str(&self.style.paint(Role::Dim, "may move"));
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
            let text = clip(&enabled_text(row), cells, self.glyphs.cut);
            line.push_str(&self.style.paint(Role::Dim, &text));
        }
        finish(line)
    }

    fn lane(&self, row: &Row, task: TaskId, end: usize, cells: usize) -> String {
        let at = row.step.unwrap_or(end);
        let alive = matches!(&self.lives[task.index()], Some(life) if life.contains(&at));
        let sign = match row.enabled.binary_search(&task) {
            _ if !alive => "",
            Ok(_) => self.glyphs.lane,
            Err(_) => self.glyphs.waiting,
        };
        let sign = clip(sign, cells, "");
        self.style.paint(Role::Task(task), &sign) + &fill(width(&sign), cells)
    }
}

/// How many cells the numbers of so many steps take.
pub(super) fn gutter(steps: usize) -> usize {
    steps.to_string().len().max("step".len())
}

/// The number of a step and the mark of a switch, with the space behind them.
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

/// What a cell looks like in so many cells: the label at the left, the place at the right.
pub(super) fn fit(cell: &Cell, cells: usize, style: &Style) -> String {
    let cut = style.glyphs().cut;
    let place = width(&cell.place);
    // The place goes before the label loses what it is there to say.
    let roomy = place > 0 && place + 2 + cell.least_width() <= cells;
    let label = cell.label(if roomy { cells - place - 2 } else { cells }, cut);
    let role = if cell.failed { Role::Bad } else { Role::Task(cell.task) };
    let used = width(&label);
    let label = style.paint(role, &label);
    if roomy {
        label + &fill(used + place, cells) + &style.paint(Role::Dim, &cell.place)
    } else {
        label + &fill(used, cells)
    }
}

/// A finished line: no spaces at its end.
pub(super) fn finish(line: String) -> String {
    format!("{}\n", line.trim_end())
}

/// The width at which nothing of a task's column would be cut.
fn natural(trace: &Trace, rows: &[Row], task: TaskId) -> usize {
    let cells = rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.task == task);
    let widest = cells.map(|cell| match width(&cell.place) {
        0 => cell.label_width(),
        place => cell.label_width() + 2 + place,
    });
    widest.max().unwrap_or(0).max(width(&task_title(trace, task)))
}

/// Shares `room` out: who needs less than an equal part leaves the rest to the others.
fn share(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let mut widths = vec![0; natural.len()];
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|&column| natural[column]);
    let mut left = room;
    for (done, &column) in order.iter().enumerate() {
        let part = left / (order.len() - done);
        widths[column] = natural[column].min(part);
        if widths[column] < natural[column].min(LEAST_WIDTH) {
            return None;
        }
        left -= widths[column];
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_narrow_column_leaves_its_room_to_the_wide_ones() {
        assert_eq!(share(&[10, 40, 40], 70), Some(vec![10, 30, 30]));
        assert_eq!(share(&[10, 20], 70), Some(vec![10, 20]));
        assert_eq!(share(&[40, 40], 20), None);
        assert_eq!(share(&[], 20), Some(vec![]));
    }
}
