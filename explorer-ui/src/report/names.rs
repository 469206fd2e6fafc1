//! Names of tasks, objects and code locations, as reports print them.

use crate::report::text::{clean, clip, count, width};
use replay_core::locks::{HeldLocks, INFERRED};
use std::collections::HashMap;
use traces::{Execution, Frame, ObjectLocation, Site, TaskId, Trace};

/// `T1 producer`: the number, and the task's name or start function if known.
#[must_use]
pub fn task_title(trace: &Trace, task: TaskId) -> String {
    let name = trace.execution.tasks.get(task.index()).map(|record| {
        if record.name.is_empty() { short(&record.function) } else { record.name.as_str() }
    });
    match name {
        Some(name) if !name.is_empty() => format!("{task} {}", clean(name)),
        _ => task.to_string(),
    }
}

/// The name of a lock; of one that no library function names also that it was inferred.
pub(crate) fn lock_name(trace: &Trace, held: &HeldLocks, lock: u32) -> String {
    let name = object_name(trace, Some(lock)).unwrap_or_default();
    if held.is_inferred(lock) { format!("{INFERRED} {name}") } else { name }
}

/// The last part of a long path: the start function of a library's thread says little.
fn short(function: &str) -> &str {
    let last = function.rsplit("::").next().unwrap_or(function);
    let whole = function.len() <= 24 || last.is_empty() || last.contains('>');
    if whole { function } else { last }
}

/// [`task_title`] in at most this many cells: modules of a function's name are cut first.
pub(crate) fn short_title(trace: &Trace, task: TaskId, cells: usize, cut: &str) -> String {
    let title = task_title(trace, task);
    let own = title.split_once(' ').map_or("", |(_, name)| name);
    if width(&title) <= cells {
        return title;
    }
    let number = task.to_string();
    let room = cells.saturating_sub(width(&number) + 1);
    clip(&format!("{number} {}", short_name(own, room, cut)), cells, cut)
}

/// The name of an object in a sentence: of a heap block its number.
pub(crate) fn brief_name(name: &str) -> String {
    match (name.find("heap block #"), name.find(" ("), name.find(')')) {
        (Some(block), Some(from), Some(to)) if block < from && from < to => {
            let (before, number) = (&name[..block], &name[block..from]);
            // A block on its own has nothing else that names it.
            match before.is_empty() {
                true => name.to_owned(),
                false => format!("{before}{}{}", &number["heap block ".len()..], &name[to + 1..]),
            }
        }
        _ => name.to_owned(),
    }
}

/// A name of an object or a function in at most this many cells. What says least is cut first:
/// modules, and what follows the number of a heap block.
pub(crate) fn short_name(name: &str, cells: usize, cut: &str) -> String {
    if width(name) <= cells {
        return name.to_owned();
    }
    if let Some(own) = block_name(name).filter(|own| width(own) <= cells) {
        return own;
    }
    let mut rest = match name.strip_prefix("heap block ") {
        Some(number) => number.split(' ').next().unwrap_or(number),
        // What several blocks have in common, and the block.
        None => name.split_once(" in heap block ").map_or(name, |(own, _)| own),
    };
    while width(rest) > cells {
        // Modules only: no part of a type argument, which a bracket precedes.
        match rest.find("::").filter(|&at| !rest[..at].contains(['<', '[', '(', ' '])) {
            Some(at) => rest = &rest[at + 2..],
            None => break,
        }
    }
    clip(rest, cells, cut)
}

/// A heap block or a place in it, without the block's size and origin: `heap block #3+0x10`.
pub(crate) fn block_name(name: &str) -> Option<String> {
    let (own, rest) = name.split_once(" (").unwrap_or((name, ""));
    let offset = rest.split_once(')').map_or("", |(_, after)| after);
    let offset = if offset.starts_with('+') { offset } else { "" };
    own.starts_with("heap block ").then(|| format!("{own}{offset}"))
}

