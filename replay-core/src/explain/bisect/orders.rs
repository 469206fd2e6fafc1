//! The orders of events that distinguish failing from passing runs. Pure.
//!
//! An event is an operation of the failing execution, or a pending operation at its end. An order
//! says that one event precedes another; if the second event does not occur, the first precedes it.
//! The cause is the smallest set of at most three orders that holds in every failing run and in no
//! passing run.

mod distinguish;

use super::cause::{Cause, Event};
use crate::explain::event_numbers::EventNumbers;
use std::collections::{HashMap, HashSet};
use traces::order::LocksByTask;
use traces::{Execution, Frame, ObjectKind, ObjectLocation, Operation, Site, TaskId};

/// The events of a failing execution and the orders among them.
#[derive(Debug)]
pub(super) struct Orders {
    events: Vec<Event>,
    /// The objects that each event accesses, including the mutex that a wait releases and acquires.
    accesses: Vec<Vec<(u32, bool)>>,
    known: HashMap<Identity, usize>,
    objects: HashMap<(ObjectKind, ObjectLocation), u32>,
    /// Pairs of dependent events on one object, in the order of the failing execution.
    pairs: Vec<(usize, usize)>,
    /// Pairs of any events of two tasks: dependent events may lie between them.
    any: Vec<(usize, usize)>,
    /// Pairs whose later event is an operation that the failed task did not reach. Most of them
    /// only say that the task failed, so they are considered last.
    late: Vec<(usize, usize)>,
    preemptions: Vec<usize>,
    /// The number of events of the failing execution.
    own: usize,
    /// The frames of sites that occur only in other runs.
    places: HashMap<Site, Vec<Frame>>,
    failed: Option<TaskId>,
    /// Whether main belongs to a test harness: what it does follows from the end of the test.
    main_last: bool,
    /// The step before which the failure happened. What begins later is an effect, such as the end of a runtime's
    /// threads after a panic.
    decided: usize,
}

/// Identifies an event in another execution.
type Identity = (TaskId, Operation, Site, u32);

/// The steps that are considered, ascending: all steps of a short execution; of a long one, the
/// steps around switches and at the end.
pub(super) fn interest(execution: &Execution) -> Vec<usize> {
    let steps = &execution.steps;
    if steps.len() <= MOST_EVENTS {
        return (0..steps.len()).collect();
    }
    let switched = (1..steps.len()).filter(|&at| steps[at - 1].task != steps[at].task);
    let places: Vec<usize> = switched.chain([steps.len()]).collect();
    let around = (MOST_EVENTS / places.len() / 2).max(4);
    let mut found: Vec<usize> = places
        .iter()
        .flat_map(|&at| at.saturating_sub(around)..(at + around).min(steps.len()))
        .collect();
    found.sort_unstable();
    found.dedup();
    found.drain(..found.len().saturating_sub(MOST_EVENTS));
    found
}

/// One run, as far as it matters for the cause.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    /// The position of each event in the run, if it occurred. Events that were discovered in later
    /// runs did not occur.
    at: Vec<Option<u32>>,
    /// Whether the run failed.
    pub fails: bool,
}

impl Observed {
    fn at(&self, event: usize) -> Option<u32> {
        self.at.get(event).copied().flatten()
    }
}

/// The most pairs to consider; the nearest ones are retained.
const MOST_PAIRS: usize = 600;
/// The approximate number of steps around the switches of a long execution that become events.
const MOST_EVENTS: usize = 600;
/// The most events to add from other runs, which the failing execution did not reach.
const MOST_LEARNED: usize = 300;
/// Each added event is compared with this many events at the end of the failing execution.
const LAST: usize = 60;

impl Orders {
    /// `failed` is the task that failed: that it did not continue is an effect, not a cause. The failure happened
    /// before step `decided`. `main_last` says that main belongs to a test harness.
    pub(super) fn of(
        execution: &Execution,
        interest: &[usize],
        (failed, decided): (Option<TaskId>, usize),
        main_last: bool,
    ) -> Orders {
        let tasks = execution.steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        let mut held = LocksByTask::new(tasks.max(execution.tasks.len()));
        let mut orders = Orders {
            events: Vec::new(),
            accesses: Vec::new(),
            known: HashMap::new(),
            objects: HashMap::new(),
            pairs: Vec::new(),
            any: Vec::new(),
            late: Vec::new(),
            preemptions: execution.preemptions(),
            own: 0,
            places: HashMap::new(),
            failed,
            main_last,
            decided,
        };
        for (at, object) in execution.objects.iter().enumerate() {
            // The order of a creation and a join is not up to the scheduler.
            if object.kind != ObjectKind::Task {
                orders.objects.insert((object.kind, object.place), at as u32);
            }
        }
        let free: HashSet<u32> = orders.objects.values().copied().collect();
        let mut numbers = EventNumbers::default();
        for (at, step) in execution.steps.iter().enumerate() {
            let (number, occurrence) = numbers.next(step.task, step.operation, step.site);
            let event = Event {
                task: step.task,
                number,
                occurrence,
                operation: step.operation,
                object: step.object,
                site: step.site,
                step: Some(at),
            };
            let mut accesses = held.accesses(execution, step);
            if interest.binary_search(&at).is_ok() && !orders.is_harness(step.task) {
                accesses.retain(|(object, _)| free.contains(object));
                orders.add(event, accesses);
            }
        }
        for (task, record) in execution.tasks.iter().enumerate() {
            let task = TaskId(task as u16);
            let is_event = Some(task) != failed && !orders.is_harness(task);
            if let Some(pending) = record.pending.filter(|_| is_event) {
                let (number, occurrence) = numbers.next(task, pending.operation, pending.site);
                let event = Event {
                    task,
                    number,
                    occurrence,
                    operation: pending.operation,
                    object: pending.object,
                    site: pending.site,
                    step: None,
                };
                let object = pending.object.filter(|object| free.contains(object));
                let write = pending.operation.is_write();
                orders.add(event, object.map(|object| (object, write)).into_iter().collect());
            }
        }
        orders.own = orders.events.len();
        for later in 0..orders.events.len() {
            for earlier in 0..later {
                orders.compare(earlier, later);
            }
        }
        for pairs in [&mut orders.pairs, &mut orders.any] {
            pairs.sort_by_key(|&(a, b)| b - a);
            pairs.truncate(MOST_PAIRS);
        }
        orders
    }

