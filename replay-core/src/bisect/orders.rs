//! Which orders of events make the difference between runs that fail and runs that pass. Pure.
//!
//! An event is an operation of the failing execution, or one that a task still stood before at its
//! end. An order says that one event came before another; where the second never came, the first
//! came before it. The cause is the smallest set of orders, of at most three, that holds in every run
//! that fails and in none that passes.

use super::Evidence;
use std::collections::{HashMap, HashSet};
use traces::order::Held;
use traces::{Execution, Frame, ObjectKind, Operation, Place, Site, TaskId};

/// An operation of the failing execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Whose.
    pub task: TaskId,
    /// Its number within the task, from 1.
    pub number: u32,
    /// How often the task had done this here by then, this one included: how it is known again in
    /// another run, where the task may have gone round a loop more or less often before.
    pub occurrence: u32,
    /// What.
    pub operation: Operation,
    /// On what: an index into the failing execution's objects.
    pub object: Option<u32>,
    /// Where.
    pub site: Site,
    /// Its step; none for one that never came.
    pub step: Option<usize>,
}

/// One event came before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// The earlier.
    pub before: Event,
    /// The later, or one that never came.
    pub after: Event,
}

/// What the orders of a cause have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A stretch of one task came between two events of another.
    Between {
        /// The stretch, from its first to its last event; often they are one.
        inner: (Event, Event),
        /// After the first of these, and before the last.
        outer: (Event, Event),
    },
    /// Neither of two tasks was done with its stretch before the other began with its own.
    Overlap {
        /// From the first to the last event of one.
        one: (Event, Event),
        /// And of the other.
        other: (Event, Event),
    },
    /// Some events came before others.
    Before,
}