/// The enabled tasks as text: `T0 T2`.
pub(crate) fn enabled_text(enabled: &[TaskId]) -> String {
    enabled.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The name of an object.
pub(crate) fn object_name(trace: &Trace, index: Option<u32>) -> Option<String> {
    let object = trace.execution.objects.get(usize::try_from(index?).ok()?)?;
    Some(match object.place {
        ObjectLocation::Task(task) => task.to_string(),
        _ => bounded(&object.name),
    })
}

/// The longest beginning and end of a name or a message, in bytes: longer ones are generated, and no reader
/// needs a page of one.
const LONGEST: usize = 500;

/// A name or a message from a program, cleaned; the middle of a very long one is left out.
pub(crate) fn bounded(text: &str) -> String {
    if text.len() <= 2 * LONGEST {
        return clean(text);
    }
    let begin = boundary(text, LONGEST);
    let end = boundary(text, text.len() - LONGEST);
    let left_out = count((end - begin) as u64, "byte");
    format!("{}... ({left_out} left out) ...{}", clean(&text[..begin]), clean(&text[end..]))
}

/// The last position of a character's begin, or the end of the text, that is not behind `at`.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The name of a site; empty for a site without information.
pub(crate) fn site_name(execution: &Execution, site: Site) -> String {
    let known = execution.places.iter().any(|(at, _)| *at == site);
    if site.offset == 0 && !known { String::new() } else { clean(&execution.place(site)) }
}

/// The names of the sites of an execution, for those who need many: [`site_name`] scans a list.
pub(crate) struct SiteNames<'a> {
    execution: &'a Execution,
    known: HashMap<Site, Option<&'a Frame>>,
}

impl<'a> SiteNames<'a> {
    pub(crate) fn of(execution: &'a Execution) -> SiteNames<'a> {
        let mut known = HashMap::new();
        for (site, frames) in &execution.places {
            known.entry(*site).or_insert_with(|| frames.first());
        }
        SiteNames { execution, known }
    }

    /// The name of a site, as [`site_name`] returns it.
    pub(crate) fn name(&self, site: Site) -> String {
        match self.known.get(&site) {
            None if site.offset == 0 => String::new(),
            Some(Some(frame)) => clean(&frame.place()),
            _ => clean(&self.execution.unnamed_place(site)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{brief_name, short_name};

    #[test]
    fn sentences_name_blocks_by_their_numbers() {
        let long = "table in heap block #22 (56 bytes, q.rs:4)+0x10";
        assert_eq!(brief_name(long), "table in #22+0x10");
        for same in ["q->len", "heap block #3 (8 bytes, q.c:4)", "f(x) (y)"] {
            assert_eq!(brief_name(same), same);
        }
    }

    #[test]
    fn what_says_least_is_cut_first() {
        for (name, cells, wanted) in [
            ("app::bank::TOTAL", 20, "app::bank::TOTAL"),
            ("app::bank::TOTAL", 12, "bank::TOTAL"),
            ("app::bank::TOTAL", 5, "TOTAL"),
            ("app::bank::TOTAL", 4, "TOT~"),
            ("heap block #30 (40 bytes) at queue.c:9", 30, "heap block #30"),
            ("heap block #30 (40 bytes) at queue.c:9", 10, "#30"),
            ("heap block #3 (40 bytes, queue.c:9)+0x10", 30, "heap block #3+0x10"),
            ("table in heap block #22 (56 bytes, q.rs:4)+0x10", 30, "table"),
            ("Map<a::Key, b::Value>", 10, "Map<a::Ke~"),
            ("queue->length", 8, "queue->~"),
        ] {
            assert_eq!(short_name(name, cells, "~"), wanted, "{name}");
        }
    }

    #[test]
    fn the_middle_of_a_very_long_name_is_left_out() {
        let name = "x".repeat(500) + "middle" + &"y".repeat(500);
        let (begin, end) = ("x".repeat(500), "y".repeat(500));
        assert_eq!(super::bounded(&name), format!("{begin}... (6 bytes left out) ...{end}"));
        assert_eq!(super::bounded("short"), "short");
    }
}
