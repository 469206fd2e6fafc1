//! The schedule as a list: one line for each step with its task in front. For many tasks, and for
//! narrow terminals.

use super::columns::{finish, fit, gutter, step_gutter};
use super::rows::{Row, rows};
use super::style::{Role, Style};
use super::text::{clip, fill, width};
use super::{Layout, enabled_text, task_title};
use traces::{TaskId, Trace};

/// Below this nothing can be read, and wrapped lines are better than none.
const LEAST_WIDTH: usize = 24;
/// The widest that the tasks' names may get.
const MOST_TITLE: usize = 18;
/// Farther right the eye loses the line that a place belongs to.
const MOST_CELL: usize = 72;

/// The schedule as a list.
#[must_use]
pub fn render(trace: &Trace, style: &Style, layout: &Layout) -> String {
    let glyphs = style.glyphs();
    let rows = rows(trace, layout.selection, glyphs);
    let total = layout.width.max(LEAST_WIDTH);
    let gutter_cells = gutter(trace.execution.steps.len());
    let named = |task: TaskId| {
        // A narrow line has room for the number, not for the name.
        if total < 60 { task.to_string() } else { task_title(trace, task) }
    };
    let shown = rows.iter().flat_map(|row| &row.cells).map(|cell| width(&named(cell.task)));
    let title_cells = shown.max().unwrap_or(0).clamp("task".len(), MOST_TITLE);
    let enabled_cells = if layout.enabled {
        let widest = rows.iter().map(|row| width(&enabled_text(row))).max().unwrap_or(0);
        widest.clamp("may move".len(), (total / 3).max("may move".len())) + 2
    } else {
        0
    };
    let room = total.saturating_sub(gutter_cells + 3 + title_cells + 2 + enabled_cells).max(8);
    let natural = rows.iter().flat_map(|row| &row.cells).map(|cell| match width(&cell.place) {
        0 => cell.label_width(),
        place => cell.label_width() + 2 + place,
    });
    let cells = natural.max().unwrap_or(0).min(room).min(MOST_CELL);

    let head = format!("{:>gutter_cells$}   {:title_cells$}  ", "step", "task");
    let mut head = head + &fill(0, cells + 2);
    if layout.enabled {
        head.push_str("may move");
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
    let text = clip(&enabled_text(row), cells - 2, style.glyphs().cut);
    format!("  {}", style.paint(Role::Dim, &text))
}
