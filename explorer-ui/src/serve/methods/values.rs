//! Source lines, stacks, values, output.

use crate::report::json_output::copy_object;
use crate::report::source_line::plain;
use crate::serve::method::{Arguments, Method};
use crate::serve::page::{FROM, LIMIT, Page, TOTAL};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view;
use crate::walk::inspection::Change;
use crate::walk::moves::OnObject;
use crate::walk::place::source_line;
use crate::walk::session::{Call, Refusal};
use replay_core::source::Sources;
use serde_json::{Value, json};
use traces::TaskState;

const LINE: &[Field] = &[
    Field::new("line", NUMBER, "its number, from 1"),
    Field::new("text", Kind::Text, "its text"),
    Field::new("tasks", Kind::List(&Kind::Text), "the tasks whose next step is there"),
];

pub(in crate::serve) const SOURCE: Method = Method {
    name: "source",
    summary: "Show source lines: those around the position, or around a line",
    params: &[
        Field::optional("file", Kind::Text, "a file that the program was built from"),
        Field::optional("line", NUMBER, "the line in the middle"),
        Field::optional("context", Kind::Integer(0, 200), "the lines before and after it [10]"),
    ],
    result: &[
        Field::new("file", Kind::Text, "the file"),
        Field::new("line", NUMBER, "the line in the middle"),
        TOTAL,
        Field::new("newer", Kind::Flag, "whether it changed after the program was built"),
        Field::new("lines", Kind::List(&Kind::Object(LINE)), "the lines"),
    ],
    reads: true,
    run: |state, arguments, _| source(state, arguments),
};

fn source(state: &mut State<'_>, arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    let session = state.session()?;
    let (loaded, at) = (session.loaded(), session.at());
    let here = source_line(loaded, at, &|_| false);
    let line = arguments.number("line").and_then(|line| u32::try_from(line).ok());
    let (file, line) = match (arguments.text("file"), here) {
        (Some(file), _) => {
            // Only files of the program: its debug information has whole paths.
            let places = loaded.trace.execution.places.iter().flat_map(|(_, frames)| frames);
            let end = format!("/{file}");
            let mut known = places.map(|frame| &frame.file);
            let found = known.find(|known| *known == file || known.ends_with(&end));
            let found = found.ok_or_else(|| {
                Refusal::Invalid(format!("no step of this schedule is in a file called `{file}`"))
            })?;
            (found.clone(), line.unwrap_or(1))
        }
        (None, Some((file, here))) => (file, line.unwrap_or(here)),
        (None, None) => {
            return Err(Refusal::Failed(
                "this position has no source line: was the program built with -g?".to_owned(),
            ));
        }
    };
    let text = Sources::of(&loaded.trace.header)
        .get(&file)
        .map_err(|_| Refusal::Failed(format!("{file} cannot be read")))?;
    let context = arguments.number("context").unwrap_or(10) as u32;
    let statuses = loaded.task_statuses(at);
    let tasks = |number: u32| {
        let at_line = statuses.iter().filter(|one| {
            let frame = one.site.and_then(|site| loaded.frames(site).first());
            frame.is_some_and(|frame| frame.file == file && frame.line == number)
        });
        at_line.map(|one| view::task(one.task)).collect::<Vec<Value>>()
    };
    let first = line.saturating_sub(context).max(1);
    let last = line.saturating_add(context).min(text.len());
    let lines = (first..=last)
        .map(|line| json!({ "line": line, "text": plain(&text, line), "tasks": tasks(line) }));
    Ok(json!({
        "file": file,
        "line": line,
        "total": text.len(),
        "newer": text.newer,
        "lines": lines.collect::<Vec<Value>>(),
    }))
}

const STACK: &[Field] = &[
    Field::new("task", Kind::Text, "the task"),
    Field::new("state", Kind::Text, "what it does, or what blocks it"),
    Field::new("depth", NUMBER, "the number of its frames"),
    Field::new("frames", Kind::List(&Kind::Object(view::FRAME)), "the innermost 50 frames"),
];

