//! The failure of an execution: the wait-for relation and the backtrace of every task.

use crate::report::names::task_title;
use crate::report::style::{Role, Style};
use crate::report::summary;
use crate::report::text::{clean, clip, clip_front, fill, width};
use replay_core::{library_calls, locks};
use std::collections::{HashMap, HashSet};
use traces::order;
use traces::{
    Failure, FailureKind, Frame, HistoryEvent, ObjectKind, TaskId, TaskStack, TaskState, Trace,
    WaitEdge,
};

/// Longer backtraces are cut in the middle.
const MAX_FRAMES: usize = 24;
/// The number of innermost frames that a cut backtrace keeps.
const INNERMOST: usize = 16;

/// The failure of a trace; empty if it has none.
#[must_use]
pub fn render(trace: &Trace, style: &Style, cells: usize) -> String {
    let Some(failure) = &trace.failure else { return String::new() };
    let mut text = summary::outcome(trace, style) + "\n";
    for wait in &failure.waits {
        text.push_str(&format!("  {}\n", waits(trace, wait, style)));
    }
    if let Some(cycle) = cycle(&failure.waits) {
        let arrow = format!(" {} ", style.glyphs().arrow);
        let tasks: Vec<String> = cycle.iter().map(ToString::to_string).collect();
        let line = format!("  wait-for cycle: {}", tasks.join(&arrow));
        text.push_str(&style.paint(Role::Bad, &line));
        text.push('\n');
    }
    let stacks = || {
        let all = failure.stacks.iter();
        all.map(|one| format!("\n{}", stack(trace, failure, one, style, cells))).collect::<String>()
    };
    // After a panic the stacks are those of the end of the process.
    let is_panic = failure.kind == FailureKind::Panic;
    text.push_str(&if is_panic { String::new() } else { stacks() });
    for past in &failure.past {
        let title = style.paint(Role::TaskTitle(past.task), &task_title(trace, past.task));
        let when = match past.step {
            0 => "before the first step".to_owned(),
            step => format!("after step {step}"),
        };
        let holding = holding(trace, past);
        text.push_str(&format!("\n{title} {}{holding} {when}\n", clean(&past.words())));
        text.push_str(&frames(&past.frames, style, cells));
    }
    text.push_str(&if is_panic { stacks() } else { String::new() });
    text
}

/// The locks that a task held at an access of a race; empty for other failures.
#[must_use]
pub fn holding(trace: &Trace, past: &HistoryEvent) -> String {
    if trace.failure.as_ref().is_none_or(|failure| failure.kind != FailureKind::Race) {
        return String::new();
    }
    let objects = &trace.execution.objects;
    let names = past.locks.iter().filter_map(|&lock| objects.get(lock as usize));
    let names: Vec<String> = names.map(|object| clean(&object.name)).collect();
    match names.is_empty() {
        true => ", holding no lock,".to_owned(),
        false => format!(", holding {},", names.join(" and ")),
    }
}

fn waits(trace: &Trace, wait: &WaitEdge, style: &Style) -> String {
    let stacks = trace.failure.as_ref().map_or(&[][..], |failure| &failure.stacks);
    let mut line = style.paint(Role::TaskTitle(wait.task), &task_title(trace, wait.task));
    let object =
        wait.object.and_then(|index| trace.execution.objects.get(usize::try_from(index).ok()?));
    let holder = |task: TaskId| style.paint(Role::TaskTitle(task), &task_title(trace, task));
    line.push_str(" waits");
    match (object, wait.holder) {
        (Some(object), Some(task)) if object.kind == ObjectKind::Task => {
            line.push_str(&format!(" for {} to exit", holder(task)));
        }
        (_, None) if let Some(what) = library_calls::awaited(&trace.execution, stacks, wait) => {
            line.push_str(&format!(" for {what}"));
        }
        (Some(object), _) => {
            let is_inferred = || {
                let index = wait.object.unwrap_or_default();
                locks::inferred_locks(&trace.execution).contains(&index)
            };
            // A word of memory that a task holds is a lock.
            let kind = match (object.kind, wait.holder) {
                (ObjectKind::Memory, Some(_)) if is_inferred() => locks::INFERRED,
                (ObjectKind::Memory, Some(_)) => "lock",
                (kind, _) => kind.name(),
            };
            line.push_str(&format!(" for {kind} {}", clean(&object.name)));
        }
        (None, _) => {}
    }
    match (object, wait.holder) {
        (Some(object), _) if object.kind == ObjectKind::Task => {}
        (_, Some(task)) if task == wait.task => line.push_str(", which it holds itself"),
        (_, Some(task)) if locks::waits_to_write(&trace.execution, task, wait.object) => {
            line.push_str(&format!(", which {} waits to write", holder(task)));
        }
        (_, Some(task)) => line.push_str(&format!(", held by {}", holder(task))),
        (_, None) => {}
    }
    if let Some(since) = held_since(trace, wait) {
        line.push_str(&since);
    }
    if let Some(site) = wait.site {
        let after = order::waits_since(&trace.execution, wait.task);
        let after = after.map(|step| format!(", after step {}", step + 1)).unwrap_or_default();
        let place = format!("  at {}{after}", clean(&trace.execution.place(site)));
        line.push_str(&style.paint(Role::Dim, &place));
    }
    line
}

