//! The stack of every task at the selected step.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::text::{clean, wrap};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::inspection::{InspectionRequest, More};
use ratatui::layout::Size;
use traces::{Frame, TaskState};

/// The pane.
pub(super) struct Stacks;

impl Pane for Stacks {
    fn id(&self) -> PaneId {
        PaneId("stacks")
    }

    fn help(&self) -> &'static str {
        "the stack of every task at the selected step"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-6"]
    }

    fn lines(&self, model: &Model, room: Size) -> Lines {
        stacks(model, usize::from(room.width))
    }

    fn inspection(&self, model: &Model) -> Option<InspectionRequest> {
        let (step, end) = (model.view.cursor, model.loaded().len());
        // The stacks at a failure were recorded with it.
        let recorded = step >= end && model.loaded().trace.failure.is_some();
        let wanted = !recorded && model.inspections.stacks(step).is_none();
        wanted.then(|| InspectionRequest {
            step,
            expressions: Vec::new(),
            around: 0..0,
            more: More::Nothing,
        })
    }
}

fn stacks(model: &Model, cells: usize) -> Lines {
    let (loaded, at) = (model.loaded(), model.view.cursor);
    // The stacks at a failure were recorded with it.
    let failure = loaded.trace.failure.as_ref().filter(|_| at >= loaded.len());
    let stacks = match failure {
        Some(failure) => &failure.stacks[..],
        None => match (model.inspections.stacks(at), &model.inspections.error, &model.can_run) {
            (Some(stacks), ..) => stacks,
            (None, Some(why), _) | (None, None, Err(why)) => {
                let text = format!("the program cannot be inspected: {}", clean(why));
                let lines = wrap(&text, cells.saturating_sub(1)).into_iter();
                return lines.map(|text| one(model, format!(" {text}"), Role::Bad)).collect();
            }
            (None, None, Ok(())) => return vec![one(model, " reading ...", Role::Dim)],
        },
    };
    let mut lines = Lines::new();
    if stacks.is_empty() {
        lines.push(one(model, " every task has ended", Role::Dim));
    }
    for stack in stacks {
        let state = match &stack.state {
            TaskState::Running => "running".to_owned(),
            TaskState::Runnable => "enabled".to_owned(),
            TaskState::Blocked(what) => format!("blocked: {}", clean(what)),
            TaskState::Exited => "ended".to_owned(),
        };
        lines.push(vec![
            (format!(" {} ", stack.task), model.theme.style(Role::Task(stack.task))),
            (state, model.theme.style(Role::Dim)),
        ]);
        lines.extend(frames(model, &stack.frames));
    }
    for past in failure.iter().flat_map(|failure| &failure.past) {
        lines.push(vec![
            (format!(" {} ", past.task), model.theme.style(Role::Task(past.task))),
            (clean(&past.words()), model.theme.style(Role::Dim)),
        ]);
        lines.extend(frames(model, &past.frames));
    }
    lines
}

fn frames(model: &Model, frames: &[Frame]) -> Lines {
    let line = |frame: &Frame| {
        vec![
            (format!("    {}  ", clean(&frame.function)), model.theme.style(Role::Text)),
            (clean(&frame.place()), model.theme.style(Role::Dim)),
        ]
    };
    frames.iter().map(line).collect()
}
