//! A failing schedule on one page: what failed, who took part, what happened in which order, which
//! order made the difference, what kind of bug that is, and what to type next.

mod story;
mod words;

use super::failure::holding;
use super::style::{Role, Style};
use super::text::{clean, count, fill, width};
use super::{next, summary, task_title};
use replay_core::bisect::{Bisected, Kind};
use replay_core::shrink::{Proof, Ran, Size};
use replay_core::source::Source;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use traces::{Execution, FailureKind, ObjectKind, Operation, TaskId, Trace};
use words::Words;

/// Everything that the page is about.
#[derive(Debug)]
pub struct Page<'a> {
    /// The failing execution, as small as it became.
    pub trace: &'a Trace,
    /// How large it was before, and what is known of how small it is.
    pub shrunk: Option<(Size, Proof)>,
    /// What makes the difference.
    pub bisected: Option<&'a Bisected>,
    /// What kind of bug it is.
    pub kind: Kind,
    /// Its source files by the names that the debug information gives them.
    pub sources: &'a HashMap<String, Arc<Source>>,
    /// What the reader should know before believing the page.
    pub remarks: Vec<String>,
    /// What to type next, with what it does.
    pub commands: Vec<(String, &'a str)>,
}

/// The page.
#[must_use]
pub fn render(page: &Page<'_>, style: &Style, cells: usize) -> String {
    let words = Words { trace: page.trace, sources: page.sources };
    let mut parts = vec![head(page, style)];
    parts.extend(raced(page.trace, &words, style));
    parts.push(threads(page, &words, style));
    parts.push(story::render(page.trace, &words, &matter(page, &words), style, cells));
    parts.extend(interrupted(page.trace, &words, style));
    parts.extend(page.bisected.map(|bisected| order(bisected, &words, style)));
    parts.extend(passing(page, style));
    if !page.commands.is_empty() {
        parts.push(next::render(&page.commands, style));
    }
    parts.join("\n")
}

fn head(page: &Page<'_>, style: &Style) -> String {
    let mut text = summary::outcome(page.trace, style) + "\n";
    text.push_str(&format!("{}\n", summary::command_line(page.trace)));
    let kind = style.paint(Role::Title, &page.kind.to_string());
    text.push_str(&format!("\n{kind}: {}\n", page.kind.meaning()));
    for remark in &page.remarks {
        text.push_str(&format!("{} {}\n", style.paint(Role::Bad, "note:"), clean(remark)));
    }
    text
}

/// The two accesses of a race.
fn raced(trace: &Trace, words: &Words<'_>, style: &Style) -> Option<String> {
    let failure = trace.failure.as_ref().filter(|failure| failure.kind == FailureKind::Race)?;
    let mut text = style.paint(Role::Title, "The two accesses") + "\n";
    for past in &failure.past {
        let title = style.paint(Role::TaskTitle(past.task), &task_title(trace, past.task));
        let holding = holding(trace, past);
        let when = match past.step {
            0 => "before the first step".to_owned(),
            step => format!("after step {step}"),
        };
        text.push_str(&format!("  {title} {}{holding} {when}\n", clean(&past.words())));
        if let Some(frame) = past.frames.first() {
            let (place, statement) = (clean(&frame.place()), words.statement(frame));
            text.push_str(&format!("      {place}  {statement}\n"));
        }
    }
    (!failure.past.is_empty()).then_some(text)
}

/// Who took part: a task that did nothing but begin and end, or was only waited for, still has its
/// name here.
fn threads(page: &Page<'_>, words: &Words<'_>, style: &Style) -> String {
    let execution = &page.trace.execution;
    let titles: Vec<String> = (0..execution.tasks.len())
        .map(|task| task_title(page.trace, TaskId(task as u16)))
        .collect();
    let widest = titles.iter().map(|title| width(title)).max().unwrap_or(0);
    let mut text = style.paint(Role::Title, "Threads") + "\n";
    for (task, title) in titles.iter().enumerate() {
        let id = TaskId(task as u16);
        let gap = fill(width(title), widest + 2);
        let made = execution.steps.iter().find(|step| {
            step.operation == Operation::Create
                && traces::order::created_by(execution, step) == Some(task)
        });
        let origin = match made {
            Some(step) => {
                format!("made by {} at {}", step.task, clean(&execution.place(step.site)))
            }
            None if id == TaskId::MAIN => "the program's main".to_owned(),
            None => "was there before".to_owned(),
        };
        let record = &execution.tasks[task];
        let mut line = format!("  {}{gap}{origin}", style.paint(Role::TaskTitle(id), title));
        if !record.name.is_empty() && !record.function.is_empty() {
            line.push_str(&format!(", runs {}", clean(&record.function)));
        }
        if let Some(place) = words.function_of(id) {
            line.push_str(&style.paint(Role::Dim, &format!("  {place}")));
        }
        text.push_str(&(line + "\n"));
    }
    text
}

