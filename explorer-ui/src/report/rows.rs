//! The rows of a schedule, independent of their layout.

use crate::report::calls::{Calls, is_internal};
use crate::report::folds::{Run, What, runs};
use crate::report::names::{SiteNames, block_name, object_name, short_name, site_name};
use crate::report::style::Glyphs;
use crate::report::text::{clean, clip, count, width};
use replay_core::library_calls::{self, SiteCall, acquires};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use traces::primitives::Value;
use traces::{ObjectKind, Operation, Site, Step, THREAD_END, TaskId, Trace};

/// The kind of switch before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The same task executed the previous step, or there is none.
    None,
    /// Another task executed the previous step, and then blocked, exited or yielded.
    Switch,
    /// Another task executed the previous step and was still enabled.
    Preemption,
}

/// A row of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The number of the step, counted from 0; none for the row of deadlocked tasks.
    pub step: Option<usize>,
    /// The kind of switch before the step.
    pub mark: Mark,
    /// The cells, each for a task's column. Only the row of deadlocked tasks has several.
    pub cells: Vec<Cell>,
    /// The enabled tasks, ascending.
    pub enabled: Vec<TaskId>,
}

/// An operation of a task, executed or blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The task.
    pub task: TaskId,
    /// The sign of the operation's kind: `L`, `U`, `+`.
    pub sign: String,
    /// The operation: `lock`, `waits for`.
    pub operation: String,
    /// The object; may be empty.
    pub object: String,
    /// The result; may be empty.
    pub value: String,
    /// The site; empty if unknown.
    pub site: String,
    /// Whether the execution failed here.
    pub failed: bool,
}

impl Cell {
    /// Everything but the site, in at most `cells` cells. Clips the object's name first, since the result
    /// of an operation is often more important. Before that, an operation that its sign names is left
    /// out.
    #[must_use]
    pub fn label(&self, cells: usize, cut: &str) -> String {
        let join = |operation: &str, object: &str| {
            let parts = [self.sign.as_str(), operation, object, &self.value];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let clipped = |operation: &str, least: usize| {
            let excess = width(&join(operation, &self.object)).saturating_sub(cells);
            let object = width(&self.object).saturating_sub(excess).max(least);
            join(operation, &short_name(&self.object, object, cut))
        };
        let fits = |label: &String| width(label) <= cells;
        let is_named_by_sign =
            matches!(self.sign.as_str(), "R" | "W" | "M" | "r" | "l" | "L" | "U");
        let whole = Some(join(&self.operation, &self.object)).filter(fits);
        let block = || block_name(&self.object).map(|own| join(&self.operation, &own)).filter(fits);
        let short = || is_named_by_sign.then(|| clipped("", MIN_OBJECT)).filter(fits);
        let cut_short = || Some(clipped(&self.operation, MIN_OBJECT)).filter(fits);
        let shortest = || Some(clipped(&self.operation, 2)).filter(fits);
        whole
            .or_else(block)
            .or_else(short)
            .or_else(cut_short)
            .or_else(shortest)
            .unwrap_or_else(|| clip(&clipped(&self.operation, MIN_OBJECT), cells, cut))
    }

    /// The minimum width at which the label still shows the result of the operation.
    #[must_use]
    pub fn least_width(&self) -> usize {
        let object = width(&self.object);
        self.label_width() - object + object.min(MIN_OBJECT)
    }

    /// The width of the complete label.
    #[must_use]
    pub fn label_width(&self) -> usize {
        width(&self.label(usize::MAX, ""))
    }
}

/// The minimum width of an object's name.
const MIN_OBJECT: usize = 6;

/// Which rows to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The first and the last step, counted from 0; none for all.
    pub steps: Option<(usize, usize)>,
    /// Fold runs of at least this many steps that no other task can observe; none: fold nothing.
    pub fold: Option<usize>,
}

impl Selection {
    fn contains(&self, step: usize) -> bool {
        self.steps.is_none_or(|(first, last)| (first..=last).contains(&step))
    }
}

/// The width of a schedule report, and the rows to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The width of a line in cells.
    pub width: usize,
    /// The rows to show.
    pub selection: Selection,
    /// Whether each row lists the enabled tasks.
    pub enabled: bool,
}

