//! A failing schedule on one page: the failure, the threads, the key steps, the event orders that cause
//! the failure, the kind of bug, and the next commands.

mod describe;
mod key_steps;
mod origins;
mod words;

pub use origins::ValueOrigin;

use crate::report::async_tasks::{executed_by, listed};
use crate::report::failure::holding;
use crate::report::names::task_title;
use crate::report::next_commands;
use crate::report::style::{Role, Style};
use crate::report::summary;
use crate::report::text::{clean, count, fill, width};
use crate::report::verdict;
use describe::Describer;
use replay_core::bisect::{Bisected, Kind};
use replay_core::runner::NoReturn;
use replay_core::shrink::{Enumerated, Proof, Size};
use replay_core::source::Source;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use traces::{Execution, FailureKind, ObjectKind, Operation, TaskId, Trace};
use words::Words;

/// The contents of the page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The failing execution, shrunk if possible.
    pub trace: &'a Trace,
    /// The size before shrinking, and the proof of minimality.
    pub shrunk: Option<(Size, Proof)>,
    /// The event orders that cause the failure.
    pub bisected: Option<&'a Bisected>,
    /// The point of no return.
    pub no_return: Option<NoReturn>,
    /// Where values came from.
    pub origins: &'a [ValueOrigin],
    /// The kind of bug.
    pub kind: Kind,
    /// The source files, by their names in the debug information.
    pub sources: &'a HashMap<String, Arc<Source>>,
    /// Caveats about the page.
    pub remarks: Vec<String>,
    /// The next commands, each with its description.
    pub commands: Vec<(String, &'a str)>,
}

/// Renders the page.
#[must_use]
pub fn render(page: &Page<'_>, style: &Style, cells: usize) -> String {
    let describer = Describer { trace: page.trace, sources: page.sources };
    let mut parts = vec![head(page, style)];
    parts.extend(raced(page.trace, &describer, style));
    parts.extend(page.origins.iter().map(|origin| origins::render(origin, &describer, style)));
    parts.push(threads(page, &describer, style));
    parts.push(key_steps::render(
        page.trace,
        &describer,
        &key_step_set(page, &describer),
        style,
        cells,
    ));
    parts.extend(preemptions(page.trace, &describer, style));
    parts.extend(page.bisected.map(|bisected| order(bisected, &describer, style)));
    parts.extend(distance(page, style));
    if !page.commands.is_empty() {
        parts.push(next_commands::render(&page.commands, style));
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
fn raced(trace: &Trace, describer: &Describer<'_>, style: &Style) -> Option<String> {
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
            let (place, statement) = (clean(&frame.place()), describer.statement(frame));
            text.push_str(&format!("      {place}  {statement}\n"));
        }
    }
    (!failure.past.is_empty()).then_some(text)
}

/// The threads. Includes those without a step in the schedule below.
fn threads(page: &Page<'_>, describer: &Describer<'_>, style: &Style) -> String {
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
                format!("created by {} at {}", step.task, clean(&execution.place(step.site)))
            }
            None if id == TaskId::MAIN => "main thread".to_owned(),
            None => "created before the recording".to_owned(),
        };
        let record = &execution.tasks[task];
        let mut line = format!("  {}{gap}{origin}", style.paint(Role::TaskTitle(id), title));
        let executed = executed_by(execution, id);
        if !executed.is_empty() {
            line.push_str(&format!(", executes {}", listed(&executed)));
        } else if !record.name.is_empty() && !record.function.is_empty() {
            line.push_str(&format!(", runs {}", clean(&record.function)));
        }
        if let Some(place) = describer.function_of(id) {
            line.push_str(&style.paint(Role::Dim, &format!("  {place}")));
        }
        text.push_str(&(line + "\n"));
    }
    text
}

