//! The schedule of a trace as text: columns or a list, whichever fits, and the legend.

use crate::report::rows::Layout;
use crate::report::style::{Role, Style};
use crate::report::{columns, list};
use traces::Trace;

/// The schedule, in columns if they fit and as a list otherwise, and the legend.
#[must_use]
pub fn schedule(trace: &Trace, style: &Style, layout: &Layout) -> String {
    if trace.execution.steps.is_empty() && trace.failure.is_some() && trace.header.found_at > 0 {
        return "no schedule was recorded: the program did not fail in this way when its execution \
                was repeated for the recording; the failure depends on more than the schedule\n"
            .to_owned();
    }
    if trace.execution.steps.is_empty() {
        return "no steps: the program ended before its first scheduling point\n".to_owned();
    }
    let columns = columns::render(trace, style, layout);
    let lanes = columns.is_some();
    let mut text = columns.unwrap_or_else(|| list::render(trace, style, layout));
    text.push_str(&style.paint(Role::Dim, &legend(style, lanes)));
    text.push('\n');
    text
}

fn legend(style: &Style, lanes: bool) -> String {
    let glyphs = style.glyphs();
    let mut parts =
        vec![format!("{} switch", glyphs.switch), format!("{} preemption", glyphs.preemption)];
    if lanes {
        parts.push(format!("{} enabled", glyphs.lane));
        parts.push(format!("{} blocked", glyphs.waiting));
    }
    parts.join("   ")
}
