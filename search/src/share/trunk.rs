//! The trunk: the part of the tree that several searches by partial order reduction have in common.
//!
//! Each search has its own branch below a node of the trunk, and explores it as if it were alone.
//! Sequences that it finds for nodes of the trunk are returned with it ([`crate::strategy::dpor`])
//! and added here, to the wake-up trees of the common nodes. A branch that was *begun* from a node
//! sleeps in all later branches of that node, so that no two searches run executions of one class.
//!
//! Optimal reduction (Abdulla et al., cited in [`crate::strategy::dpor`]) explores one branch after
//! another: a later branch leaves out what an earlier one has covered, and relies on the earlier
//! one to report the sequences that are worth running again. If the earlier branch is not complete,
//! it cannot rely on that. So branches of the trunk that are still running count as in the authors'
//! weaker algorithm, by source sets: they are not run again, but nothing is left out because of
//! them. Every class is still run exactly once. Some executions turn out to belong to another
//! search; they are given up and are not counted.

use crate::reduction::events::Event;
use crate::reduction::wakeup::{Node, insert, is_covered};
use crate::strategy::dpor::{Dpor, PathNode};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use traces::TaskId;

/// If there are more nodes than this, unused ones are removed.
const FORGET: usize = 20_000;

/// The branch from a node to a node below it: the event, with its data choices.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Branch {
    event: Event,
    data: Vec<(u32, u32)>,
}

/// A node that several searches have on their paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TrunkNode {
    /// The parent node, and the branch that leads from it to this one.
    above: Option<(usize, Branch)>,
    depth: usize,
    enabled: Vec<TaskId>,
    not_due: Vec<TaskId>,
    deferred: Option<TaskId>,
    digest: u32,
    /// The events that were begun here, or were begun earlier and are independent of everything
    /// since.
    elsewhere: Vec<Event>,
    /// Whether one of those has not run yet, so that its effects are unknown. It may end the
    /// process, and then depends on every other operation.
    unrun: bool,
    /// The sequences that are still to be begun.
    #[serde(with = "crate::reduction::wakeup::flat")]
    tree: Vec<Node>,
    /// Events that were begun, with data choices that were not.
    ways: Vec<Branch>,
}

impl TrunkNode {
    fn is_open(&self) -> bool {
        !self.tree.is_empty() || !self.ways.is_empty()
    }

    /// Records the actual event of a branch that was begun.
    fn set_event(&mut self, event: Event) {
        let same = |other: &&mut Event| (other.task, other.index) == (event.task, event.index);
        if let Some(begun) = self.elsewhere.iter_mut().rev().find(same) {
            let exits = begun.exits && !self.unrun;
            *begun = event;
            begun.exits |= exits;
        }
        self.unrun = false;
    }
}

/// The untried data choices at a node, without those of its first `known` choices.
fn other_ways(frame: &PathNode, known: usize) -> Vec<Branch> {
    let mut ways = Vec::new();
    for (number, &(taken, of)) in frame.data.iter().enumerate().skip(known) {
        for other in taken + 1..of {
            let mut data = frame.data[..number].to_vec();
            data.push((other, of));
            ways.push(Branch { event: frame.event.clone(), data });
        }
    }
    ways
}

/// Where another search can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Opening {
    /// At the node of the trunk with this number.
    Node(usize),
    /// At a node of the search with this number, which has to become a part of the trunk first.
    Search(usize),
}

/// The trunk, and the searches below it that are not running.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trunk {
    nodes: Vec<TrunkNode>,
    searches: Vec<Dpor>,
    holes: bool,
    doubted: bool,
}

impl Trunk {
    /// A trunk for a single search.
    #[must_use]
    pub fn new(search: Dpor) -> Trunk {
        Trunk { searches: vec![search], ..Trunk::default() }
    }

    /// Takes searches to run: at least `wanted` if so much work remains.
    pub fn take(&mut self, wanted: usize) -> Vec<Dpor> {
        let mut searches = std::mem::take(&mut self.searches);
        self.forget(&mut searches);
        let mut open = self.openings(&searches);
        while searches.len() < wanted.max(1) {
            let Some(Reverse((_, opening))) = open.pop() else { break };
            match opening {
                Opening::Node(number) => {
                    searches.push(self.begin(number));
                    open.extend(self.opening_at(number));
                }
                Opening::Search(at) => {
                    let known = self.nodes.len();
                    self.open(&mut searches[at]);
                    open.extend(
                        (known..self.nodes.len()).filter_map(|number| self.opening_at(number)),
                    );
                    open.extend(Trunk::opening_in(&searches, at));
                }
            }
        }
        for search in &mut searches {
            self.update(search);
        }
        searches
    }

