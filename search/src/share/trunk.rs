//! Partial order reduction by several at a time: the part of the tree that they have in common.
//!
//! Each search has a branch for itself, down from a place of the trunk, and explores it as if it were
//! alone. What it finds is to be tried in the trunk comes back with it ([`crate::strategy::dpor`]), and is
//! added here, where the wake-up trees of all common places are. Whatever branch was *begun* from a
//! place sleeps in every later one, so that no two searches run executions of one class.
//!
//! Optimal reduction (Abdulla et al., cited in [`crate::strategy::dpor`]) explores one branch after the other: a
//! later one leaves out what an earlier one has been through, and relies on being shown what of that
//! is worth trying again, which may come by way of all that lie between the two. Where they are not
//! done that cannot be relied on. So what was begun before a branch of the trunk takes part as it does
//! in their weaker algorithm, by source sets: it is not done there, but nothing is left out for its sake.
//! Every class is still run exactly once; some executions in between turn out to belong to another
//! search and are given up, and count as nothing.

use crate::reduction::events::Event;
use crate::reduction::wakeup::{Node, insert, is_covered};
use crate::strategy::dpor::{Dpor, PathNode};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// Beyond so many places those that nobody needs are forgotten.
const FORGET: usize = 20_000;

/// How one comes from a place to one below: what is done, with these data choices.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Branch {
    event: Event,
    data: Vec<(u32, u32)>,
}

/// A place that several searches have on their paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TrunkNode {
    /// The place before it, and how one comes from there.
    above: Option<(usize, Branch)>,
    depth: usize,
    enabled: Vec<TaskId>,
    patient: Option<TaskId>,
    digest: u32,
    /// What was begun here, or earlier and is independent of everything since.
    elsewhere: Vec<Event>,
    /// Whether one of those was not run yet. Only then is known what it does: it may end the process,
    /// which is like no other operation.
    unrun: bool,
    /// What is still to be begun.
    #[serde(with = "crate::reduction::wakeup::flat")]
    tree: Vec<Node>,
    /// Operations that were begun, with other data choices.
    ways: Vec<Branch>,
}

impl TrunkNode {
    fn is_open(&self) -> bool {
        !self.tree.is_empty() || !self.ways.is_empty()
    }

    /// What a branch that was begun turned out to do.
    fn know(&mut self, event: Event) {
        let same = |other: &&mut Event| (other.task, other.index) == (event.task, event.index);
        if let Some(begun) = self.elsewhere.iter_mut().rev().find(same) {
            let exits = begun.exits && !self.unrun;
            *begun = event;
            begun.exits |= exits;
        }
        self.unrun = false;
    }
}

/// The data choices that were not tried at a place, without those of the first `known` questions.
fn other_ways(frame: &PathNode, known: usize) -> Vec<Branch> {
    let mut ways = Vec::new();
    for (number, &(taken, of)) in frame.data.iter().enumerate().skip(known) {
        for other in taken + 1..of {
            let mut data = frame.data[..number].to_vec();
            data.push((other, of));
            ways.push(Branch { event: frame.event, data });
        }
    }
    ways
}

/// The common part of the tree, and the searches below it that nobody is at.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trunk {
    places: Vec<TrunkNode>,
    searches: Vec<Dpor>,
    holes: bool,
    doubted: bool,
}

impl Trunk {
    /// Around one search, which is all there is.
    #[must_use]
    pub fn new(search: Dpor) -> Trunk {
        Trunk { searches: vec![search], ..Trunk::default() }
    }

    /// The searches that there are, at least `wanted` if there is so much left.
    pub fn take(&mut self, wanted: usize) -> Vec<Dpor> {
        let mut searches = std::mem::take(&mut self.searches);
        self.forget(&mut searches);
        while searches.len() < wanted {
            if let Some(search) = self.begin() {
                searches.push(search);
            } else if !searches.iter_mut().any(|search| self.open(search)) {
                break;
            }
        }
        if searches.is_empty() {
            searches.extend(self.begin());
        }
        for search in &mut searches {
            self.tell(search);
        }
        searches
    }

    /// Takes back a search, with what it has found.
    pub fn put(&mut self, mut search: Dpor, exhausted: bool) {
        let handed = std::mem::take(&mut search.outgoing);
        for (at, sequence) in handed.all() {
            let place = &mut self.places[search.trunk[at]];
            if !is_covered(&[], &place.elsewhere, &sequence) {
                insert(&mut place.tree, sequence);
            }
        }
        self.learn(&mut search);
        if exhausted {
            self.holes |= search.has_holes();
            // The program went another way before its branch: nobody will find out what that does.
            if let Some(&place) = search.trunk.last().filter(|_| search.is_cut_off()) {
                self.places[place].unrun = false;
            }
        } else {
            self.searches.push(search);
        }
    }

    /// What the last common step of a search does shows when it is first run.
    fn learn(&mut self, search: &mut Dpor) {
        let Some(&place) = search.trunk.last() else { return };
        if let Some(event) = search.first_event() {
            self.places[place].know(event);
        }
        if let Some(frame) = search.path.get(search.trunk.len() - 1) {
            self.places[place].ways.extend(other_ways(frame, search.known));
            search.known = frame.data.len();
        }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.searches.is_empty() && !self.places.iter().any(TrunkNode::is_open)
    }