/// The steps to show: all of a short schedule, otherwise the events of the cause, preemptions, each task's
/// last step, and the acquisitions of locks that are still held.
fn key_step_set(page: &Page<'_>, describer: &Describer<'_>) -> BTreeSet<usize> {
    let execution = &page.trace.execution;
    let steps = execution.steps.len();
    let shown: BTreeSet<usize> = (0..steps).filter(|&at| !is_within_std(execution, at)).collect();
    if shown.len() <= key_steps::SHORT {
        return shown;
    }
    let mut key_steps: BTreeSet<usize> = BTreeSet::new();
    if let Some(cause) = page.bisected.and_then(|bisected| bisected.cause.as_ref()) {
        for event in cause.orders.iter().flat_map(|order| [order.before, order.after]) {
            key_steps.extend(event.step);
            key_steps.extend(describer.section(event).map(|section| section.steps.1));
        }
    }
    for at in execution.preemptions() {
        key_steps.extend([at - 1, at]);
    }
    let until_failure = page.trace.steps_to_failure();
    for task in 0..execution.tasks.len() {
        let mut own =
            (0..until_failure).rev().filter(|&at| execution.steps[at].task.index() == task);
        key_steps.extend(own.next());
    }
    // The acquisitions of the locks that are held at the end.
    for (_, _, since) in replay_core::locks::HeldLocks::before(execution, steps).all() {
        key_steps.insert(since);
    }
    key_steps
}

/// Whether a step accesses a variable of Rust's standard library, such as its thread counters. Such
/// steps say nothing about the program.
fn is_within_std(execution: &Execution, at: usize) -> bool {
    let object = execution.steps[at].object.and_then(|at| execution.objects.get(at as usize));
    object
        .is_some_and(|object| object.kind == ObjectKind::Memory && object.name.starts_with("std::"))
}

/// Each preemption, with the statements before and after it.
fn preemptions(trace: &Trace, describer: &Describer<'_>, style: &Style) -> Option<String> {
    const MAX_SHOWN: usize = 8;
    let execution = &trace.execution;
    let preemptions = execution.preemptions();
    if preemptions.is_empty() {
        return None;
    }
    let mut text = style.paint(Role::Title, "Preemptions") + "\n";
    for &at in preemptions.iter().take(MAX_SHOWN) {
        let taken = execution.steps[at].task;
        // An expiry, where another task than the running one may have been able to run.
        let late = execution.deadline_at(at).and_then(|note| note.late);
        let preempted = late.map_or(execution.steps[at - 1].task, |(task, _)| task);
        let until = (at..execution.steps.len())
            .find(|&step| execution.steps[step].task != taken)
            .unwrap_or(execution.steps.len());
        let ran = if until == at + 1 {
            format!("{taken} executes step {until}")
        } else {
            format!("{taken} executes steps {} to {until}", at + 1)
        };
        let preempted_name = style.paint(Role::Task(preempted), &preempted.to_string());
        text.push_str(&format!("  {preempted_name} is preempted before step {}; {ran}\n", at + 1));
        text.push_str(&format!(
            "    last executed   {}\n",
            describer.statement_at(execution.steps[at - 1].site)
        ));
        if let Some(site) = describer.next_site(preempted, at) {
            text.push_str(&format!("    next statement  {}\n", describer.statement_at(site)));
        }
    }
    if let Some(more) = preemptions.len().checked_sub(MAX_SHOWN).filter(|&more| more > 0) {
        text.push_str(&format!("  and {} more\n", count(more as u64, "preemption")));
    }
    Some(text)
}

/// The event orders that cause the failure, and the runs that confirm it.
fn order(bisected: &Bisected, describer: &Describer<'_>, style: &Style) -> String {
    let evidence = &bisected.evidence;
    let words = Words::of(&bisected.failing);
    let mut text = style.paint(Role::Title, "Cause") + "\n";
    if bisected.always {
        text.push_str(&format!(
            "  The schedule does not matter: every schedule of the program was run, and each one {}.\n",
            words.fails
        ));
        return text;
    }
    let Some(cause) = &bisected.cause else {
        let runs = evidence.without_failing + evidence.without_passing;
        let found = match (evidence.without_passing, &bisected.passing) {
            (0, _) => words.none_passes.to_owned(),
            (passing, _) => format!(
                "{passing} {}, but no small set of operation orders separates them from the {}; the \
                 cause may be an access that is not recorded",
                words.pass, words.failing_ones
            ),
        };
        text.push_str(&format!(
            "  {} were run, most of them similar to this one: {found}.\n",
            count(runs as u64, "schedule")
        ));
        return text;
    };
    let exactly = match () {
        () if evidence.is_exact() => "exactly when",
        () if evidence.is_enough() => "whenever",
        () => "when",
    };
    text.push_str(&format!("  {} {exactly}\n", words.it_fails));
    for line in describer.cause(cause, style) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&self::evidence(bisected));
    text
}