/// The steps that the story cannot do without.
fn matter(page: &Page<'_>, words: &Words<'_>) -> BTreeSet<usize> {
    let execution = &page.trace.execution;
    let steps = execution.steps.len();
    let shown: BTreeSet<usize> = (0..steps).filter(|&at| !is_within_std(execution, at)).collect();
    if shown.len() <= story::SHORT {
        return shown;
    }
    let mut matter: BTreeSet<usize> = BTreeSet::new();
    if let Some(cause) = page.bisected.and_then(|bisected| bisected.cause.as_ref()) {
        for event in cause.orders.iter().flat_map(|order| [order.before, order.after]) {
            matter.extend(event.step);
            matter.extend(words.section(event).map(|section| section.steps.1));
        }
    }
    for at in execution.preemptions() {
        matter.extend([at - 1, at]);
    }
    for task in 0..execution.tasks.len() {
        let mut own = (0..steps).rev().filter(|&at| execution.steps[at].task.index() == task);
        matter.extend(own.next());
    }
    // What every waiting task holds, and since when.
    for (_, _, since) in replay_core::walk::standing::Locks::before(execution, steps).all() {
        matter.insert(since);
    }
    matter
}

/// Whether a step is about a variable of Rust's standard library: how it counts its threads is no
/// part of a program's story.
fn is_within_std(execution: &Execution, at: usize) -> bool {
    let object = execution.steps[at].object.and_then(|at| execution.objects.get(at as usize));
    object
        .is_some_and(|object| object.kind == ObjectKind::Memory && object.name.starts_with("std::"))
}

/// Each preemption, with what was interrupted.
fn interrupted(trace: &Trace, words: &Words<'_>, style: &Style) -> Option<String> {
    const MOST: usize = 8;
    let execution = &trace.execution;
    let preemptions = execution.preemptions();
    if preemptions.is_empty() {
        return None;
    }
    let mut text = style.paint(Role::Title, "Interrupted") + "\n";
    for &at in preemptions.iter().take(MOST) {
        let left = execution.steps[at - 1].task;
        let taken = execution.steps[at].task;
        let until = (at..execution.steps.len())
            .find(|&step| execution.steps[step].task != taken)
            .unwrap_or(execution.steps.len());
        let ran = if until == at + 1 {
            format!("{taken} does step {until}")
        } else {
            format!("{taken} does steps {} to {until}", at + 1)
        };
        let left_name = style.paint(Role::Task(left), &left.to_string());
        text.push_str(&format!("  {left_name} is stopped before step {}; {ran}\n", at + 1));
        text.push_str(&format!(
            "    it had done   {}\n",
            words.statement_at(execution.steps[at - 1].site)
        ));
        if let Some(site) = words.next_site(left, at) {
            text.push_str(&format!("    it stood at   {}\n", words.statement_at(site)));
        }
    }
    if let Some(more) = preemptions.len().checked_sub(MOST).filter(|&more| more > 0) {
        text.push_str(&format!("  and {} more\n", count(more as u64, "preemption")));
    }
    Some(text)
}

