//! Selectively uniform random walks: for one object that is drawn for the execution, each order of
//! the operations on it has about the same probability, whatever the tasks do in between.
//!
//! Zhao, Wolff, Mathur and Roychoudhury, "Selectively Uniform Concurrency Testing" (ASPLOS 2025). A
//! walk that gives every enabled task the same chance favours orders in which short tasks come
//! early. This walk draws the task whose operation on the object comes next, weighted by the number
//! of such operations that each task has left (operations of tasks that it will create count as its
//! own). A task that reaches the object out of turn is held back; everything else runs in random
//! order. Differences:
//!
//! * The number of operations of a task is the largest that earlier executions showed; the paper
//!   uses a separate profiling run. The first execution is a uniform walk.
//! * Every other execution draws no single object and uses the operations on all objects that
//!   several tasks use: otherwise a failure that needs two objects is hardly ever found (on 82 of
//!   500 generated programs it never was).
//! * A release of a lock takes no turn: holding it back would only keep other tasks waiting.

use crate::reduction::events::{Access, Event};
use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{
    Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Sharing, Strategy,
    View,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use traces::TaskId;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("surw", "all orders on a randomly drawn object equally likely");

/// The most objects that are distinguished; further objects of a program take no part.
const OBJECTS: usize = 4_096;

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surw {
    seed: u64,
    rng: Rng,
    /// For each object, the most operations that each task had on it.
    most: BTreeMap<u64, Vec<u32>>,
    /// The objects on which several tasks have operations.
    common: Vec<u64>,
    /// By task: its creator.
    parents: Vec<u16>,
    /// The object that was drawn; none: all objects of `common`.
    drawn: Option<u64>,
    /// By task: the estimated number of its remaining operations on the drawn objects.
    left: Vec<u32>,
    /// The task whose turn it is.
    turn: Option<TaskId>,
    /// Like `most`, for the running execution.
    counts: BTreeMap<u64, Vec<u32>>,
}

impl Surw {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Surw {
        Surw {
            seed,
            rng: Rng::new(seed, 0),
            most: BTreeMap::new(),
            common: Vec::new(),
            parents: Vec::new(),
            drawn: None,
            left: Vec::new(),
            turn: None,
            counts: BTreeMap::new(),
        }
    }

    /// Raises `most` to at least these counts.
    fn raise(&mut self, counts: &BTreeMap<u64, Vec<u32>>) {
        for (&object, theirs) in counts {
            if self.most.len() >= OBJECTS && !self.most.contains_key(&object) {
                continue;
            }
            let ours = self.most.entry(object).or_default();
            ours.resize(ours.len().max(theirs.len()), 0);
            ours.iter_mut().zip(theirs).for_each(|(ours, &theirs)| *ours = (*ours).max(theirs));
        }
        let shared = |by_task: &[u32]| by_task.iter().filter(|&&count| count > 0).count() > 1;
        let common = self.most.iter().filter(|(_, by_task)| shared(by_task));
        self.common = common.map(|(&object, _)| object).collect();
    }

    /// Whether this is an operation on a drawn object.
    fn matters(&self, next: &PendingOperation) -> bool {
        turns(&Event::new(next, 0)).any(|object| match self.drawn {
            Some(drawn) => object == drawn,
            None => self.common.binary_search(&object).is_ok(),
        })
    }

    /// Draws the task whose turn is next.
    fn draw(&mut self, tasks: &[PendingOperation]) {
        let mut weights: Vec<(TaskId, u32)> = tasks.iter().map(|next| (next.task, 0)).collect();
        for (task, &left) in self.left.iter().enumerate().filter(|&(_, &left)| left > 0) {
            // A task that does not exist yet will be created by an existing task, or by one of its
            // descendants.
            let mut owner = task;
            loop {
                let at = weights.binary_search_by_key(&TaskId(owner as u16), |weight| weight.0);
                if let Ok(at) = at {
                    weights[at].1 += left;
                    break;
                }
                match self.parents.get(owner) {
                    Some(&parent) if usize::from(parent) < owner => owner = usize::from(parent),
                    _ => break,
                }
            }
        }
        let all: u32 = weights.iter().map(|&(_, weight)| weight).sum();
        let mut at = if all == 0 { 0 } else { self.rng.below(all) };
        self.turn = weights.into_iter().find_map(|(task, weight)| {
            let chosen = at < weight;
            at = at.saturating_sub(weight);
            chosen.then_some(task)
        });
    }
}

/// The objects on which a task takes a turn with this operation.
fn turns(event: &Event) -> impl Iterator<Item = u64> + '_ {
    let gives = |access| matches!(access, Access::Unlock | Access::Unshare);
    event.accesses().iter().filter(move |&&(_, access)| !gives(access)).map(|&(object, _)| object)
}

