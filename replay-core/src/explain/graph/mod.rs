//! The happens-before graph of an execution, with a reason for each edge.
//!
//! The nodes are the steps. An edge leads from a step to one that it *directly* happens before, so
//! the graph is the transitive reduction of the order given by [`Clocks`]. Everything that shows
//! causes (arrows beside a step, exports, the comparison of two schedules) uses this graph.

pub mod compare;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use traces::Execution;
use traces::order::{Clocks, LocksByTask, created_by, joined};

/// Why one step precedes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Program order: both are steps of one task.
    Program,
    /// The first step created the task.
    Creation,
    /// The first step was the last one of a joined task.
    Join,
    /// Both access this object (an index into [`Execution::objects`]), and at least one modifies
    /// it.
    Object(u32),
}

/// One direct cause or effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The other step.
    pub step: usize,
    /// The reason.
    pub cause: Cause,
}

/// The relation of one step to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is the same step.
    Same,
    /// It happens before the other.
    Before,
    /// It happens after the other.
    After,
    /// Neither: the steps can occur in either order.
    Concurrent,
}

/// The happens-before graph of one execution.
#[derive(Debug, Clone)]
pub struct HappensBefore {
    clocks: Clocks,
    edges: DiGraph<(), Cause, u32>,
}

/// The most steps to visit when the predecessors, or the successors, of a step are listed.
const FARTHEST: usize = 20_000;

/// The last accesses to an object, which the next access may directly follow.
#[derive(Debug, Clone, Default)]
struct LastAccesses {
    write: Option<usize>,
    /// The last read of each task since the last write.
    reads: Vec<usize>,
}

impl HappensBefore {
    /// The graph of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> HappensBefore {
        let clocks = Clocks::of(execution);
        let steps = &execution.steps;
        let tasks = steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        let tasks = tasks.max(execution.tasks.len());
        let objects = steps.iter().filter_map(|step| step.object).max().map_or(0, |o| o + 1);
        let mut edges = DiGraph::with_capacity(steps.len(), steps.len() * 2);
        let mut previous: Vec<Option<usize>> = vec![None; tasks];
        let mut creator: Vec<Option<usize>> = vec![None; tasks];
        let mut last = vec![LastAccesses::default(); objects as usize];
        let mut held = LocksByTask::new(tasks);
        let mut candidates: Vec<Link> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            edges.add_node(());
            let task = step.task.index();
            candidates.clear();
            let mut follow = |from: Option<usize>, cause| {
                if let Some(step) = from {
                    candidates.push(Link { step, cause });
                }
            };
            match previous[task] {
                None => follow(creator[task], Cause::Creation),
                before => follow(before, Cause::Program),
            }
            if let Some(ended) = joined(execution, step) {
                follow(previous.get(ended).copied().flatten(), Cause::Join);
            }
            for (object, write) in held.accesses(execution, step) {
                let last = &mut last[object as usize];
                follow(last.write, Cause::Object(object));
                if write {
                    last.reads.iter().for_each(|&read| follow(Some(read), Cause::Object(object)));
                    last.reads.clear();
                    last.write = Some(at);
                } else {
                    last.reads.retain(|&read| steps[read].task != step.task);
                    last.reads.push(at);
                }
            }
            if let Some(child) = created_by(execution, step).and_then(|at| creator.get_mut(at)) {
                *child = Some(at);
            }
            previous[task] = Some(at);
            // If one pair of steps has several reasons, the simplest is used: they are sorted by
            // simplicity.
            candidates.sort_unstable();
            candidates.dedup_by_key(|link| link.step);
            for link in &candidates {
                let implied = candidates.iter().any(|other| clocks.before(link.step, other.step));
                if !implied {
                    edges.add_edge(node(link.step), node(at), link.cause);
                }
            }
        }
        HappensBefore { clocks, edges }
    }

    /// The vector clocks of the steps.
    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// The number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edges.node_count()
    }

    /// Whether the execution has no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The direct causes of a step, in order of the steps.
    #[must_use]
    pub fn causes(&self, step: usize) -> Vec<Link> {
        self.links(step, Direction::Incoming)
    }

    /// The direct effects of a step, in order of the steps.
    #[must_use]
    pub fn effects(&self, step: usize) -> Vec<Link> {
        self.links(step, Direction::Outgoing)
    }

    fn links(&self, step: usize, direction: Direction) -> Vec<Link> {
        let mut links: Vec<Link> = self
            .edges
            .edges_directed(node(step), direction)
            .map(|edge| {
                let (from, to) = (edge.source().index(), edge.target().index());
                let other = if direction == Direction::Incoming { from } else { to };
                Link { step: other, cause: *edge.weight() }
            })
            .collect();
        links.sort_unstable();
        links
    }

    /// The steps that a step depends on and that depend on it, directly or indirectly. Of these,
    /// the steps where tasks synchronise: the nearest `before` and `after`, and the step itself,
    /// ascending.
    #[must_use]
    pub fn cone(
        &self,
        execution: &Execution,
        step: usize,
        before: usize,
        after: usize,
    ) -> Vec<usize> {
        let mut found = self.reach(execution, step, before, Direction::Incoming);
        found.reverse();
        found.push(step);
        found.extend(self.reach(execution, step, after, Direction::Outgoing));
        found
    }

    /// One half of a cone, the nearest first.
    fn reach(
        &self,
        execution: &Execution,
        step: usize,
        most: usize,
        direction: Direction,
    ) -> Vec<usize> {
        // Nearest first: a step is visited after all steps between it and the start.
        let away = |other: usize| Reverse(other.abs_diff(step));
        let mut waiting = BinaryHeap::from([(away(step), step)]);
        let mut known = BTreeSet::from([step]);
        let mut meeting = BTreeSet::new();
        let mut found = Vec::new();
        for _ in 0..FARTHEST {
            let Some((_, at)) = waiting.pop().filter(|_| found.len() < most) else { break };
            for link in self.links(at, direction) {
                if execution.steps[link.step].task != execution.steps[at].task {
                    meeting.extend([at, link.step]);
                }
                if known.insert(link.step) {
                    waiting.push((away(link.step), link.step));
                }
            }
            if at != step && meeting.contains(&at) {
                found.push(at);
            }
        }
        found
    }

    /// The relation of step `i` to step `j`.
    ///
    /// # Panics
    /// If the execution has no such step.
    #[must_use]
    pub fn relation(&self, i: usize, j: usize) -> Relation {
        if i == j {
            Relation::Same
        } else if self.clocks.before(i, j) {
            Relation::Before
        } else if self.clocks.before(j, i) {
            Relation::After
        } else {
            Relation::Concurrent
        }
    }

    /// The graph, with nodes numbered like the steps.
    #[must_use]
    pub fn edges(&self) -> &DiGraph<(), Cause, u32> {
        &self.edges
    }
}

fn node(step: usize) -> NodeIndex<u32> {
    NodeIndex::new(step)
}

#[cfg(test)]
mod tests;
