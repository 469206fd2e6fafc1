//! The trace event format that Chrome and Perfetto read: a slice for each step, one unit of time
//! long, and a flow for each cause in another task.

use super::schedule::{Schedule, is_preemption};
use serde_json::{Value, json};

pub(super) fn render(schedule: &Schedule<'_>) -> String {
    let mut events: Vec<Value> = Vec::new();
    events.push(json!({
        "ph": "M", "name": "process_name", "pid": 1, "tid": 0,
        "args": {"name": schedule.trace.header.program},
    }));
    for task in 0..schedule.tasks() {
        events.push(json!({
            "ph": "M", "name": "thread_name", "pid": 1, "tid": task,
            "args": {"name": schedule.title(task)},
        }));
        events.push(json!({
            "ph": "M", "name": "thread_sort_index", "pid": 1, "tid": task,
            "args": {"sort_index": task},
        }));
    }
    let steps = &schedule.trace.execution.steps;
    let mut flows = 0;
    for row in &schedule.rows {
        let at = row.step.unwrap_or_default();
        let task = steps[at].task.0;
        let place = row.cells.first().map_or("", |cell| &cell.site);
        let enabled: Vec<String> = row.enabled.iter().map(ToString::to_string).collect();
        events.push(json!({
            "ph": "X", "name": Schedule::label(row), "cat": steps[at].operation.name(),
            "pid": 1, "tid": task, "ts": at, "dur": 1,
            "args": {"step": at + 1, "place": place, "may move": enabled.join(" ")},
        }));
        if is_preemption(row) {
            events.push(json!({
                "ph": "i", "s": "p", "name": "preemption", "cat": "schedule",
                "pid": 1, "tid": task, "ts": at,
            }));
        }
        for (from, reason) in schedule.arrivals(at) {
            flows += 1;
            // A flow belongs to the slice that contains its time, so that time is the middle of a step.
            let flow = |phase: &str, task: u16, at: usize| {
                json!({
                    "ph": phase, "bp": "e", "id": flows, "name": reason, "cat": "happens before",
                    "pid": 1, "tid": task, "ts": at as f64 + 0.5,
                })
            };
            events.push(flow("s", steps[from].task.0, from));
            events.push(flow("f", task, at));
        }
    }
    let object = json!({"displayTimeUnit": "ns", "traceEvents": events});
    format!("{object}\n")
}
