//! Results as one JSON object on one line.

use crate::report::explain::ValueOrigin;
use crate::report::json_text;
use crate::report::verdict::{basis, no_return, sentence};
use replay_core::bisect::{Bisected, Event, Kind};
use replay_core::debug::{OriginEvent, OriginLine, OriginPlace};
use replay_core::runner::{Forecast, NoReturn, Prospect};
use replay_core::verdict;
use serde_json::{Value, json as value};
use traces::{TaskId, Trace};

/// A value as one line of JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    json_text::text(value) + "\n"
}

/// The result of a bisection as a JSON object.
pub(crate) fn bisection(bisected: Option<&Bisected>, kind: Kind) -> Value {
    let Some(bisected) = bisected else {
        return value!({ "heddle": 1, "kind": kind.to_string(), "orders": [] });
    };
    let execution = &bisected.failing.execution;
    let event = |event: Event| {
        value!({
            "task": event.task.0,
            "number": event.number,
            "operation": event.operation.name(),
            "object": event.object.and_then(|object| execution.objects.get(object as usize)).map(|o| &o.name),
            "site": execution.place(event.site),
            "step": event.step.map(|step| step + 1),
        })
    };
    let orders: Vec<Value> = bisected
        .cause
        .iter()
        .flat_map(|cause| &cause.orders)
        .map(|order| value!({ "before": event(order.before), "after": event(order.after) }))
        .collect();
    let evidence = &bisected.evidence;
    value!({
        "heddle": 1,
        "kind": kind.to_string(),
        "orders": orders,
        "exact": evidence.is_exact(),
        "always": bisected.always,
        "reversed": bisected.reversed,
        "runs": {
            "with_failing": evidence.with_failing,
            "with_passing": evidence.with_passing,
            "without_failing": evidence.without_failing,
            "without_passing": evidence.without_passing,
            "other": evidence.other,
        },
    })
}

/// The verdict as a JSON object: the sentence, its basis, and the step that decides.
pub(crate) fn verdict_object(trace: &Trace, bisected: Option<&Bisected>) -> Value {
    let checked = bisected.and_then(verdict::from_bisection);
    let Some(found) = checked.or_else(|| verdict::from_recording(trace)) else {
        return Value::Null;
    };
    value!({
        "text": sentence(trace, &found),
        "basis": basis(&found),
        "checked": found.basis != verdict::Basis::Recording,
        "step": found.decisive_in(trace).map(|step| step + 1),
    })
}

/// The point of no return as a JSON object.
pub(crate) fn no_return_object(found: Option<&NoReturn>) -> Value {
    let Some(found) = found else { return Value::Null };
    value!({
        "step": found.step().map(|step| step + 1),
        "lost_after": found.lost_after,
        "passes_after": found.passes_after,
        "before": found.before.map(prospect),
    })
}

/// Where a value came from, as a JSON object.
pub(crate) fn origin_object(origin: &ValueOrigin) -> Value {
    let copy = |line: &OriginLine| copy_object(line, |task| task.0.into());
    value!({
        "what": origin.what,
        "value": origin.value.as_ref().ok(),
        "error": origin.value.as_ref().err().or(origin.lines.as_ref().err()),
        "copies": origin.lines.iter().flatten().map(copy).collect::<Vec<Value>>(),
    })
}

/// One copy of a value as a JSON object.
pub(crate) fn copy_object(line: &OriginLine, task: impl Fn(TaskId) -> Value) -> Value {
    let place = line.place.as_ref();
    let (to, from, begins) = match &line.event {
        OriginEvent::Copied { to, from } => (Some(&to.name), Some(&from.name), None),
        OriginEvent::Begins(what) => (None, None, Some(what)),
    };
    value!({
        "step": place.map(|place| place.step),
        "task": place.map(|place| task(place.task)),
        "site": place.map(OriginPlace::code),
        "to": to,
        "from": from,
        "begins": begins,
    })
}

fn prospect(prospect: Prospect) -> Value {
    value!({
        "executions": prospect.executions,
        "failing": prospect.failing,
        "complete": prospect.complete,
    })
}

/// A trace as a JSON object, with what may follow each step: the element at an index is about the
/// schedules that begin with this many steps, and null if it is not known.
pub(crate) fn with_prospects(trace: &Trace, known: &Forecast) -> Value {
    let steps = trace.execution.steps.len();
    let mut object = value!(trace);
    object["prospects"] =
        (0..=steps).map(|after| known.after(after).map(prospect)).collect::<Vec<_>>().into();
    object["no_return"] = no_return_object(known.no_return.as_ref());
    let text = known.no_return.map(|found| no_return(&found, trace.steps_to_failure()));
    object["no_return_text"] = text.filter(|text| !text.is_empty()).into();
    object
}
