//! Which panes are displayed, and where: one at a time on narrow screens, several on wide ones, beside
//! the schedule and below it.

use super::{PANES, id::PaneId, index};
use crate::tui::model::Model;
use crate::tui::render::layout::{BESIDE, PANE, areas};
use ratatui::layout::Rect;

/// The most panes below the schedule.
const UNDER: usize = 2;

/// A displayed pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) struct Slot {
    /// The pane.
    pub(in crate::tui) pane: PaneId,
    /// Its heading, one row; empty if the tabs are its heading.
    pub(in crate::tui) heading: Rect,
    /// Its contents.
    pub(in crate::tui) contents: Rect,
}

/// The displayed panes, from top to bottom: beside the schedule, then below it, if it is short. The
/// selected one is among them: at its place in the list of open panes, or above them. Open panes for which
/// there is no room are left out, the last ones first.
pub(in crate::tui) fn slots(model: &Model) -> Vec<Slot> {
    let areas = areas(model);
    let area = areas.pane;
    if area.height < 2 {
        return Vec::new();
    }
    // The row of the tabs.
    let beside = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let fit = |area: Rect| usize::from(area.height / PANE);
    let under = if fit(beside) > 0 { fit(areas.under).min(UNDER) } else { 0 };
    let mut shown: Vec<PaneId> = Vec::new();
    if model.size.0 >= BESIDE && !model.zoomed {
        shown.extend(model.open_panes.iter().filter(|one| **one != model.pane));
        shown.truncate((fit(beside) + under).saturating_sub(1));
    }
    let place = model.open_panes.iter().position(|&one| one == model.pane).unwrap_or(0);
    shown.insert(place.min(shown.len()), model.pane);
    if let [pane] = shown[..] {
        return vec![Slot { pane, heading: Rect { height: 0, ..beside }, contents: beside }];
    }
    let (first, last) = shown.split_at(shown.len() - under.min(shown.len() - 1));
    stacked(first, beside).chain(stacked(last, areas.under)).collect()
}

/// Panes below each other in an area.
fn stacked(panes: &[PaneId], area: Rect) -> impl Iterator<Item = Slot> {
    let mut top = area.y;
    let slot = move |(&pane, height): (&PaneId, u16)| {
        let heading = Rect { y: top, height: 1, ..area };
        top += height;
        Slot { pane, heading, contents: Rect { y: heading.y + 1, height: height - 1, ..area } }
    };
    panes.iter().zip(heights(panes, area.height)).map(slot)
}

/// Divides the height among panes by their shares. It does not depend on their contents, so panes
/// do not move while the cursor does.
fn heights(panes: &[PaneId], height: u16) -> Vec<u16> {
    let share = |pane: &PaneId| PANES[index(*pane)].share();
    let all: u16 = panes.iter().map(share).sum();
    // Each has the least height; the rest is divided.
    let rest = height.saturating_sub(PANE * panes.len() as u16);
    let mut heights: Vec<u16> = panes
        .iter()
        .map(|pane| PANE + (u32::from(rest) * u32::from(share(pane)) / u32::from(all)) as u16)
        .collect();
    let used: u16 = heights.iter().sum();
    if let Some(first) = heights.first_mut() {
        *first += height - used;
    }
    heights
}
