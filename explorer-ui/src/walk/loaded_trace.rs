//! An execution with everything that drawing it needs, computed once.

use crate::report::folds::Run;
use crate::report::rows::{Cell, Mark, Reader, waiting};
use crate::report::style::Style;
use crate::report::task_lifetimes::lifetimes;
use crate::report::text::width;
use replay_core::graph::{HappensBefore, Relation};
use replay_core::step_index::StepIndex;
use replay_core::{locks::HeldLocks, task_status::TaskStatus, verdict};
use std::collections::HashMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use traces::{Choice, Frame, Site, TaskId, Trace};

/// Sequences of at least this many steps that no other task can observe are folded.
const FOLD: usize = 4;

/// An execution that is ready to be drawn and navigated.
pub struct LoadedTrace {
    /// The execution and its circumstances.
    pub trace: Trace,
    /// The names of its tasks and objects.
    pub reader: Reader,
    graph: HappensBefore,
    /// The steps that are preemptions, ascending.
    preemptions: Vec<usize>,
    positions: StepIndex,
    lives: Vec<Option<RangeInclusive<usize>>>,
    runs: HashMap<usize, Run>,
    /// The first steps of the lines: with one line per step, and with runs folded.
    lines: [Arc<Vec<usize>>; 2],
    choices: Vec<Choice>,
    busy: Busy,
    column_width: u16,
    verdict: Option<verdict::Verdict>,
}

/// The number of steps that each task has executed at the beginning of each part of a schedule.
/// From it the activity of a task in any range of steps is computed in constant time.
struct Busy {
    /// The number of steps per part.
    part: usize,
    /// For each task, the numbers at the beginning of each part.
    done: Vec<Vec<u32>>,
}

impl Busy {
    /// The number of parts: more than a screen has columns.
    const PARTS: usize = 1024;

    fn of(trace: &Trace) -> Busy {
        let steps = &trace.execution.steps;
        let part = steps.len().div_ceil(Busy::PARTS).max(1);
        let tasks = steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        let mut done = vec![vec![0]; tasks];
        let mut so_far = vec![0; tasks];
        for steps in steps.chunks(part) {
            for step in steps {
                so_far[step.task.index()] += 1;
            }
            for (done, &so_far) in done.iter_mut().zip(&so_far) {
                done.push(so_far);
            }
        }
        Busy { part, done }
    }

    fn count(&self, task: TaskId, steps: Range<usize>) -> usize {
        let Some(done) = self.done.get(task.index()) else { return 0 };
        let by = |step: usize| done[(step / self.part).min(done.len() - 1)] as usize;
        let parts = (by(steps.start), by(steps.end.next_multiple_of(self.part)));
        let exact = parts.1 - parts.0;
        // The steps at either end that do not fill a part.
        exact.min(steps.len())
    }
}

/// Whether the computation takes noticeably long.
#[must_use]
pub fn is_long(trace: &Trace) -> bool {
    trace.execution.steps.len() > 20_000
}

/// The steps are left out: there may be millions.
impl fmt::Debug for LoadedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedTrace").field("steps", &self.len()).finish_non_exhaustive()
    }
}

/// Compares identities: comparing millions of steps takes too long.
impl PartialEq for LoadedTrace {
    fn eq(&self, other: &LoadedTrace) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for LoadedTrace {}

/// Begins a computation on a thread; if none can be started, it runs when its result is needed. A panic
/// of the thread continues in this one.
fn started<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    work: impl Fn() -> T + Send + Sync + Copy + 'scope,
) -> impl FnOnce() -> T {
    let thread = std::thread::Builder::new().spawn_scoped(scope, work);
    move || match thread {
        Ok(thread) => thread.join().unwrap_or_else(|broke| std::panic::resume_unwind(broke)),
        Err(_) => work(),
    }
}