/// The cause alone, without the rest of the page.
#[must_use]
pub fn cause(bisected: &Bisected, sources: &HashMap<String, Arc<Source>>, style: &Style) -> String {
    order(bisected, &Describer { trace: &bisected.failing, sources }, style)
}

/// `Confirmed by execution: with this order 5 runs, all fail; ...`
fn evidence(bisected: &Bisected) -> String {
    let evidence = &bisected.evidence;
    let words = Words::of(&bisected.failing);
    let side = |failing: usize, passing: usize, expected: bool| {
        let runs = count((failing + passing) as u64, "run");
        match (failing, passing) {
            (_, 0) if expected => format!("{runs}, all {}", words.fail),
            (0, _) if !expected => format!("{runs}, none {}", words.fails),
            _ => format!("{runs}, {failing} of which {}", words.fail),
        }
    };
    let others = if evidence.is_enough() && evidence.without_failing > 0 {
        format!("\n  This order is sufficient; other orders {}, too.", words.lead_to_it)
    } else {
        String::new()
    };
    let with = side(evidence.with_failing, evidence.with_passing, true);
    let without = side(evidence.without_failing, evidence.without_passing, false);
    let mut text =
        format!("  Confirmed by execution: with this order {with}; without it {without}");
    if evidence.other > 0 {
        let runs = count(evidence.other as u64, "run");
        text.push_str(&format!(" ({runs} with a different failure not counted)"));
    }
    text + "." + &others + "\n"
}

/// The distance to the nearest passing schedule.
#[must_use]
pub fn nearest(bisected: &Bisected) -> String {
    let passing = Words::of(&bisected.failing).nearest_passing;
    match bisected.reversed {
        0 => format!(
            "The {passing} has the same order of operations on every object: the cause lies between \
             the recorded operations."
        ),
        orders => {
            let orders = count(orders as u64, "order");
            format!("The {passing} reverses {orders} of operations.")
        }
    }
}

