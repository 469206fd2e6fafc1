//! The layout of the screen, and the borders that can be dragged.

use super::{choices, verdict};
use crate::tui::model::Model;
use crate::tui::model::pane_sizes::{Divider, PaneSizes};
use ratatui::layout::{Constraint, Layout, Position, Rect};

/// The smallest screen, in columns and rows.
pub(super) const LEAST: (u16, u16) = (30, 8);
/// From this width on the panes are on the right of the schedule.
pub(super) const WIDE: u16 = 110;

/// From this width on several panes are displayed at once.
pub(in crate::tui) const BESIDE: u16 = 160;

/// The least height of a pane with its heading, when several are displayed.
pub(in crate::tui) const PANE: u16 = 5;

/// Columns of step numbers, signs and the minimap.
const MARGIN: u16 = 12;
/// The preferred width of a column: an operation, its object and its location.
const COLUMN: u16 = 20;
/// The width reserved for the panes on the right: usually, and on screens with room for two sources
/// beside each other.
const RIGHT: (u16, u16) = (50, 2 * SOURCE + 2);
/// The least width of a source beside another one.
pub(in crate::tui) const SOURCE: u16 = 42;
/// The least width of either side when the border is dragged.
const SIDE: u16 = 24;
/// From this height on the overview is shown by default.
const HIGH: u16 = 45;

/// The areas of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::tui) struct Areas {
    pub(in crate::tui) header: Rect,
    /// The verdict on a failing schedule.
    pub(in crate::tui) verdict: Rect,
    /// The overview.
    pub(in crate::tui) lanes: Rect,
    /// The schedule with its heading.
    pub(in crate::tui) schedule: Rect,
    /// The rows of the schedule.
    pub(in crate::tui) rows: Rect,
    pub(in crate::tui) minimap: Rect,
    pub(in crate::tui) choices: Rect,
    pub(in crate::tui) pane: Rect,
    /// Room for panes below a short schedule, on screens that show several panes.
    pub(in crate::tui) under: Rect,
    pub(in crate::tui) footer: Rect,
}

impl Areas {
    /// The first row below header and verdict.
    pub(super) fn body(&self) -> u16 {
        self.header.height + self.verdict.height
    }
}

/// Whether the panes are on the right of the schedule.
pub(in crate::tui) fn is_wide(model: &Model) -> bool {
    model.size.0 >= WIDE
}

