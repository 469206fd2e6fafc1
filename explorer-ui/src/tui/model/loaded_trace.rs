//! An execution with everything that drawing it needs, worked out once.

use crate::report::rows::{Mark, Reader, silent_runs};
use crate::report::task_lifetimes::lifetimes;
use replay_core::graph::{HappensBefore, Relation};
use replay_core::step_index::StepIndex;
use replay_core::{locks::HeldLocks, task_status::TaskStatus};
use std::collections::HashMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use traces::{Choice, Frame, Site, TaskId, Trace};

/// Runs of at least so many steps that no other task can notice are folded.
const FOLD: usize = 4;

/// An execution, ready to be drawn and walked.
pub struct LoadedTrace {
    /// The execution and its circumstances.
    pub trace: Trace,
    /// Names for its rows.
    pub reader: Reader,
    graph: HappensBefore,
    /// Ascending.
    preemptions: Vec<usize>,
    positions: StepIndex,
    lives: Vec<Option<RangeInclusive<usize>>>,
    silent: HashMap<usize, usize>,
    /// The first steps of the lines: each its own, and with silent runs folded.
    lines: [Arc<Vec<usize>>; 2],
    choices: Vec<Choice>,
    busy: Busy,
}

/// How many steps each task had done by the beginning of each part of a schedule: a screen's width of
/// parts tells how busy it was when, whatever the length.
struct Busy {
    /// How many steps a part has.
    part: usize,
    /// For each task.
    done: Vec<Vec<u32>>,
}

impl Busy {
    /// More parts than a screen has columns.
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
        // What the part at either end holds beyond the steps that are asked for.
        exact.min(steps.len())
    }
}

/// Whether working everything out takes so long that somebody would notice.
#[must_use]
pub fn is_long(trace: &Trace) -> bool {
    trace.execution.steps.len() > 20_000
}

/// Nobody reads millions of steps.
impl fmt::Debug for LoadedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedTrace").field("steps", &self.len()).finish_non_exhaustive()
    }
}

/// Each is itself: nobody compares millions of steps.
impl PartialEq for LoadedTrace {
    fn eq(&self, other: &LoadedTrace) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for LoadedTrace {}

/// What a thread came to; what broke there breaks here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|broke| std::panic::resume_unwind(broke))
}

/// The first steps of the lines of so many steps, with these runs folded.
fn lines(steps: usize, silent: &HashMap<usize, usize>) -> Arc<Vec<usize>> {
    let folded = |&at: &usize| Some(at + silent.get(&at).copied().unwrap_or(1));
    Arc::new(std::iter::successors(Some(0), folded).take_while(|&at| at < steps).collect())
}

impl LoadedTrace {
    /// Works everything out; takes a moment for millions of steps.
    #[must_use]
    pub fn of(trace: Trace) -> LoadedTrace {
        let execution = &trace.execution;
        // None of these needs another. A short execution is done before a thread would have begun.
        let (reader, graph, positions, lives, silent) = if is_long(&trace) {
            std::thread::scope(|scope| {
                let graph = scope.spawn(|| HappensBefore::of(execution));
                let positions = scope.spawn(|| StepIndex::of(&trace));
                let silent = scope.spawn(|| silent_runs(execution, FOLD));
                let (reader, lives) = (Reader::new(&trace), lifetimes(&trace));
                (reader, joined(graph), joined(positions), lives, joined(silent))
            })
        } else {
            let (graph, positions) = (HappensBefore::of(execution), StepIndex::of(&trace));
            (Reader::new(&trace), graph, positions, lifetimes(&trace), silent_runs(execution, FOLD))
        };
        let all = lines(execution.steps.len(), &HashMap::new());
        let folded = if silent.is_empty() { Arc::clone(&all) } else { lines(all.len(), &silent) };
        LoadedTrace {
            lines: [all, folded],
            reader,
            graph,
            preemptions: execution.preemptions(),
            positions,
            lives,
            silent,
            choices: execution.choices().collect(),
            busy: Busy::of(&trace),
            trace,
        }
    }

    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trace.execution.steps.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether another execution followed the same schedule.
    #[must_use]
    pub fn same_schedule(&self, other: &LoadedTrace) -> bool {
        self.trace.execution.steps == other.trace.execution.steps
    }

    /// How many tasks there are.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.lives.len()
    }

    /// How the scheduler came to a step.
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

    /// Whether a task could move at a step.
    #[must_use]
    pub fn may_move(&self, task: TaskId, step: usize) -> bool {
        self.positions.is_enabled(task, step)
    }

    /// The tasks that could move at a step.
    #[must_use]
    pub fn enabled(&self, step: usize) -> Vec<TaskId> {
        self.positions.enabled(step)
    }

    /// Whether a task is there at a step.
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

    /// How a step stands to the selected one; none where nothing is selected.
    #[must_use]
    pub fn relation(&self, step: usize, selected: usize) -> Option<Relation> {
        (selected < self.len()).then(|| self.graph.relation(step, selected))
    }

    /// Every task at a position; of more than there are digits, those first that may move.
    #[must_use]
    pub fn standing(&self, step: usize) -> Vec<TaskStatus> {
        let mut standing = self.positions.task_statuses(&self.trace, step);
        if standing.len() > 9 {
            standing.sort_by_key(|one| !one.enabled);
        }
        standing
    }

    /// Who has which lock at a position.
    #[must_use]
    pub fn locks(&self, step: usize) -> HeldLocks {
        self.positions.locks(&self.trace.execution, step)
    }

    /// The first steps of the lines: each its own, or with silent runs folded.
    #[must_use]
    pub fn lines(&self, fold: bool) -> Arc<Vec<usize>> {
        Arc::clone(&self.lines[usize::from(fold)])
    }

    /// How many steps are folded into the line that begins here.
    #[must_use]
    pub fn folded(&self, step: usize) -> Option<usize> {
        self.silent.get(&step).copied()
    }

    /// How many of these steps a task did, roughly where there are more than anybody could draw.
    #[must_use]
    pub fn busy(&self, task: TaskId, steps: Range<usize>) -> usize {
        self.busy.count(task, steps)
    }

    /// The choices up to a step, its own not included.
    #[must_use]
    pub fn before(&self, step: usize) -> &[Choice] {
        let data = &self.trace.execution.data;
        let made = data.partition_point(|choice| choice.step < step as u64);
        &self.choices[..(step + made).min(self.choices.len())]
    }

    /// Whether it would be a preemption if a task moved at a step.
    #[must_use]
    pub fn preempts(&self, step: usize, task: TaskId) -> bool {
        let steps = &self.trace.execution.steps;
        let Some(last) = step.checked_sub(1).and_then(|last| steps.get(last)) else { return false };
        last.task != task
            && !last.operation.yielded_or_timed_out(last.value)
            && self.may_move(last.task, step)
    }

    /// How many preemptions there are from one step to another, that one not included.
    #[must_use]
    pub fn preemptions_between(&self, from: usize, to: usize) -> u32 {
        let before = |step| self.preemptions.partition_point(|&at| at < step);
        before(to).saturating_sub(before(from)) as u32
    }

    /// What a person reads for a site, innermost first.
    #[must_use]
    pub fn frames(&self, site: Site) -> &[Frame] {
        let places = &self.trace.execution.places;
        places.iter().find(|(at, _)| *at == site).map_or(&[], |(_, frames)| frames)
    }
}