/// The most frames of a stack in a result.
const FRAMES: usize = 50;

pub(in crate::serve) const BACKTRACE: Method = Method {
    name: "backtrace",
    summary: "List the stacks of the tasks at the position",
    params: &[Field::optional("task", Kind::Text, "only this task: T2"), FROM, LIMIT],
    result: &[TOTAL, Field::new("stacks", Kind::List(&Kind::Object(STACK)), "the stacks")],
    reads: true,
    run: |state, arguments, call| {
        let mut stacks = state.session()?.stacks(call)?;
        if let Some(task) = arguments.text("task") {
            stacks.retain(|stack| stack.task.to_string() == task);
        }
        Ok(Page::of(arguments).list("stacks", stacks.iter(), |stack| {
            let frames = stack.frames.iter().take(FRAMES).map(view::frame);
            json!({
                "task": view::task(stack.task),
                "state": match &stack.state {
                    TaskState::Running => "running".to_owned(),
                    TaskState::Runnable => "enabled".to_owned(),
                    TaskState::Blocked(what) => format!("blocked: {what}"),
                    TaskState::Exited => "ended".to_owned(),
                },
                "depth": stack.frames.len(),
                "frames": frames.collect::<Vec<Value>>(),
            })
        }))
    },
};

const VALUE: &[Field] = &[
    Field::new("expression", Kind::Text, "the expression"),
    Field::new("value", Kind::Nullable(&Kind::Text), "its value"),
    Field::new("error", Kind::Nullable(&Kind::Text), "why it has none"),
    Field::new(
        "task",
        Kind::Nullable(&Kind::Text),
        "the task whose local variable it is; null for a static variable",
    ),
];

/// The most expressions of a call.
const EXPRESSIONS: usize = 50;

pub(in crate::serve) const VARIABLES: Method = Method {
    name: "variables",
    summary: "Read variables at the position: `q->len`, `accounts[1].balance`, `*head`, `T2:i`",
    params: &[Field::new("expressions", Kind::List(&Kind::Text), "the expressions, at most 50")],
    result: &[Field::new("values", Kind::List(&Kind::Object(VALUE)), "their values")],
    reads: true,
    run: |state, arguments, call| {
        let texts = arguments.texts("expressions");
        if texts.len() > EXPRESSIONS {
            return Err(Refusal::Invalid("`expressions` has more than 50 elements".to_owned()));
        }
        let values = state.session()?.values(&texts, call)?;
        let rows = texts.iter().zip(values).map(|(text, seen)| {
            json!({
                "expression": text,
                "value": seen.value.as_ref().ok(),
                "error": seen.value.as_ref().err(),
                "task": seen.task.map(view::task),
            })
        });
        Ok(json!({ "values": rows.collect::<Vec<Value>>() }))
    },
};

const CHANGE: &[Field] = &[
    Field::new("step", Kind::Object(view::STEP), "the step"),
    Field::new("from", Kind::Nullable(&Kind::Text), "the value before; null for an object"),
    Field::new("to", Kind::Nullable(&Kind::Text), "the value after; null for an object"),
];

pub(in crate::serve) const HISTORY: Method = Method {
    name: "history",
    summary: "List the changes of an expression's value, or all steps on an object",
    params: &[
        Field::optional("expression", Kind::Text, "an expression, as for variables"),
        Field::optional("object", Kind::Text, "the name of an object, or a part of it"),
        FROM,
        LIMIT,
    ],
    result: &[
        TOTAL,
        Field::new("changes", Kind::List(&Kind::Object(CHANGE)), "the changes, the first first"),
        Field::new(
            "searched_from",
            NUMBER,
            "the first step that was searched: at most 1000 before the position",
        ),
        Field::new(
            "searched_to",
            NUMBER,
            "the last step that was searched: at most 1000 after the position",
        ),
    ],
    reads: true,
    run: |state, arguments, call| history(state, arguments, call),
};

