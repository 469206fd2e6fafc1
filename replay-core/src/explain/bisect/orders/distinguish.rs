//! Computes the smallest set of orders that distinguishes failing from passing runs.

use super::super::cause::{Cause, Event, Order, Shape, shape};
use super::super::evidence::Evidence;
use super::{Observed, Orders, identity};
use traces::Operation;

impl Orders {
    /// The smallest set of orders that distinguishes the runs, if there is one: orders of
    /// operations on one object if possible, else of any operations. If the failing runs have no
    /// order in common (two equal tasks can swap roles), a set that holds in some failing runs and
    /// in no passing run.
    pub(in crate::explain::bisect) fn cause(&self, runs: &[Observed]) -> Option<Cause> {
        let (failing, passing): (Vec<&Observed>, Vec<&Observed>) =
            runs.iter().partition(|run| run.fails);
        if passing.is_empty() {
            return None;
        }
        let all: Vec<&Observed> = failing.clone();
        let first: Vec<&Observed> = failing.iter().copied().take(1).collect();
        let late: Vec<(usize, usize)> = self.pairs.iter().chain(&self.late).copied().collect();
        let of = [(&self.pairs, &all), (&self.any, &all), (&self.pairs, &first)];
        let pairs = of
            .into_iter()
            .chain([(&late, &all), (&late, &first)])
            .into_iter()
            .find_map(|(pairs, failing)| self.smallest_set(pairs, failing, &passing, &all))?;
        let mut orders: Vec<Order> = pairs.iter().map(|&pair| self.order(pair)).collect();
        orders.sort_by_key(|order| (order.before.step, order.after.step));
        let shape = match orders.as_slice() {
            [one] => self.widened(*one, &all).unwrap_or(Shape::Before),
            _ => shape(&orders),
        };
        let guarded = self.is_guarded(shape, runs);
        Some(Cause { orders, shape, guarded })
    }

    fn order(&self, (a, b): (usize, usize)) -> Order {
        Order { before: self.events[a], after: self.events[b] }
    }

    /// The smallest set among `pairs` that holds in all of `failing` and in none of `passing`;
    /// among sets of equal size, the one that holds in most of `all` and is easiest to read.
    fn smallest_set(
        &self,
        pairs: &[(usize, usize)],
        failing: &[&Observed],
        passing: &[&Observed],
        all: &[&Observed],
    ) -> Option<Vec<(usize, usize)>> {
        // The value of an order is the set of passing runs that it excludes.
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

    /// A single order may be half of a pattern: if the later task was preempted after an event that
    /// the other task's stretch depends on, that stretch ran in between.
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
        // The event nearest to the preemption; the start of a critical section rather than its end.
        let ((_, _), first) = found.max_by_key(|(_, order)| {
            (
                order.before.operation != Operation::Unlock,
                order.before.step,
                order.after.operation != Operation::Unlock,
            )
        })?;
        Some(Shape::Between { inner: (first.after, inner), outer: (first.before, outer) })
    }

    /// Whether, for a stretch in between, its last event occurs in no run in which its first event
    /// came too early.
    fn is_guarded(&self, shape: Shape, runs: &[Observed]) -> bool {
        let Shape::Between { inner, outer } = shape else { return false };
        let known = |event: Event| self.known.get(&identity(&event)).copied();
        let (Some(first), Some(last), Some(shown)) =
            (known(inner.0), known(inner.1), known(outer.0))
        else {
            return false;
        };
        let too_soon = |run: &&Observed| match (run.at(first), run.at(shown)) {
            (Some(first), Some(shown)) => first < shown,
            (first, None) => first.is_some(),
            (None, Some(_)) => false,
        };
        let mut there = runs.iter().filter(too_soon).peekable();
        there.peek().is_some() && there.all(|run| run.at(last).is_none())
    }

    /// The reading cost of a set of orders: prefers two orders of one stretch, starts of critical
    /// sections over their ends, and events close to each other.
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

