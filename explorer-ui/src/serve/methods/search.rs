//! Searching, and what was found.

use crate::serve::method::{Arguments, Method};
use crate::serve::page::{FROM, LIMIT, Page, TOTAL};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view::{POSITION, position};
use crate::walk::search::{SearchState, strategies};
use crate::walk::session::{Call, Refusal};
use replay_core::StrategyChoice;
use replay_core::runner::{SearchFrom, SearchLimits};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use traces::report::Bug;

const FOUND: &[Field] = &[
    Field::new("number", NUMBER, "its number for show_failure, from 1"),
    Field::new("kind", Kind::Text, "deadlock, crash, assertion, ..."),
    Field::new("message", Kind::Text, "what happened, in one line"),
    Field::new("site", Kind::Text, "where"),
    Field::new("signature", Kind::Text, "equal for all executions that fail in this way"),
    Field::new("count", NUMBER, "how many executions failed in this way"),
    Field::new("preemptions", NUMBER, "the preemptions of the schedule"),
    Field::new("steps", NUMBER, "the steps of the schedule"),
];

const SEARCHED: &[Field] = &[
    Field::new("executions", NUMBER, "how many executions were run"),
    Field::new("complete", Kind::Flag, "whether everything that was asked for was run"),
    Field::new("cancelled", Kind::Flag, "whether the search was cancelled"),
    Field::new("ended", Kind::Text, "what was covered, and why the search ended"),
    Field::new("failures", NUMBER, "the number of different failures"),
    Field::new("found", Kind::List(&Kind::Object(FOUND)), "the first 20 of them"),
    Field::new("position", Kind::Object(POSITION), "the position: the first failure, if any"),
];

pub(in crate::serve) const SEARCH: Method = Method {
    name: "search",
    summary: "Search for schedules that fail, and display the first one found",
    params: &[
        Field::optional(
            "strategy",
            Kind::Text,
            "how to search: auto, random, pct, dpor, icb, dfs, ... [auto]",
        ),
        Field::optional("bound", Kind::Integer(0, 1000), "the most preemptions, or delays"),
        Field::optional("from_here", Kind::Flag, "keep the steps before the position [false]"),
        Field::optional("keep_going", Kind::Flag, "continue after the first failure [false]"),
        Field::optional("executions", Kind::Integer(1, 1 << 40), "the most executions [100000]"),
        Field::optional("seconds", Kind::Integer(1, 86_400), "the time limit [60]"),
    ],
    result: SEARCHED,
    reads: false,
    run: |state, arguments, call| search(state, arguments, call),
};

pub(in crate::serve) const FAILURES: Method = Method {
    name: "failures",
    summary: "List the failures that the last search found",
    params: &[FROM, LIMIT],
    result: &[TOTAL, Field::new("failures", Kind::List(&Kind::Object(FOUND)), "the failures")],
    reads: true,
    run: |state, arguments, _| {
        let found = state.session()?.searched().map_or(&[][..], |search| &search.found[..]);
        let numbered = found.iter().enumerate();
        Ok(Page::of(arguments).list("failures", numbered, |(index, (bug, _))| row(index, bug)))
    },
};

pub(in crate::serve) const SHOW_FAILURE: Method = Method {
    name: "show_failure",
    summary: "Display a failure that the last search found; the position is its end",
    params: &[Field::new("number", NUMBER, "its number, from 1")],
    result: POSITION,
    reads: false,
    run: |state, arguments, _| {
        let session = state.session()?;
        let found = session.searched().map_or(&[][..], |search| &search.found[..]);
        let number = arguments.number("number").unwrap_or(1);
        let chosen = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some((_, loaded)) = chosen.and_then(|index| found.get(index)) else {
            return Err(Refusal::Invalid(format!(
                "the last search found {} failures, and none has the number {number}",
                found.len()
            )));
        };
        let loaded = Arc::clone(loaded);
        let end = loaded.len();
        session.show(loaded, end);
        Ok(position(session))
    },
};

/// How many failures the result of a search lists.
const LISTED: usize = 20;

fn row(index: usize, bug: &Bug) -> Value {
    json!({
        "number": index + 1,
        "kind": bug.kind.name(),
        "message": bug.message,
        "site": bug.site,
        "signature": bug.signature,
        "count": bug.count,
        "preemptions": bug.preemptions,
        "steps": bug.steps,
    })
}

fn strategy(name: Option<&str>) -> Result<StrategyChoice, Refusal> {
    let Some(name) = name else { return Ok(StrategyChoice::AUTO) };
    let listed = strategies();
    let known = listed.iter().find(|strategy| strategy.name == name);
    known.map(|strategy| StrategyChoice::of(strategy)).ok_or_else(|| {
        let names: Vec<&str> = listed.iter().map(|strategy| strategy.name).collect();
        Refusal::Invalid(format!("`strategy` must be one of: {}", names.join(", ")))
    })
}

fn search(
    state: &mut State<'_>,
    arguments: &Arguments<'_>,
    call: &Call<'_>,
) -> Result<Value, Refusal> {
    let strategy = strategy(arguments.text("strategy"))?;
    let bound = arguments.number("bound").and_then(|bound| u32::try_from(bound).ok());
    if bound.is_some() && !strategy.is_bounded() {
        return Err(Refusal::Invalid(format!(
            "`bound` needs a strategy that counts preemptions or delays, which {} does not: \
             choose icb, dfs or dpor",
            strategy.name()
        )));
    }
    let workers = state.settings.workers;
    let session = state.session()?;
    let behind = if arguments.flag("from_here") { session.at() } else { 0 };
    let order = SearchFrom {
        beginning: session.loaded().before(behind).to_vec(),
        strategy,
        bound,
        workers,
        limits: SearchLimits {
            executions: Some(arguments.number("executions").unwrap_or(100_000)),
            time: Some(Duration::from_secs(arguments.number("seconds").unwrap_or(60))),
            first_failure: !arguments.flag("keep_going"),
        },
        wishes: Vec::new(),
        resume: false,
    };
    session.search(order, call)?;
    let first = session.searched().and_then(|search| search.found.first());
    if let Some(loaded) = first.map(|(_, loaded)| Arc::clone(loaded)) {
        let end = loaded.len();
        session.show(loaded, end);
    }
    let (complete, ended) = session.search_ended().unwrap_or((false, ""));
    let at_first = !arguments.flag("keep_going") && !complete && !call.is_cancelled();
    let found_one = session.searched().is_some_and(|search| !search.found.is_empty());
    let ended = if at_first && found_one { "at the first failure" } else { ended };
    let known = |search: &SearchState| {
        let found = search.found.iter().enumerate().take(LISTED);
        let found: Vec<Value> = found.map(|(index, (bug, _))| row(index, bug)).collect();
        json!({
            "executions": search.progress.executions,
            "complete": complete,
            "cancelled": call.is_cancelled(),
            "ended": ended,
            "failures": search.found.len(),
            "found": found,
            "position": position(session),
        })
    };
    Ok(session.searched().map_or(Value::Null, known))
}
