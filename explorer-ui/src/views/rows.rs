//! What the rows of a schedule say, whatever form they are drawn in.

use super::style::Glyphs;
use super::text::{clean, clip, count, width};
use std::collections::HashMap;
use traces::{Execution, Operation, Place, Site, Step, TaskId, Trace};

/// How the scheduler came to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The task went on, or this is the first step.
    None,
    /// Another task had moved before, and waited or was done or gave way.
    Switch,
    /// Another task had moved before and could have gone on.
    Preemption,
}

/// What one row tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The number of the step, from 0; none for what never happened.
    pub step: Option<usize>,
    /// How the scheduler came to it.
    pub mark: Mark,
    /// What stands in which task's column. Several only in the row of those who wait for ever.
    pub cells: Vec<Cell>,
    /// The tasks that could have moved here, ascending.
    pub enabled: Vec<TaskId>,
}

/// What a task did or could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Whose.
    pub task: TaskId,
    /// The sign of the operation's kind: `L`, `U`, `+`.
    pub sign: String,
    /// What was done: `lock`, `waits for`.
    pub operation: String,
    /// To what; may be empty.
    pub object: String,
    /// What came of it; may be empty.
    pub value: String,
    /// Where in the source; empty where nothing is known.
    pub place: String,
    /// Whether this is where the execution failed.
    pub failed: bool,
}

impl Cell {
    /// Everything but the place, in at most `cells` cells. The object's name gives way first: what
    /// came of an operation often is the point of the row.
    #[must_use]
    pub fn label(&self, cells: usize, cut: &str) -> String {
        let join = |object: &str| {
            let parts = [self.sign.as_str(), &self.operation, object, &self.value];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let full = join(&self.object);
        let excess = width(&full).saturating_sub(cells);
        if excess == 0 {
            return full;
        }
        let object = width(&self.object).saturating_sub(excess).max(LEAST_OBJECT);
        clip(&join(&clip(&self.object, object, cut)), cells, cut)
    }

    /// How many cells the label needs at least to say what came of the operation.
    #[must_use]
    pub fn least_width(&self) -> usize {
        let object = width(&self.object);
        self.label_width() - object + object.min(LEAST_OBJECT)
    }

    /// How many cells the whole label takes.
    #[must_use]
    pub fn label_width(&self) -> usize {
        width(&self.label(usize::MAX, ""))
    }
}

/// What is left at least of an object's name.
const LEAST_OBJECT: usize = 6;

/// Which rows are wanted, and what of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The first and the last step, from 0; none for all.
    pub steps: Option<(usize, usize)>,
    /// Fold runs of at least so many steps that no other task can notice; none: fold nothing.
    pub fold: Option<usize>,
}

impl Selection {
    fn holds(&self, step: usize) -> bool {
        self.steps.is_none_or(|(first, last)| (first..=last).contains(&step))
    }
}

/// The rows of a trace's schedule, in order.
#[must_use]
pub fn rows(trace: &Trace, selection: Selection, glyphs: &Glyphs) -> Vec<Row> {
    let execution = &trace.execution;
    let reader = Reader::new(trace);
    let silent = selection.fold.map(|least| silent_runs(execution, least.max(2)));
    let preemptions = execution.preemptions();
    let mut next_preemption = preemptions.iter().peekable();
    let mut rows = Vec::new();
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
        if !selection.holds(index) || index < folded_until {
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
                    place: String::new(),
                    failed: false,
                }
            }
            None => reader.cell(trace, index, glyphs),
        };
        rows.push(Row { step: Some(index), mark, cells: vec![cell], enabled: enabled.to_vec() });
    });
    let reaches_the_end = selection.steps.is_none_or(|(_, last)| last + 1 >= execution.steps.len());
    if reaches_the_end && let Some(row) = waiting(trace, glyphs) {
        rows.push(row);
    }
    rows
}

