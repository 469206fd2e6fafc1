//! The export formats of a trace.

use super::schedule::Schedule;
use super::{chrome, dot, json, shiviz, svg};
use std::io::{self, Write};
use traces::Trace;

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One object with every step, its causes and the enabled tasks (docs/json.md)
    Json,
    /// The Chrome trace format, for Perfetto and chrome://tracing
    Chrome,
    /// Graphviz: the happens-before graph
    Dot,
    /// A log for ShiViz, with vector clocks
    Shiviz,
    /// A picture: a column for each task, with arrows for happens-before
    Svg,
}

/// Writes the trace in this format.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(trace: &Trace, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let schedule = Schedule::of(trace);
    match format {
        Format::Json => json::write(&schedule, out),
        Format::Chrome => chrome::write(&schedule, out),
        Format::Dot => dot::write(&schedule, out),
        Format::Shiviz => shiviz::write(&schedule, out),
        Format::Svg => svg::write(&schedule, out),
    }
}

/// The trace in this format.
#[cfg(test)]
pub(super) fn render(trace: &Trace, format: Format) -> String {
    let mut bytes = Vec::new();
    write(trace, format, &mut bytes).expect("memory can be written");
    String::from_utf8(bytes).expect("text")
}
