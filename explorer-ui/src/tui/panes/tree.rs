//! The steps of this schedule at which other tasks are enabled, and what the search explored there.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::tui::model::Model;
use crate::tui::render::choices::way;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use ratatui::layout::Size;
use replay_core::runner::Visits;

/// The pane.
pub(super) struct Tree;

impl Pane for Tree {
    fn id(&self) -> PaneId {
        PaneId("tree")
    }

    fn help(&self) -> &'static str {
        "the choices along this schedule, with what the search explored"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-0"]
    }

    fn lines(&self, model: &Model, room: Size) -> Lines {
        tree(model, room.height)
    }
}

/// The steps with a choice around the cursor, and for each choice what the search knows about it.
fn tree(model: &Model, height: u16) -> Lines {
    let loaded = model.loaded();
    let cursor = model.view.cursor;
    let chosen = |step: &usize| loaded.enabled(*step).len() > 1;
    let room = usize::from(height.saturating_sub(1)).max(1);
    let before: Vec<usize> =
        (0..cursor.min(loaded.len())).rev().filter(chosen).take(room / 2).collect();
    let after = (cursor..loaded.len()).filter(chosen).take(room - before.len());
    let steps: Vec<usize> = before.iter().rev().copied().chain(after).collect();
    if steps.is_empty() {
        return vec![one(model, " no step of this schedule has a choice", Role::Dim)];
    }
    let title = match &model.search {
        None => {
            " steps with a choice (J, K select one); h starts a search, whose progress this shows".into()
        }
        Some(search) => match (&search.tree, &search.visits) {
            (Some(tree), _) if tree.gaps => {
                " explored by the search (J, K select a step), with gaps where executions were aborted".into()
            }
            (Some(_), _) => " explored by the search (J, K select a step, 1 to 9 run its tasks)".into(),
            (None, visits) => match visits.as_ref().and_then(Visits::end) {
                None => {
                    " how often each choice was made (J, K select a step, 1 to 9 run its tasks)".to_owned()
                }
                Some(end) => format!(
                    " how often each choice was made (J, K select a step); not counted from step {} on",
                    search.order.behind() + end + 1
                ),
            },
        },
    };
    let mut lines = vec![one(model, title, Role::Dim)];
    let digits = (loaded.len() + 1).to_string().len().max(4);
    for step in steps {
        let here = if step == cursor { glyphs(model).arrow } else { " " };
        let moved = loaded.trace.execution.steps[step].task;
        let mut pieces = vec![
            (format!(" {here:<2}"), model.theme.style(Role::Notice)),
            (format!("{:>digits$}  ", step + 1), model.theme.style(Role::Dim)),
        ];
        for task in loaded.enabled(step) {
            let taken = if task == moved { "=" } else { " " };
            let style = model.theme.style(Role::Task(task));
            pieces.push((format!("{taken}{task} "), style));
            match way(model, step, task) {
                Some((sign, text, role)) => {
                    pieces.push((format!("{sign} {text:<11}"), model.theme.style(role)));
                }
                None => pieces.push((" ".into(), style)),
            }
        }
        lines.push(pieces);
    }
    lines
}
