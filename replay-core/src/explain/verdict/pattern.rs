//! The data of a verdict: a pattern of operations, and the evidence for it.

use crate::explain::bisect::{Event, Evidence};
use crate::explain::lock_cycle::Hold;
use traces::{Operation, Site, TaskId, Trace};

/// An operation that a verdict names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The task.
    pub task: TaskId,
    /// The operation.
    pub operation: Operation,
    /// The object: an index into the execution's objects.
    pub object: Option<u32>,
    /// The code location.
    pub site: Site,
    /// The step; none if the operation was not executed.
    pub step: Option<usize>,
}

impl From<Event> for Moment {
    fn from(event: Event) -> Moment {
        let Event { task, operation, object, site, step, .. } = event;
        Moment { task, operation, object, site, step }
    }
}

impl Moment {
    pub(super) fn of(trace: &Trace, at: usize) -> Moment {
        let step = &trace.execution.steps[at];
        let (task, operation, object, site) = (step.task, step.operation, step.object, step.site);
        Moment { task, operation, object, site, step: Some(at) }
    }
}

/// How the execution failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Tasks hold locks that others of them wait for.
    LockCycle(Vec<Hold>),
    /// A task waits for a lock that it holds itself.
    OwnLock {
        /// The operation that waits.
        wait: Moment,
        /// The step at which the task acquired the lock.
        since: Option<usize>,
    },
    /// A task waits for a wake-up that will not come.
    LostWakeup {
        /// The operation that waits.
        wait: Moment,
        /// The last wake-up, which came before the wait; none if there was none.
        wakeup: Option<Moment>,
    },
    /// Operations of one task come between two of another.
    Between {
        /// The first and the last operation in between; often the same.
        inner: (Moment, Moment),
        /// The operations around them.
        outer: (Moment, Moment),
    },
    /// Two stretches of different tasks overlap.
    Overlap {
        /// The first and the last operation of one stretch.
        one: (Moment, Moment),
        /// The first and the last operation of the other stretch.
        other: (Moment, Moment),
    },
    /// Operations come before others that should come first.
    Orders(Vec<(Moment, Moment)>),
    /// The failing task read a value that another task wrote last.
    LastWrite {
        /// The read.
        read: Moment,
        /// The write.
        write: Moment,
    },
    /// Events of the past of a heap block, or the two accesses of a race: the failure has them.
    Past,
    /// Tasks run without progress: the last operation of each.
    Spins(Vec<Moment>),
    /// Every schedule fails in this way.
    Always,
    /// The failure's message says all that is known.
    Message,
}

/// What a verdict is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The recording alone.
    Recording,
    /// Other schedules were run.
    Runs(Evidence),
    /// Every schedule was run.
    AllSchedules,
}

/// The operations behind a failure, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How it failed.
    pub pattern: Pattern,
    /// What this is based on.
    pub basis: Basis,
}

impl Verdict {
    /// The step that decides: the operation at which another choice would have avoided the
    /// failure, as far as the pattern shows it.
    #[must_use]
    pub fn decisive(&self) -> Option<usize> {
        match &self.pattern {
            Pattern::LockCycle(holds) => {
                holds.iter().map(|hold| hold.since).collect::<Option<Vec<_>>>()?.into_iter().max()
            }
            Pattern::OwnLock { since, .. } => *since,
            Pattern::LostWakeup { wait, wakeup } => {
                wakeup.and_then(|wakeup| wakeup.step).or(wait.step)
            }
            Pattern::Between { inner, .. } => inner.0.step,
            Pattern::Overlap { one, other } => one.0.step.max(other.0.step),
            Pattern::Orders(orders) => orders.iter().filter_map(|order| order.0.step).max(),
            Pattern::LastWrite { write, .. } => write.step,
            Pattern::Spins(moments) => moments.iter().filter_map(|moment| moment.step).min(),
            Pattern::Past | Pattern::Always | Pattern::Message => None,
        }
    }

    /// The decisive step of this verdict on an execution; for events of the past, the last of them.
    #[must_use]
    pub fn decisive_in(&self, trace: &Trace) -> Option<usize> {
        let steps = trace.execution.steps.len();
        let past = || {
            let failure = trace.failure.as_ref()?;
            let last = failure.past.iter().map(|event| event.step).max()?;
            usize::try_from(last).ok()?.checked_sub(1)
        };
        let step = match self.pattern {
            Pattern::Past => past(),
            _ => self.decisive(),
        };
        step.filter(|&step| step < steps)
    }

    /// The operations that the verdict names, with their steps.
    #[must_use]
    pub fn moments(&self) -> Vec<Moment> {
        match &self.pattern {
            Pattern::OwnLock { wait, .. } => vec![*wait],
            Pattern::LostWakeup { wait, wakeup } => wakeup.iter().copied().chain([*wait]).collect(),
            Pattern::Between { inner, outer } => vec![outer.0, inner.0, inner.1, outer.1],
            Pattern::Overlap { one, other } => vec![one.0, other.0, one.1, other.1],
            Pattern::Orders(orders) => orders.iter().flat_map(|it| [it.0, it.1]).collect(),
            Pattern::LastWrite { read, write } => vec![*write, *read],
            Pattern::Spins(moments) => moments.clone(),
            Pattern::LockCycle(_) | Pattern::Past | Pattern::Always | Pattern::Message => {
                Vec::new()
            }
        }
    }

    /// The steps that the verdict names.
    #[must_use]
    pub fn steps(&self) -> Vec<usize> {
        let mut steps: Vec<usize> = self.moments().iter().filter_map(|it| it.step).collect();
        if let Pattern::LockCycle(holds) = &self.pattern {
            steps.extend(holds.iter().filter_map(|hold| hold.since));
        }
        if let Pattern::OwnLock { since, .. } = self.pattern {
            steps.extend(since);
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}