    /// Where another search can begin, nearest to the root first: what is left there is the most.
    fn openings(&self, searches: &[Dpor]) -> BinaryHeap<Reverse<(usize, Opening)>> {
        let nodes = (0..self.nodes.len()).filter_map(|number| self.opening_at(number));
        nodes.chain((0..searches.len()).filter_map(|at| Trunk::opening_in(searches, at))).collect()
    }

    fn opening_at(&self, number: usize) -> Option<Reverse<(usize, Opening)>> {
        let node = &self.nodes[number];
        let can_begin = node.is_open() && !node.unrun;
        can_begin.then_some(Reverse((node.depth, Opening::Node(number))))
    }

    fn opening_in(searches: &[Dpor], at: usize) -> Option<Reverse<(usize, Opening)>> {
        searches[at].first_open().map(|depth| Reverse((depth, Opening::Search(at))))
    }

    /// Puts a search back, with the sequences that it found.
    pub fn put(&mut self, mut search: Dpor, exhausted: bool) {
        let handed = std::mem::take(&mut search.outgoing);
        for (at, sequence) in handed.all() {
            let node = &mut self.nodes[search.trunk[at]];
            if !is_covered(&[], &node.elsewhere, &sequence) {
                insert(&mut node.tree, sequence);
            }
        }
        self.learn(&mut search);
        if exhausted {
            self.holes |= search.has_holes();
            // The program diverged before the search reached its branch, so no search will learn
            // what that branch does.
            if let Some(&node) = search.trunk.last().filter(|_| search.is_cut_off()) {
                self.nodes[node].unrun = false;
            }
        } else {
            self.searches.push(search);
        }
    }

    /// Learns the actual event of the search's branch from its first execution.
    fn learn(&mut self, search: &mut Dpor) {
        let Some(&node) = search.trunk.last() else { return };
        if let Some(event) = search.first_event() {
            self.nodes[node].set_event(event);
        }
        if let Some(frame) = search.path.get(search.trunk.len() - 1) {
            self.nodes[node].ways.extend(other_ways(frame, search.known));
            search.known = frame.data.len();
        }
    }

