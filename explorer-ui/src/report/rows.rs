//! The rows of a schedule, independent of their layout.

use crate::report::names::{SiteNames, object_name, site_name};
use crate::report::style::Glyphs;
use crate::report::text::{clip, count, width};
use std::collections::{HashMap, HashSet};
use traces::primitives::Value;
use traces::{Execution, Operation, Site, Step, TaskId, Trace};

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
    /// of an operation is often more important. A memory access is then described by its sign alone.
    #[must_use]
    pub fn label(&self, cells: usize, cut: &str) -> String {
        let join = |operation: &str, object: &str| {
            let parts = [self.sign.as_str(), operation, object, &self.value];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let clipped = |operation: &str, least: usize| {
            let excess = width(&join(operation, &self.object)).saturating_sub(cells);
            let object = width(&self.object).saturating_sub(excess).max(least);
            join(operation, &clip(&self.object, object, cut))
        };
        let fits = |label: &String| width(label) <= cells;
        let is_access = matches!(self.sign.as_str(), "R" | "W" | "M");
        let whole = Some(clipped(&self.operation, MIN_OBJECT)).filter(fits);
        let short = || is_access.then(|| clipped("", MIN_OBJECT)).filter(fits);
        let shortest = || Some(clipped(&self.operation, 2)).filter(fits);
        whole
            .or_else(short)
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
    let silent = selection.fold.map(|least| silent_runs(execution, least.max(2)));
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
        let cell = match silent.as_ref().and_then(|runs| runs.get(&index)) {
            Some(&length) => {
                folded_until = index + length;
                Cell {
                    task: step.task,
                    sign: glyphs.fold.to_owned(),
                    operation: count(length as u64, "step"),
                    object: String::new(),
                    value: String::new(),
                    site: String::new(),
                    failed: false,
                }
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
        Reader { places, data, failed }
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
        Cell {
            task: step.task,
            sign: if failed { "!".to_owned() } else { sign(step.operation, glyphs).to_owned() },
            operation: step.operation.name().to_owned(),
            object: object_name(trace, step.object).unwrap_or_default(),
            value: self.value(trace, index),
            site: self.places.get(&step.site).cloned().unwrap_or_default(),
            failed,
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
        let object = object_name(trace, wait.object).unwrap_or_default();
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

/// Runs of consecutive silent steps of one task: start and length.
///
/// A step is silent if only its own task accesses its object in the whole execution, it neither creates,
/// starts, joins nor ends a task, and it has no data choice. The first step after a switch is never
/// silent, so that no switch is hidden.
pub(crate) fn silent_runs(execution: &Execution, least: usize) -> HashMap<usize, usize> {
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
        let has_choice =
            execution.data.binary_search_by_key(&(index as u64), |choice| choice.step).is_ok();
        private && !follows_switch && !changes_tasks && !has_choice
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