/// The orders that make the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// All of which hold where it fails.
    pub orders: Vec<Order>,
    /// What they have to do with each other.
    pub shape: Shape,
}

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
    /// `failed` is the task whose own step the failure is: that it came no further is no cause.
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
                    if self.failed == Some(step.task) || self.events.len() >= own + MOST_LEARNED {
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

    /// The smallest set of orders that tells the runs apart, if there is one: of operations on one
    /// object, else of any. Where the failing runs have no order in common (two tasks of one kind can
    /// change places), one that holds in some of them and in none that passes.
    pub(super) fn cause(&self, runs: &[Observed]) -> Option<Cause> {
        let (failing, passing): (Vec<&Observed>, Vec<&Observed>) =
            runs.iter().partition(|run| run.fails);
        if passing.is_empty() {
            return None;
        }
        let all: Vec<&Observed> = failing.clone();
        let first: Vec<&Observed> = failing.iter().copied().take(1).collect();
        let pairs = [(&self.pairs, &all), (&self.any, &all), (&self.pairs, &first)]
            .into_iter()
            .find_map(|(pairs, failing)| self.telling(pairs, failing, &passing, &all))?;
        let mut orders: Vec<Order> = pairs.iter().map(|&pair| self.order(pair)).collect();
        orders.sort_by_key(|order| (order.before.step, order.after.step));
        let shape = match orders.as_slice() {
            [one] => self.widened(*one, &all).unwrap_or(Shape::Before),
            _ => shape(&orders),
        };
        Some(Cause { shape, orders })
    }

    fn order(&self, (a, b): (usize, usize)) -> Order {
        Order { before: self.events[a], after: self.events[b] }
    }

    /// The smallest set among `pairs` that holds in all of `failing` and in none of `passing`; of
    /// equal ones the one that holds in most of `all`, and reads best.
    fn telling(
        &self,
        pairs: &[(usize, usize)],
        failing: &[&Observed],
        passing: &[&Observed],
        all: &[&Observed],
    ) -> Option<Vec<(usize, usize)>> {
        // What counts of an order is which passing runs it keeps out.
        let mut useful: Vec<(Vec<bool>, (usize, usize))> = Vec::new();
        for &pair in pairs {
            if failing.iter().all(|run| self.holds(run, pair)) {
                let out: Vec<bool> = passing.iter().map(|run| !self.holds(run, pair)).collect();
                if out.contains(&true) {
                    useful.push((out, pair));
                }
            }
        }
        let misses = |pairs: &[(usize, usize)]| {
            let without = |run: &&&Observed| !pairs.iter().all(|&pair| self.holds(run, pair));
            all.iter().filter(without).count()
        };
        let best = |chosen: Vec<Vec<(usize, usize)>>| {
            chosen.into_iter().min_by_key(|pairs| (misses(pairs), self.cost(pairs)))
        };
        let keep_out =
            |sets: &[&Vec<bool>]| (0..passing.len()).all(|run| sets.iter().any(|set| set[run]));
        let mut one = Vec::new();
        let mut two = Vec::new();
        for (at, (out, pair)) in useful.iter().enumerate() {
            if keep_out(&[out]) {
                one.push(vec![*pair]);
            }
            for (other, second) in &useful[..at] {
                if keep_out(&[out, other]) {
                    two.push(vec![*second, *pair]);
                }
            }
        }
        best(one).or_else(|| best(two)).or_else(|| greedy(&useful, passing.len()))
    }

    /// One order may be half of a story: where the task that came too late was interrupted after
    /// something that the other one's stretch follows from, that stretch came in between.
    fn widened(&self, one: Order, failing: &[&Observed]) -> Option<Shape> {
        let (inner, outer) = (one.before, one.after);
        let found =
            self.pairs.iter().map(|&pair| (pair, self.order(pair))).filter(|(pair, order)| {
                let (a, b) = (order.before, order.after);
                let tasks = a.task == outer.task && b.task == inner.task;
                let numbers = a.number < outer.number && b.number <= inner.number;
                let interrupted = self
                    .preemptions
                    .iter()
                    .any(|&at| a.step.is_some_and(|a| a < at) && b.step.is_some_and(|b| at <= b));
                tasks && numbers && interrupted && failing.iter().all(|run| self.holds(run, *pair))
            });
        // The nearest to the interruption, and the beginning of a critical section rather than its end.
        let ((_, _), first) = found.max_by_key(|(_, order)| {
            (
                order.before.operation != Operation::Unlock,
                order.before.step,
                order.after.operation != Operation::Unlock,
            )
        })?;
        Some(Shape::Between { inner: (first.after, inner), outer: (first.before, outer) })
    }

    /// What a person would rather read: two orders that are about one stretch; beginnings of critical
    /// sections, not ends; events that are near each other.
    fn cost(&self, pairs: &[(usize, usize)]) -> (u8, usize, usize) {
        let orders: Vec<Order> = pairs.iter().map(|&pair| self.order(pair)).collect();
        let loose = match shape(&orders) {
            Shape::Between { .. } => 0,
            Shape::Overlap { .. } => 1,
            Shape::Before => 2,
        };
        let ends = orders
            .iter()
            .flat_map(|order| [order.before, order.after])
            .filter(|event| matches!(event.operation, Operation::Unlock))
            .count();
        (loose, ends, pairs.iter().map(|(a, b)| b - a).sum())
    }

    pub(super) fn evidence(
        &self,
        cause: Option<&Cause>,
        runs: &[Observed],
        other: usize,
    ) -> Evidence {
        let mut evidence = Evidence { other, ..Evidence::default() };
        for run in runs {
            let with = cause.is_some_and(|cause| {
                cause.orders.iter().all(|order| {
                    let of = |event: &Event| self.known.get(&identity(event)).copied();
                    let (Some(a), Some(b)) = (of(&order.before), of(&order.after)) else {
                        return false;
                    };
                    self.holds(run, (a, b))
                })
            });
            *match (with, run.fails) {
                (true, true) => &mut evidence.with_failing,
                (true, false) => &mut evidence.with_passing,
                (false, true) => &mut evidence.without_failing,
                (false, false) => &mut evidence.without_passing,
            } += 1;
        }
        evidence
    }
}

/// Three orders or more: each time the one that keeps out most of what is left.
fn greedy(useful: &[(Vec<bool>, (usize, usize))], passing: usize) -> Option<Vec<(usize, usize)>> {
    let mut left: Vec<usize> = (0..passing).collect();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        if chosen.len() == MOST_ORDERS {
            return None;
        }
        let keeps = |out: &[bool]| left.iter().filter(|&&run| out[run]).count();
        let (out, pair) = useful.iter().rev().max_by_key(|(out, _)| keeps(out))?;
        if keeps(out) == 0 {
            return None;
        }
        left.retain(|&run| !out[run]);
        chosen.push(*pair);
    }
    Some(chosen)
}

/// More orders than this are no explanation.
const MOST_ORDERS: usize = 3;

fn identity(event: &Event) -> Identity {
    (event.task, event.operation, event.site, event.occurrence)
}

