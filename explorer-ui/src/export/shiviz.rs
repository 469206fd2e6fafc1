//! A log for ShiViz, read with its default expression `(?<event>.*)\n(?<host>\S*) (?<clock>{.*})`.
//!
//! A clock counts the steps of each task, and contains only tasks with a step that happens before.

use super::schedule::Schedule;
use serde_json::{Map, Value};
use std::io::{self, Write};

pub(super) fn write(schedule: &Schedule<'_>, out: &mut dyn Write) -> io::Result<()> {
    let execution = &schedule.trace.execution;
    let clocks = schedule.graph.clocks();
    schedule.for_each_step(|row| {
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
        writeln!(out, "{} {place}", Schedule::label(row))?;
        writeln!(out, "{} {}", host(task), Value::Object(clock))
    })
}