/// The rows of a trace's schedule, in order.
#[must_use]
pub fn rows(trace: &Trace, selection: Selection, glyphs: &Glyphs) -> Vec<Row> {
    let mut rows = Vec::new();
    for_each_row(trace, selection, glyphs, |row| rows.push(row));
    rows
}

/// Calls `visit` with each row of a trace's schedule, in order, so that a long schedule need not be
/// in memory as a whole.
pub fn for_each_row(
    trace: &Trace,
    selection: Selection,
    glyphs: &Glyphs,
    mut visit: impl FnMut(Row),
) {
    let execution = &trace.execution;
    let reader = Reader::new(trace);
    let folded = selection.fold.map(|least| runs(execution, &reader.calls, least.max(2)));
    let preemptions = execution.preemptions();
    let mut next_preemption = preemptions.iter().peekable();
    let mut before: Option<TaskId> = None;
    let mut folded_until = 0;
    execution.for_each_step(|index, step, enabled| {
        let preempted = next_preemption.next_if(|&&at| at == index).is_some();
        let mark = match before {
            Some(last) if last != step.task && preempted => Mark::Preemption,
            Some(last) if last != step.task => Mark::Switch,
            _ => Mark::None,
        };
        before = Some(step.task);
        if !selection.contains(index) || index < folded_until {
            return;
        }
        let run = folded.as_ref().and_then(|runs| runs.get(&index));
        let cell = match run {
            Some(run) => {
                folded_until = index + run.length;
                reader.run_cell(trace, index, *run, glyphs)
            }
            None => reader.cell(trace, index, glyphs),
        };
        visit(Row { step: Some(index), mark, cells: vec![cell], enabled: enabled.to_vec() });
    });
    let reaches_the_end = selection.steps.is_none_or(|(_, last)| last + 1 >= execution.steps.len());
    if reaches_the_end && let Some(row) = waiting(trace, glyphs) {
        visit(row);
    }
}

/// An index of a trace: makes the cost of one row independent of the length of the schedule.
#[derive(Debug, Clone)]
pub struct Reader {
    places: HashMap<Site, String>,
    data: HashMap<u64, Vec<(u32, u32)>>,
    failed: Option<usize>,
    calls: Calls,
}

impl Reader {
    /// Builds the index of a trace.
    #[must_use]
    pub fn new(trace: &Trace) -> Reader {
        let execution = &trace.execution;
        let names = SiteNames::of(execution);
        let mut places = HashMap::new();
        for step in &execution.steps {
            places.entry(step.site).or_insert_with(|| names.name(step.site));
        }
        let mut data: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
        for choice in &execution.data {
            data.entry(choice.step).or_default().push((choice.taken, choice.of));
        }
        // Deadlocked tasks have a separate row, and none of their steps failed.
        let failed = trace
            .failure
            .as_ref()
            .filter(|failure| failure.waits.is_empty())
            .and_then(|failure| failure.task)
            .and_then(|task| execution.steps.iter().rposition(|step| step.task == task));
        Reader { places, data, failed, calls: Calls::of(execution) }
    }

    /// Whether the execution failed in this step.
    pub(crate) fn is_failed(&self, index: usize) -> bool {
        self.failed == Some(index)
    }

