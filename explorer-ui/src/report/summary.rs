//! The summary above a schedule: the outcome, the command line, and the size of the execution.

use crate::report::style::{Role, Style};
use crate::report::text::{clean, count, grouped, quote};
use traces::Trace;

/// The summary, in two or three lines.
#[must_use]
pub fn render(trace: &Trace, style: &Style) -> String {
    let mut text = outcome(trace, style);
    text.push('\n');
    if !trace.header.program.is_empty() {
        text.push_str(&format!("{}\n", command_line(trace)));
    }
    let facts = facts(trace).join(&format!(" {} ", style.glyphs().dot));
    text.push_str(&style.paint(Role::Dim, &facts));
    text.push('\n');
    text
}

/// The step limit at which an execution was stopped, if it was; its outcome is then unknown.
#[must_use]
pub(crate) fn cut(trace: &Trace) -> Option<String> {
    let most = trace.header.options.max_steps;
    let cut = trace.failure.is_none() && most > 0 && trace.execution.steps.len() as u64 >= most;
    cut.then(|| format!("stopped after {} (--max-steps)", count(most, "step")))
}

/// One line: how the execution ended.
#[must_use]
pub fn outcome(trace: &Trace, style: &Style) -> String {
    let Some(failure) = &trace.failure else {
        return match cut(trace) {
            Some(cut) => {
                let text = format!("no failure so far: {cut}, outcome unknown");
                style.paint(Role::Bad, &text)
            }
            None => style.paint(Role::Good, "no failure"),
        };
    };
    let mut line = style.paint(Role::Bad, failure.kind.name());
    if !failure.message.is_empty() {
        line.push_str(": ");
        line.push_str(&clean(&failure.message));
    }
    if !failure.place.is_empty() {
        line.push_str(&style.paint(Role::Dim, &format!("  at {}", clean(&failure.place))));
    }
    line
}

/// The program with its arguments, quoted for a shell.
#[must_use]
pub fn command_line(trace: &Trace) -> String {
    let mut words = vec![quote(&trace.header.program)];
    words.extend(trace.header.args.iter().map(|word| quote(&String::from_utf8_lossy(word))));
    words.join(" ")
}

/// The numbers of tasks, steps, switches and preemptions, and the search that found the execution.
fn facts(trace: &Trace) -> Vec<String> {
    let execution = &trace.execution;
    let mut facts = vec![
        count(execution.tasks.len() as u64, "task"),
        count(execution.steps.len() as u64, "step"),
        count(execution.switches() as u64, "switch"),
        count(execution.preemptions().len() as u64, "preemption"),
    ];
    let spurious = execution.spurious().count() as u64;
    if spurious > 0 {
        facts.push(count(spurious, "spurious wake-up"));
    }
    let late = execution.deadlines.iter().filter_map(|note| note.late);
    if let Some((task, by)) = late.max_by_key(|&(_, by)| by) {
        facts.push(format!("{task} up to {} late by its clock", traces::seconds(by)));
    }
    let options = &trace.header.options;
    let changes = options.changes.iter();
    facts.extend(changes.map(|change| format!("memory changed at {}", clean(&change.to_string()))));
    if trace.header.found_at > 0 {
        let mut how = format!("execution {}", grouped(trace.header.found_at));
        if !options.strategy.is_empty() {
            how.push_str(&format!(" of {} seed {}", clean(&options.strategy), options.seed));
        }
        facts.push(how);
    }
    facts
}