/// Lays out a screen of the model's size.
pub(in crate::tui) fn areas(model: &Model) -> Areas {
    let (width, height) = model.size;
    if width < LEAST.0 || height < LEAST.1 {
        return Areas::default();
    }
    let verdict = if model.zoomed { 0 } else { verdict::height(model) };
    let [header, verdict, body, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(verdict),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(Rect { x: 0, y: 0, width, height });
    if model.zoomed {
        return Areas { header, pane: body, footer, ..Areas::default() };
    }
    let pane_sizes = model.pane_sizes;
    let wanted = choices::lines(model) + 1;
    let (schedule, choices, pane) = if is_wide(model) {
        // More tasks need more columns; the right side keeps the width its lists need.
        let tasks = model.loaded().tasks().min(usize::from(width)) as u16;
        let columns = |column: u16| MARGIN.saturating_add(tasks.saturating_mul(column + 1));
        let left = match pane_sizes.side {
            Some(left) => left.clamp(SIDE, width - SIDE),
            // What the operations do not need goes to the sources.
            None if width >= BESIDE => {
                columns(model.loaded().column_width()).clamp(60, width - RIGHT.1)
            }
            None => columns(COLUMN).max(width * 11 / 20).min(width - RIGHT.0).max(60),
        };
        let right = Rect { x: left + 1, width: width - left - 1, ..body };
        let top = match pane_sizes.choices {
            Some(lines) => lines.min(right.height.saturating_sub(1)).max(2),
            None => wanted.min(right.height / 2).max(2),
        };
        (
            Rect { width: left, ..body },
            Rect { height: top.min(right.height), ..right },
            Rect { y: right.y + top + 1, height: right.height.saturating_sub(top + 1), ..right },
        )
    } else {
        // The schedule keeps its heading and two rows.
        let room = body.height.saturating_sub(3);
        // A terminal of 80x24 has room for all parts; on smaller ones the schedule comes first.
        let usual = if height >= 22 { (body.height / 4).max(6) } else { 0 };
        let pane = pane_sizes.pane.unwrap_or(usual).min(room.saturating_sub(3));
        let gap = u16::from(pane > 0);
        let choices = match pane_sizes.choices {
            Some(lines) => lines.clamp(1, room.saturating_sub(pane + gap).max(1)),
            None => wanted.min(body.height / 3),
        };
        let top = body.height.saturating_sub(choices + pane + gap);
        (
            Rect { height: top, ..body },
            Rect { y: body.y + top, height: choices, ..body },
            Rect { y: body.y + top + choices + gap, height: pane, ..body },
        )
    };
    let lanes = lane_lines(model, schedule.height);
    let under = under_lines(model, schedule.height, lanes);
    let (schedule, under) = (
        Rect { height: schedule.height - under, ..schedule },
        Rect { y: schedule.y + schedule.height - under, height: under, ..schedule },
    );
    let (lanes, schedule) = (
        Rect { height: lanes, ..schedule },
        Rect { y: schedule.y + lanes, height: schedule.height - lanes, ..schedule },
    );
    Areas {
        header,
        verdict,
        lanes,
        schedule,
        rows: Rect {
            y: schedule.y + 1,
            height: schedule.height.saturating_sub(1),
            width: schedule.width.saturating_sub(2),
            ..schedule
        },
        minimap: Rect {
            x: schedule.x + schedule.width.saturating_sub(1),
            y: schedule.y + 1,
            width: 1,
            height: schedule.height.saturating_sub(1),
        },
        choices,
        pane,
        under,
        footer,
    }
}

/// The number of lines for panes below a schedule with fewer lines than `height`: half of the screen is
/// not blank while sources are cut beside it.
fn under_lines(model: &Model, height: u16, lanes: u16) -> u16 {
    // Heading, end, and a blank line.
    let needed = (model.lines.len() + 3 + usize::from(lanes)).min(usize::from(u16::MAX)) as u16;
    let room = height.saturating_sub(needed).min(height * 3 / 5);
    if model.size.0 >= BESIDE && room >= 2 * PANE { room } else { 0 }
}

/// The number of lines of the overview: one for each visible task, at most a quarter of
/// `height`, the lines of the screen. Unless the user chose otherwise, the overview is shown only if the
/// screen is high and the schedule has more lines than it.
fn lane_lines(model: &Model, height: u16) -> u16 {
    let shown = model.loaded().tasks().saturating_sub(model.hidden.len());
    let wanted = match model.lanes {
        Some(wanted) => wanted,
        None => height >= HIGH && model.lines.len() > usize::from(height) && shown <= 12,
    };
    if wanted { (shown.min(usize::from(height / 4))) as u16 } else { 0 }
}

/// The border at a position.
pub(in crate::tui) fn divider_at(model: &Model, at: Position) -> Option<Divider> {
    let areas = areas(model);
    if model.zoomed || areas.header.width == 0 {
        return None;
    }
    let beside = is_wide(model);
    let body = areas.body()..areas.footer.y;
    if beside && at.x == areas.schedule.width && body.contains(&at.y) {
        return Some(Divider::Side);
    }
    if areas.pane.height > 0
        && at.y == areas.pane.y
        && (areas.pane.x..areas.pane.x + areas.pane.width).contains(&at.x)
    {
        return Some(Divider::Pane);
    }
    (!beside && at.y == areas.choices.y).then_some(Divider::Choices)
}

/// The pane sizes after dragging a border to a position.
pub(in crate::tui) fn moved(model: &Model, divider: Divider, to: Position) -> PaneSizes {
    let areas = areas(model);
    let pane_sizes = model.pane_sizes;
    let end = areas.footer.y;
    match divider {
        Divider::Side => PaneSizes { side: Some(to.x), ..pane_sizes },
        // The list of tasks is above the pane and gets the rest.
        Divider::Pane if is_wide(model) => {
            let choices = to.y.saturating_sub(areas.choices.y + 1);
            PaneSizes { choices: Some(choices.max(2)), ..pane_sizes }
        }
        Divider::Pane => {
            // The schedule shrinks or grows, not the list of tasks.
            let choices = Some(areas.choices.height);
            PaneSizes { pane: Some(end.saturating_sub(to.y)), choices, ..pane_sizes }
        }
        Divider::Choices => {
            let below = areas.choices.y + areas.choices.height;
            PaneSizes { choices: Some(below.saturating_sub(to.y).max(1)), ..pane_sizes }
        }
    }
}
