//! The Model Context Protocol: every method of the table is a tool.
//!
//! <https://modelcontextprotocol.io/specification>

use super::answer::bounded;
use super::message::{self, Fault, Request};
use super::method::Method;
use super::registry::{self, METHODS};
use super::state::State;
use crate::report::json_text;
use crate::walk::session::{Call, Refusal};
use serde_json::{Map, Value, json};

/// The revisions of the protocol that are spoken, the latest first. What differs between them is
/// not used here, or is ignored by clients of the earlier ones.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What a client passes to its model about these tools.
const INSTRUCTIONS: &str = "Heddle finds thread schedules under which a program fails, and replays \
    them. Begin with open_program or open_trace. `search` finds failing schedules and displays the \
    first. `explain` says why the displayed schedule fails, `steps`, `source`, `backtrace`, \
    `variables` and `history` show the evidence at the position; `goto`, `step`, `back` and `seek` \
    move it. `tasks` lists which tasks may run next; `pick` lets another task run there. `shrink` makes the \
    schedule smaller, `save` writes it to a file. Lists have `total`; `from` and `limit` select a \
    part. Steps are counted from 1.";

/// The token under which a client receives the progress of a request.
pub(super) fn progress_token(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}

/// News of a request.
pub(super) fn progress(token: &Value, number: u64, text: &str) -> Value {
    let params = json!({ "progressToken": token, "progress": number, "message": text });
    message::notification("notifications/progress", params)
}

/// Carries out a request.
pub(super) fn answer(
    state: &mut State<'_>,
    request: &Request,
    call: &Call<'_>,
    initialized: &mut bool,
) -> Result<Value, Fault> {
    match request.method.as_str() {
        "initialize" => {
            *initialized = true;
            initialize(&request.params)
        }
        "ping" => Ok(json!({})),
        // Notifications have no answer.
        _ if request.id.is_none() => Ok(Value::Null),
        _ if !*initialized => {
            Err(Fault::new(Fault::REQUEST, "the first request must be `initialize`"))
        }
        "tools/list" => list(&request.params),
        "tools/call" => tool(state, &request.params, call),
        other => {
            let shown: String = other.chars().take(60).collect();
            Err(Fault::new(
                Fault::METHOD,
                format!("there is no method `{shown}`: this server has tools only"),
            ))
        }
    }
}

fn initialize(params: &Map<String, Value>) -> Result<Value, Fault> {
    let Some(wanted) = params.get("protocolVersion").and_then(Value::as_str) else {
        return Err(Fault::new(Fault::PARAMS, "`protocolVersion` must be text"));
    };
    // A client that asks for another revision decides whether it speaks the latest one.
    let spoken = REVISIONS.iter().find(|revision| **revision == wanted).unwrap_or(&REVISIONS[0]);
    Ok(json!({
        "protocolVersion": spoken,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": {
            "name": "heddle",
            "title": "Heddle",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "instructions": INSTRUCTIONS,
    }))
}

fn list(params: &Map<String, Value>) -> Result<Value, Fault> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(Fault::new(Fault::PARAMS, "`cursor` is unknown: the list has one page"));
    }
    Ok(json!({ "tools": METHODS.iter().map(describe).collect::<Vec<Value>>() }))
}

fn describe(method: &Method) -> Value {
    json!({
        "name": method.name,
        "description": method.summary,
        "inputSchema": method.params_schema(),
        "outputSchema": method.result_schema(),
        "annotations": {
            "readOnlyHint": method.reads,
            "destructiveHint": false,
            "openWorldHint": false,
        },
    })
}

fn tool(
    state: &mut State<'_>,
    params: &Map<String, Value>,
    call: &Call<'_>,
) -> Result<Value, Fault> {
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Fault::new(Fault::PARAMS, "`name` must be text"))?;
    let Some(method) = registry::method(name) else {
        let shown: String = name.chars().take(60).collect();
        let text = format!("there is no tool `{shown}`: tools/list lists them");
        return Err(Fault::new(Fault::PARAMS, text));
    };
    let none = Map::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Fault::new(Fault::PARAMS, "`arguments` must be an object")),
    };
    let failed = match method.call(state, arguments, call) {
        Ok(value) => match bounded(value) {
            Ok(value) => {
                let text = json!({ "type": "text", "text": json_text::text(&value) });
                return Ok(
                    json!({ "content": [text], "structuredContent": value, "isError": false }),
                );
            }
            Err(fault) => fault.message,
        },
        Err(Refusal::Cancelled) => return Err(Fault::cancelled()),
        Err(Refusal::Invalid(text) | Refusal::Failed(text)) => text,
    };
    // A model can correct itself only if it sees the error: so it is a result of the tool.
    Ok(json!({ "content": [{ "type": "text", "text": failed }], "isError": true }))
}
