//! Graphviz: the happens-before graph, a cluster for each task.

use super::schedule::{Schedule, is_preemption};
use std::fmt::Write;

pub(super) fn render(schedule: &Schedule<'_>) -> String {
    let steps = &schedule.trace.execution.steps;
    let mut text = String::from(
        "digraph schedule {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n",
    );
    for task in 0..schedule.tasks() {
        let _ = writeln!(text, "  subgraph cluster_{task} {{");
        let _ = writeln!(text, "    label=\"{}\";", escape(&schedule.title(task)));
        for row in &schedule.rows {
            let at = row.step.unwrap_or_default();
            if steps[at].task.index() != task {
                continue;
            }
            let cell = row.cells.first();
            let place = cell.map_or("", |cell| &cell.site);
            let label = format!("{} {}\\n{}", at + 1, escape(&Schedule::label(row)), escape(place));
            let colour = match cell {
                Some(cell) if cell.failed => ", color=red, penwidth=2",
                _ if is_preemption(row) => ", color=orange, penwidth=2",
                _ => "",
            };
            let _ = writeln!(text, "    s{} [label=\"{label}\"{colour}];", at + 1);
        }
        text.push_str("  }\n");
    }
    for at in 0..schedule.graph.len() {
        for link in schedule.graph.causes(at) {
            let within = steps[link.step].task == steps[at].task;
            let style = if within { "" } else { " [style=dashed, constraint=true]" };
            let _ = writeln!(text, "  s{} -> s{}{style};", link.step + 1, at + 1);
        }
    }
    text.push_str("}\n");
    text
}

/// Escapes text for a quoted string.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
