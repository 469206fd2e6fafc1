//! Sites that may belong to a cause: the lines of the operations on what tasks share. Pure.

use super::proposal::{Proposal, SiteOfThread};
use std::collections::{HashMap, HashSet};
use traces::{Execution, Failure, ObjectKind, Operation, Site, TaskId};

/// The most lines of threads: those executed last.
const MOST: usize = 14;
/// The most sites, with the writes of lines, the lines behind locks, and those of any thread.
const MOST_SITES: usize = 32;
/// A longer line is named by its number.
const LONGEST_TEXT: usize = 60;

/// A task at a step of the failing execution.
struct Reached {
    task: TaskId,
    path: String,
    line: u32,
    step: usize,
    locks: bool,
    write: bool,
}

/// What the program's code says about a line.
pub(super) trait Code {
    /// The next line with code in the same function.
    fn line_after(&self, path: &str, line: u32) -> Option<u32>;
    /// Whether it executes something before its first write to memory.
    fn writes_behind(&self, path: &str, line: u32) -> bool;
}

/// The sites of a failing execution, the last ones first. `lines` reads a source file.
pub(super) fn sites(
    execution: &Execution,
    failure: &Failure,
    lines: &dyn Fn(&str) -> Option<Vec<String>>,
    code: &dyn Code,
) -> Vec<SiteOfThread> {
    let failing = failure.site.and_then(|site| line_of(execution, site));
    let mut sources: HashMap<String, Option<Vec<String>>> = HashMap::new();
    let mut found: Vec<SiteOfThread> = Vec::new();
    for Reached { task, path, line, step, locks, write } in reached(execution, failure, code) {
        let others = execution.steps.get(step + 1..).unwrap_or_default();
        let is_last = failure.waits.is_empty() && others.iter().all(|other| other.task == task);
        let is_failing = failing.as_ref() == Some(&(path.clone(), line));
        let source = sources.entry(path.clone()).or_insert_with(|| lines(&path));
        let candidate = SiteOfThread {
            thread: thread(execution, task),
            text: source.as_ref().and_then(|source| only_text(source, line)),
            path,
            line,
            locks,
            write,
            step,
            lateness: if is_failing { 2 } else { u8::from(is_last) },
        };
        if !found.iter().any(|known| known.is(&candidate)) {
            found.push(candidate);
        }
    }
    // At a line that threads with several functions execute, any of them may have any part.
    let mut all = found.clone();
    for site in &found {
        let any = SiteOfThread { thread: "*".to_owned(), ..site.clone() };
        let is_there = |other: &&SiteOfThread| {
            (&other.path, other.line, other.write) == (&site.path, site.line, site.write)
        };
        let threads: HashSet<&str> =
            found.iter().filter(is_there).map(|other| other.thread.as_str()).collect();
        if threads.len() > 1 && !all.iter().any(|known| known.is(&any)) {
            all.push(any);
        }
    }
    all.truncate(MOST_SITES);
    all
}

/// The lines at which tasks execute the steps on what they share, the last ones first: the line itself, its
/// write if the line executes something before that, and the line behind one that acquires a lock, since no
/// access that the lock protects is a step.
fn reached(execution: &Execution, failure: &Failure, code: &dyn Code) -> Vec<Reached> {
    let shared = shared(execution);
    let is_shared = |object: Option<u32>| object.is_some_and(|object| shared.contains(&object));
    let mut steps: Vec<(TaskId, Site, usize, Operation)> = Vec::new();
    for (at, step) in execution.steps.iter().enumerate() {
        if is_shared(step.object) && step.operation != Operation::Start {
            steps.push((step.task, step.site, at, step.operation));
        }
    }
    let end = execution.steps.len();
    for (task, record) in execution.tasks.iter().enumerate() {
        let Some(pending) = record.pending else { continue };
        let is_stuck = failure.waits.iter().any(|wait| wait.task.index() == task);
        if is_shared(pending.object) || is_stuck {
            steps.push((TaskId(task as u16), pending.site, end, pending.operation));
        }
    }
    if let (Some(task), Some(site)) = (failure.task, failure.site) {
        steps.push((task, site, end, Operation::Read));
    }
    let mut places: Vec<Vec<Reached>> = Vec::new();
    for (task, site, step, operation) in steps {
        let Some((path, line)) = line_of(execution, site) else { continue };
        let at = |line, (locks, write)| {
            let path = path.clone();
            Reached { task, path, line, step, locks, write }
        };
        let relocks = matches!(operation, Operation::Wake | Operation::TimedWake);
        let locks = operation.acquires_lock() || relocks;
        let mut here = vec![at(line, (locks, false))];
        if operation.is_write() && code.writes_behind(&path, line) {
            here.push(at(line, (false, true)));
        }
        if locks && let Some(line) = code.line_after(&path, line) {
            here.push(at(line, (false, false)));
        }
        places.push(here);
    }
    let mut reached: Vec<Reached> = Vec::new();
    let mut known: HashSet<(TaskId, String, u32)> = HashSet::new();
    for here in places.into_iter().rev() {
        let Some(first) = here.first() else { continue };
        known.insert((first.task, first.path.clone(), first.line));
        if known.len() > MOST {
            break;
        }
        reached.extend(here);
    }
    reached
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
