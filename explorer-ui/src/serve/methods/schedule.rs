//! The schedule: its steps, the tasks, what may follow, the held locks.

use crate::report::names::{object_name, site_name, task_title};
use crate::serve::method::Method;
use crate::serve::page::{FROM, LIMIT, Page, TOTAL};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view;
use crate::walk::moves::why;
use crate::walk::session::{Call, Refusal};
use replay_core::runner::LookAhead;
use serde_json::{Value, json};
use traces::TaskId;

const TASK: &[Field] = &[
    Field::new("task", Kind::Text, "the task: T0 is main"),
    Field::new("name", Kind::Text, "its number with its name, or its first function"),
    Field::new("enabled", Kind::Flag, "whether it may run next"),
    Field::new("why", Kind::Nullable(&Kind::Text), "why it may not"),
    Field::new("operation", Kind::Nullable(&Kind::Text), "what it does next, if known"),
    Field::new("object", Kind::Nullable(&Kind::Text), "what that acts on"),
    Field::new("site", Kind::Nullable(&Kind::Text), "where that is"),
    Field::new("next_step", Kind::Nullable(&NUMBER), "its next step in this schedule"),
    Field::new("preempts", Kind::Flag, "whether running it now would be a preemption"),
];

pub(in crate::serve) const TASKS: Method = Method {
    name: "tasks",
    summary: "List the tasks at the position: which of them may run next, and why the others may not",
    params: &[FROM, LIMIT],
    result: &[TOTAL, Field::new("tasks", Kind::List(&Kind::Object(TASK)), "the tasks")],
    reads: true,
    run: |state, arguments, _| {
        let page = Page::of(arguments);
        let session = state.session()?;
        let (loaded, at) = (session.loaded(), session.at());
        let trace = &loaded.trace;
        let mut statuses = loaded.task_statuses(at);
        statuses.sort_by_key(|one| one.task);
        Ok(page.list("tasks", statuses.iter(), |one| {
            json!({
                "task": view::task(one.task),
                "name": task_title(trace, one.task),
                "enabled": one.enabled,
                "why": (!one.enabled).then(|| why(loaded, one)),
                "operation": one.operation.map(|operation| operation.name()),
                "object": object_name(trace, one.object),
                "site": one.site.map(|site| site_name(&trace.execution, site)),
                "next_step": one.next.map(|step| step + 1),
                "preempts": one.enabled && loaded.preempts(at, one.task),
            })
        }))
    },
};

const AHEAD: &[Field] = &[
    Field::new("task", Kind::Text, "the task that would run next"),
    Field::new("executions", NUMBER, "how many executions were run"),
    Field::new("failing", NUMBER, "how many of them failed"),
    Field::new(
        "complete",
        Kind::Flag,
        "whether these are all schedules that begin so; otherwise they are a random sample",
    ),
    Field::new(
        "nearest_failure",
        Kind::Nullable(&NUMBER),
        "the preemptions to the nearest failure that was found",
    ),
    Field::new(
        "safe_up_to",
        Kind::Nullable(&NUMBER),
        "every schedule with up to so many more preemptions was run, and none failed",
    ),
];

pub(in crate::serve) const LOOK_AHEAD: Method = Method {
    name: "look_ahead",
    summary: "Run what may follow the position, for each task that may run next",
    params: &[],
    result: &[Field::new("tasks", Kind::List(&Kind::Object(AHEAD)), "the enabled tasks")],
    reads: true,
    run: |state, _, call| look_ahead(state, call),
};

fn look_ahead(state: &mut State<'_>, call: &Call<'_>) -> Result<Value, Refusal> {
    let found = state.session()?.look_ahead(call)?;
    let show = |(task, ahead): &(TaskId, LookAhead)| {
        // If only the random sample met one, the number of its preemptions is unknown.
        let nearest = ahead.nearest.as_ref().map(|nearest| nearest.preemptions);
        json!({
            "task": view::task(*task),
            "executions": ahead.executions,
            "failing": ahead.failing,
            "complete": ahead.exhausted,
            "nearest_failure": nearest.filter(|preemptions| *preemptions != u32::MAX),
            "safe_up_to": ahead.safe_up_to,
        })
    };
    Ok(json!({ "tasks": found.iter().map(show).collect::<Vec<Value>>() }))
}

pub(in crate::serve) const STEPS: Method = Method {
    name: "steps",
    summary: "List steps of the schedule",
    params: &[FROM, LIMIT],
    result: &[TOTAL, Field::new("steps", Kind::List(&Kind::Object(view::STEP)), "the steps")],
    reads: true,
    run: |state, arguments, _| {
        let loaded = state.session()?.loaded();
        let steps = 0..loaded.len();
        Ok(Page::of(arguments).list("steps", steps, |at| view::step(loaded, at)))
    },
};

const LOCK: &[Field] = &[
    Field::new("object", Kind::Text, "the lock"),
    Field::new(
        "inferred",
        Kind::Flag,
        "whether it is a word of memory that no library function names as a lock, and that tasks used as one",
    ),
    Field::new("holder", Kind::Text, "the task that holds it"),
    Field::new("since", NUMBER, "the step that acquired it"),
];

pub(in crate::serve) const LOCKS: Method = Method {
    name: "locks",
    summary: "List the locks that are held at the position",
    params: &[FROM, LIMIT],
    result: &[TOTAL, Field::new("locks", Kind::List(&Kind::Object(LOCK)), "the held locks")],
    reads: true,
    run: |state, arguments, _| {
        let session = state.session()?;
        let (loaded, held) = (session.loaded(), session.loaded().locks(session.at()));
        let objects = 0..loaded.trace.execution.objects.len() as u32;
        let locks: Vec<(u32, TaskId, usize)> = objects
            .filter_map(|object| held.holder(object).map(|(task, since)| (object, task, since)))
            .collect();
        Ok(Page::of(arguments).list("locks", locks.into_iter(), |(object, task, since)| {
            json!({
                "object": object_name(&loaded.trace, Some(object)).unwrap_or_default(),
                "inferred": held.is_inferred(object),
                "holder": view::task(task),
                "since": since + 1,
            })
        }))
    },
};