    /// Whether no work remains.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.searches.is_empty() && !self.nodes.iter().any(TrunkNode::is_open)
    }

    /// Whether every execution of the explored part was observed completely.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.holes && !self.doubted && !self.searches.iter().any(Dpor::has_holes)
    }

    /// From here on no coverage is claimed.
    pub fn invalidate_coverage(&mut self) {
        self.doubted = true;
    }

    /// The number of known branches that were not begun.
    #[must_use]
    pub fn open_branches(&self) -> u64 {
        let trunk: usize = self.nodes.iter().map(|node| node.tree.len() + node.ways.len()).sum();
        trunk as u64 + self.searches.iter().map(Dpor::open).sum::<u64>()
    }

    /// Updates a search with the current state of the nodes that it shares, so that it does not
    /// report the same sequences again.
    fn update(&self, search: &mut Dpor) {
        let common = search.trunk.len();
        // The first node below the trunk inherits only the events that were begun before it.
        if search.path.len() > common {
            for (frame, &node) in search.path.iter_mut().zip(&search.trunk) {
                frame.sleep.clear();
                frame.elsewhere.clone_from(&self.nodes[node].elsewhere);
                frame.tree.clone_from(&self.nodes[node].tree);
            }
        }
    }

    /// Adds the first node at which the search has open branches, and the nodes above it, to the
    /// trunk.
    fn open(&mut self, search: &mut Dpor) {
        let Some(at) = search.first_open() else { return };
        for depth in search.trunk.len()..=at {
            let above = depth.checked_sub(1).map(|before| {
                let PathNode { event, data, .. } = &search.path[before];
                (search.trunk[before], Branch { event: event.clone(), data: data.clone() })
            });
            let frame = &search.path[depth];
            let mut elsewhere = frame.elsewhere.clone();
            elsewhere.extend_from_slice(&frame.sleep);
            elsewhere.push(frame.event.clone());
            let node = TrunkNode {
                elsewhere,
                unrun: false,
                above,
                depth,
                enabled: frame.enabled.clone(),
                not_due: frame.not_due.clone(),
                deferred: frame.deferred,
                digest: frame.digest,
                tree: frame.tree.clone(),
                ways: other_ways(frame, 0),
            };
            search.known = frame.data.len();
            search.trunk.push(self.nodes.len());
            self.nodes.push(node);
        }
    }

    /// Begins the first open branch of a node that has one.
    fn begin(&mut self, number: usize) -> Dpor {
        let node = &mut self.nodes[number];
        let (way, below) = if node.ways.is_empty() {
            let mut node = node.tree.remove(0);
            let then = std::mem::take(&mut node.then);
            (Branch { event: node.event.clone(), data: Vec::new() }, then)
        } else {
            (node.ways.remove(0), Vec::new())
        };
        let mut trunk = Vec::new();
        let mut path = Vec::new();
        let mut at = Some((number, way.clone()));
        while let Some((number, way)) = at {
            let node = &self.nodes[number];
            trunk.push(number);
            path.push(PathNode {
                elsewhere: node.elsewhere.clone(),
                tree: node.tree.clone(),
                data: way.data,
                not_due: node.not_due.clone(),
                deferred: node.deferred,
                ..PathNode::new(way.event, node.enabled.clone(), node.digest)
            });
            at = node.above.clone();
        }
        trunk.reverse();
        path.reverse();
        if let Some(last) = path.last_mut() {
            last.below = below;
        }
        if way.data.is_empty() {
            self.nodes[number].elsewhere.push(way.event);
            self.nodes[number].unrun = true;
        }
        Dpor::from(path, trunk)
    }

    /// Removes nodes that have no open branches and are on no search's path.
    fn forget(&mut self, searches: &mut [Dpor]) {
        if self.nodes.len() < FORGET {
            return;
        }
        let mut needed = vec![false; self.nodes.len()];
        for search in searches.iter() {
            search.trunk.iter().for_each(|&node| needed[node] = true);
        }
        for number in (0..self.nodes.len()).filter(|&node| self.nodes[node].is_open()) {
            let mut at = Some(number);
            while let Some(node) = at.filter(|&node| !needed[node]) {
                needed[node] = true;
                at = self.nodes[node].above.as_ref().map(|&(above, _)| above);
            }
        }
        let mut fresh = vec![usize::MAX; self.nodes.len()];
        let mut kept = Vec::new();
        for (number, mut node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if needed[number] {
                // Parents were created before their children.
                if let Some((above, _)) = &mut node.above {
                    *above = fresh[*above];
                }
                fresh[number] = kept.len();
                kept.push(node);
            }
        }
        self.nodes = kept;
        for search in searches {
            search.trunk.iter_mut().for_each(|node| *node = fresh[*node]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Program, programs, run};
    use crate::{Reduction, Shareable, Strategy};
    use std::collections::BTreeSet;

    /// Runs a complete search with `wanted` searches at a time and `budget` executions for each
    /// piece; returns the number of executions.
    fn executions(program: &Program, wanted: usize, budget: usize) -> usize {
        let mut trunk = Trunk::new(Dpor::new());
        let mut classes = BTreeSet::new();
        let (mut count, mut given_up) = (0, 0);
        while !trunk.is_exhausted() {
            for mut search in trunk.take(wanted) {
                let mut left = budget;
                let exhausted = loop {
                    if left == 0 {
                        break false;
                    }
                    if search.must_share() {
                        break false;
                    }
                    left -= 1;
                    if !search.begin(1) {
                        break true;
                    }
                    let run = run(program, &mut search);
                    if run.ending.is_err() {
                        given_up += 1;
                        continue;
                    }
                    count += 1;
                    assert!(classes.insert(search.equivalence_class()), "one class twice: {run:?}");
                };
                trunk.put(search, exhausted);
            }
        }
        assert!(trunk.is_whole());
        println!("{wanted} for {budget}: {count} and {given_up}");
        count
    }

    #[test]
    fn parallel_searches_run_one_execution_for_each_class() {
        let cases = [
            (programs::readers(8), 256),
            (programs::lastzero(8), 11 << 6),
            (programs::indexer(13), 64),
            (programs::filesystem(18), 32),
            (programs::locked(5, 1), 120),
            (programs::locked(2, 5), 252),
            (programs::locked(3, 2), 90),
            (programs::opposite(), 3),
            (programs::account(), executions(&programs::account(), 1, usize::MAX)),
            (programs::reorder(3), executions(&programs::reorder(3), 1, usize::MAX)),
        ];
        for (number, (program, expected)) in cases.iter().enumerate() {
            for (wanted, budget) in [(1, 1), (2, 1), (3, 2), (8, 1), (64, 5), (1000, 1)] {
                let found = executions(program, wanted, budget);
                assert_eq!(found, *expected, "case {number}, {wanted} for {budget}");
            }
        }
    }
}