fn history(
    state: &mut State<'_>,
    arguments: &Arguments<'_>,
    call: &Call<'_>,
) -> Result<Value, Refusal> {
    let page = Page::of(arguments);
    let session = state.session()?;
    let loaded = session.loaded().clone();
    match (arguments.text("expression"), arguments.text("object")) {
        (Some(text), None) => {
            let (changes, around) = session.history(text, call)?;
            let mut result = page.list("changes", changes.into_iter(), |change: Change| {
                let step = view::step(&loaded, change.step);
                json!({ "step": step, "from": change.from, "to": change.to })
            });
            result["searched_from"] = (around.start + 1).into();
            result["searched_to"] = around.end.min(loaded.len()).into();
            Ok(result)
        }
        (None, Some(name)) => {
            let object = OnObject::called(&loaded, name)
                .ok_or_else(|| Refusal::Invalid(format!("no object is called `{name}`")))?;
            let steps: Vec<usize> =
                (0..loaded.len()).filter(|&step| object.has(&loaded, step)).collect();
            let mut result = page.list(
                "changes",
                steps.into_iter(),
                |step| json!({ "step": view::step(&loaded, step), "from": null, "to": null }),
            );
            result["searched_from"] = 1.into();
            result["searched_to"] = loaded.len().into();
            Ok(result)
        }
        _ => Err(Refusal::Invalid("give one of `expression` and `object`".to_owned())),
    }
}

const COPY: &[Field] = &[
    Field::new("step", Kind::Nullable(&NUMBER), "the step that the instruction belongs to"),
    Field::new("task", Kind::Nullable(&Kind::Text), "the task that executed it"),
    Field::new("site", Kind::Nullable(&Kind::Text), "the function and line"),
    Field::new("to", Kind::Nullable(&Kind::Text), "where the value was copied to"),
    Field::new("from", Kind::Nullable(&Kind::Text), "where it was copied from"),
    Field::new("begins", Kind::Nullable(&Kind::Text), "what the value begins with"),
];

pub(in crate::serve) const ORIGIN: Method = Method {
    name: "origin",
    summary: "Find where the value of an expression at the position came from, through copies",
    params: &[Field::new("expression", Kind::Text, "an expression, as for variables"), FROM, LIMIT],
    result: &[
        Field::new("value", Kind::Nullable(&Kind::Text), "the value"),
        Field::new("error", Kind::Nullable(&Kind::Text), "why the value cannot be followed"),
        TOTAL,
        Field::new(
            "copies",
            Kind::List(&Kind::Object(COPY)),
            "the copies, from the last one backwards; the last element says what the value begins with",
        ),
    ],
    reads: true,
    run: |state, arguments, call| {
        let text = arguments.text("expression").unwrap_or_default();
        let (value, origin) = state.session()?.origin(text, call)?;
        let error = origin.as_ref().err().cloned();
        let copies = origin.unwrap_or_default();
        let copies = copies.iter();
        let mut result =
            Page::of(arguments).list("copies", copies, |copy| copy_object(copy, view::task));
        result["value"] = value.value.ok().into();
        result["error"] = error.into();
        Ok(result)
    },
};

pub(in crate::serve) const OUTPUT: Method = Method {
    name: "output",
    summary: "List the lines that the program wrote in this execution",
    params: &[FROM, LIMIT],
    result: &[TOTAL, Field::new("lines", Kind::List(&Kind::Text), "the lines")],
    reads: true,
    run: |state, arguments, _| {
        let output = &state.session()?.loaded().trace.output;
        let text = String::from_utf8_lossy(output);
        let lines: Vec<&str> = text.lines().collect();
        Ok(Page::of(arguments).list("lines", lines.into_iter(), Value::from))
    },
};
