//! Which task holds each lock and which tasks wait for it.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::names::lock_name;
use crate::tui::model::Model;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use ratatui::layout::Size;

/// The pane.
pub(super) struct Locks;

impl Pane for Locks {
    fn id(&self) -> PaneId {
        PaneId("locks")
    }

    fn help(&self) -> &'static str {
        "which task holds each lock, and which tasks wait for it"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-2"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        locks(model)
    }

    fn wraps(&self) -> bool {
        true
    }
}

fn locks(model: &Model) -> Lines {
    let loaded = model.loaded();
    let trace = &loaded.trace;
    let held = loaded.locks(model.view.cursor);
    let mut lines = Lines::new();
    for (lock, holder, since) in held.all() {
        let name = lock_name(trace, &held, lock);
        let waiting: Vec<String> = model
            .task_states
            .iter()
            .filter(|one| {
                let waits_for = one.object.map(|object| held.lock(object));
                !one.enabled && waits_for == Some(lock) && one.task != holder
            })
            .map(|one| one.task.to_string())
            .collect();
        let mut pieces = vec![
            (format!(" {name:<16} "), model.theme.style(Role::Title)),
            (format!("{holder}"), model.theme.style(Role::Task(holder))),
            (format!(" since step {}", since + 1), model.theme.style(Role::Dim)),
        ];
        if !waiting.is_empty() {
            let arrow = if model.ascii { "<-" } else { "◀" };
            let text = format!("  {arrow} {} wait", waiting.join(" "));
            let text = if waiting.len() == 1 { text + "s" } else { text };
            pieces.push((text, model.theme.style(Role::Notice)));
        }
        lines.push(pieces);
    }
    if lines.is_empty() {
        lines.push(one(model, " no lock is held here", Role::Dim));
    }
    let at_end = model.view.cursor >= loaded.len();
    if let Some(failure) =
        trace.failure.as_ref().filter(|failure| at_end && !failure.waits.is_empty())
    {
        lines.push(Vec::new());
        for wait in &failure.waits {
            let name = |lock| lock_name(trace, &held, lock);
            let what = wait.object.map(name).unwrap_or_default();
            let holder = wait.holder.map_or("an unknown task".to_owned(), |task| task.to_string());
            let arrow = glyphs(model).arrow;
            let text = format!(" {} {arrow} {what} {arrow} {holder}", wait.task);
            lines.push(one(model, text, Role::Bad));
        }
    }
    lines
}
