//! Sites that may belong to a cause: the lines of the operations on what tasks share. Pure.

use super::proposal::{Proposal, SiteOfThread};
use std::collections::{HashMap, HashSet};
use traces::{Execution, Failure, ObjectKind, Operation, Site, TaskId};

/// The most sites: those executed last.
const MOST: usize = 14;
/// A longer line is named by its number.
const LONGEST_TEXT: usize = 60;

/// The sites of a failing execution, the last ones first. `lines` reads a source file.
pub(super) fn sites(
    execution: &Execution,
    failure: &Failure,
    lines: &dyn Fn(&str) -> Option<Vec<String>>,
) -> Vec<SiteOfThread> {
    let shared = shared(execution);
    let is_shared = |object: Option<u32>| object.is_some_and(|object| shared.contains(&object));
    let mut reached: Vec<(TaskId, Site, usize)> = Vec::new();
    for (at, step) in execution.steps.iter().enumerate() {
        if is_shared(step.object) && step.operation != Operation::Start {
            reached.push((step.task, step.site, at));
        }
    }
    let pending = execution.tasks.iter().enumerate().filter_map(|(task, record)| {
        let pending = record.pending?;
        let is_stuck = failure.waits.iter().any(|wait| wait.task.index() == task);
        (is_shared(pending.object) || is_stuck).then_some((
            TaskId(task as u16),
            pending.site,
            execution.steps.len(),
        ))
    });
    reached.extend(pending);
    reached.sort_by_key(|&(.., at)| std::cmp::Reverse(at));
    let failing = failure.site.and_then(|site| line_of(execution, site));
    let mut sources: HashMap<String, Option<Vec<String>>> = HashMap::new();
    let mut found: Vec<SiteOfThread> = Vec::new();
    for (task, site, step) in reached {
        let Some((path, line)) = line_of(execution, site) else { continue };
        let others = execution.steps.get(step + 1..).unwrap_or_default();
        let is_last = failure.waits.is_empty() && others.iter().all(|other| other.task == task);
        let is_failing = failing.as_ref() == Some(&(path.clone(), line));
        let source = sources.entry(path.clone()).or_insert_with(|| lines(&path));
        let candidate = SiteOfThread {
            thread: thread(execution, task),
            text: source.as_ref().and_then(|source| only_text(source, line)),
            path,
            line,
            step,
            lateness: if is_failing { 2 } else { u8::from(is_last) },
        };
        if !found.iter().any(|known| known.is(&candidate)) {
            found.push(candidate);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// The objects that several tasks use and at least one changes.
pub(super) fn shared(execution: &Execution) -> HashSet<u32> {
    let mut users: HashMap<u32, (HashSet<TaskId>, bool)> = HashMap::new();
    let steps = execution.steps.iter().map(|step| (step.task, step.operation, step.object));
    let pending = execution.tasks.iter().enumerate().filter_map(|(task, record)| {
        let pending = record.pending?;
        Some((TaskId(task as u16), pending.operation, pending.object))
    });
    for (task, operation, object) in steps.chain(pending) {
        let Some(object) = object else { continue };
        let entry = users.entry(object).or_default();
        entry.0.insert(task);
        entry.1 |= operation.is_write();
    }
    let is_task = |object: u32| {
        execution.objects.get(object as usize).is_none_or(|one| one.kind == ObjectKind::Task)
    };
    let used = users.into_iter().filter(|(_, (tasks, writes))| tasks.len() > 1 && *writes);
    used.map(|(object, _)| object).filter(|&object| !is_task(object)).collect()
}

/// The innermost line of the program's own source at a site.
fn line_of(execution: &Execution, site: Site) -> Option<(String, u32)> {
    let (_, frames) = execution.places.iter().find(|(at, _)| *at == site)?;
    let own = |frame: &&traces::Frame| {
        !frame.file.is_empty() && frame.line > 0 && !crate::symbols::is_library(&frame.file)
    };
    frames.iter().find(own).map(|frame| (frame.file.clone(), frame.line))
}

/// A task's number, or `*` if others run the same function.
fn thread(execution: &Execution, task: TaskId) -> String {
    let function = execution.tasks.get(task.index()).map(|record| record.function.as_str());
    let like = execution.tasks.iter().filter(|record| Some(record.function.as_str()) == function);
    match function {
        Some(name) if !name.is_empty() && like.count() > 1 => "*".to_owned(),
        _ => format!("T{}", task.0),
    }
}

/// The text of a line, if it is no part of another line.
fn only_text(source: &[String], line: u32) -> Option<String> {
    let text = source.get(line.checked_sub(1)? as usize)?.trim();
    let text = text.split("/*").next()?.split("//").next()?.trim().trim_end_matches([';', '{']);
    let text = text.trim();
    let is_good = text.len() >= 3
        && text.len() <= LONGEST_TEXT
        && text.contains(char::is_alphanumeric)
        && !text.contains(['"', '\\', '\'']);
    (is_good && source.iter().filter(|other| other.contains(text)).count() == 1)
        .then(|| text.to_owned())
}

/// The predicates without a condition: each site alone, and each two of different tasks.
pub(super) fn without_conditions(sites: &[SiteOfThread]) -> Vec<Proposal> {
    let of = |roles: Vec<SiteOfThread>| Proposal { roles, condition: Vec::new() };
    let mut all: Vec<Proposal> = sites.iter().map(|site| of(vec![site.clone()])).collect();
    for one in sites {
        for other in sites {
            if one.thread == "*" || one.thread != other.thread {
                all.push(of(vec![one.clone(), other.clone()]));
            }
        }
    }
    all
}