/// Knows what steps refer to, so that one row costs no more among a million.
#[derive(Debug, Clone)]
pub struct Reader {
    places: HashMap<Site, String>,
    data: HashMap<u64, Vec<(u32, u32)>>,
    failed: Option<usize>,
}

impl Reader {
    /// For the rows of this trace.
    #[must_use]
    pub fn new(trace: &Trace) -> Reader {
        let execution = &trace.execution;
        // `Execution::place` walks a list: once for each site, not for each step.
        let mut places = HashMap::new();
        for step in &execution.steps {
            places.entry(step.site).or_insert_with(|| place(execution, step.site));
        }
        let mut data: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
        for choice in &execution.data {
            data.entry(choice.step).or_default().push((choice.taken, choice.of));
        }
        // Those who wait for ever have a row of their own: no step of theirs was wrong.
        let failed = trace
            .failure
            .as_ref()
            .filter(|failure| failure.waits.is_empty())
            .and_then(|failure| failure.task)
            .and_then(|task| execution.steps.iter().rposition(|step| step.task == task));
        Reader { places, data, failed }
    }

    /// What stands in the row of a step of the trace that this is for.
    ///
    /// # Panics
    /// Where there is no such step.
    #[must_use]
    pub fn cell(&self, trace: &Trace, index: usize, glyphs: &Glyphs) -> Cell {
        let step = &trace.execution.steps[index];
        let failed = self.failed == Some(index);
        // What the last step was about to write when the execution failed was not looked at.
        let unknown = trace.failure.is_some()
            && index + 1 == trace.execution.steps.len()
            && matches!(step.operation, Operation::Write | Operation::Update)
            && step.value == 0;
        let mut values: Vec<String> = value(step).filter(|_| !unknown).into_iter().collect();
        for (taken, of) in self.data.get(&(index as u64)).into_iter().flatten() {
            match (step.operation, taken) {
                (Operation::Wait | Operation::FutexWait, 0) => {}
                (Operation::Wait | Operation::FutexWait, _) => {
                    values.push("[comes back by itself]".to_owned());
                }
                _ => values.push(format!("[choice {} of {of}]", u64::from(*taken) + 1)),
            }
        }
        Cell {
            task: step.task,
            sign: if failed { "!".to_owned() } else { sign(step.operation, glyphs).to_owned() },
            operation: step.operation.name().to_owned(),
            object: object(trace, step.object).unwrap_or_default(),
            value: values.join(" "),
            place: self.places.get(&step.site).cloned().unwrap_or_default(),
            failed,
        }
    }
}

/// What an object is called.
pub(crate) fn object(trace: &Trace, index: Option<u32>) -> Option<String> {
    let object = trace.execution.objects.get(usize::try_from(index?).ok()?)?;
    Some(match object.place {
        Place::Task(task) => task.to_string(),
        _ => clean(&object.name),
    })
}

/// What nobody will ever do: the row under a deadlock.
pub(crate) fn waiting(trace: &Trace, glyphs: &Glyphs) -> Option<Row> {
    let failure = trace.failure.as_ref()?;
    let mut cells: Vec<Cell> = Vec::new();
    for wait in &failure.waits {
        if cells.iter().any(|cell| cell.task == wait.task) {
            continue;
        }
        let object = object(trace, wait.object).unwrap_or_default();
        cells.push(Cell {
            task: wait.task,
            sign: glyphs.wait.to_owned(),
            operation: if object.is_empty() { "waits" } else { "waits for" }.to_owned(),
            object,
            value: String::new(),
            place: wait.site.map(|site| place(&trace.execution, site)).unwrap_or_default(),
            failed: true,
        });
    }
    cells.sort_by_key(|cell| cell.task);
    (!cells.is_empty()).then_some(Row { step: None, mark: Mark::None, cells, enabled: Vec::new() })
}

/// A site for a person; empty for one that says nothing.
pub(crate) fn place(execution: &Execution, site: Site) -> String {
    let known = execution.places.iter().any(|(at, _)| *at == site);
    if site.offset == 0 && !known { String::new() } else { clean(&execution.place(site)) }
}