    /// The result of a step of the indexed trace; may be empty.
    pub(crate) fn value(&self, trace: &Trace, index: usize) -> String {
        let step = &trace.execution.steps[index];
        // The value of the last step's write is not recorded if the execution failed in that step.
        let unknown = trace.failure.is_some()
            && index + 1 == trace.execution.steps.len()
            && matches!(step.operation, Operation::Write | Operation::Update)
            && step.value == 0;
        let mut text = value(step).filter(|_| !unknown).unwrap_or_default();
        let mut add = |note: &str| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(note);
        };
        for (taken, of) in self.data.get(&(index as u64)).into_iter().flatten() {
            match (step.operation, taken) {
                (Operation::Wait | Operation::FutexWait, 0) => {}
                (Operation::Wait | Operation::FutexWait, _) => add("[spurious wake-up]"),
                _ => add(&format!("[choice {} of {of}]", u64::from(*taken) + 1)),
            }
        }
        if let Some((task, by)) = trace.execution.deadline_at(index).and_then(|note| note.late) {
            add(&format!("[{task} is {} late]", traces::seconds(by)));
        }
        text
    }

    /// The cell of a step of the indexed trace.
    ///
    /// # Panics
    /// If there is no such step.
    #[must_use]
    pub fn cell(&self, trace: &Trace, index: usize, glyphs: &Glyphs) -> Cell {
        let step = &trace.execution.steps[index];
        let failed = self.is_failed(index);
        let (asked, name) = self.words(step, index);
        let name = name.or_else(|| self.inferred(step, index));
        if step.operation == Operation::Write && is_thread_end(trace, step) {
            let end = sign(Operation::Exit, glyphs);
            return Cell {
                task: step.task,
                sign: if failed { "!" } else { end }.to_owned(),
                operation: format!("{} ends", step.task),
                object: String::new(),
                value: String::new(),
                site: self.places.get(&step.site).cloned().unwrap_or_default(),
                failed,
            };
        }
        Cell {
            task: step.task,
            sign: if failed { "!".to_owned() } else { sign(asked, glyphs).to_owned() },
            operation: name.unwrap_or_else(|| asked.name().to_owned()),
            object: object_name(trace, step.object).unwrap_or_default(),
            // The value of a lock's word says nothing to users of the lock.
            value: match self.calls.lock_step(index) {
                Some(_) => String::new(),
                None => self.value(trace, index),
            },
            site: self.places.get(&step.site).cloned().unwrap_or_default(),
            failed,
        }
    }

    /// What user code asked for in a step, and the name of the library function if no
    /// operation is the same.
    fn words(&self, step: &Step, index: usize) -> (Operation, Option<String>) {
        if let Some(operation) = self.calls.lock_step(index) {
            return (operation, None);
        }
        let call = match self.calls.at(step.site) {
            Some(SiteCall::Call(call)) if is_internal(step.operation) => call,
            _ => return (step.operation, None),
        };
        match call.operation {
            // A single step of a lock that does not complete an operation: an attempt that failed,
            // or a part of a wait.
            Some(operation) if operation.description().object != ObjectKind::Memory => {
                let woke = step.operation == Operation::FutexWake;
                let wakes = matches!(operation, Operation::Signal | Operation::Broadcast);
                (if woke && wakes { operation } else { step.operation }, None)
            }
            Some(operation) if step.operation == Operation::Update => (operation, None),
            None if !call.is_atomic && !call.function.is_empty() => {
                (step.operation, Some(clean(&call.function)))
            }
            _ => (step.operation, None),
        }
    }

    /// The name of the operation that a step completes on a lock that no library function names.
    fn inferred(&self, step: &Step, index: usize) -> Option<String> {
        let operation = self.calls.lock_step(index)?;
        let inferred = || format!("{} (inferred)", operation.name());
        self.calls.is_inferred(step.object).then(inferred)
    }

    /// The runs of steps that share a line when steps are folded.
    #[must_use]
    pub fn runs(&self, trace: &Trace, least: usize) -> HashMap<usize, Run> {
        runs(&trace.execution, &self.calls, least)
    }

    /// The cell of a run of steps of the indexed trace.
    ///
    /// # Panics
    /// If there are no such steps.
    #[must_use]
    pub fn run_cell(&self, trace: &Trace, start: usize, run: Run, glyphs: &Glyphs) -> Cell {
        let first = self.cell(trace, start, glyphs);
        let steps = start..start + run.length;
        let failed = self.failed.is_some_and(|failed| steps.contains(&failed));
        let fold = Cell {
            sign: if failed { "!" } else { glyphs.fold }.to_owned(),
            operation: count(run.length as u64, "step"),
            object: String::new(),
            value: String::new(),
            site: String::new(),
            failed,
            ..first.clone()
        };
        match run.what {
            What::Silent => fold,
            What::Library => Cell { operation: count(run.length as u64, "library step"), ..fold },
            What::Spin { turns } => Cell {
                operation: format!("spins {}", count(turns as u64, "time")),
                object: match first.object.is_empty() {
                    true => String::new(),
                    false => format!("on {}", first.object),
                },
                value: first.value,
                site: first.site,
                ..fold
            },
            What::Call => self.call_cell(trace, steps, first, failed, glyphs),
            What::Lock => self.lock_cell(trace, steps, first, failed, glyphs),
        }
    }

    /// The cell of the steps of one attempt to acquire an inferred lock, or of its release.
    fn lock_cell(
        &self,
        trace: &Trace,
        steps: Range<usize>,
        first: Cell,
        failed: bool,
        glyphs: &Glyphs,
    ) -> Cell {
        let done = steps.clone().find(|&at| self.calls.lock_step(at).is_some());
        let asked = done.and_then(|at| self.calls.lock_step(at)).unwrap_or(Operation::Lock);
        let waits = if done.is_none() { "waits " } else { "" };
        Cell {
            sign: if failed { "!" } else { sign(asked, glyphs) }.to_owned(),
            operation: format!("{} (inferred)", asked.name()),
            object: object_name(trace, trace.execution.steps[steps.start].object)
                .unwrap_or_default(),
            value: format!("{waits}{}{}", glyphs.fold, steps.len()),
            failed,
            task: first.task,
            site: first.site,
        }
    }

    /// The cell of the steps of one call of a library function.
    fn call_cell(
        &self,
        trace: &Trace,
        steps: Range<usize>,
        first: Cell,
        failed: bool,
        glyphs: &Glyphs,
    ) -> Cell {
        let all = &trace.execution.steps;
        let last = steps.end - 1;
        let asked = match self.calls.at(all[steps.start].site) {
            Some(SiteCall::Call(call)) => call.operation,
            _ => None,
        };
        let lock = steps.clone().find(|&at| self.calls.lock_step(at).is_some());
        let completed = lock.and_then(|at| self.calls.lock_step(at));
        let is_lock = asked.is_some_and(acquires);
        let operation = if is_lock { completed.or(asked) } else { asked };
        // A wait for a condition releases a lock, which is not its object.
        let object = match lock.filter(|_| is_lock) {
            Some(at) => object_name(trace, all[at].object).unwrap_or_default(),
            None => first.object,
        };
        let operation = match operation {
            Some(Operation::Wait) if all[steps.start].operation == Operation::FutexWoken => {
                Some(Operation::Wake)
            }
            other => other,
        };
        let waits_for_lock = matches!(
            self.calls.at(all[last].site),
            Some(SiteCall::Call(call)) if call.waits_for_lock
        );
        let mut value = match all[last].operation {
            Operation::FutexWait if asked != Some(Operation::Wait) => "waits".to_owned(),
            // The runtime takes the lock there, or sleeps, in one step.
            Operation::Update if completed.is_none() && waits_for_lock => "waits".to_owned(),
            _ if is_lock && completed.is_none() => "not yet".to_owned(),
            Operation::FutexWake => self.value(trace, last),
            _ => String::new(),
        };
        let length = steps.len();
        value.push_str(if value.is_empty() { "" } else { " " });
        value.push_str(&format!("{}{length}", glyphs.fold));
        let own = operation.map_or(glyphs.fold, |operation| sign(operation, glyphs));
        Cell {
            sign: if failed { "!" } else { own }.to_owned(),
            operation: operation.map_or(first.operation, |operation| operation.name().to_owned()),
            object,
            value,
            failed,
            task: first.task,
            site: first.site,
        }
    }
}

