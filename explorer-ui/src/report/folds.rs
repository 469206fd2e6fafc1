//! Runs of steps that share a line: steps that no other task can observe, calls of library
//! functions, turns of a loop that waits.

use crate::report::calls::{Calls, is_internal};
use replay_core::library_calls::SiteCall;
use std::collections::HashMap;
use traces::{Execution, Operation, Step, TaskId};

/// Consecutive steps of one task that share a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The number of steps.
    pub length: usize,
    /// What they have in common.
    pub what: What,
}

/// What the steps of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// No other task can observe them.
    Silent,
    /// User code called one library function.
    Call,
    /// An attempt to acquire, or the release of, a lock that no library function names.
    Lock,
    /// The library does them on its own.
    Library,
    /// The task reads the same values again and again.
    Spin {
        /// How often.
        turns: usize,
    },
}

/// The longest turn of a loop that is recognized.
const LONGEST_TURN: usize = 4;
/// A loop has at least this many turns.
const FEWEST_TURNS: usize = 3;

/// The runs of an execution by their first steps; silent ones have at least `least` steps.
pub(crate) fn runs(execution: &Execution, calls: &Calls, least: usize) -> HashMap<usize, Run> {
    let silent = silent_runs(execution, least);
    let mut runs = HashMap::new();
    let mut at = 0;
    while at < execution.steps.len() {
        let run = match silent.get(&at) {
            Some(&length) => Some(Run { length, what: What::Silent }),
            None => library_run(execution, calls, at)
                .or_else(|| inferred_run(execution, calls, at))
                .or_else(|| spin(&execution.steps, at)),
        };
        runs.extend(run.map(|run| (at, run)));
        at += run.map_or(1, |run| run.length);
    }
    runs
}

fn library_run(execution: &Execution, calls: &Calls, start: usize) -> Option<Run> {
    let steps = &execution.steps;
    let first = &steps[start];
    let call = calls.at(first.site)?;
    let group = calls.group(first.site);
    let belongs = |at: usize| {
        let step = &steps[at];
        let same = match call {
            SiteCall::Call(_) => calls.group(step.site) == group,
            SiteCall::Internal => calls.at(step.site) == Some(call),
        };
        step.task == first.task && same && is_internal(step.operation) && !has_choice(execution, at)
    };
    let mut length = (start..steps.len()).take_while(|&at| belongs(at)).count();
    match call {
        SiteCall::Internal => (length > 0).then_some(Run { length, what: What::Library }),
        // Several steps of an atomic operation are several calls.
        SiteCall::Call(call) if call.is_atomic => None,
        SiteCall::Call(call) => {
            // A call that acquires a lock ends with that; what follows is the next turn of a loop.
            if call.operation.is_some_and(|operation| operation != Operation::Wait) {
                let done = (start..start + length).position(|at| calls.lock_step(at).is_some());
                length = done.map_or(length, |done| done + 1);
            }
            (length > 1).then_some(Run { length, what: What::Call })
        }
    }
}

/// The steps of one attempt to acquire an inferred lock, or of its release and the wake-up.
fn inferred_run(execution: &Execution, calls: &Calls, start: usize) -> Option<Run> {
    let steps = &execution.steps;
    let first = &steps[start];
    let place = |step: &Step| Some(execution.objects.get(step.object? as usize)?.place);
    let belongs = |at: usize| {
        let step = &steps[at];
        step.task == first.task
            && place(step) == place(first)
            && calls.is_inferred(step.object)
            && calls.at(step.site).is_none()
            && is_internal(step.operation)
            && !has_choice(execution, at)
    };
    let all = (start..steps.len()).take_while(|&at| belongs(at)).count();
    let own = start..start + all;
    let (done, operation) = match own.clone().find_map(|at| Some((at, calls.lock_step(at)?))) {
        Some((at, operation)) => (at, Some(operation)),
        None => (own.clone().rfind(|&at| steps[at].operation == Operation::FutexWait)?, None),
    };
    let wakes = |at: usize| own.contains(&at) && steps[at].operation == Operation::FutexWake;
    let end = match operation {
        Some(Operation::Unlock) if wakes(done + 1) => done + 2,
        _ => done + 1,
    };
    (end > start + 1).then_some(Run { length: end - start, what: What::Lock })
}

/// Whether the step includes a data choice.
fn has_choice(execution: &Execution, step: usize) -> bool {
    execution.data.binary_search_by_key(&(step as u64), |choice| choice.step).is_ok()
}