    pub(in crate::explain::bisect) fn evidence(
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

/// Three or more orders, chosen greedily: each one excludes the most remaining passing runs.
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

/// More orders than this explain nothing.
const MOST_ORDERS: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::interest;
    use super::*;
    use traces::{Execution, Object, ObjectKind, ObjectLocation, Site, Step, TaskId};

    /// An execution in which these tasks access one object, in this order.
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
                place: ObjectLocation::Other(0),
                name: "n".into(),
            }],
            steps: order.iter().map(step).collect(),
            ..Default::default()
        }
    }

    fn learned(failing: &[u16], others: &[(&[u16], bool)]) -> Option<(Cause, Evidence)> {
        learned_of_failure_before(usize::MAX, failing, others)
    }

    fn learned_of_failure_before(
        step: usize,
        failing: &[u16],
        others: &[(&[u16], bool)],
    ) -> Option<(Cause, Evidence)> {
        let first = run(failing);
        let mut orders = Orders::of(&first, &interest(&first), (None, step), false);
        let mut runs = vec![orders.observe(&first, true)];
        runs.extend(others.iter().map(|(order, fails)| orders.observe(&run(order), *fails)));
        let cause = orders.cause(&runs)?;
        let evidence = orders.evidence(Some(&cause), &runs, 0);
        Some((cause, evidence))
    }

    fn task_and_number(event: Event) -> (u16, u32) {
        (event.task.0, event.number)
    }

    #[test]
    fn one_order_suffices_if_it_distinguishes_the_runs() {
        let (cause, evidence) = learned(&[1, 2], &[(&[2, 1], false)]).expect("a cause");
        assert_eq!(cause.shape, Shape::Before);
        let orders: Vec<_> = cause
            .orders
            .iter()
            .map(|o| (task_and_number(o.before), task_and_number(o.after)))
            .collect();
        assert_eq!(orders, [((1, 1), (2, 1))]);
        assert!(evidence.is_exact());
    }

    #[test]
    fn a_stretch_between_two_events_is_recognised() {
        let others: [(&[u16], bool); 2] = [(&[2, 1, 1], false), (&[1, 1, 2], false)];
        let (cause, _) = learned(&[1, 2, 1], &others).expect("a cause");
        let Shape::Between { inner, outer } = cause.shape else { panic!("{cause:?}") };
        assert_eq!([task_and_number(outer.0), task_and_number(outer.1)], [(1, 1), (1, 2)]);
        assert_eq!([task_and_number(inner.0), task_and_number(inner.1)], [(2, 1), (2, 1)]);
    }

    #[test]
    fn overlapping_stretches_are_recognised() {
        let others: [(&[u16], bool); 4] = [
            (&[1, 1, 2, 2], false),
            (&[2, 2, 1, 1], false),
            (&[2, 1, 1, 2], true),
            (&[2, 1, 2, 1], true),
        ];
        let (cause, evidence) = learned(&[1, 2, 2, 1], &others).expect("a cause");
        let Shape::Overlap { one, other } = cause.shape else { panic!("{cause:?}") };
        let mut stretches = [
            [task_and_number(one.0), task_and_number(one.1)],
            [task_and_number(other.0), task_and_number(other.1)],
        ];
        stretches.sort_unstable();
        assert_eq!(stretches, [[(1, 1), (1, 2)], [(2, 1), (2, 2)]]);
        assert_eq!((evidence.with_failing, evidence.without_passing), (3, 2));
    }

    #[test]
    fn no_cause_is_reported_if_nothing_distinguishes_the_runs() {
        assert!(learned(&[1, 2], &[(&[1, 2], false)]).is_none());
        assert!(learned(&[1, 2], &[(&[2, 1], true)]).is_none());
    }

    #[test]
    fn an_order_that_begins_after_the_failure_is_no_cause() {
        let passing: [(&[u16], bool); 1] = [(&[1, 2, 2, 1], false)];
        let step_of_cause = |failed| {
            let found = learned_of_failure_before(failed, &[1, 2, 1, 2], &passing);
            found.map(|(cause, _)| cause.orders[0].before.step)
        };
        assert_eq!(step_of_cause(2), None);
        assert_eq!(step_of_cause(3), Some(Some(2)));
    }

    #[test]
    fn an_event_that_did_not_occur_follows_all_others() {
        let first = run(&[1]);
        let pending = traces::execution::Pending {
            operation: Operation::Update,
            object: Some(0),
            site: Site { module: 0, offset: 1 },
            blocked: true,
        };
        let record = |pending| traces::TaskRecord { pending, ..Default::default() };
        let tasks = vec![record(None), record(None), record(Some(pending))];
        let failing = Execution { tasks, ..first.clone() };
        let mut orders = Orders::of(&failing, &[0], (None, usize::MAX), false);
        let runs = [orders.observe(&first, true), orders.observe(&run(&[2, 1]), false)];
        let cause = orders.cause(&runs).expect("a cause");
        assert_eq!(cause.orders[0].after.step, None);
        assert_eq!(orders.reversed(&runs[1]), 1);
    }
}
