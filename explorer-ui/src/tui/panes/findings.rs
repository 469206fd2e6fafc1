//! The failure of this schedule and everything that the search reported.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use super::search::found;
use crate::report::text::clean;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::layout::Size;

/// The pane.
pub(super) struct Findings;

impl Pane for Findings {
    fn id(&self) -> PaneId {
        PaneId("findings")
    }

    fn help(&self) -> &'static str {
        "the failure, races, leaks and other findings"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-8"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        findings(model)
    }

    fn wraps(&self) -> bool {
        true
    }
}

fn findings(model: &Model) -> Lines {
    let mut lines = Lines::new();
    if let Some(failure) = &model.loaded().trace.failure {
        lines.push(vec![
            (format!(" {}: ", failure.kind), model.theme.style(Role::Bad)),
            (clean(&failure.message), model.theme.style(Role::Text)),
            (format!("  {}", clean(&failure.place)), model.theme.style(Role::Dim)),
        ]);
        for past in &failure.past {
            let text =
                format!("   {} {} in step {}", past.task, clean(&past.words()), past.step + 1);
            lines.push(one(model, text, Role::Dim));
        }
    }
    if let Some(search) = &model.search {
        if !search.found.is_empty() {
            lines.extend(found(model, search));
        }
        for remark in &search.remarks {
            lines.push(one(model, format!(" {}", clean(remark)), Role::Notice));
        }
    }
    if lines.is_empty() {
        let text = " this schedule passes, and no search has found a failure (h starts one)";
        lines.push(one(model, text, Role::Dim));
    }
    lines
}
