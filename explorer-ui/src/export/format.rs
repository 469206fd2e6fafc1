//! The export formats of a trace.

use super::schedule::Schedule;
use super::{chrome, dot, json, shiviz, svg};
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
#[must_use]
pub fn render(trace: &Trace, format: Format) -> String {
    let schedule = Schedule::of(trace);
    match format {
        Format::Json => json::render(&schedule),
        Format::Chrome => chrome::render(&schedule),
        Format::Dot => dot::render(&schedule),
        Format::Shiviz => shiviz::render(&schedule),
        Format::Svg => svg::render(&schedule),
    }
}
