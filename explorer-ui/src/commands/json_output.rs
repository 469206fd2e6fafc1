//! Results as one JSON object on one line.

use crate::report::json_text;
use replay_core::bisect::{Bisected, Event, Kind};
use serde_json::{Value, json as value};

/// A value as one line of JSON.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    json_text::text(value) + "\n"
}

/// The result of a bisection as a JSON object.
pub(super) fn bisection(bisected: Option<&Bisected>, kind: Kind) -> Value {
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