    /// Whether everything was seen, as far as it was run.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.holes && !self.doubted && !self.searches.iter().any(Dpor::has_holes)
    }

    /// Nothing is to be claimed from here on.
    pub fn invalidate_coverage(&mut self) {
        self.doubted = true;
    }

    /// How many branches are known that were not begun.
    #[must_use]
    pub fn open_branches(&self) -> u64 {
        let trunk: usize =
            self.places.iter().map(|place| place.tree.len() + place.ways.len()).sum();
        trunk as u64 + self.searches.iter().map(Dpor::open).sum::<u64>()
    }

    /// Tells a search what is known by now of the places that it shares, so that it does not find
    /// the same again and again.
    fn tell(&self, search: &mut Dpor) {
        let common = search.trunk.len();
        // What follows directly on the trunk inherits what was begun before it, and no more.
        if search.path.len() > common {
            for (frame, &place) in search.path.iter_mut().zip(&search.trunk) {
                frame.sleep.clear();
                frame.elsewhere.clone_from(&self.places[place].elsewhere);
                frame.tree.clone_from(&self.places[place].tree);
            }
        }
    }

    /// Makes the first place at which the search has something left common, and those before it.
    fn open(&mut self, search: &mut Dpor) -> bool {
        let Some(at) = search.first_open() else { return false };
        for depth in search.trunk.len()..=at {
            let above = depth.checked_sub(1).map(|before| {
                let PathNode { event, data, .. } = &search.path[before];
                (search.trunk[before], Branch { event: *event, data: data.clone() })
            });
            let frame = &search.path[depth];
            let mut elsewhere = frame.elsewhere.clone();
            elsewhere.extend(&frame.sleep);
            elsewhere.push(frame.event);
            let place = TrunkNode {
                elsewhere,
                unrun: false,
                above,
                depth,
                enabled: frame.enabled.clone(),
                patient: frame.patient,
                digest: frame.digest,
                tree: frame.tree.clone(),
                ways: other_ways(frame, 0),
            };
            search.known = frame.data.len();
            search.trunk.push(self.places.len());
            self.places.push(place);
        }
        true
    }

    /// Begins the branch that is nearest to the start.
    fn begin(&mut self) -> Option<Dpor> {
        let can_begin = |place: &TrunkNode| place.is_open() && !place.unrun;
        let open = (0..self.places.len()).filter(|&place| can_begin(&self.places[place]));
        let number = open.min_by_key(|&place| self.places[place].depth)?;
        let place = &mut self.places[number];
        let (way, below) = if place.ways.is_empty() {
            let node = place.tree.remove(0);
            (Branch { event: node.event, data: Vec::new() }, node.then)
        } else {
            (place.ways.remove(0), Vec::new())
        };
        let mut trunk = Vec::new();
        let mut path = Vec::new();
        let mut at = Some((number, way.clone()));
        while let Some((number, way)) = at {
            let place = &self.places[number];
            trunk.push(number);
            path.push(PathNode {
                elsewhere: place.elsewhere.clone(),
                tree: place.tree.clone(),
                data: way.data,
                patient: place.patient,
                ..PathNode::new(way.event, place.enabled.clone(), place.digest)
            });
            at = place.above.clone();
        }
        trunk.reverse();
        path.reverse();
        if let Some(last) = path.last_mut() {
            last.below = below;
        }
        if way.data.is_empty() {
            self.places[number].elsewhere.push(way.event);
            self.places[number].unrun = true;
        }
        Some(Dpor::from(path, trunk))
    }

    /// Forgets places at which nothing is left and that are on nobody's path.
    fn forget(&mut self, searches: &mut [Dpor]) {
        if self.places.len() < FORGET {
            return;
        }
        let mut needed = vec![false; self.places.len()];
        for search in searches.iter() {
            search.trunk.iter().for_each(|&place| needed[place] = true);
        }
        for number in (0..self.places.len()).filter(|&place| self.places[place].is_open()) {
            let mut at = Some(number);
            while let Some(place) = at.filter(|&place| !needed[place]) {
                needed[place] = true;
                at = self.places[place].above.as_ref().map(|&(above, _)| above);
            }
        }
        let mut fresh = vec![usize::MAX; self.places.len()];
        let mut kept = Vec::new();
        for (number, mut place) in std::mem::take(&mut self.places).into_iter().enumerate() {
            if needed[number] {
                // Whatever is above was made before it.
                if let Some((above, _)) = &mut place.above {
                    *above = fresh[*above];
                }
                fresh[number] = kept.len();
                kept.push(place);
            }
        }
        self.places = kept;
        for search in searches {
            search.trunk.iter_mut().for_each(|place| *place = fresh[*place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Program, programs, run};
    use crate::{Reduction, Shareable, Strategy};
    use std::collections::BTreeSet;

    /// Runs everything by so many searches at a time, each for so long: how many executions.
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
    fn several_at_a_time_run_one_execution_for_each_class() {
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
