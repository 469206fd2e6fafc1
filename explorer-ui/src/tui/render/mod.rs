//! Draws the model. Changes nothing.

pub(super) mod choices;
mod columns;
pub(super) mod footer;
mod header;
pub(super) mod lanes;
pub(super) mod layout;
pub(super) mod overlay;
pub(super) mod paint;
mod ribbon;
pub(super) mod schedule;
mod verdict;

use super::model::Model;
use super::model::mode::Mode;
use super::panes;
use super::theme::{Role, Theme};
use crate::report::summary::cut;
use crate::report::text::{clean, count};
use layout::{Areas, LEAST, WIDE, areas};
use paint::put;
use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::style::Style;
use traces::Trace;

/// Draws everything.
pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let size = frame.area();
    let buffer = frame.buffer_mut();
    buffer.set_style(size, model.theme.style(Role::Text));
    if size.width < LEAST.0 || size.height < LEAST.1 {
        let text = format!("the terminal is too small: at least {}x{}", LEAST.0, LEAST.1);
        put(buffer, size, 0, vec![(text, model.theme.style(Role::Bad))]);
        return;
    }
    if (size.width, size.height) != model.size {
        // The resize event has not arrived yet.
        return;
    }
    let areas = areas(model);
    header::draw(model, buffer, areas.header);
    verdict::draw(model, buffer, areas.verdict);
    lanes::draw(model, buffer, areas.lanes);
    schedule::draw(model, buffer, &areas);
    choices::draw(model, buffer, areas.choices);
    panes::draw(model, buffer, areas.pane);
    if size.width >= WIDE && !model.zoomed {
        let style = model.theme.style(Role::Border);
        let sign = if model.ascii { "|" } else { "│" };
        for y in areas.body()..areas.footer.y {
            buffer.set_string(areas.schedule.width, y, sign, style);
        }
    }
    footer::draw(model, buffer, areas.footer);
    overlay::draw(model, buffer, size);
    model.color_depth.reduce(buffer);
    // Screen readers speak the row with the terminal's cursor.
    if model.theme == Theme::Plain
        && let Some(position) = cursor(model, &areas)
    {
        frame.set_cursor_position(position);
    }
}

/// Where the terminal's cursor belongs: on the selected row, or after the text that is typed.
fn cursor(model: &Model, areas: &Areas) -> Option<Position> {
    match &model.mode {
        Mode::Prompt(..) => {
            let x = footer::typed_end(model, areas.footer)?;
            Some(Position { x, y: areas.footer.y })
        }
        Mode::Normal if areas.rows.height > 0 => {
            let top = schedule::top_line(model, areas.rows.height);
            let line = model.line_of(model.view.cursor).checked_sub(top)?;
            let y = areas.rows.y + (line as u16).min(areas.rows.height - 1);
            Some(Position { x: areas.rows.x, y })
        }
        _ => None,
    }
}

/// Draws the screen before the first schedule: the target, and what is being done.
pub fn opening(name: &str, doing: &str, frame: &mut Frame<'_>) {
    let area = frame.area();
    let text = Style::default();
    put(frame.buffer_mut(), area, 0, vec![(format!(" heddle {}", clean(name)), text)]);
    let doing = format!(" {} ... (q quits)", clean(doing));
    put(frame.buffer_mut(), area, area.height.saturating_sub(1), vec![(doing, text)]);
}

/// Program, failure and number of steps in one line.
pub(in crate::tui) fn headline(trace: &Trace) -> String {
    let failure = trace.failure.as_ref();
    let ends = match failure {
        Some(failure) => format!("{}: {}", failure.kind, clean(&failure.message)),
        None => cut(trace).unwrap_or_else(|| "passes".to_owned()),
    };
    let name = clean(trace.header.program.rsplit('/').next().unwrap_or_default());
    let steps = count(trace.execution.steps.len() as u64, "step");
    format!("{name}  {ends}  {steps}")
}
