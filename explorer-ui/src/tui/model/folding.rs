//! Folding: which steps share a line of the schedule.

use super::found_rows::FoundRows;
use crate::report::rows::Mark;
use crate::walk::loaded_trace::LoadedTrace;
use std::collections::BTreeSet;
use std::sync::Arc;
use traces::{Operation, TaskId};

/// Which steps are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// Steps that no other task can observe, calls of library functions, turns of waiting loops.
    #[default]
    Silent,
    /// Also memory accesses between two operations of one task.
    Memory,
    /// All steps of a task up to the next context switch.
    Switches,
    /// Nothing.
    Nothing,
}

impl Fold {
    /// All kinds of folding, from the finest to the coarsest, and `Nothing`.
    pub const ALL: [Fold; 4] = [Fold::Silent, Fold::Memory, Fold::Switches, Fold::Nothing];

    /// Unfolds everything, or folds silent steps again.
    #[must_use]
    pub fn toggled(self) -> Fold {
        if self == Fold::Nothing { Fold::Silent } else { Fold::Nothing }
    }

    /// The next coarser folding; after the coarsest the finest.
    #[must_use]
    pub fn more(self) -> Fold {
        match self {
            Fold::Nothing | Fold::Switches => Fold::Silent,
            Fold::Silent => Fold::Memory,
            Fold::Memory => Fold::Switches,
        }
    }

    /// The name in saved sessions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fold::Silent => "silent",
            Fold::Memory => "memory",
            Fold::Switches => "switches",
            Fold::Nothing => "nothing",
        }
    }

    /// A description for the user.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Fold::Silent => "folded: library calls, spins, steps that no other task can observe",
            Fold::Memory => "folded: memory accesses too",
            Fold::Switches => "folded: one line for each context switch",
            Fold::Nothing => "nothing is folded",
        }
    }
}

/// For each line, the number of its first step. Adjacent steps of hidden tasks share a line, as do
/// adjacent steps that are not among the rows to show; a row to show is never folded.
#[must_use]
pub fn lines(
    loaded: &LoadedTrace,
    fold: Fold,
    hidden: &BTreeSet<TaskId>,
    only: Option<&FoundRows>,
) -> Arc<Vec<usize>> {
    if let Some(only) = only {
        return filtered(loaded, hidden, only);
    }
    match fold {
        Fold::Nothing if hidden.is_empty() => return loaded.lines(false),
        Fold::Silent if hidden.is_empty() => return loaded.lines(true),
        _ => {}
    }
    let steps = &loaded.trace.execution.steps;
    let mut lines = Vec::new();
    let mut run_until = 0;
    for (at, step) in steps.iter().enumerate() {
        if let Some(run) = loaded.folded(at).filter(|_| at >= run_until) {
            run_until = at + run.length;
            // The first step of a run starts a line, unless more is folded.
            if fold == Fold::Silent && !hidden.contains(&step.task) {
                lines.push(at);
                continue;
            }
        }
        let Some(before) = at.checked_sub(1).map(|before| &steps[before]) else {
            lines.push(at);
            continue;
        };
        let together = match (hidden.contains(&before.task), hidden.contains(&step.task)) {
            (true, true) => true,
            (true, false) | (false, true) => false,
            (false, false) => match fold {
                Fold::Nothing => false,
                Fold::Silent => at < run_until,
                Fold::Memory => {
                    let quiet = |at: usize| at < run_until || is_access(steps[at].operation);
                    loaded.mark(at) == Mark::None && quiet(at - 1) && quiet(at)
                }
                Fold::Switches => loaded.mark(at) == Mark::None,
            },
        };
        if !together {
            lines.push(at);
        }
    }
    Arc::new(lines)
}

/// A line for each row to show, and for what lies between two of them.
fn filtered(loaded: &LoadedTrace, hidden: &BTreeSet<TaskId>, only: &FoundRows) -> Arc<Vec<usize>> {
    let mut lines = Vec::new();
    let mut before = true;
    for (at, step) in loaded.trace.execution.steps.iter().enumerate() {
        let shown = !hidden.contains(&step.task) && only.contains(at);
        if shown || before {
            lines.push(at);
        }
        before = shown;
    }
    Arc::new(lines)
}

fn is_access(operation: Operation) -> bool {
    matches!(operation, Operation::Read | Operation::Write | Operation::Update)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use proptest::prelude::*;

    fn hidden(tasks: &[u16]) -> BTreeSet<TaskId> {
        tasks.iter().map(|&task| TaskId(task)).collect()
    }

    #[test]
    fn a_line_for_each_switch() {
        let loaded = LoadedTrace::of(samples::eight_tasks());
        let lines = super::lines(&loaded, Fold::Switches, &hidden(&[]), None);
        let switches = (0..loaded.len()).filter(|&at| at == 0 || loaded.mark(at) != Mark::None);
        assert_eq!(*lines, switches.collect::<Vec<_>>());
    }

    #[test]
    fn silent_runs_are_the_same_with_and_without_hidden_tasks() {
        let loaded = LoadedTrace::of(samples::silent_run());
        // Hiding a task that does not exist changes nothing.
        assert_eq!(super::lines(&loaded, Fold::Silent, &hidden(&[99]), None), loaded.lines(true));
        assert_eq!(super::lines(&loaded, Fold::Nothing, &hidden(&[99]), None), loaded.lines(false));
        assert!(
            super::lines(&loaded, Fold::Memory, &hidden(&[]), None).len()
                <= loaded.lines(true).len()
        );
    }

    proptest! {
        #[test]
        fn each_step_is_on_one_line_and_no_line_mixes_hidden_and_shown_tasks(
            which in 0usize..4, fold in 0usize..4, tasks in prop::collection::vec(0u16..9, 0..5)
        ) {
            let trace = [samples::eight_tasks, samples::two_tasks, samples::silent_run,
                samples::deadlock][which]();
            let loaded = LoadedTrace::of(trace);
            let hidden = hidden(&tasks);
            let lines = super::lines(&loaded, Fold::ALL[fold], &hidden, None);
            prop_assert_eq!(lines.first(), Some(&0));
            prop_assert!(lines.windows(2).all(|pair| pair[0] < pair[1]));
            for (at, &first) in lines.iter().enumerate() {
                let end = lines.get(at + 1).copied().unwrap_or(loaded.len());
                let steps = &loaded.trace.execution.steps[first..end];
                let away = hidden.contains(&steps[0].task);
                prop_assert!(steps.iter().all(|step| hidden.contains(&step.task) == away));
                prop_assert!(away || steps.iter().all(|step| step.task == steps[0].task));
            }
        }
    }
}