/// A loop of a task that only reads, and reads the same each time.
fn spin(steps: &[Step], start: usize) -> Option<Run> {
    use Operation as O;
    let looks = |step: &Step| match step.operation {
        O::Read | O::Await | O::Yield => true,
        O::TryLock => step.value != 0,
        _ => false,
    };
    let same = |a: &Step, b: &Step| {
        let operation = |step: &Step| match step.operation {
            O::Await => O::Read,
            other => other,
        };
        (a.task, operation(a), a.object, a.site, a.value)
            == (b.task, operation(b), b.object, b.site, b.value)
    };
    let task = steps[start].task;
    (1..=LONGEST_TURN).find_map(|turn| {
        let first = steps.get(start..start + turn)?;
        let reads = first.iter().any(|step| step.operation != O::Yield);
        if !reads || !first.iter().all(|step| step.task == task && looks(step)) {
            return None;
        }
        let repeated = (start + turn..steps.len())
            .take_while(|&at| same(&steps[at], &steps[at - turn]))
            .count();
        let turns = 1 + repeated / turn;
        (turns >= FEWEST_TURNS).then_some(Run { length: turns * turn, what: What::Spin { turns } })
    })
}

/// Runs of consecutive silent steps of one task: start and length.
///
/// A step is silent if only its own task accesses its object in the whole execution, it neither creates,
/// starts, joins nor ends a task, and it has no data choice. The first step after a switch is never
/// silent, so that no switch is hidden.
fn silent_runs(execution: &Execution, least: usize) -> HashMap<usize, usize> {
    let mut owners: HashMap<u32, Option<TaskId>> = HashMap::new();
    for step in &execution.steps {
        if let Some(object) = step.object {
            let owner = owners.entry(object).or_insert(Some(step.task));
            if *owner != Some(step.task) {
                *owner = None;
            }
        }
    }
    let silent = |index: usize| {
        let step = &execution.steps[index];
        let follows_switch = index == 0 || execution.steps[index - 1].task != step.task;
        let private = match step.object {
            Some(object) => owners.get(&object).copied().flatten().is_some(),
            None => true,
        };
        let changes_tasks = matches!(
            step.operation,
            Operation::Start
                | Operation::Create
                | Operation::Join
                | Operation::Exit
                | Operation::ExitNow
        );
        private && !follows_switch && !changes_tasks && !has_choice(execution, index)
    };
    let mut runs = HashMap::new();
    let mut start = 0;
    while start < execution.steps.len() {
        let length = (start..execution.steps.len()).take_while(|&index| silent(index)).count();
        if length >= least {
            runs.insert(start, length);
        }
        start += length.max(1);
    }
    runs
}

#[cfg(test)]
mod tests {
    use crate::report::rows::{Selection, rows};
    use crate::report::samples;
    use crate::report::style::Style;

    fn lines(fold: Option<usize>) -> Vec<String> {
        lines_of(&samples::contended_word(), fold)
    }

    fn lines_of(trace: &traces::Trace, fold: Option<usize>) -> Vec<String> {
        let style = Style { color: false, ascii: true };
        let selection = Selection { fold, ..Selection::default() };
        let rows = rows(trace, selection, style.glyphs());
        let line = |row: crate::report::rows::Row| {
            let step = row.step.map_or(0, |step| step + 1);
            format!("{step} {} {}", row.cells[0].task, row.cells[0].label(80, "~"))
        };
        rows.into_iter().map(line).collect()
    }

    #[test]
    fn calls_and_spins_are_one_line_each() {
        assert_eq!(
            lines(Some(4)),
            [
                "1 T0 + create T1",
                "2 T0 + create T2",
                "3 T1 o start T1",
                "4 T1 L lock app::BANK",
                "5 T2 o start T2",
                "6 T2 L lock app::BANK waits =6",
                "12 T1 U unlock app::BANK",
                "13 T2 L lock app::BANK =2",
                "15 T2 U unlock app::BANK",
                "16 T2 = spins 5 times on app::DONE = 0",
                "21 T1 W write app::DONE = 1",
            ]
        );
    }

    #[test]
    fn attempts_on_a_lock_without_a_name_are_one_line_each() {
        assert_eq!(
            lines_of(&samples::inferred_lock(), Some(4)),
            [
                "1 T0 + create T1",
                "2 T1 o start T1",
                "3 T1 L lock (inferred) queue+0x4000",
                "4 T0 L lock (inferred) queue+0x4000 waits =3",
                "7 T1 U unlock (inferred) queue+0x4000",
                "8 T0 L lock (inferred) queue+0x4000 =2",
                "10 T0 U unlock (inferred) queue+0x4000",
            ]
        );
    }

    #[test]
    fn unfolded_steps_are_what_the_task_does() {
        let lines = lines(None);
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[5], "6 T2 r await app::BANK = 1");
        assert_eq!(lines[9], "10 T2 M update app::BANK = 2");
        // Steps that acquire and release the lock are named so.
        assert_eq!(lines[13], "14 T2 L lock app::BANK");
        assert_eq!(lines[14], "15 T2 U unlock app::BANK");
    }
}
