//! The trace event format that Chrome and Perfetto read: a slice for each step, one unit of time
//! long, and a flow for each cause in another task.

use super::schedule::{Schedule, is_preemption};
use crate::report::json_text;
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn write(schedule: &Schedule<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut is_first = true;
    let mut push = |event: &Value| {
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        json_text::write(event, out)
    };
    push(&json!({
        "ph": "M", "name": "process_name", "pid": 1, "tid": 0,
        "args": {"name": schedule.trace.header.program},
    }))?;
    for task in 0..schedule.tasks() {
        push(&json!({
            "ph": "M", "name": "thread_name", "pid": 1, "tid": task,
            "args": {"name": schedule.title(task)},
        }))?;
        push(&json!({
            "ph": "M", "name": "thread_sort_index", "pid": 1, "tid": task,
            "args": {"sort_index": task},
        }))?;
    }
    let steps = &schedule.trace.execution.steps;
    let mut flows = 0;
    schedule.for_each_step(|row| {
        let at = row.step.unwrap_or_default();
        let task = steps[at].task.0;
        let place = row.cells.first().map_or("", |cell| &cell.site);
        let enabled: Vec<String> = row.enabled.iter().map(ToString::to_string).collect();
        push(&json!({
            "ph": "X", "name": Schedule::label(row), "cat": steps[at].operation.name(),
            "pid": 1, "tid": task, "ts": at, "dur": 1,
            "args": {"step": at + 1, "place": place, "enabled": enabled.join(" ")},
        }))?;
        if is_preemption(row) {
            push(&json!({
                "ph": "i", "s": "p", "name": "preemption", "cat": "schedule",
                "pid": 1, "tid": task, "ts": at,
            }))?;
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
            push(&flow("s", steps[from].task.0, from))?;
            push(&flow("f", task, at))?;
        }
        Ok(())
    })?;
    out.write_all(b"]}\n")
}