fn shape(orders: &[Order]) -> Shape {
    let [one, two] = orders else {
        // Of three or more, two may be the heart of it.
        let pairs = orders
            .iter()
            .enumerate()
            .flat_map(|(at, one)| orders[..at].iter().map(move |two| shape(&[*two, *one])));
        return pairs.into_iter().find(|shape| *shape != Shape::Before).unwrap_or(Shape::Before);
    };
    // X's `one.before` came before Y's `one.after`, and Y's `two.before` before X's `two.after`.
    for (one, two) in [(one, two), (two, one)] {
        let same_tasks = one.before.task == two.after.task && one.after.task == two.before.task;
        if !same_tasks || one.before.number >= two.after.number {
            continue;
        }
        let outer = (one.before, two.after);
        return if one.after.number <= two.before.number {
            Shape::Between { inner: (one.after, two.before), outer }
        } else {
            Shape::Overlap { one: outer, other: (two.before, one.after) }
        };
    }
    Shape::Before
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Object, Step};

    /// An execution of these tasks' steps on one object.
    fn run(order: &[u16]) -> Execution {
        let step = |&task: &u16| Step {
            task: TaskId(task),
            operation: Operation::Update,
            object: Some(0),
            site: Site { module: 0, offset: 1 },
            value: 0,
        };
        Execution {
            objects: vec![Object {
                kind: ObjectKind::Memory,
                place: Place::Other(0),
                name: "n".into(),
            }],
            steps: order.iter().map(step).collect(),
            ..Default::default()
        }
    }

    fn learned(failing: &[u16], others: &[(&[u16], bool)]) -> Option<(Cause, Evidence)> {
        let first = run(failing);
        let mut orders = Orders::of(&first, &interest(&first), None);
        let mut runs = vec![orders.observe(&first, true)];
        runs.extend(others.iter().map(|(order, fails)| orders.observe(&run(order), *fails)));
        let cause = orders.cause(&runs)?;
        let evidence = orders.evidence(Some(&cause), &runs, 0);
        Some((cause, evidence))
    }

    fn told(event: Event) -> (u16, u32) {
        (event.task.0, event.number)
    }

    #[test]
    fn one_order_is_enough_where_one_tells_them_apart() {
        let (cause, evidence) = learned(&[1, 2], &[(&[2, 1], false)]).expect("a cause");
        assert_eq!(cause.shape, Shape::Before);
        let orders: Vec<_> = cause.orders.iter().map(|o| (told(o.before), told(o.after))).collect();
        assert_eq!(orders, [((1, 1), (2, 1))]);
        assert!(evidence.is_exact());
    }

    #[test]
    fn what_comes_in_between_is_said_so() {
        let others: [(&[u16], bool); 2] = [(&[2, 1, 1], false), (&[1, 1, 2], false)];
        let (cause, _) = learned(&[1, 2, 1], &others).expect("a cause");
        let Shape::Between { inner, outer } = cause.shape else { panic!("{cause:?}") };
        assert_eq!([told(outer.0), told(outer.1)], [(1, 1), (1, 2)]);
        assert_eq!([told(inner.0), told(inner.1)], [(2, 1), (2, 1)]);
    }

    #[test]
    fn two_stretches_overlap_where_either_may_be_first() {
        let others: [(&[u16], bool); 4] = [
            (&[1, 1, 2, 2], false),
            (&[2, 2, 1, 1], false),
            (&[2, 1, 1, 2], true),
            (&[2, 1, 2, 1], true),
        ];
        let (cause, evidence) = learned(&[1, 2, 2, 1], &others).expect("a cause");
        let Shape::Overlap { one, other } = cause.shape else { panic!("{cause:?}") };
        let mut stretches = [[told(one.0), told(one.1)], [told(other.0), told(other.1)]];
        stretches.sort_unstable();
        assert_eq!(stretches, [[(1, 1), (1, 2)], [(2, 1), (2, 2)]]);
        assert_eq!((evidence.with_failing, evidence.without_passing), (3, 2));
    }

    #[test]
    fn nothing_is_claimed_where_nothing_tells_them_apart() {
        assert!(learned(&[1, 2], &[(&[1, 2], false)]).is_none());
        assert!(learned(&[1, 2], &[(&[2, 1], true)]).is_none());
    }

    #[test]
    fn what_never_came_is_after_everything() {
        let first = run(&[1]);
        let pending = traces::execution::Pending {
            operation: Operation::Update,
            object: Some(0),
            site: Site { module: 0, offset: 1 },
            blocked: true,
        };
        let record = |pending| traces::TaskRecord { pending, ..Default::default() };
        let tasks = vec![record(None), record(None), record(Some(pending))];
        let mut orders = Orders::of(&Execution { tasks, ..first.clone() }, &[0], None);
        let runs = [orders.observe(&first, true), orders.observe(&run(&[2, 1]), false)];
        let cause = orders.cause(&runs).expect("a cause");
        assert_eq!(cause.orders[0].after.step, None);
        assert_eq!(orders.reversed(&runs[1]), 1);
    }
}
