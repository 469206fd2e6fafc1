//! Why a schedule fails, and the smallest schedule that fails so.

use crate::report::explain::render;
use crate::report::json_output::{bisection, no_return_object, verdict_object};
use crate::report::style::Style;
use crate::report::verdict::no_return as no_return_text;
use crate::serve::method::{Arguments, Method};
use crate::serve::page::{FROM, LIMIT, Page, TOTAL};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view::{POSITION, position};
use crate::walk::session::{Call, Refusal};
use replay_core::bisect::classify;
use serde_json::{Value, json};

/// The width of the page in cells.
const WIDTH: usize = 100;

const VERDICT: &[Field] = &[
    Field::new("text", Kind::Text, "why it fails, in one sentence"),
    Field::new("basis", Kind::Text, "which runs it is based on; empty for the recording alone"),
    Field::new("checked", Kind::Flag, "whether other schedules were run to check it"),
    Field::new("step", Kind::Nullable(&NUMBER), "the step that decides"),
];

const EVENT: &[Field] = &[
    Field::new("task", NUMBER, "the number of the task"),
    Field::new("number", NUMBER, "which operation of the task it is, from 1"),
    Field::new("operation", Kind::Text, "what it does"),
    Field::new("object", Kind::Nullable(&Kind::Text), "what it acts on"),
    Field::new("site", Kind::Text, "where"),
    Field::new("step", Kind::Nullable(&NUMBER), "its step, if it ran in this schedule"),
];

const ORDER: &[Field] = &[
    Field::new("before", Kind::Object(EVENT), "the event that comes first"),
    Field::new("after", Kind::Object(EVENT), "the event that comes later"),
];

pub(in crate::serve) const EXPLAIN: Method = Method {
    name: "explain",
    summary: "Explain why the schedule fails: runs others like it, and compares",
    params: &[FROM, LIMIT],
    result: &[
        Field::new("verdict", Kind::Nullable(&Kind::Object(VERDICT)), "the verdict"),
        Field::new("kind", Kind::Text, "the kind of bug"),
        Field::new(
            "orders",
            Kind::List(&Kind::Object(ORDER)),
            "the orders of events that decide: they hold when it fails, and not when it passes",
        ),
        Field::new("always", Kind::Flag, "whether every schedule fails"),
        TOTAL,
        Field::new("page", Kind::List(&Kind::Text), "the lines of the explanation for people"),
    ],
    reads: true,
    run: |state, arguments, call| explain(state, arguments, call),
};

fn explain(
    state: &mut State<'_>,
    arguments: &Arguments<'_>,
    call: &Call<'_>,
) -> Result<Value, Refusal> {
    let session = state.session()?;
    let explanation = session.explain(call)?;
    let text = render(&explanation.page(), &Style { color: false, ascii: true }, WIDTH);
    let lines: Vec<&str> = text.lines().collect();
    let bisected = &explanation.bisected;
    let found = bisection(Some(bisected), classify(&bisected.failing, Some(bisected)));
    let mut result = Page::of(arguments).list("page", lines.into_iter(), Value::from);
    for name in ["kind", "orders", "always"] {
        result[name] = found[name].clone();
    }
    result["verdict"] = verdict_object(&bisected.failing, Some(bisected));
    Ok(result)
}

const BEFORE: &[Field] = &[
    Field::new("executions", NUMBER, "how many executions were run"),
    Field::new("failing", NUMBER, "how many of them failed"),
    Field::new("complete", Kind::Flag, "whether these are all schedules; otherwise a sample"),
];

const NO_RETURN_FIELDS: &[Field] = &[
    Field::new("step", Kind::Nullable(&NUMBER), "the step that makes the failure inevitable"),
    Field::new("lost_after", NUMBER, "after so many steps every schedule fails: all were run"),
    Field::new(
        "passes_after",
        Kind::Nullable(&NUMBER),
        "after so many steps some schedule still passes",
    ),
    Field::new(
        "before",
        Kind::Nullable(&Kind::Object(BEFORE)),
        "what follows after that many steps",
    ),
];

pub(in crate::serve) const NO_RETURN: Method = Method {
    name: "no_return",
    summary: "Find the step from which on no schedule passes",
    params: &[],
    result: &[
        Field::new(
            "no_return",
            Kind::Nullable(&Kind::Object(NO_RETURN_FIELDS)),
            "the point of no return; null if it was not found",
        ),
        Field::new("text", Kind::Text, "the same in words; may be empty"),
    ],
    reads: true,
    run: |state, _, call| {
        let session = state.session()?;
        let found = session.no_return(call)?;
        let steps = session.loaded().len();
        Ok(json!({
            "no_return": no_return_object(found.as_ref()),
            "text": found.map(|found| no_return_text(&found, steps)).unwrap_or_default(),
        }))
    },
};

pub(in crate::serve) const SHRINK: Method = Method {
    name: "shrink",
    summary: "Display the smallest schedule with the same failure: fewest preemptions",
    params: &[],
    result: &[
        Field::new("what", Kind::Text, "how much smaller it is, and what is proved"),
        Field::new("preemptions", NUMBER, "the preemptions of the schedule"),
        Field::new("position", Kind::Object(POSITION), "the position: the failure"),
    ],
    reads: false,
    run: |state, _, call| {
        let session = state.session()?;
        let what = session.shrink(call)?;
        let preemptions = session.loaded().preemptions().len() as u64;
        Ok(json!({
            "what": what,
            "preemptions": preemptions,
            "position": position(session),
        }))
    },
};
