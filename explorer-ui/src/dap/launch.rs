//! Opens what an editor's configuration names.

use crate::walk::opening::{Opener, ProgramRequest};
use crate::walk::session::{Call, Refusal, Session};
use replay_core::StrategyChoice;
use replay_core::runner::{SearchFrom, SearchLimits};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The limits of the search for a failing schedule.
const EXECUTIONS: u64 = 100_000;
const TIME: Duration = Duration::from_secs(60);

/// Opens the trace or the program of a configuration. A program is searched for a failure first, unless
/// `search` is false. Returns what to report about that.
pub(super) fn launch(
    opener: &dyn Opener,
    arguments: &Map<String, Value>,
    workers: u32,
    call: &Call<'_>,
) -> Result<(Session, String), Refusal> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let words = arguments.get("args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let words = words.iter().filter_map(Value::as_str).map(OsString::from);
    let mut command: Vec<OsString> = text("program").map(OsString::from).into_iter().collect();
    command.extend(words);
    if let Some(path) = text("trace") {
        let path = PathBuf::from(path);
        let command = if text("program").is_some() { &command[..] } else { &[] };
        let opened = opener.trace(path, command).map_err(Refusal::Failed)?;
        let session = Session::new(opened)?;
        let note = session
            .cannot_run()
            .map(|why| format!("the program cannot be run, only its trace be read: {why}"));
        return Ok((session, note.unwrap_or_default()));
    }
    if text("program").is_none() {
        let what = "the configuration has neither `trace` nor `program`: add one of them";
        return Err(Refusal::Invalid(what.to_owned()));
    }
    let request =
        ProgramRequest { command, directory: text("cwd").map(PathBuf::from), ..Default::default() };
    let opened = opener.program(&request, call.cancelled, call.tell).map_err(Refusal::Failed)?;
    let mut session = Session::new(opened)?;
    if arguments.get("search").and_then(Value::as_bool) == Some(false) {
        session.go_to(0);
        return Ok((session, String::new()));
    }
    let order = SearchFrom {
        beginning: Vec::new(),
        strategy: StrategyChoice::AUTO,
        bound: None,
        workers,
        limits: SearchLimits {
            executions: Some(EXECUTIONS),
            time: Some(TIME),
            first_failure: true,
        },
        wishes: Vec::new(),
        resume: false,
    };
    session.search(order, call)?;
    let found = session.searched().and_then(|search| search.found.first());
    let Some((bug, loaded)) = found else {
        let covered = session.search_ended().map_or("", |(_, covered)| covered);
        let note = format!(
            "the search found no failure ({covered}); this is the schedule without preemptions"
        );
        session.go_to(0);
        return Ok((session, note));
    };
    let note = format!("found: {}: {}", bug.kind, bug.message);
    let loaded = Arc::clone(loaded);
    let end = loaded.len();
    session.show(loaded, end);
    Ok((session, note))
}
