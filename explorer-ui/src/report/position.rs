//! A position in a schedule, before a step or at the end: the enabled tasks, what blocks the others, the
//! held locks, and the causes of the step.

use crate::report::async_tasks::title_at;
use crate::report::names::{lock_name, object_name, site_name};
use crate::report::style::{Role, Style};
use crate::report::text::{clean, count, fill, width};
use replay_core::graph::{Cause, HappensBefore, Link, Relation};
use replay_core::{
    blocked::BlockedText,
    locks::HeldLocks,
    task_status::{TaskStatus, task_statuses},
};
use traces::Trace;

/// The position before step `at` (counted from 0), or at the end.
#[must_use]
pub fn render(trace: &Trace, at: usize, style: &Style) -> String {
    let steps = trace.execution.steps.len();
    let at = at.min(steps);
    let title =
        if at < steps { format!("Before step {}", at + 1) } else { "At the end".to_owned() };
    let mut text = style.paint(Role::Title, &title) + "\n" + &tasks(trace, at, style);
    text.push_str(&format!("\n{}\n{}", style.paint(Role::Title, "Locks"), locks(trace, at, style)));
    if at < steps {
        let title = style.paint(Role::Title, &format!("Step {}", at + 1));
        text.push_str(&format!("\n{title}\n{}", relations(trace, at)));
    }
    text
}

/// A line for each task: its next operation, its site, and what blocks it.
fn tasks(trace: &Trace, at: usize, style: &Style) -> String {
    let all = task_statuses(trace, at);
    let what = |one: &TaskStatus| {
        let operation = one.operation.map_or("", |operation| operation.name());
        let target =
            object_name(trace, one.object).filter(|target| *target != one.task.to_string());
        format!("{operation} {}", target.unwrap_or_default()).trim().to_owned()
    };
    let cells: Vec<[String; 3]> = all
        .iter()
        .map(|one| {
            let place = one.site.map(|site| site_name(&trace.execution, site)).unwrap_or_default();
            [title_at(trace, at, one.task), what(one), place]
        })
        .collect();
    let widest = |column: usize| cells.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths = [0, 1, 2].map(widest);
    let mut text = String::new();
    for (one, row) in all.iter().zip(&cells) {
        let sign = match (one.enabled && one.next == Some(at), one.enabled) {
            (true, _) => style.glyphs().arrow,
            (false, true) => " ",
            (false, false) => style.glyphs().waiting,
        };
        let mut line = format!("  {sign}{}", fill(width(sign), 2));
        let roles = [Role::TaskTitle(one.task), Role::Task(one.task), Role::Dim];
        for ((cell, widest), role) in row.iter().zip(widths).zip(roles) {
            line.push_str(&(style.paint(role, cell) + &fill(width(cell), widest + 2)));
        }
        if one.enabled {
            line.push_str(if one.next == Some(at) { "runs next" } else { "enabled" });
        } else {
            let why = one.why.as_ref().map(|why| BlockedText(why, &trace.execution).to_string());
            let why = why.unwrap_or_else(|| "blocked".to_owned());
            line.push_str(&style.paint(Role::Bad, &clean(&why)));
        }
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

/// A line for each held lock.
fn locks(trace: &Trace, at: usize, style: &Style) -> String {
    let held = HeldLocks::before(&trace.execution, at);
    let mut text = String::new();
    for (lock, holder, since) in held.all() {
        let name = lock_name(trace, &held, lock);
        let site = trace.execution.steps[since].site;
        let place = site_name(&trace.execution, site);
        let who = style.paint(Role::Task(holder), &holder.to_string());
        text.push_str(&format!("  {name}: {who} since step {}  {place}\n", since + 1));
    }
    if text.is_empty() { "  no lock is held\n".to_owned() } else { text }
}

/// The relation of a step to the other steps, by happens-before.
fn relations(trace: &Trace, at: usize) -> String {
    let graph = HappensBefore::of(&trace.execution);
    let link = |link: &Link| {
        let why = match link.cause {
            Cause::Program => "same thread".to_owned(),
            Cause::Creation => "creation".to_owned(),
            Cause::Join => "join".to_owned(),
            Cause::Object(index) => object_name(trace, Some(index)).unwrap_or_default(),
        };
        format!("step {} ({why})", link.step + 1)
    };
    let list = |links: Vec<Link>| match links.as_slice() {
        [] => "none".to_owned(),
        links => links.iter().map(link).collect::<Vec<_>>().join(", "),
    };
    let related = |wanted: Relation| {
        (0..graph.len()).filter(|&other| graph.relation(other, at) == wanted).count() as u64
    };
    format!(
        "  direct causes   {}\n  direct effects  {}\n  \
         happens-before: {} before it, {} after it, {} concurrent\n",
        list(graph.causes(at)),
        list(graph.effects(at)),
        count(related(Relation::Before), "step"),
        count(related(Relation::After), "step"),
        count(related(Relation::Concurrent), "step"),
    )
}
