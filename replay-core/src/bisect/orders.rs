//! Which orders of events make the difference between runs that fail and runs that pass. Pure.
//!
//! An event is an operation of the failing execution, or one that a task still stood before at its
//! end. An order says that one event came before another; where the second never came, the first
//! came before it. The cause is the smallest set of orders, of at most three, that holds in every run
//! that fails and in none that passes.

mod telling;

use super::Event;
use super::cause::Cause;
use std::collections::{HashMap, HashSet};
use traces::order::Held;
use traces::{Execution, Frame, ObjectKind, Operation, Place, Site, TaskId};

/// The events of a failing execution and the orders among them.
#[derive(Debug)]
pub(super) struct Orders {
    events: Vec<Event>,
    /// What each event acts on, the mutexes that a wait gives up and takes among it.
    accesses: Vec<Vec<(u32, bool)>>,
    known: HashMap<Identity, usize>,
    objects: HashMap<(ObjectKind, Place), u32>,
    /// Pairs of events on one object that do not commute, in the order of the failing execution.
    pairs: Vec<(usize, usize)>,
    /// Pairs of any events of two tasks: what lies between them may be what does not commute.
    any: Vec<(usize, usize)>,
    /// Pairs of which the later is an operation that the task that failed never came to. Most say no
    /// more than that it failed, so they are the last to be thought of.
    late: Vec<(usize, usize)>,
    preemptions: Vec<usize>,
    /// How many events the failing execution has.
    own: usize,
    /// What a person reads for the sites of events that were learned of.
    places: HashMap<Site, Vec<Frame>>,
    failed: Option<TaskId>,
}

/// How an event is known again in another execution.
type Identity = (TaskId, Operation, Site, u32);

/// The steps of an execution that are looked at, ascending: all of a short one; of a long one those
/// around the places where the scheduler switched, and at the end.
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

/// Numbers the operations of an execution.
#[derive(Debug, Default)]
struct Numbers {
    of_task: HashMap<TaskId, u32>,
    here: HashMap<(TaskId, Operation, Site), u32>,
}

impl Numbers {
    /// The number of the next operation within its task, and how often the task did it here.
    fn next(&mut self, task: TaskId, operation: Operation, site: Site) -> (u32, u32) {
        let number = self.of_task.entry(task).or_default();
        let occurrence = self.here.entry((task, operation, site)).or_default();
        *number += 1;
        *occurrence += 1;
        (*number, *occurrence)
    }
}

/// What of a run the cause is learned from.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    /// Where each event came, if it did. Events that were learned of later did not.
    at: Vec<Option<u32>>,
    /// Whether it failed.
    pub fails: bool,
}

impl Observed {
    fn at(&self, event: usize) -> Option<u32> {
        self.at.get(event).copied().flatten()
    }
}

/// More pairs than this are not looked at: the nearest ones stay.
const MOST_PAIRS: usize = 600;
/// Of a long execution, about so many steps around its switches are events.
const MOST_EVENTS: usize = 600;
/// Of the events that the failing execution never came to, so many are learned of from other runs.
const MOST_LEARNED: usize = 300;
/// Each of these is compared with so many events at the end of the failing execution.
const LAST: usize = 60;

impl Orders {
    /// `failed` is the task whose own step the failure is: that it came no further is hardly a cause.
    pub(super) fn of(execution: &Execution, interest: &[usize], failed: Option<TaskId>) -> Orders {
        let tasks = execution.steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        let mut held = Held::new(tasks.max(execution.tasks.len()));
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
        };
        for (at, object) in execution.objects.iter().enumerate() {
            // Creation and join are no question of scheduling.
            if object.kind != ObjectKind::Task {
                orders.objects.insert((object.kind, object.place), at as u32);
            }
        }
        let free: HashSet<u32> = orders.objects.values().copied().collect();
        let mut numbers = Numbers::default();
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
            if interest.binary_search(&at).is_ok() {
                accesses.retain(|(object, _)| free.contains(object));
                orders.add(event, accesses);
            }
        }
        for (task, record) in execution.tasks.iter().enumerate() {
            let task = TaskId(task as u16);
            if let Some(pending) = record.pending.filter(|_| Some(task) != failed) {
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

    fn add(&mut self, event: Event, accesses: Vec<(u32, bool)>) -> usize {
        self.known.insert(identity(&event), self.events.len());
        self.events.push(event);
        self.accesses.push(accesses);
        self.events.len() - 1
    }

    /// Notes a pair of events whose order may matter.
    fn compare(&mut self, earlier: usize, later: usize) {
        let (a, b) = (&self.events[earlier], &self.events[later]);
        if a.step.is_none() || a.task == b.task {
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

    /// Notes where the events of a run came. Operations that a task never came to in the failing
    /// execution are events from here on.
    pub(super) fn observe(&mut self, execution: &Execution, fails: bool) -> Observed {
        let own = self.own;
        let mut at = vec![None; self.events.len()];
        let mut numbers = Numbers::default();
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
                    let Some(object) = object else { continue };
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
                    for earlier in own.saturating_sub(LAST)..own {
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

    /// Gives names to the sites of a cause that the failing execution never came to.
    pub(super) fn name_places(&self, cause: &Cause, execution: &mut Execution) {
        for site in cause.orders.iter().flat_map(|order| [order.before.site, order.after.site]) {
            let Some(frames) = self.places.get(&site) else { continue };
            let places = &mut execution.places;
            if let Err(at) = places.binary_search_by_key(&site, |(known, _)| *known) {
                places.insert(at, (site, frames.clone()));
            }
        }
    }

    /// How many orders of the failing execution a run turns round.
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
