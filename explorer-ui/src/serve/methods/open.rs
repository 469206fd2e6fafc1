//! Opening, the state of what is open, saving.

use crate::report::summary::command_line;
use crate::serve::method::{Arguments, Method};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view::{POSITION, position};
use crate::walk::opening::ProgramRequest;
use crate::walk::session::Refusal;
use replay_core::store;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;

const OPENED: &[Field] = &[
    Field::new("program", Kind::Text, "the program with its arguments"),
    Field::new("position", Kind::Object(POSITION), "the position"),
    Field::new(
        "cannot_run",
        Kind::Nullable(&Kind::Text),
        "why the program cannot be run; null if it can. Without the program, what was recorded can \
         be read",
    ),
    Field::new("tasks", NUMBER, "the number of tasks of the schedule"),
    Field::new("trace", Kind::Nullable(&Kind::Text), "the trace file that was opened"),
];

pub(in crate::serve) const TRACE: Method = Method {
    name: "open_trace",
    summary: "Open a trace file; the position is its failure, or its start if it passes",
    params: &[
        Field::new("path", Kind::Text, "the trace file"),
        Field::optional(
            "command",
            Kind::List(&Kind::Text),
            "the program and its arguments, instead of those that the trace names",
        ),
    ],
    result: OPENED,
    reads: false,
    run: |state, arguments, _| {
        let path = PathBuf::from(arguments.text("path").unwrap_or_default());
        let opened = state.opener.trace(path, &words(arguments)).map_err(Refusal::Failed)?;
        state.open(opened)?;
        status(state)
    },
};

pub(in crate::serve) const PROGRAM: Method = Method {
    name: "open_program",
    summary: "Run a program once under control, without preemptions; the position is its start",
    params: &[
        Field::new("command", Kind::List(&Kind::Text), "the program and its arguments"),
        Field::optional("directory", Kind::Text, "the directory to run it in [the server's]"),
        Field::optional(
            "points",
            Kind::OneOf(&["api", "racy", "all"]),
            "which memory accesses are scheduling points besides calls [racy]",
        ),
        Field::optional(
            "max_steps",
            Kind::Integer(1, 1 << 40),
            "most steps of an execution [100000]",
        ),
    ],
    result: OPENED,
    reads: false,
    run: |state, arguments, call| {
        let request = ProgramRequest {
            command: words(arguments),
            directory: arguments.text("directory").map(PathBuf::from),
            points: arguments.text("points").map(str::to_owned),
            max_steps: arguments.number("max_steps"),
        };
        let opened = state.opener.program(&request, call.cancelled, call.tell);
        if call.is_cancelled() {
            return Err(Refusal::Cancelled);
        }
        let opened = opened.map_err(Refusal::Failed)?;
        let session = state.open(opened)?;
        session.go_to(0);
        status(state)
    },
};

pub(in crate::serve) const STATUS: Method = Method {
    name: "status",
    summary: "Describe what is open, and the position",
    params: &[],
    result: OPENED,
    reads: true,
    run: |state, _, _| status(state),
};

pub(in crate::serve) const SAVE: Method = Method {
    name: "save",
    summary: "Write the displayed schedule to a trace file, which replaces no other trace",
    params: &[Field::optional(
        "path",
        Kind::Text,
        "the file; it must not exist [a name after the failure, in the server's directory]",
    )],
    result: &[Field::new("path", Kind::Text, "the file that was written")],
    reads: false,
    run: |state, arguments, _| save(state, arguments),
};

fn words(arguments: &Arguments<'_>) -> Vec<OsString> {
    arguments.texts("command").into_iter().map(OsString::from).collect()
}

fn status(state: &mut State<'_>) -> Result<Value, Refusal> {
    let session = state.session()?;
    let trace = &session.loaded().trace;
    Ok(json!({
        "program": command_line(trace),
        "position": position(session),
        "cannot_run": session.cannot_run(),
        "tasks": trace.execution.tasks.len(),
        "trace": session.path().map(|path| path.display().to_string()),
    }))
}

fn save(state: &mut State<'_>, arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    let out = state.settings.out.clone();
    let trace = &state.session()?.loaded().trace;
    let kind = trace.failure.as_ref().map_or("walk", |failure| failure.kind.name());
    let written = match arguments.text("path") {
        Some(path) => store::save_new(trace, path.as_ref()).map(|()| PathBuf::from(path)),
        None => store::save_beside(trace, &out, kind),
    };
    let path = written.map_err(|error| Refusal::Failed(error.to_string()))?;
    Ok(json!({ "path": path.display().to_string() }))
}
