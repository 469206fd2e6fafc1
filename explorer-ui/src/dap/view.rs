//! Tasks, stacks and positions as the protocol has them.

use crate::report::names::{object_name, site_name, task_title};
use crate::report::rows::Mark;
use crate::report::style::Style;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::moves::why;
use crate::walk::session::Session;
use replay_core::task_status::TaskStatus;
use serde_json::{Value, json};
use std::path::Path;
use traces::{Frame, TaskId};

/// The most frames of a stack.
pub(super) const MAX_FRAMES: usize = 1000;

/// The number of a task as a thread: 0 is no thread.
pub(super) fn thread_of(task: TaskId) -> u64 {
    u64::from(task.0) + 1
}

/// The task of a thread.
pub(super) fn task_of(thread: u64) -> Option<TaskId> {
    u16::try_from(thread.checked_sub(1)?).ok().map(TaskId)
}

/// The number of a frame: the thread and the position in its stack, from 1.
pub(super) fn frame_of(thread: u64, index: usize) -> u64 {
    thread * MAX_FRAMES as u64 + index as u64 + 1
}

/// The thread of a frame.
pub(super) fn thread_of_frame(frame: u64) -> u64 {
    frame.saturating_sub(1) / MAX_FRAMES as u64
}

/// The position of a frame in its thread's stack, from 0.
pub(super) fn index_of_frame(frame: u64) -> usize {
    (frame.saturating_sub(1) % MAX_FRAMES as u64) as usize
}

/// The task that is about to run; at the end, the one that failed or ran last.
pub(super) fn current(session: &Session) -> TaskId {
    let (trace, at) = (&session.loaded().trace, session.at());
    let steps = &trace.execution.steps;
    let failed = trace.failure.as_ref().and_then(|failure| failure.task);
    let next = steps.get(at).map(|step| step.task);
    next.or(failed).or(steps.last().map(|step| step.task)).unwrap_or(TaskId(0))
}

pub(super) fn statuses(session: &Session) -> Vec<TaskStatus> {
    let mut statuses = session.loaded().task_statuses(session.at());
    statuses.sort_by_key(|one| one.task);
    statuses
}

pub(super) fn threads(session: &Session) -> Value {
    let loaded = session.loaded();
    let row = |one: &TaskStatus| {
        let title = task_title(&loaded.trace, one.task);
        let name = match one.enabled {
            true => title,
            false => format!("{title} ({})", why(loaded, one)),
        };
        json!({ "id": thread_of(one.task), "name": name })
    };
    let mut rows: Vec<Value> = statuses(session).iter().map(row).collect();
    if rows.is_empty() {
        // An editor expects a thread: every task has ended.
        let task = current(session);
        rows.push(json!({ "id": thread_of(task), "name": task_title(&loaded.trace, task) }));
    }
    json!({ "threads": rows })
}

pub(super) fn frame(thread: u64, index: usize, frame: &Frame) -> Value {
    let known = Path::new(&frame.file).is_absolute();
    let name = Path::new(&frame.file).file_name().map(|name| name.to_string_lossy());
    let mut value = json!({
        "id": frame_of(thread, index),
        "name": if frame.function.is_empty() { "?" } else { &frame.function },
        "line": if known { frame.line } else { 0 },
        "column": 0,
    });
    if known {
        value["source"] = json!({ "name": name, "path": frame.file });
    } else {
        value["presentationHint"] = "subtle".into();
    }
    value
}

/// Which tasks may run next, and why the others may not: data for a view.
pub(super) fn who(session: &Session) -> Value {
    let (loaded, at) = (session.loaded(), session.at());
    let trace = &loaded.trace;
    let rows = statuses(session).into_iter().map(|one| {
        json!({
            "task": one.task.to_string(),
            "threadId": thread_of(one.task),
            "name": task_title(trace, one.task),
            "enabled": one.enabled,
            "why": (!one.enabled).then(|| why(loaded, &one)),
            "operation": one.operation.map(|operation| operation.name()),
            "object": object_name(trace, one.object),
            "site": one.site.map(|site| site_name(&trace.execution, site)),
            "preempts": one.enabled && loaded.preempts(at, one.task),
        })
    });
    json!({ "step": at + 1, "steps": loaded.len(), "tasks": rows.collect::<Vec<Value>>() })
}

/// The same as text.
pub(super) fn who_text(session: &Session) -> String {
    let loaded = session.loaded();
    let row = |one: &TaskStatus| match one.enabled {
        true => format!("{} may run", one.task),
        false => format!("{}: {}", one.task, why(loaded, one)),
    };
    statuses(session).iter().map(row).collect::<Vec<String>>().join("\n")
}

/// A step as a line of text.
pub(super) fn step_text(loaded: &LoadedTrace, at: usize) -> String {
    if at >= loaded.len() {
        return match &loaded.trace.failure {
            Some(failure) => format!("the end: {}: {}", failure.kind, failure.message),
            None => "the end".to_owned(),
        };
    }
    let glyphs = Style { color: false, ascii: true }.glyphs();
    let cell = loaded.reader.cell(&loaded.trace, at, glyphs);
    let mark = match loaded.mark(at) {
        Mark::None => "",
        Mark::Switch => " (switch)",
        Mark::Preemption => " (preemption)",
    };
    format!("step {}: {} {} {}{mark}", at + 1, cell.task, cell.label(usize::MAX, ""), cell.site)
}
