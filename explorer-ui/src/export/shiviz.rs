//! A log for ShiViz, read with its default expression `(?<event>.*)\n(?<host>\S*) (?<clock>{.*})`.
//!
//! A clock counts the steps of each task, and contains only tasks with a step that happens before.

use super::schedule::Schedule;
use serde_json::{Map, Value};
use std::fmt::Write;
use traces::order::Clocks;

pub(super) fn render(schedule: &Schedule<'_>) -> String {
    let execution = &schedule.trace.execution;
    let clocks = Clocks::of(execution);
    let mut text = String::new();
    for row in &schedule.rows {
        let at = row.step.unwrap_or_default();
        let host = |task: usize| format!("T{task}");
        let clock: Map<String, Value> = clocks
            .vector(at)
            .into_iter()
            .enumerate()
            .filter(|&(_, count)| count > 0)
            .map(|(task, count)| (host(task), Value::from(count)))
            .collect();
        let place = row.cells.first().map_or("", |cell| &cell.site);
        let task = execution.steps[at].task.index();
        let _ = writeln!(text, "{} {place}", Schedule::label(row));
        let _ = writeln!(text, "{} {}", host(task), Value::Object(clock));
    }
    text
}
