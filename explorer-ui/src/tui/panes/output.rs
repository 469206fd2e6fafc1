//! The output of the target.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::text::clean;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::layout::Size;

/// The pane.
pub(super) struct Output;

impl Pane for Output {
    fn id(&self) -> PaneId {
        PaneId("output")
    }

    fn help(&self) -> &'static str {
        "the output of the execution"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-7"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        output(model)
    }
}

fn output(model: &Model) -> Lines {
    let text = String::from_utf8_lossy(&model.loaded().trace.output);
    if text.is_empty() {
        return vec![one(model, " the program printed nothing", Role::Dim)];
    }
    text.lines().map(|line| one(model, format!(" {}", clean(line)), Role::Text)).collect()
}
