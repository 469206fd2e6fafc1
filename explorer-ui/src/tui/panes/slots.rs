//! Which panes are displayed, and where: one at a time on narrow screens, several below each other
//! on wide ones.

use super::{PANES, id::PaneId, index};
use crate::tui::model::Model;
use crate::tui::render::layout::{BESIDE, areas};
use ratatui::layout::Rect;

/// The least height of a pane with its heading, when several are displayed.
const LEAST: u16 = 5;

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

/// The displayed panes, from top to bottom. The selected one is among them: at its place in the list
/// of open panes, or above them. Open panes for which there is no room are left out, the last ones
/// first.
pub(in crate::tui) fn slots(model: &Model) -> Vec<Slot> {
    let area = areas(model).pane;
    if area.height < 2 {
        return Vec::new();
    }
    // The row of the tabs.
    let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let mut shown: Vec<PaneId> = Vec::new();
    if model.size.0 >= BESIDE && !model.zoomed {
        shown.extend(model.open_panes.iter().filter(|one| **one != model.pane));
        shown.truncate(usize::from(below.height / LEAST).saturating_sub(1));
    }
    let place = model.open_panes.iter().position(|&one| one == model.pane).unwrap_or(0);
    shown.insert(place.min(shown.len()), model.pane);
    if let [pane] = shown[..] {
        return vec![Slot { pane, heading: Rect { height: 0, ..below }, contents: below }];
    }
    let mut top = below.y;
    let heights = heights(&shown, below.height);
    let slot = |(pane, height)| {
        let heading = Rect { y: top, height: 1, ..below };
        top += height;
        Slot { pane, heading, contents: Rect { y: heading.y + 1, height: height - 1, ..below } }
    };
    shown.into_iter().zip(heights).map(slot).collect()
}

/// Divides the height among panes by their shares. It does not depend on their contents, so panes
/// do not move while the cursor does.
fn heights(panes: &[PaneId], height: u16) -> Vec<u16> {
    let share = |pane: &PaneId| PANES[index(*pane)].share();
    let all: u16 = panes.iter().map(share).sum();
    // Each has the least height; the rest is divided.
    let rest = height - LEAST * panes.len() as u16;
    let mut heights: Vec<u16> = panes
        .iter()
        .map(|pane| LEAST + (u32::from(rest) * u32::from(share(pane)) / u32::from(all)) as u16)
        .collect();
    let used: u16 = heights.iter().sum();
    heights[0] += height - used;
    heights
}