/// The row of deadlocked tasks, with the operation at which each is blocked.
pub(crate) fn waiting(trace: &Trace, glyphs: &Glyphs) -> Option<Row> {
    let failure = trace.failure.as_ref()?;
    let mut cells: Vec<Cell> = Vec::new();
    let mut seen = HashSet::new();
    for wait in &failure.waits {
        if !seen.insert(wait.task) {
            continue;
        }
        let object = match library_calls::awaited(&trace.execution, &failure.stacks, wait) {
            Some(what) if wait.holder.is_none() => what.to_owned(),
            _ => object_name(trace, wait.object).unwrap_or_default(),
        };
        cells.push(Cell {
            task: wait.task,
            sign: glyphs.wait.to_owned(),
            operation: if object.is_empty() { "waits" } else { "waits for" }.to_owned(),
            object,
            value: String::new(),
            site: wait.site.map(|site| site_name(&trace.execution, site)).unwrap_or_default(),
            failed: true,
        });
    }
    cells.sort_by_key(|cell| cell.task);
    (!cells.is_empty()).then_some(Row { step: None, mark: Mark::None, cells, enabled: Vec::new() })
}

/// Whether a step's object is the word that the kernel clears when a thread ends.
fn is_thread_end(trace: &Trace, step: &Step) -> bool {
    let object = step.object.and_then(|object| trace.execution.objects.get(object as usize));
    object.is_some_and(|object| object.kind == ObjectKind::Memory && object.name == THREAD_END)
}