impl Strategy for Surw {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.counts.clear();
        self.turn = None;
        self.left.clear();
        self.drawn = None;
        if number % 2 == 1 && !self.common.is_empty() {
            let at = self.rng.below(self.common.len() as u32);
            self.drawn = Some(self.common[at as usize]);
        }
        for object in self.common.iter().filter(|&&object| self.drawn.is_none_or(|d| d == object)) {
            let by_task = &self.most[object];
            self.left.resize(self.left.len().max(by_task.len()), 0);
            self.left.iter_mut().zip(by_task).for_each(|(left, &count)| *left += count);
        }
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if self.turn.is_none_or(|task| view.next(task).is_none()) {
            self.draw(view.tasks);
        }
        let in_turn = |next: &&PendingOperation| {
            next.enabled && (Some(next.task) == self.turn || !self.matters(next))
        };
        let mut able: Vec<TaskId> = view.tasks.iter().filter(in_turn).map(|n| n.task).collect();
        // If only the task that is held back is enabled, it runs.
        if able.is_empty() {
            able.extend_from_slice(view.enabled);
        }
        let task = able[self.rng.below(able.len() as u32) as usize];
        if let Some(next) = view.next(task) {
            let event = Event::new(next, 0);
            for object in turns(&event) {
                let counts = self.counts.entry(object).or_default();
                counts.resize(counts.len().max(task.index() + 1), 0);
                counts[task.index()] += 1;
            }
            if let (traces::Operation::Create, Some(created)) = (event.operation, event.other) {
                self.parents.resize(self.parents.len().max(created.index() + 1), 0);
                self.parents[created.index()] = task.0;
                self.turn = None;
            }
            if self.matters(next) {
                if let Some(left) = self.left.get_mut(task.index()) {
                    *left = left.saturating_sub(1);
                }
                self.turn = None;
            }
        }
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {
        let counts = std::mem::take(&mut self.counts);
        let more = |(object, ours): (&u64, &Vec<u32>)| {
            let known = self.most.get(object).map_or(&[][..], Vec::as_slice);
            ours.iter().enumerate().any(|(task, count)| known.get(task).unwrap_or(&0) < count)
        };
        if counts.iter().any(more) {
            self.raise(&counts);
        }
    }

    fn active_part(&self) -> &'static str {
        "surw"
    }
}

impl PrefixReplay for Surw {}

impl Shareable for Surw {
    const SHARING: Sharing = Sharing::ByNumber;

    fn merge(&mut self, other: &Surw) {
        self.raise(&other.most);
        if self.parents.len() < other.parents.len() {
            self.parents.clone_from(&other.parents);
        }
    }
}

impl Reduction for Surw {
    fn needs_pending(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::generated::classes;
    use crate::simulation::{Ending, programs, runs};
    use std::collections::BTreeMap;

    /// One task with a single access, one with ten: a uniform walk executes the single access last
    /// once in a thousand times, although each of the eleven positions is a different order.
    #[test]
    fn orders_on_one_object_are_about_equally_likely() {
        let program = programs::short(&["w a", "r a;r a;r a;r a;r a;r a;r a;r a;r a;r a"]);
        let mut seen: BTreeMap<Vec<i64>, u32> = BTreeMap::new();
        for run in runs(&program, &mut Surw::new(3)).skip(100).take(11_000) {
            *seen.entry(run.variables).or_default() += 1;
        }
        assert_eq!(seen.len(), 11);
        let rarest = seen.values().min().expect("eleven");
        assert!(*rarest > 300, "{seen:?}");
    }

    #[test]
    fn failures_are_found() {
        for (name, program, most) in [
            ("lost update", programs::lost_update(2), 30),
            ("opposite locks", programs::opposite(), 30),
            ("reorder", programs::reorder(3), 500),
            ("twostage", programs::twostage(1), 100),
        ] {
            let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
            let at = runs(&program, &mut Surw::new(1)).take(most).position(|r| fails(r.ending));
            assert!(at.is_some(), "{name}");
        }
    }

    #[test]
    fn an_execution_depends_on_its_number_and_what_was_learned_alone() {
        let program = programs::locked(3, 2);
        let mut learned = Surw::new(5);
        assert_eq!(classes(&program, &mut learned).take(50).count(), 50);
        let mut again = Surw::new(5);
        again.merge(&learned);
        let next = |mut search: Surw| {
            assert!(search.begin(77));
            crate::simulation::run(&program, &mut search)
        };
        assert_eq!(next(learned), next(again));
    }
}
