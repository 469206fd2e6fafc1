//! Where everything is on the screen, and the lines between that can be moved.

use super::choices;
use crate::app::model::Model;
use ratatui::layout::{Position, Rect};

/// Below this there is room for nothing.
pub(super) const LEAST: (u16, u16) = (30, 8);
/// From here on the panes stand beside the schedule.
pub(super) const WIDE: u16 = 110;

/// What stands beside the columns of the schedule: numbers, signs, the minimap.
const MARGIN: u16 = 12;
/// A column with room for an operation, its object and its place.
const COLUMN: u16 = 20;
/// The least that the other side needs.
const RIGHT: u16 = 50;
/// What is left of a side at the least when a person moves the line between them.
const SIDE: u16 = 24;
/// From so many lines on there is room for the lanes of all tasks.
const HIGH: u16 = 45;

/// Where everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::app) struct Areas {
    pub(in crate::app) header: Rect,
    /// The whole schedule in a lane for each task.
    pub(in crate::app) lanes: Rect,
    /// The schedule with its heads.
    pub(in crate::app) schedule: Rect,
    /// Its rows alone.
    pub(in crate::app) rows: Rect,
    pub(in crate::app) minimap: Rect,
    pub(in crate::app) choices: Rect,
    pub(in crate::app) pane: Rect,
    pub(in crate::app) footer: Rect,
}

/// A line between two parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divider {
    /// Between the schedule and what stands beside it.
    Side,
    /// Over the list of who may move, where it stands below the schedule.
    Choices,
    /// Over the pane.
    Pane,
}

/// How a person wants the room divided; what is none follows from what there is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Division {
    /// How wide the schedule is, with the panes beside it.
    pub side: Option<u16>,
    /// How many lines who may move has.
    pub choices: Option<u16>,
    /// How many lines the pane has, with the panes below.
    pub pane: Option<u16>,
}

/// Whether the panes stand beside the schedule.
pub(in crate::app) fn is_wide(model: &Model) -> bool {
    model.size.0 >= WIDE
}

/// Where everything is on a screen of the model's size.
pub(in crate::app) fn areas(model: &Model) -> Areas {
    let (width, height) = model.size;
    if width < LEAST.0 || height < LEAST.1 {
        return Areas::default();
    }
    let header = Rect { x: 0, y: 0, width, height: 1 };
    let footer = Rect { x: 0, y: height - 1, width, height: 1 };
    let body = Rect { x: 0, y: 1, width, height: height - 2 };
    if model.zoomed {
        return Areas { header, pane: body, footer, ..Areas::default() };
    }
    let division = model.division;
    let wanted = choices::lines(model) + 1;
    let (schedule, choices, pane) = if is_wide(model) {
        // More tasks want more columns; the other side keeps what its lists need.
        let tasks = model.loaded().tasks().min(usize::from(width)) as u16;
        let columns = MARGIN + tasks * (COLUMN + 1);
        let left = match division.side {
            Some(left) => left.clamp(SIDE, width - SIDE),
            None => columns.min(width - RIGHT).max(width * 11 / 20).max(60),
        };
        let right = Rect { x: left + 1, width: width - left - 1, ..body };
        let top = match division.choices {
            Some(lines) => lines.min(right.height.saturating_sub(1)).max(2),
            None => wanted.min(right.height / 2).max(2),
        };
        (
            Rect { width: left, ..body },
            Rect { height: top.min(right.height), ..right },
            Rect { y: right.y + top + 1, height: right.height.saturating_sub(top + 1), ..right },
        )
    } else {
        // The schedule keeps its head and two rows.
        let room = body.height.saturating_sub(3);
        // The usual 80x24 has room for a little of everything; below, the schedule comes first.
        let usual = if body.height >= 20 { (body.height / 4).max(6) } else { 0 };
        let pane = division.pane.unwrap_or(usual).min(room.saturating_sub(3));
        let gap = u16::from(pane > 0);
        let choices = match division.choices {
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
    let (lanes, schedule) = (
        Rect { height: lanes, ..schedule },
        Rect { y: schedule.y + lanes, height: schedule.height - lanes, ..schedule },
    );
    Areas {
        header,
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
        footer,
    }
}

/// How many lines the lanes take: as many as there are tasks to be seen, in at most a quarter of the
/// schedule, and none where everything is in sight anyway or nobody asked for them where there is little
/// room.
fn lane_lines(model: &Model, height: u16) -> u16 {
    let shown = model.loaded().tasks().saturating_sub(model.hidden.len());
    let wanted = match model.lanes {
        Some(wanted) => wanted,
        None => height >= HIGH && model.lines.len() > usize::from(height) && shown <= 12,
    };
    if wanted { (shown.min(usize::from(height / 4))) as u16 } else { 0 }
}

/// The line between two parts at a place.
pub(in crate::app) fn divider_at(model: &Model, at: Position) -> Option<Divider> {
    let areas = areas(model);
    if model.zoomed || areas.header.width == 0 {
        return None;
    }
    let beside = is_wide(model);
    let body = areas.header.height..areas.footer.y;
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

/// How the room is divided with a line moved to a place.
pub(in crate::app) fn moved(model: &Model, divider: Divider, to: Position) -> Division {
    let areas = areas(model);
    let division = model.division;
    let end = areas.footer.y;
    match divider {
        Divider::Side => Division { side: Some(to.x), ..division },
        // With the panes beside the schedule who may move stands over the pane.
        Divider::Pane if is_wide(model) => {
            let choices = to.y.saturating_sub(areas.choices.y + 1);
            Division { choices: Some(choices.max(2)), ..division }
        }
        Divider::Pane => {
            // What the pane gains who may move does not lose.
            let choices = Some(areas.choices.height);
            Division { pane: Some(end.saturating_sub(to.y)), choices, ..division }
        }
        Divider::Choices => {
            let below = areas.choices.y + areas.choices.height;
            Division { choices: Some(below.saturating_sub(to.y).max(1)), ..division }
        }
    }
}
