//! Describes events and code locations, with source text if it is available.

use crate::report::async_tasks::title_at;
use crate::report::calls::requested;
use crate::report::names::object_name;
use crate::report::names::task_title;
use crate::report::style::{Role, Style};
use crate::report::text::{clean, clip};
use replay_core::bisect::{Cause, Event, Shape};
use replay_core::source::Source;
use std::collections::HashMap;
use std::sync::Arc;
use traces::{Frame, Operation, Site, TaskId, Trace};

/// The maximum width of a quoted statement, in cells.
const MAX_STATEMENT: usize = 72;

/// Describes events of a trace.
pub(super) struct Describer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) sources: &'a HashMap<String, Arc<Source>>,
}

/// A critical section of an execution.
pub(super) struct Section {
    /// The steps that acquired and released the lock.
    pub(super) steps: (usize, usize),
    /// The source text between the two, joined to one line; may be empty.
    body: String,
    /// `queue.c:41-44`.
    place: String,
}

impl Describer<'_> {
    fn frame(&self, site: Site) -> Option<&Frame> {
        let places = &self.trace.execution.places;
        places.iter().find(|(at, _)| *at == site)?.1.first()
    }

    /// The statement of a frame; empty without source.
    pub(super) fn statement(&self, frame: &Frame) -> String {
        let statement = self.sources.get(&frame.file).and_then(|source| {
            source
                .statement(frame.line, frame.column)
                .or_else(|| source.line(frame.line).map(|line| line.trim().to_owned()))
        });
        clip(&clean(&statement.unwrap_or_default()), MAX_STATEMENT, "…")
    }

    /// `queue.c:41  q->len -= 1;`, or the location alone without source.
    pub(super) fn statement_at(&self, site: Site) -> String {
        let place = clean(&self.trace.execution.place(site));
        let statement = self.frame(site).map(|frame| self.statement(frame)).unwrap_or_default();
        if statement.is_empty() { place } else { format!("{place}  {statement}") }
    }

    /// The statement at `queue.c:41`; empty unless exactly one source file has that name.
    pub(super) fn statement_of_place(&self, place: &str) -> String {
        let Some((name, line)) = place.rsplit_once(':') else { return String::new() };
        let named = |file: &&String| file.rsplit('/').next() == Some(name);
        let mut files = self.sources.keys().filter(named);
        let (Some(file), None, Ok(line)) = (files.next(), files.next(), line.parse()) else {
            return String::new();
        };
        self.statement(&Frame { file: file.clone(), line, ..Frame::default() })
    }

    /// The site of a task's next operation from a step on, or of the operation that it never executed.
    pub(super) fn next_site(&self, task: TaskId, from: usize) -> Option<Site> {
        let execution = &self.trace.execution;
        let next = execution.steps[from..].iter().find(|step| step.task == task);
        next.map(|step| step.site)
            .or_else(|| Some(execution.tasks.get(task.index())?.pending?.site))
    }

    /// The location of a task's start function: `queue.c:30-52`.
    pub(super) fn function_of(&self, task: TaskId) -> Option<String> {
        let execution = &self.trace.execution;
        let start = execution
            .steps
            .iter()
            .find(|step| step.task == task && step.operation == Operation::Start)?;
        // The start of a thread that a library creates has the site of its creation.
        if execution
            .steps
            .iter()
            .any(|step| step.operation == Operation::Create && step.site == start.site)
        {
            return None;
        }
        let frame = self.frame(start.site)?;
        let source = self.sources.get(&frame.file)?;
        let function = source.function(frame.line, frame.column)?;
        let file = clean(frame.file.rsplit('/').next().unwrap_or_default());
        Some(format!("{file}:{}-{}", function.lines.start(), function.lines.end()))
    }

    /// The critical section whose lock or unlock the event is.
    pub(super) fn section(&self, event: Event) -> Option<Section> {
        let steps = &self.trace.execution.steps;
        let at = event.step?;
        let same = |other: &usize| {
            steps[*other].task == event.task && steps[*other].object == event.object
        };
        let (from, to) = match event.operation {
            Operation::Lock | Operation::TimedLock | Operation::TryLock => {
                (at, (at + 1..steps.len()).find(same)?)
            }
            Operation::Unlock => ((0..at).rev().find(same)?, at),
            _ => return None,
        };
        if steps[to].operation != Operation::Unlock {
            return None;
        }
        let place = clean(&self.trace.execution.place(steps[from].site));
        let (first, last) = (self.frame(steps[from].site), self.frame(steps[to].site));
        let (Some(first), Some(last)) = (first, last) else {
            return Some(Section { steps: (from, to), body: String::new(), place });
        };
        if first.file != last.file || last.line <= first.line {
            return Some(Section { steps: (from, to), body: String::new(), place });
        }
        let body = self.sources.get(&first.file).map(|source| {
            let lines = (first.line + 1..last.line).filter_map(|line| source.line(line));
            let lines = lines.map(str::trim).filter(|line| {
                !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
            });
            lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
        });
        let body = clip(&clean(&body.unwrap_or_default()), MAX_STATEMENT, "…");
        Some(Section { steps: (from, to), body, place: format!("{place}-{}", last.line) })
    }

    /// The description of an event, and its statement.
    fn event(&self, event: Event) -> (String, String) {
        // The object of a task's start and exit is the task itself; it is not repeated.
        let own = event.task.to_string();
        let what =
            object_name(self.trace, event.object).filter(|name| *name != own).unwrap_or_default();
        let section = self.section(event);
        // The location distinguishes two critical sections of one task.
        if let Some(section) = section {
            let (from, to) = section.steps;
            let text = format!(
                "critical section of {what} at {} (steps {} to {})",
                section.place,
                from + 1,
                to + 1
            );
            return (text, section.body);
        }
        let place = clean(&self.trace.execution.place(event.site));
        let operation = requested(&self.trace.execution, event.site, event.operation);
        let gap = if what.is_empty() { "" } else { " " };
        let mut text = format!("{}{gap}{what} at {place}", operation.name());
        if let Some(step) = event.step {
            text.push_str(&format!(" (step {})", step + 1));
        } else {
            let record = self.trace.execution.tasks.get(event.task.index());
            let pending = record.and_then(|record| record.pending);
            let is_pending = pending.is_some_and(|pending| {
                pending.site == event.site && pending.operation == event.operation
            });
            text.push_str(match pending {
                Some(pending) if is_pending && pending.blocked => {
                    if self.is_deadlocked(event.task) {
                        ", blocked forever"
                    } else {
                        ", blocked when the execution ended"
                    }
                }
                _ if is_pending => ", not yet executed when the execution ended",
                _ => ", never reached",
            });
        }
        let source = self.frame(event.site).map(|frame| self.statement(frame));
        (text, source.unwrap_or_default())
    }

    /// Whether the failure is that this task, possibly with others, can never continue.
    fn is_deadlocked(&self, task: TaskId) -> bool {
        let failure = self.trace.failure.as_ref();
        failure.is_some_and(|failure| failure.waits.iter().any(|wait| wait.task == task))
    }

    /// A range of events of one task: its first and last event, a line for each.
    fn range(&self, (from, to): (Event, Event), style: &Style) -> Vec<String> {
        let title = self.actor(from);
        let mut lines = vec![self.line(&title, from, style)];
        let within = match (self.section(from), self.section(to)) {
            (Some(from), Some(to)) => from.steps == to.steps,
            _ => from == to,
        };
        if !within {
            lines.push("  to".into());
            lines.push(self.line(&title, to, style));
        }
        lines
    }

    /// The thread of an event, and the asynchronous task that it executes there.
    fn actor(&self, event: Event) -> String {
        match event.step {
            Some(step) => title_at(self.trace, step, event.task),
            None => task_title(self.trace, event.task),
        }
    }

    fn line(&self, title: &str, event: Event, style: &Style) -> String {
        let (text, source) = self.event(event);
        let title = style.paint(Role::TaskTitle(event.task), title);
        let line = format!("    {title}: {text}");
        if source.is_empty() {
            return line;
        }
        format!("{line}   {}", style.paint(Role::Dim, &source))
    }

    /// The event orders of a cause, as lines.
    pub(super) fn cause(&self, cause: &Cause, style: &Style) -> Vec<String> {
        let mut lines = Vec::new();
        let one = |event: Event| self.line(&self.actor(event), event, style);
        match cause.shape {
            // The shape describes at most two orders; a third one needs the list below.
            Shape::Between { inner, outer } if cause.orders.len() <= 2 => {
                lines.extend(self.range(inner, style));
                lines.push("  runs between".into());
                lines.push(one(outer.0));
                lines.push("  and".into());
                lines.push(one(outer.1));
            }
            Shape::Overlap { one, other } if cause.orders.len() <= 2 => {
                lines.extend(self.range(one, style));
                lines.push("  and".into());
                lines.extend(self.range(other, style));
                lines.push("  overlap: neither ends before the other begins.".into());
            }
            _ => {
                for (at, order) in cause.orders.iter().enumerate() {
                    if at > 0 {
                        lines.push("  and".into());
                    }
                    lines.push(one(order.before));
                    lines.push("  runs before".into());
                    lines.push(one(order.after));
                }
            }
        }
        lines
    }
}
