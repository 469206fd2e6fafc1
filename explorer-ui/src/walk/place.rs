//! The source line of a position.

use super::loaded_trace::LoadedTrace;
use replay_core::task_status::TaskStatus;
use replay_core::verdict::Verdict;
use traces::{Frame, Site, TaskId, Trace};

/// A task's position in its source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The task.
    pub task: TaskId,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
}

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
    let known = |site: Site| site_line(loaded, site, unreadable);
    if at <= last {
        return known(steps[at].site);
    }
    failure_location(&loaded.trace).or_else(|| known(steps[last].site))
}

/// The source of a library is often not installed; then the frame it is inlined into counts.
fn site_line(
    loaded: &LoadedTrace,
    site: Site,
    unreadable: &dyn Fn(&str) -> bool,
) -> Option<(String, u32)> {
    let mut frames = loaded.frames(site).iter().filter(|frame| !frame.file.is_empty());
    let frame = frames.clone().find(|frame| !unreadable(&frame.file)).or(frames.next())?;
    Some((frame.file.clone(), frame.line))
}

/// The positions of the other tasks that take part: those that the verdict names, in the order of its
/// operations, and the task that ran last before `at`. Each is at its next operation. Tasks that
/// have ended come last, each at its last operation that the verdict names.
#[must_use]
pub fn other_positions(
    loaded: &LoadedTrace,
    at: usize,
    states: &[TaskStatus],
    verdict: Option<&Verdict>,
    unreadable: &dyn Fn(&str) -> bool,
) -> Vec<SourcePosition> {
    let trace = &loaded.trace;
    let steps = &trace.execution.steps;
    let shown = shown_task(trace, at);
    let mut named: Vec<(TaskId, Site)> = Vec::new();
    if let Some(verdict) = verdict {
        let at_steps = verdict.steps().into_iter().filter_map(|step| steps.get(step));
        named.extend(at_steps.map(|step| (step.task, step.site)));
        named.extend(verdict.moments().iter().map(|moment| (moment.task, moment.site)));
    }
    let waits = trace.failure.iter().flat_map(|failure| &failure.waits);
    named.extend(waits.filter_map(|wait| Some((wait.task, wait.site?))));
    let before = steps[..at.min(steps.len())].iter().rev().find(|step| Some(step.task) != shown);
    named.extend(before.map(|step| (step.task, step.site)));
    let mut found: Vec<SourcePosition> = Vec::new();
    for &(task, _) in &named {
        if Some(task) == shown || found.iter().any(|position| position.task == task) {
            continue;
        }
        let next = states.iter().find(|state| state.task == task).and_then(|state| state.site);
        let last = || named.iter().rev().find(|it| it.0 == task).map(|it| it.1);
        let line = next.or_else(last).and_then(|site| site_line(loaded, site, unreadable));
        found.extend(line.map(|(file, line)| SourcePosition { task, file, line }));
    }
    let has_ended = |task: TaskId| !states.iter().any(|state| state.task == task);
    found.sort_by_key(|position| has_ended(position.task));
    found
}

/// The task whose source [`source_line`] shows.
#[must_use]
pub fn shown_task(trace: &Trace, at: usize) -> Option<TaskId> {
    let steps = &trace.execution.steps;
    let failing = || trace.failure.as_ref().and_then(|failure| failure.task);
    let last = || steps.last().map(|step| step.task);
    steps.get(at).map(|step| step.task).or_else(failing).or_else(last)
}