/// The orders that make the difference, and how that was checked.
fn order(bisected: &Bisected, words: &Words<'_>, style: &Style) -> String {
    let evidence = &bisected.evidence;
    let mut text = style.paint(Role::Title, "What makes the difference") + "\n";
    if bisected.always {
        text.push_str("  No order does: every schedule of the program was run, and each fails.\n");
        return text;
    }
    let Some(cause) = &bisected.cause else {
        let runs = evidence.without_failing + evidence.without_passing;
        let found = match (evidence.without_passing, &bisected.passing) {
            (0, _) => "none passes".to_owned(),
            (passing, _) => format!(
                "{passing} pass, and no few orders of operations tell them from those that fail: \
                 what decides may lie between them, where nothing is recorded"
            ),
        };
        text.push_str(&format!(
            "  Of {} that were run, most of them near this one, {found}.\n",
            count(runs as u64, "schedule")
        ));
        return text;
    };
    let exactly = match () {
        () if evidence.is_exact() => "It fails exactly when",
        () if evidence.is_enough() => "It fails whenever",
        () => "It fails when",
    };
    text.push_str(&format!("  {exactly}\n"));
    for line in words.cause(cause, style) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&checked(bisected));
    text
}

/// The orders that make the difference, without the rest of the page.
#[must_use]
pub fn difference(
    bisected: &Bisected,
    sources: &HashMap<String, Arc<Source>>,
    style: &Style,
) -> String {
    order(bisected, &Words { trace: &bisected.failing, sources }, style)
}

/// `Checked: 5 runs with this order, all fail; ...`
fn checked(bisected: &Bisected) -> String {
    let evidence = &bisected.evidence;
    let side = |failing: usize, passing: usize, expected: bool| {
        let runs = count((failing + passing) as u64, "run");
        match (failing, passing) {
            (_, 0) if expected => format!("{runs}, all fail"),
            (0, _) if !expected => format!("{runs}, none fails"),
            _ => format!("{runs}, {failing} of which fail"),
        }
    };
    let others = if evidence.is_enough() && evidence.without_failing > 0 {
        "\n  So it is enough, and there are other ways to the same failure."
    } else {
        ""
    };
    let with = side(evidence.with_failing, evidence.with_passing, true);
    let without = side(evidence.without_failing, evidence.without_passing, false);
    let mut text = format!("  Checked by running: with this order {with}; without it {without}");
    if evidence.other > 0 {
        let runs = count(evidence.other as u64, "run");
        text.push_str(&format!(" ({runs} failed in another way and say nothing)"));
    }
    text + "." + others + "\n"
}

/// How near the nearest schedule is that passes.
#[must_use]
pub fn nearest(bisected: &Bisected) -> String {
    match bisected.reversed {
        0 => "The nearest schedule that passes orders all operations on one object alike: what \
              decides lies between them."
            .to_owned(),
        orders => {
            let orders = count(orders as u64, "order");
            format!("The nearest schedule that passes turns {orders} of operations round.")
        }
    }
}

/// How small the failing schedule is, and how near the nearest is that passes.
fn passing(page: &Page<'_>, style: &Style) -> Option<String> {
    let mut lines = Vec::new();
    if let Some((from, proof)) = &page.shrunk {
        let now = Size::of(&page.trace.execution);
        let preemptions = count(now.preemptions as u64, "preemption");
        let known = match proof {
            Proof::Proved { ran: Ran::Schedules, .. } => {
                "every schedule with fewer was run, and none fails like this"
            }
            Proof::Proved { ran: Ran::Orders, .. } => {
                "of every order of dependent operations one schedule with fewer was run, and none \
                 fails like this"
            }
            Proof::Tried { .. } => "nothing smaller was found",
            Proof::Interrupted => "interrupted before anything smaller was found",
        };
        let known = match (proof, now.preemptions) {
            (Proof::Proved { .. }, 0) => "no thread needs to be interrupted",
            _ => known,
        };
        lines.push(format!("The failure takes {preemptions}: {known}."));
        if *from > now {
            let was = count(from.preemptions as u64, "preemption");
            lines
                .push(format!("It was found with {was} and {}.", count(from.steps as u64, "step")));
        }
    }
    if let Some(bisected) = page.bisected
        && bisected.passing.is_some()
    {
        lines.push(nearest(bisected));
    }
    if lines.is_empty() {
        return None;
    }
    let title = style.paint(Role::Title, "How near it is");
    Some(format!("{title}\n  {}\n", lines.join("\n  ")))
}