    /// Whether the task is the main of a test harness.
    fn is_harness(&self, task: TaskId) -> bool {
        self.main_last && task == TaskId::MAIN
    }

    fn add(&mut self, event: Event, accesses: Vec<(u32, bool)>) -> usize {
        self.known.insert(identity(&event), self.events.len());
        self.events.push(event);
        self.accesses.push(accesses);
        self.events.len() - 1
    }

    /// Adds a pair of events whose order may matter.
    fn compare(&mut self, earlier: usize, later: usize) {
        let (a, b) = (&self.events[earlier], &self.events[later]);
        if a.step.is_none_or(|step| step >= self.decided) || a.task == b.task {
            return;
        }
        let dependent = self.accesses[earlier].iter().any(|&(object, write)| {
            let mut others = self.accesses[later].iter();
            others.any(|&(other, writes)| object == other && (write || writes))
        });
        if b.step.is_none() && Some(b.task) == self.failed {
            self.late.extend(dependent.then_some((earlier, later)));
            return;
        }
        if dependent {
            self.pairs.push((earlier, later));
        }
        self.any.push((earlier, later));
    }

    /// Records the positions of a run's events. Operations that the failing execution did not reach
    /// become events.
    pub(super) fn observe(&mut self, execution: &Execution, fails: bool) -> Observed {
        let own = self.own;
        let mut at = vec![None; self.events.len()];
        let mut numbers = EventNumbers::default();
        for (position, step) in execution.steps.iter().enumerate() {
            let (number, occurrence) = numbers.next(step.task, step.operation, step.site);
            let identity = (step.task, step.operation, step.site, occurrence);
            let event = match self.known.get(&identity) {
                Some(&event) => event,
                None => {
                    let object = step.object.and_then(|object| {
                        let object = execution.objects.get(object as usize)?;
                        self.objects.get(&(object.kind, object.place)).copied()
                    });
                    let Some(object) = object.filter(|_| !self.is_harness(step.task)) else {
                        continue;
                    };
                    if self.events.len() >= own + MOST_LEARNED {
                        continue;
                    }
                    let event = Event {
                        task: step.task,
                        number,
                        occurrence,
                        operation: step.operation,
                        object: Some(object),
                        site: step.site,
                        step: None,
                    };
                    if let Some((_, frames)) =
                        execution.places.iter().find(|(site, _)| *site == step.site)
                    {
                        self.places.insert(step.site, frames.clone());
                    }
                    let event = self.add(event, vec![(object, step.operation.is_write())]);
                    let before = |event: &Event| event.step.is_some_and(|at| at < self.decided);
                    let end = self.events[..own].partition_point(before);
                    for earlier in end.saturating_sub(LAST)..end {
                        self.compare(earlier, event);
                    }
                    event
                }
            };
            at.resize(self.events.len(), None);
            at[event] = Some(position as u32);
        }
        Observed { at, fails }
    }

    /// Copies the frames of sites that occur only in other runs.
    pub(super) fn name_places(&self, cause: &Cause, execution: &mut Execution) {
        for site in cause.orders.iter().flat_map(|order| [order.before.site, order.after.site]) {
            let Some(frames) = self.places.get(&site) else { continue };
            let places = &mut execution.places;
            if let Err(at) = places.binary_search_by_key(&site, |(known, _)| *known) {
                places.insert(at, (site, frames.clone()));
            }
        }
    }

    /// The number of orders of the failing execution that a run reverses.
    pub(super) fn reversed(&self, run: &Observed) -> usize {
        let turned = |&&(a, b): &&(usize, usize)| match (run.at(a), run.at(b)) {
            (Some(a), Some(b)) => b < a,
            (None, Some(_)) => true,
            _ => false,
        };
        self.pairs.iter().filter(turned).count()
    }

    fn holds(&self, run: &Observed, (a, b): (usize, usize)) -> bool {
        match (run.at(a), run.at(b)) {
            (Some(a), Some(b)) => a < b,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

fn identity(event: &Event) -> Identity {
    (event.task, event.operation, event.site, event.occurrence)
}