/// The first steps of the lines of a schedule, with these runs folded.
fn lines(steps: usize, runs: &HashMap<usize, Run>) -> Arc<Vec<usize>> {
    let folded = |&at: &usize| Some(at + runs.get(&at).map_or(1, |run| run.length));
    Arc::new(std::iter::successors(Some(0), folded).take_while(|&at| at < steps).collect())
}

/// The widths of a task's column: at least and at most.
const COLUMN: (usize, usize) = (14, 40);
/// The lines of a schedule that are measured, evenly distributed.
const MEASURED: usize = 1000;

/// The width that an operation with its object, value and location needs in a task's column.
fn column_width(
    trace: &Trace,
    reader: &Reader,
    lines: &[usize],
    runs: &HashMap<usize, Run>,
) -> u16 {
    let glyphs = Style { color: false, ascii: false }.glyphs();
    let needed = |cell: &Cell| cell.label_width() + 1 + width(&cell.site);
    let line = |&step: &usize| {
        needed(&match runs.get(&step) {
            Some(&run) => reader.run_cell(trace, step, run, glyphs),
            None => reader.cell(trace, step, glyphs),
        })
    };
    let distance = lines.len().div_ceil(MEASURED).max(1);
    let widest = lines.iter().step_by(distance).map(line).max().unwrap_or(0);
    let at_end = waiting(trace, glyphs);
    let at_end = at_end.iter().flat_map(|row| &row.cells).map(needed).max().unwrap_or(0);
    widest.max(at_end).clamp(COLUMN.0, COLUMN.1) as u16
}

impl LoadedTrace {
    /// Computes everything; takes a moment for millions of steps.
    #[must_use]
    pub fn of(trace: Trace) -> LoadedTrace {
        let execution = &trace.execution;
        // These computations are independent. For a short execution, starting threads would take
        // longer.
        let (reader, graph, positions, lives, runs, verdict) = if is_long(&trace) {
            std::thread::scope(|scope| {
                let graph = started(scope, || HappensBefore::of(execution));
                let positions = started(scope, || StepIndex::of(&trace));
                let verdict = started(scope, || verdict::from_recording(&trace));
                let (reader, lives) = (Reader::new(&trace), lifetimes(&trace));
                let runs = reader.runs(&trace, FOLD);
                (reader, graph(), positions(), lives, runs, verdict())
            })
        } else {
            let (graph, positions) = (HappensBefore::of(execution), StepIndex::of(&trace));
            let reader = Reader::new(&trace);
            let runs = reader.runs(&trace, FOLD);
            let verdict = verdict::from_recording(&trace);
            (reader, graph, positions, lifetimes(&trace), runs, verdict)
        };
        let all = lines(execution.steps.len(), &HashMap::new());
        let folded = if runs.is_empty() { Arc::clone(&all) } else { lines(all.len(), &runs) };
        let column_width = column_width(&trace, &reader, &folded, &runs);
        LoadedTrace {
            lines: [all, folded],
            reader,
            graph,
            preemptions: execution.preemptions(),
            positions,
            lives,
            runs,
            choices: execution.choices().collect(),
            column_width,
            busy: Busy::of(&trace),
            verdict,
            trace,
        }
    }