/// The size of the failing schedule, and the distance to the nearest passing one.
fn distance(page: &Page<'_>, style: &Style) -> Option<String> {
    let mut lines = Vec::new();
    let words = Words::of(page.trace);
    if let Some((from, proof)) = &page.shrunk {
        let now = Size::of(&page.trace.execution);
        let preemptions = count(now.preemptions as u64, "preemption");
        let known = match proof {
            Proof::Proved { ran: Enumerated::Schedules, .. } => {
                format!("every schedule with fewer was run, and none {}", words.has_it)
            }
            Proof::Proved { ran: Enumerated::Orders, .. } => format!(
                "for every order of dependent operations a schedule with fewer was run, and none {}",
                words.has_it
            ),
            Proof::Tried { .. } => "no smaller schedule was found".to_owned(),
            Proof::Interrupted => "interrupted before a smaller schedule was found".to_owned(),
        };
        let known = match (proof, now.preemptions) {
            (Proof::Proved { .. }, 0) => "no thread needs to be preempted".to_owned(),
            _ => known,
        };
        lines.push(format!("{} needs {preemptions}: {known}.", words.the_failure));
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
    if let Some(found) = page.no_return.filter(|_| words.counts_schedules) {
        let text = verdict::no_return(&found, page.trace.steps_to_failure());
        let mut letters = text.chars();
        if let Some(first) = letters.next() {
            lines.push(format!("{}{}.", first.to_uppercase(), letters.as_str()));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let title = style.paint(Role::Title, words.both_schedules);
    Some(format!("{title}\n  {}\n", lines.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use replay_core::bisect::{Cause, Event, Evidence, Order, Shape};
    use traces::TaskId;

    const PLAIN: Style = Style { color: false, ascii: true };

    /// What a page says about the schedules beside this one, for a failure or a satisfied predicate.
    fn sections(trace: &Trace) -> String {
        let steps = &trace.execution.steps;
        let event = |task: u16, operation, step: Option<usize>| {
            let is = |one: &&traces::Step| one.operation == operation && one.task.0 == task;
            let known = steps.iter().find(is).expect("the sample has the step");
            let (object, site) = (known.object, known.site);
            Event { task: TaskId(task), number: 2, occurrence: 1, operation, object, site, step }
        };
        let before = event(2, Operation::Read, Some(5));
        let order = Order { before, after: event(1, Operation::Write, None) };
        let cause = Cause { orders: vec![order], shape: Shape::Before, guarded: false };
        let evidence = |without_failing, without_passing| Evidence {
            with_failing: 5,
            with_passing: 0,
            without_failing,
            without_passing,
            other: 1,
        };
        let found = |cause: Option<Cause>, evidence, always| Bisected {
            failing: trace.clone(),
            passing: Some(samples::two_tasks()),
            reversed: 2,
            cause,
            evidence,
            always,
        };
        let causes = [
            found(Some(cause.clone()), evidence(0, 7), false),
            found(Some(cause), evidence(2, 7), false),
            found(None, evidence(2, 0), false),
            found(None, evidence(2, 7), false),
            found(None, evidence(2, 7), true),
        ];
        let sources = HashMap::new();
        let describer = Describer { trace, sources: &sources };
        let mut text: Vec<String> =
            causes.iter().map(|bisected| order_text(bisected, &describer)).collect();
        let same_orders = Bisected { reversed: 0, ..found(None, evidence(0, 7), false) };
        text.push(nearest(&same_orders));
        let proved = |ran| Proof::Proved { ran, executions: 9, wholly: false };
        for proof in [
            proved(Enumerated::Schedules),
            proved(Enumerated::Orders),
            Proof::Tried { below: None },
            Proof::Interrupted,
        ] {
            let mut from = Size::of(&trace.execution);
            from.preemptions += 1;
            let page = Page {
                trace,
                shrunk: Some((from, proof)),
                bisected: Some(&causes[0]),
                no_return: None,
                origins: &[],
                kind: Kind::Order,
                sources: &sources,
                remarks: Vec::new(),
                commands: Vec::new(),
            };
            text.extend(distance(&page, &PLAIN));
        }
        text.join("\n")
    }

    fn order_text(bisected: &Bisected, describer: &Describer<'_>) -> String {
        order(bisected, describer, &PLAIN)
    }

    #[test]
    fn schedules_beside_a_failing_one() {
        insta::assert_snapshot!(sections(&samples::lost_update()));
    }

    #[test]
    fn schedules_beside_one_that_satisfies_a_predicate() {
        let mut trace = samples::lost_update();
        trace.failure.as_mut().expect("it fails").kind = FailureKind::Satisfied;
        insta::assert_snapshot!(sections(&trace));
    }

    #[test]
    fn a_thread_from_before_the_recording_is_named() {
        let mut trace = samples::two_tasks();
        trace.execution.steps.retain(|step| step.operation != Operation::Create);
        let sources = HashMap::new();
        let describer = Describer { trace: &trace, sources: &sources };
        let page = Page {
            trace: &trace,
            shrunk: None,
            bisected: None,
            no_return: None,
            origins: &[],
            kind: Kind::Order,
            sources: &sources,
            remarks: Vec::new(),
            commands: Vec::new(),
        };
        let text = threads(&page, &describer, &PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("main thread"), "{text}");
        assert!(lines[2].ends_with("created before the recording, runs worker"), "{text}");
    }
}