/// The sign of each kind of operation, the same in every report.
fn sign(operation: Operation, glyphs: &Glyphs) -> &'static str {
    operation.description().sign.unwrap_or(glyphs.wait)
}

/// The result of a step, if it carries information.
pub(crate) fn value(step: &Step) -> Option<String> {
    match step.operation.description().value {
        Value::Memory => Some(format!("= {}", signed(step.value))),
        Value::Woken => Some(match step.value {
            0 => "woke none".to_owned(),
            some => format!("woke {}", signed(some)),
        }),
        Value::Last if step.value != 0 => Some("last".to_owned()),
        Value::Signal if step.value != 0 && step.value != 11 => {
            Some(format!("signal {}", step.value))
        }
        Value::WokenOrMoved => Some(format!("woke or moved {}", step.value)),
        Value::Status => (step.value != 0).then(|| format!("status {}", step.value)),
        _ if step.value == 0 => None,
        _ => Some(format!("= {}", error_name(step.value))),
    }
}

/// Formats small negative values as signed numbers, and values of 2^32 or more as hexadecimal, since
/// they are most likely addresses.
fn signed(value: u64) -> String {
    match value.cast_signed() {
        signed @ -65_536..0 => signed.to_string(),
        signed if (0..1 << 32).contains(&signed) => value.to_string(),
        _ => format!("{value:#x}"),
    }
}

/// The names of the error numbers that thread operations return.
fn error_name(value: u64) -> String {
    match value {
        1 => "not permitted",
        3 => "no such thread",
        4 => "interrupted",
        11 => "would block",
        16 => "busy",
        22 => "invalid",
        35 => "would deadlock",
        110 => "timed out",
        125 => "cancelled",
        130 => "owner died",
        131 => "not recoverable",
        _ => return signed(value),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_steps_are_named() {
        use Operation as O;
        let result = |operation, result| {
            let site = Site { module: 0, offset: 0 };
            value(&Step { task: TaskId(1), operation, object: None, site, value: result })
        };
        for (operation, number, expected) in [
            (O::Read, 7, "= 7"),
            (O::Read, u64::MAX, "= -1"),
            (O::Write, 1 << 40, "= 0x10000000000"),
            (O::FutexWake, 0, "woke none"),
            (O::FutexWake, 2, "woke 2"),
            (O::TryLock, 1, "= not permitted"),
            (O::Join, 3, "= no such thread"),
            (O::Lock, 4, "= interrupted"),
            (O::Lock, 11, "= would block"),
            (O::TryLock, 16, "= busy"),
            (O::Lock, 22, "= invalid"),
            (O::Lock, 35, "= would deadlock"),
            (O::Lock, 110, "= timed out"),
            (O::Lock, 125, "= cancelled"),
            (O::Lock, 130, "= owner died"),
            (O::Lock, 131, "= not recoverable"),
            (O::Lock, 99, "= 99"),
        ] {
            assert_eq!(result(operation, number).as_deref(), Some(expected), "{operation:?}");
        }
        assert_eq!(result(O::Lock, 0), None);
        let moved = O::ALL.iter().find(|one| one.description().value == Value::WokenOrMoved);
        let moved = *moved.expect("an operation moves waiting tasks");
        assert_eq!(result(moved, 3).as_deref(), Some("woke or moved 3"));
    }

    #[test]
    fn folded_steps_of_a_library_are_counted() {
        let trace = crate::report::samples::two_tasks();
        let style = crate::report::style::Style { color: false, ascii: true };
        let run = |what| {
            let reader = Reader::new(&trace);
            reader.run_cell(&trace, 1, Run { length: 3, what }, style.glyphs()).operation
        };
        assert_eq!(run(What::Library), "3 library steps");
        assert_eq!(run(What::Silent), "3 steps");
        assert_eq!(run(What::Spin { turns: 2 }), "spins 2 times");
    }
}
