//! The overview of the whole schedule: time runs to the right, one lane for each task; the height of
//! a bar is the share of steps that are the task's.

use super::layout::areas;
use super::paint::{glyphs, put};
use crate::report::text::{fill, width};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use traces::TaskId;

/// Bars for the share of a task, from little to all.
const BUSY: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const BUSY_ASCII: [&str; 8] = [".", ".", ":", ":", "=", "=", "#", "#"];

/// The tasks with lanes, the columns before the lanes, and the columns of each lane.
fn laid_out(model: &Model, area: Rect) -> (Vec<TaskId>, u16, u16) {
    let tasks = (0..model.loaded().tasks()).map(|number| TaskId(number as u16));
    let seen = tasks.filter(|task| !model.hidden.contains(task));
    let tasks: Vec<TaskId> = seen.take(usize::from(area.height)).collect();
    let names = tasks.iter().map(|task| width(&task.to_string())).max().unwrap_or(0) as u16;
    let before = (names + 1).min(area.width);
    (tasks, before, area.width.saturating_sub(before + 1))
}

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    let (tasks, before, cells) = laid_out(model, area);
    let loaded = model.loaded();
    if cells == 0 || loaded.is_empty() {
        return;
    }
    let busy = if model.ascii { BUSY_ASCII } else { BUSY };
    let lane = glyphs(model).lane;
    let steps = |cell: u16| span(loaded.len(), cells, cell);
    for (line, &task) in tasks.iter().enumerate() {
        let style = model.theme.style(Role::Task(task));
        let name = task.to_string();
        let padded = name.clone() + &fill(width(&name), usize::from(before));
        put(buffer, area, line as u16, vec![(padded, style.add_modifier(Modifier::BOLD))]);
        let y = area.y + line as u16;
        for cell in 0..cells {
            let steps = steps(cell);
            let (done, all) = (loaded.busy(task, steps.clone()), steps.len().max(1));
            let (sign, style) = match (done * busy.len()).div_ceil(all) {
                0 if loaded.is_alive(task, steps.start) => {
                    (lane, model.theme.style(Role::Border).add_modifier(Modifier::DIM))
                }
                0 => (" ", Style::default()),
                height => (busy[height.min(busy.len()) - 1], style),
            };
            buffer.set_string(area.x + before + cell, y, sign, style);
        }
    }
    // The column of the cursor, in all lanes.
    let at = (model.view.cursor.min(loaded.len() - 1)) as u64;
    let cell = (at * u64::from(cells) / loaded.len() as u64) as u16;
    let column = Rect {
        x: area.x + before + cell,
        width: 1,
        height: (tasks.len() as u16).min(area.height),
        ..area
    };
    buffer.set_style(column, model.theme.style(Role::Selected));
}

/// The steps of one of `cells` columns that show `steps` steps; at least one step.
fn span(steps: usize, cells: u16, cell: u16) -> std::ops::Range<usize> {
    let at = |cell: u16| (u64::from(cell) * steps as u64 / u64::from(cells)) as usize;
    let from = at(cell).min(steps.saturating_sub(1));
    from..at(cell + 1).max(from + 1).min(steps)
}

/// The first step of the column at a position of the lanes.
pub(in crate::tui) fn step_at(model: &Model, at: Position) -> Option<usize> {
    let area = areas(model).lanes;
    let (_, before, cells) = laid_out(model, area);
    let steps = model.loaded().len();
    if !area.contains(at) || cells == 0 || steps == 0 {
        return None;
    }
    let cell = (at.x - area.x).saturating_sub(before).min(cells - 1);
    Some(span(steps, cells, cell).start)
}
