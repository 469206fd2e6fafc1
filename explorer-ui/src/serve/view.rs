//! Positions, steps and failures as JSON, with the descriptions of their fields.

use super::schema::{Field, Kind, NUMBER};
use crate::report::rows::Mark;
use crate::report::style::Style;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::place::source_line;
use crate::walk::session::Session;
use serde_json::{Value, json};
use traces::{Failure, Frame, TaskId};

const STYLE: Style = Style { color: false, ascii: true };

/// A step.
pub(super) const STEP: &[Field] = &[
    Field::new("step", NUMBER, "its number, from 1"),
    Field::new("task", Kind::Text, "the task that runs: T0 is main"),
    Field::new("operation", Kind::Text, "what it does"),
    Field::new("object", Kind::Text, "what it acts on; may be empty"),
    Field::new("value", Kind::Text, "the result; may be empty"),
    Field::new("site", Kind::Text, "where: the function and the line; may be empty"),
    Field::new("file", Kind::Nullable(&Kind::Text), "the source file"),
    Field::new("line", Kind::Nullable(&NUMBER), "the line in it"),
    Field::new(
        "switch",
        Kind::OneOf(&["none", "switch", "preemption"]),
        "whether another task ran before, and whether that one could have continued",
    ),
];

/// A failure.
pub(super) const FAILURE: &[Field] = &[
    Field::new("kind", Kind::Text, "deadlock, crash, assertion, ..."),
    Field::new("message", Kind::Text, "what happened, in one line"),
    Field::new("site", Kind::Text, "where; may be empty"),
    Field::new("signature", Kind::Text, "equal for all executions that fail in this way"),
];

/// A position in a schedule.
pub(super) const POSITION: &[Field] = &[
    Field::new("step", NUMBER, "the step that is about to run, from 1; steps + 1 at the end"),
    Field::new("steps", NUMBER, "the number of steps of the schedule"),
    Field::new("at_end", Kind::Flag, "whether no step is left"),
    Field::new("next", Kind::Nullable(&Kind::Object(STEP)), "the step that is about to run"),
    Field::new("file", Kind::Nullable(&Kind::Text), "the source file of the position"),
    Field::new("line", Kind::Nullable(&NUMBER), "the line in it"),
    Field::new("edited", Kind::Flag, "whether the schedule is another one than was opened"),
    Field::new(
        "failure",
        Kind::Nullable(&Kind::Object(FAILURE)),
        "how the execution fails; null if it passes",
    ),
];

/// A stack frame.
pub(super) const FRAME: &[Field] = &[
    Field::new("function", Kind::Text, "the function"),
    Field::new("file", Kind::Text, "the source file; may be empty"),
    Field::new("line", NUMBER, "the line in it; 0 if unknown"),
];

pub(super) fn task(task: TaskId) -> Value {
    task.to_string().into()
}

pub(super) fn step(loaded: &LoadedTrace, at: usize) -> Value {
    let trace = &loaded.trace;
    let cell = loaded.reader.cell(trace, at, STYLE.glyphs());
    let frames = loaded.frames(trace.execution.steps[at].site);
    let place = frames.iter().find(|frame| !frame.file.is_empty());
    json!({
        "step": at + 1,
        "task": task(cell.task),
        "operation": cell.operation,
        "object": cell.object,
        "value": cell.value,
        "site": cell.site,
        "file": place.map(|frame| &frame.file),
        "line": place.map(|frame| frame.line),
        "switch": match loaded.mark(at) {
            Mark::None => "none",
            Mark::Switch => "switch",
            Mark::Preemption => "preemption",
        },
    })
}

pub(super) fn failure(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.name(),
        "message": failure.message,
        "site": failure.place,
        "signature": failure.signature,
    })
}

pub(super) fn position(session: &Session) -> Value {
    let (loaded, at) = (session.loaded(), session.at());
    let place = source_line(loaded, at, &|_| false);
    json!({
        "step": at + 1,
        "steps": loaded.len(),
        "at_end": at >= loaded.len(),
        "next": (at < loaded.len()).then(|| step(loaded, at)),
        "file": place.as_ref().map(|(file, _)| file),
        "line": place.as_ref().map(|(_, line)| line),
        "edited": session.is_edited(),
        "failure": loaded.trace.failure.as_ref().map(failure),
    })
}

pub(super) fn frame(frame: &Frame) -> Value {
    json!({ "function": frame.function, "file": frame.file, "line": frame.line })
}
