//! The schedule as a list: a line for each step that begins with its task. For many tasks and narrow
//! terminals.

use crate::report::async_tasks::Changes;
use crate::report::columns::{finish, fit, gutter, step_gutter};
use crate::report::names::enabled_text;
use crate::report::names::task_title;
use crate::report::rows::{Layout, Row, for_each_row};
use crate::report::style::{Role, Style};
use crate::report::text::{clip, fill, width};
use traces::{TaskId, Trace};

/// The minimum width; on a narrower terminal the lines wrap.
const MIN_WIDTH: usize = 24;
/// The maximum width of a task's name.
const MAX_TITLE: usize = 18;
/// The maximum width of a cell: farther right, a site is hard to match with its line.
const MAX_CELL: usize = 72;

/// The schedule as a list.
#[must_use]
pub fn render(trace: &Trace, style: &Style, layout: &Layout) -> String {
    let glyphs = style.glyphs();
    let total = layout.width.max(MIN_WIDTH);
    let gutter_cells = gutter(trace.execution.steps.len());
    let named = |task: TaskId| {
        // A narrow line has room for the task's number only.
        if total < 60 { task.to_string() } else { task_title(trace, task) }
    };
    // The rows are made twice, because all of them at once take much memory.
    let (mut title_cells, mut widest, mut natural) = (0, 0, 0);
    for_each_row(trace, layout.selection, glyphs, |row| {
        for cell in &row.cells {
            title_cells = title_cells.max(width(&named(cell.task)));
            natural = natural.max(match width(&cell.site) {
                0 => cell.label_width(),
                site => cell.label_width() + 2 + site,
            });
        }
        if layout.enabled {
            widest = widest.max(width(&enabled_text(&row.enabled)));
        }
    });
    let title_cells = title_cells.clamp("task".len(), MAX_TITLE);
    let enabled_cells = if layout.enabled {
        widest.clamp("enabled".len(), (total / 3).max("enabled".len())) + 2
    } else {
        0
    };
    let room = total.saturating_sub(gutter_cells + 3 + title_cells + 2 + enabled_cells).max(8);
    let cells = natural.min(room).min(MAX_CELL);

    let head = format!("{:>gutter_cells$}   {:title_cells$}  ", "step", "task");
    let mut head = head + &fill(0, cells + 2);
    if layout.enabled {
        head.push_str("enabled");
    }
    let mut text = style.paint(Role::Dim, head.trim_end()) + "\n";
    let mut changes = Changes::of(&trace.execution);
    for_each_row(trace, layout.selection, glyphs, |row| {
        for cell in &row.cells {
            if let Some(above) = row.step.and_then(|step| changes.above(step, cell.task)) {
                let above = clip(&above, cells, glyphs.cut);
                let margin = fill(0, gutter_cells + 3 + title_cells + 2);
                text.push_str(&finish(margin + &style.paint(Role::TaskTitle(cell.task), &above)));
            }
            let title = clip(&named(cell.task), title_cells, glyphs.cut);
            let mut line = step_gutter(&row, gutter_cells, style);
            line.push_str(&style.paint(Role::TaskTitle(cell.task), &title));
            line.push_str(&fill(width(&title), title_cells + 2));
            line.push_str(&fit(cell, cells, style));
            line.push_str(&enabled(&row, enabled_cells, style));
            text.push_str(&finish(line));
        }
    });
    text
}

fn enabled(row: &Row, cells: usize, style: &Style) -> String {
    if cells == 0 {
        return String::new();
    }
    let text = clip(&enabled_text(&row.enabled), cells - 2, style.glyphs().cut);
    format!("  {}", style.paint(Role::Dim, &text))
}