    /// The number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trace.execution.steps.len()
    }

    /// The width that the operations need in the column of a task.
    #[must_use]
    pub fn column_width(&self) -> u16 {
        self.column_width
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the other execution follows the same schedule.
    #[must_use]
    pub fn same_schedule(&self, other: &LoadedTrace) -> bool {
        self.trace.execution.steps == other.trace.execution.steps
    }

    /// The verdict from the recording alone; none if the execution does not fail.
    #[must_use]
    pub fn verdict(&self) -> Option<&verdict::Verdict> {
        self.verdict.as_ref()
    }

    /// The number of tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.lives.len()
    }

    /// How the scheduler chose the step: continuation, switch or preemption.
    #[must_use]
    pub fn mark(&self, step: usize) -> Mark {
        let steps = &self.trace.execution.steps;
        match step.checked_sub(1) {
            Some(before) if steps[before].task != steps[step].task => {
                match self.preemptions.binary_search(&step) {
                    Ok(_) => Mark::Preemption,
                    Err(_) => Mark::Switch,
                }
            }
            _ => Mark::None,
        }
    }

    /// The steps that are preemptions.
    #[must_use]
    pub fn preemptions(&self) -> &[usize] {
        &self.preemptions
    }

    /// Whether a task is enabled at a step.
    #[must_use]
    pub fn is_enabled(&self, task: TaskId, step: usize) -> bool {
        self.positions.is_enabled(task, step)
    }

    /// The tasks that are enabled at a step.
    #[must_use]
    pub fn enabled(&self, step: usize) -> Vec<TaskId> {
        self.positions.enabled(step)
    }

    /// Whether a task is alive at a step.
    #[must_use]
    pub fn is_alive(&self, task: TaskId, step: usize) -> bool {
        let life = self.lives.get(task.index()).and_then(Option::as_ref);
        life.is_some_and(|life| life.contains(&step))
    }

    /// The happens-before graph.
    #[must_use]
    pub fn graph(&self) -> &HappensBefore {
        &self.graph
    }

    /// The relation of a step to the selected one; none if no step is selected.
    #[must_use]
    pub fn relation(&self, step: usize, selected: usize) -> Option<Relation> {
        (selected < self.len()).then(|| self.graph.relation(step, selected))
    }

    /// The status of every task at a position. If there are more tasks than digit keys, enabled
    /// ones come first.
    #[must_use]
    pub fn task_statuses(&self, step: usize) -> Vec<TaskStatus> {
        let mut statuses = self.positions.task_statuses(&self.trace, step);
        if statuses.len() > 9 {
            statuses.sort_by_key(|one| !one.enabled);
        }
        statuses
    }

    /// Which task holds each lock at a position.
    #[must_use]
    pub fn locks(&self, step: usize) -> HeldLocks {
        self.positions.locks(&self.trace.execution, step)
    }

    /// The first steps of the lines, with one line per step or with runs folded.
    #[must_use]
    pub fn lines(&self, fold: bool) -> Arc<Vec<usize>> {
        Arc::clone(&self.lines[usize::from(fold)])
    }

    /// The run of steps that is folded into the line that begins at this step.
    #[must_use]
    pub fn folded(&self, step: usize) -> Option<Run> {
        self.runs.get(&step).copied()
    }

    /// The number of these steps that a task executed; approximate for ranges longer than a screen
    /// can show exactly.
    #[must_use]
    pub fn busy(&self, task: TaskId, steps: Range<usize>) -> usize {
        self.busy.count(task, steps)
    }

    /// The choices before a step.
    #[must_use]
    pub fn before(&self, step: usize) -> &[Choice] {
        let data = &self.trace.execution.data;
        let made = data.partition_point(|choice| choice.step < step as u64);
        &self.choices[..(step + made).min(self.choices.len())]
    }

    /// Whether running the task at this step would be a preemption.
    #[must_use]
    pub fn preempts(&self, step: usize, task: TaskId) -> bool {
        let steps = &self.trace.execution.steps;
        let Some(last) = step.checked_sub(1).and_then(|last| steps.get(last)) else { return false };
        last.task != task
            && !last.operation.yielded_or_timed_out(last.value)
            && self.is_enabled(last.task, step)
    }

    /// The number of preemptions in a range of steps.
    #[must_use]
    pub fn preemptions_between(&self, from: usize, to: usize) -> u32 {
        let before = |step| self.preemptions.partition_point(|&at| at < step);
        before(to).saturating_sub(before(from)) as u32
    }

    /// The frames that are displayed for a site, innermost first.
    #[must_use]
    pub fn frames(&self, site: Site) -> &[Frame] {
        let places = &self.trace.execution.places;
        places.iter().find(|(at, _)| *at == site).map_or(&[], |(_, frames)| frames)
    }
}
