//! How the user divides the screen between panes.

/// A line between two panes that the mouse can drag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divider {
    /// Between the schedule and the panes on its right.
    Side,
    /// Above the list of tasks, when the list is below the schedule.
    Choices,
    /// Above the information pane.
    Pane,
}

/// Sizes that the user set by dragging; those that are none follow from the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaneSizes {
    /// Columns of the schedule, when the panes are on its right.
    pub side: Option<u16>,
    /// Lines of the list of tasks.
    pub choices: Option<u16>,
    /// Lines of the information pane, when it is below the schedule.
    pub pane: Option<u16>,
}
