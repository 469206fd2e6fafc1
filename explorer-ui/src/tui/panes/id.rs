//! Which pane is shown.

/// The name of a pane. It is also the pane's title and its name in saved sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaneId(pub &'static str);
