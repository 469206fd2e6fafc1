//! The interface of an information pane.

use super::id::PaneId;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::inspection::InspectionRequest;
use ratatui::layout::Size;
use ratatui::style::Style;

/// The contents of a pane: lines of styled pieces of text.
pub(in crate::tui) type Lines = Vec<Vec<(String, Style)>>;

/// An information pane. A new pane is one file that implements this and one line in
/// [`PANES`](super::PANES); key bindings, help and palette follow.
pub(in crate::tui) trait Pane: Sync {
    /// The pane's name: its title, its entry in the palette, its name in saved sessions.
    fn id(&self) -> PaneId;

    /// What the pane shows, for help and palette.
    fn help(&self) -> &'static str;

    /// The default keys that show the pane.
    fn keys(&self) -> &'static [&'static str];

    /// The pane's contents. Panes that show an excerpt around the cursor fill the height of `room`.
    fn lines(&self, model: &Model, room: Size) -> Lines;

    /// The pane's share of the height beside other panes, in relation to theirs.
    fn share(&self) -> u16 {
        1
    }

    /// Whether long lines wrap; otherwise they are cut.
    fn wraps(&self) -> bool {
        false
    }

    /// What has to be read from the target to fill the pane.
    fn inspection(&self, _model: &Model) -> Option<InspectionRequest> {
        None
    }
}

/// A line of one piece of text.
pub(super) fn one(model: &Model, text: impl Into<String>, role: Role) -> Vec<(String, Style)> {
    vec![(text.into(), model.theme.style(role))]
}
