//! The schedule as a list: a line for each step that begins with its task. For many tasks and narrow
//! terminals.

use crate::report::columns::{finish, fit, gutter, step_gutter};
use crate::report::names::enabled_text;
use crate::report::names::task_title;
use crate::report::rows::{Layout, Row, rows};
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
    let rows = rows(trace, layout.selection, glyphs);
    let total = layout.width.max(MIN_WIDTH);
    let gutter_cells = gutter(trace.execution.steps.len());
    let named = |task: TaskId| {
        // A narrow line has room for the task's number only.
        if total < 60 { task.to_string() } else { task_title(trace, task) }
    };
    let shown = rows.iter().flat_map(|row| &row.cells).map(|cell| width(&named(cell.task)));
    let title_cells = shown.max().unwrap_or(0).clamp("task".len(), MAX_TITLE);
    let enabled_cells = if layout.enabled {
        let widest = rows.iter().map(|row| width(&enabled_text(&row.enabled))).max().unwrap_or(0);
        widest.clamp("enabled".len(), (total / 3).max("enabled".len())) + 2
    } else {
        0
    };
    let room = total.saturating_sub(gutter_cells + 3 + title_cells + 2 + enabled_cells).max(8);
    let natural = rows.iter().flat_map(|row| &row.cells).map(|cell| match width(&cell.site) {
        0 => cell.label_width(),
        site => cell.label_width() + 2 + site,
    });
    let cells = natural.max().unwrap_or(0).min(room).min(MAX_CELL);

    let head = format!("{:>gutter_cells$}   {:title_cells$}  ", "step", "task");
    let mut head = head + &fill(0, cells + 2);
    if layout.enabled {
        head.push_str("enabled");
    }
    let mut text = style.paint(Role::Dim, head.trim_end()) + "\n";
    for row in &rows {
        for cell in &row.cells {
            let title = clip(&named(cell.task), title_cells, glyphs.cut);
            let mut line = step_gutter(row, gutter_cells, style);
            line.push_str(&style.paint(Role::TaskTitle(cell.task), &title));
            line.push_str(&fill(width(&title), title_cells + 2));
            line.push_str(&fit(cell, cells, style));
            line.push_str(&enabled(row, enabled_cells, style));
            text.push_str(&finish(line));
        }
    }
    text
}

fn enabled(row: &Row, cells: usize, style: &Style) -> String {
    if cells == 0 {
        return String::new();
    }
    let text = clip(&enabled_text(&row.enabled), cells - 2, style.glyphs().cut);
    format!("  {}", style.paint(Role::Dim, &text))
}