/// One sign for each kind of operation, the same in every view.
fn sign(operation: Operation, glyphs: &Glyphs) -> &'static str {
    use Operation as O;
    match operation {
        O::Start => "o",
        O::Create => "+",
        O::Join => "J",
        O::Detach => "-",
        O::Exit | O::ExitNow => "x",
        O::Lock | O::TryLock | O::TimedLock => "L",
        O::SpinLock | O::SpinTryLock => "L",
        O::WriteLock | O::TryWriteLock | O::TimedWriteLock | O::WriteWake => "L",
        O::ReadLock | O::TryReadLock | O::TimedReadLock => "l",
        O::Unlock | O::RwUnlock | O::SpinUnlock => "U",
        O::BarrierWait => "B",
        O::BarrierPass => "b",
        O::MutexDestroy
        | O::ConditionDestroy
        | O::SemDestroy
        | O::RwDestroy
        | O::BarrierDestroy
        | O::SpinDestroy => "~",
        O::Cancel => "C",
        O::Kill => "K",
        O::Timer => "t",
        O::TimerSet => "T",
        O::Handler => "h",
        O::SignalWait => glyphs.wait,
        O::TestCancel => "c",
        O::SemWait | O::SemTryWait | O::SemTimedWait => "P",
        O::SemPost => "V",
        O::Wait | O::FutexWait => glyphs.wait,
        O::Wake | O::TimedWake | O::SpuriousWake | O::FutexWoken => "w",
        O::Signal | O::Broadcast | O::FutexWake | O::FutexRequeue => "S",
        O::Once => "1",
        O::Yield => "y",
        O::Sleep => "z",
        O::Ready => "D",
        O::Read => "R",
        O::Await => "r",
        O::Write => "W",
        O::Update => "M",
    }
}

/// What came of a step, where that says something.
fn value(step: &Step) -> Option<String> {
    use Operation as O;
    match step.operation {
        O::Read | O::Write | O::Update | O::Await => Some(format!("= {}", signed(step.value))),
        O::Signal | O::Broadcast | O::FutexWake => Some(match step.value {
            0 => "woke nobody".to_owned(),
            some => format!("woke {}", signed(some)),
        }),
        O::BarrierWait if step.value != 0 => Some("last".to_owned()),
        O::SignalWait if step.value != 0 && step.value != 11 => {
            Some(format!("signal {}", step.value))
        }
        O::FutexRequeue => Some(format!("woke or moved {}", step.value)),
        O::Exit | O::ExitNow => (step.value != 0).then(|| format!("status {}", step.value)),
        _ if step.value == 0 => None,
        _ => Some(format!("= {}", error_name(step.value))),
    }
}

/// Counters below zero are read as such, not as numbers of twenty digits; and what can only be an
/// address as one.
fn signed(value: u64) -> String {
    match value.cast_signed() {
        signed @ -65_536..0 => signed.to_string(),
        signed if (0..1 << 32).contains(&signed) => value.to_string(),
        _ => format!("{value:#x}"),
    }
}

/// The error numbers that operations of threads come back with.
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

/// Runs of steps by one task that no other task can notice: start and length.
///
/// A step is silent where only its own task ever touches its object, nobody begins or ends by it,
/// and it made no choice. The first step after a switch stays, so that no switch is hidden.
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
        let entered = index == 0 || execution.steps[index - 1].task != step.task;
        let private = match step.object {
            Some(object) => owners.get(&object).copied().flatten().is_some(),
            None => true,
        };
        let speaks = matches!(
            step.operation,
            Operation::Start
                | Operation::Create
                | Operation::Join
                | Operation::Exit
                | Operation::ExitNow
        );
        let chose =
            execution.data.binary_search_by_key(&(index as u64), |choice| choice.step).is_ok();
        private && !entered && !speaks && !chose
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