/// The step at which the holder acquired the object that a task waits for.
fn held_since(trace: &Trace, wait: &WaitEdge) -> Option<String> {
    let execution = &trace.execution;
    let step = locks::held_since(execution, wait.holder?, wait.object?)?;
    let place = clean(&execution.place(execution.steps.get(step)?.site));
    Some(format!(" since step {} ({place})", step + 1))
}

/// The tasks of a wait-for cycle; the first one is repeated at the end.
#[must_use]
pub fn cycle(waits: &[WaitEdge]) -> Option<Vec<TaskId>> {
    let mut next: HashMap<TaskId, Option<TaskId>> = HashMap::new();
    for wait in waits {
        next.entry(wait.task).or_insert(wait.holder);
    }
    // A task that was visited from an earlier start leads to no cycle, or to one found before.
    let mut visited: HashSet<TaskId> = HashSet::new();
    for start in waits {
        let mut path = Vec::new();
        let mut at = Some(start.task);
        while let Some(task) = at.filter(|&task| visited.insert(task)) {
            path.push(task);
            at = next.get(&task).copied().flatten();
        }
        if let Some(first) = at.and_then(|task| path.iter().position(|&other| other == task)) {
            let mut cycle = path.split_off(first);
            cycle.extend(cycle.first().copied());
            return Some(cycle);
        }
    }
    None
}

fn stack(
    trace: &Trace,
    failure: &Failure,
    stack: &TaskStack,
    style: &Style,
    cells: usize,
) -> String {
    let state = match &stack.state {
        TaskState::Running if failure.task == Some(stack.task) => "failed here".to_owned(),
        TaskState::Running => "was running".to_owned(),
        TaskState::Runnable => "was enabled".to_owned(),
        TaskState::Blocked(what) => format!("blocked: {}", clean(what)),
        TaskState::Exited => "had exited".to_owned(),
    };
    let title = style.paint(Role::TaskTitle(stack.task), &task_title(trace, stack.task));
    format!("{title} {state}\n") + &frames(&stack.frames, style, cells)
}

fn frames(frames: &[Frame], style: &Style, cells: usize) -> String {
    let mut text = String::new();
    let omitted = frames.len().saturating_sub(MAX_FRAMES);
    for (index, frame) in frames.iter().enumerate() {
        let hidden = (INNERMOST..INNERMOST + omitted).contains(&index);
        if hidden {
            if index == INNERMOST {
                let line = format!("    {} {omitted} more", style.glyphs().fold);
                text.push_str(&style.paint(Role::Dim, &line));
                text.push('\n');
            }
            continue;
        }
        text.push_str(&self::frame(index, frame, style, cells));
    }
    text
}

fn frame(index: usize, frame: &Frame, style: &Style, cells: usize) -> String {
    let cut = style.glyphs().cut;
    let function = match frame.function.as_str() {
        "" => "(no symbol)".to_owned(),
        name if frame.inlined => format!("{} (inlined)", clean(name)),
        name => clean(name),
    };
    let place = if frame.file.is_empty() {
        let file = frame.module.rsplit('/').next().unwrap_or_default();
        match frame.site {
            Some(site) => format!("{}+0x{:x}", clean(file), site.offset),
            None => clean(file),
        }
    } else {
        format!("{}:{}", clean(&frame.file), frame.line)
    };
    let number = format!("  {index:>2} ");
    let room = cells.max(24) - number.len() - 2;
    // The start of a function's name and the end of a path are the most informative.
    let function = clip(&function, room * 3 / 5, cut);
    let place = clip_front(&place, room.saturating_sub(width(&function)), cut);
    let gap = fill(width(&function), 28.min(room.saturating_sub(width(&place)))) + "  ";
    let line = style.paint(Role::Dim, &number) + &function + &gap + &style.paint(Role::Dim, &place);
    line.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(task: u16, holder: Option<u16>) -> WaitEdge {
        WaitEdge { task: TaskId(task), object: None, holder: holder.map(TaskId), site: None }
    }

    #[test]
    fn a_cycle_is_found_from_any_start() {
        let ids = |list: &[u16]| list.iter().map(|&t| TaskId(t)).collect::<Vec<_>>();
        let waits = [edge(0, Some(1)), edge(1, Some(2)), edge(2, Some(1))];
        assert_eq!(cycle(&waits), Some(ids(&[1, 2, 1])));
        assert_eq!(cycle(&[edge(3, Some(3))]), Some(ids(&[3, 3])));
        assert_eq!(cycle(&[edge(0, Some(1)), edge(1, None)]), None);
        assert_eq!(cycle(&[]), None);
    }
}
