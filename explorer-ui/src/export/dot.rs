//! Graphviz: the happens-before graph, a cluster for each task.

use super::schedule::{Schedule, is_preemption};
use std::fmt::Write;
use std::io;

pub(super) fn write(schedule: &Schedule<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let steps = &schedule.trace.execution.steps;
    writeln!(
        out,
        "digraph schedule {{\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];"
    )?;
    // A cluster contains all steps of a task, so they are collected before they are written.
    let mut clusters = vec![String::new(); schedule.tasks()];
    schedule.for_each_step(|row| {
        let at = row.step.unwrap_or_default();
        let cell = row.cells.first();
        let place = cell.map_or("", |cell| &cell.site);
        let label = format!("{} {}\\n{}", at + 1, escape(&Schedule::label(row)), escape(place));
        let colour = match cell {
            Some(cell) if cell.failed => ", color=red, penwidth=2",
            _ if is_preemption(row) => ", color=orange, penwidth=2",
            _ => "",
        };
        let cluster = &mut clusters[steps[at].task.index()];
        let _ = writeln!(cluster, "    s{} [label=\"{label}\"{colour}];", at + 1);
        Ok(())
    })?;
    for (task, cluster) in clusters.into_iter().enumerate() {
        writeln!(out, "  subgraph cluster_{task} {{")?;
        writeln!(out, "    label=\"{}\";", escape(&schedule.title(task)))?;
        out.write_all(cluster.as_bytes())?;
        writeln!(out, "  }}")?;
    }
    for at in 0..schedule.graph.len() {
        for link in schedule.graph.causes(at) {
            let within = steps[link.step].task == steps[at].task;
            let style = if within { "" } else { " [style=dashed, constraint=true]" };
            writeln!(out, "  s{} -> s{}{style};", link.step + 1, at + 1)?;
        }
    }
    writeln!(out, "}}")
}

/// Escapes text for a quoted string.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
