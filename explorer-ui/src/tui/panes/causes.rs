//! The direct predecessors and successors of the selected step in the happens-before order.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::names::object_name;
use crate::tui::model::Model;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use ratatui::layout::Size;
use replay_core::graph::{Cause, Link};

/// The pane.
pub(super) struct Causes;

impl Pane for Causes {
    fn id(&self) -> PaneId {
        PaneId("causes")
    }

    fn help(&self) -> &'static str {
        "the steps that happen directly before and after this one"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-3"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        causes(model)
    }
}

fn causes(model: &Model) -> Lines {
    let loaded = model.loaded();
    let at = model.view.cursor;
    if at >= loaded.len() {
        return vec![one(
            model,
            " select a step to see its predecessors and successors",
            Role::Dim,
        )];
    }
    let mut lines = Lines::new();
    let mut list = |title: &str, links: Vec<Link>| {
        lines.push(one(model, format!(" {title}"), Role::Dim));
        if links.is_empty() {
            lines.push(one(model, "   none", Role::Dim));
        }
        for link in links {
            let cell = loaded.reader.cell(&loaded.trace, link.step, glyphs(model));
            let why = match link.cause {
                Cause::Program => "same task".to_owned(),
                Cause::Creation => "created it".to_owned(),
                Cause::Join => "joined it".to_owned(),
                Cause::Object(index) => object_name(&loaded.trace, Some(index)).unwrap_or_default(),
            };
            let label = cell.label(usize::MAX, "");
            let role = Role::Task(cell.task);
            lines.push(vec![
                (format!("   {:>5} ", link.step + 1), model.theme.style(Role::Dim)),
                (format!("{} {label}  ", cell.task), model.theme.style(role)),
                (format!("{}  ", cell.site), model.theme.style(Role::Dim)),
                (why, model.theme.style(Role::Notice)),
            ]);
        }
    };
    list("direct predecessors", loaded.graph().causes(at));
    list("direct successors", loaded.graph().effects(at));
    lines
}
