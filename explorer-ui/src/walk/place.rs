//! The source line of a position.

use super::loaded_trace::LoadedTrace;
use traces::{Frame, Site, Trace};

/// The file and line of the failure. The trace has the file's name without its directory; the
/// stacks of the failure and the known sites have whole paths.
pub(crate) fn failure_location(trace: &Trace) -> Option<(String, u32)> {
    let failure = trace.failure.as_ref()?;
    let (name, line) = failure.place.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let stacks = failure.stacks.iter().flat_map(|stack| &stack.frames);
    let places = trace.execution.places.iter().flat_map(|(_, frames)| frames);
    let named = |frame: &&Frame| frame.file.rsplit('/').next() == Some(name);
    let frames: Vec<&Frame> = stacks.chain(places).filter(named).collect();
    let frame = frames.iter().find(|frame| frame.line == line).or(frames.first())?;
    Some((frame.file.clone(), line))
}

/// The file and line of a position. At the end of a failing execution that is the location of the
/// failure, not the last step: the target may have run on to exit. Files for which `unreadable` holds
/// are avoided.
#[must_use]
pub fn source_line(
    loaded: &LoadedTrace,
    at: usize,
    unreadable: &dyn Fn(&str) -> bool,
) -> Option<(String, u32)> {
    let steps = &loaded.trace.execution.steps;
    let last = steps.len().checked_sub(1)?;
    // The source of a library is often not installed; then the frame it is inlined into counts.
    let known = |site: Site| {
        let mut frames = loaded.frames(site).iter().filter(|frame| !frame.file.is_empty());
        let frame = frames.clone().find(|frame| !unreadable(&frame.file)).or(frames.next())?;
        Some((frame.file.clone(), frame.line))
    };
    if at <= last {
        return known(steps[at].site);
    }
    failure_location(&loaded.trace).or_else(|| known(steps[last].site))
}
