//! Wake-up trees (Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction",
//! 2014): which beginnings are still to be tried from a place, so that none of them turns out to be
//! one that was tried.

use crate::reduction::events::{Clock, Event, covers};
use serde::{Deserialize, Serialize};

/// An operation in a sequence that is to be tried, with what happens before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedStep {
    /// What.
    pub event: Event,
    /// Everything up to it, itself included.
    pub clock: Clock,
}

/// The same, where it stands somewhere else: most sequences are looked at and not kept.
#[derive(Debug, Clone, Copy)]
pub struct StepRef<'a> {
    /// What.
    pub event: &'a Event,
    /// Everything up to it, itself included.
    pub clock: &'a [u32],
}

impl OwnedStep {
    /// As one that stands here.
    #[must_use]
    pub fn seen(&self) -> StepRef<'_> {
        StepRef { event: &self.event, clock: &self.clock }
    }
}

impl StepRef<'_> {
    fn is_after(&self, other: &StepRef<'_>) -> bool {
        covers(self.clock, other.event)
    }

    /// To be kept.
    #[must_use]
    pub fn placed(&self) -> OwnedStep {
        OwnedStep { event: *self.event, clock: self.clock.to_vec() }
    }
}

/// A node: the operation that leads to it, and what is to be tried after it, oldest first.
#[derive(Debug, Clone)]
pub struct Node {
    /// The operation.
    pub event: Event,
    /// What comes after it; nothing: anything.
    pub then: Vec<Node>,
}

/// A tree as a list: each operation with how many follow directly on it, whatever comes below it first.
/// What is to be tried may be thousands of operations long, each below the one before it, and readers of
/// formats that nest refuse to go down as deep.
#[must_use]
pub fn listed(nodes: &[Node]) -> Vec<(&Event, u32)> {
    let mut list = Vec::new();
    let mut open: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = open.pop() {
        list.push((&node.event, node.then.len() as u32));
        open.extend(node.then.iter().rev());
    }
    list
}

/// The other way; nothing, where the list is none of trees.
#[must_use]
pub fn from_list(list: Vec<(Event, u32)>) -> Option<Vec<Node>> {
    // From the end: what follows on an operation is there when its turn comes, the first last.
    let mut done: Vec<Node> = Vec::new();
    for (event, count) in list.into_iter().rev() {
        let mut then = done.split_off(done.len().checked_sub(count as usize)?);
        then.reverse();
        done.push(Node { event, then });
    }
    done.reverse();
    Some(done)
}

/// Trees written as lists.
pub mod flat {
    use super::{Node, from_list, listed};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// See [`listed`].
    ///
    /// # Errors
    /// Those of what it is written to.
    pub fn serialize<S: Serializer>(nodes: &[Node], to: S) -> Result<S::Ok, S::Error> {
        listed(nodes).serialize(to)
    }

    /// The other way.
    ///
    /// # Errors
    /// Those of what it is read from, and where the list is none of trees.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Node>, D::Error> {
        from_list(Vec::deserialize(from)?).ok_or_else(|| D::Error::custom("a tree lacks branches"))
    }
}

/// Whether `sequence` can be begun with `event`: nothing in it has to come before.
#[must_use]
pub fn can_begin_with(event: &Event, sequence: &[StepRef<'_>]) -> bool {
    match sequence.iter().position(|seen| seen.event.task == event.task) {
        Some(at) => !sequence[..at].iter().any(|earlier| sequence[at].is_after(earlier)),
        None => !sequence.iter().any(|seen| seen.event.depends(event)),
    }
}

/// Whether all that can follow on `sequence` is found by those who tried `asleep` to their end, or
/// have begun `elsewhere`.
///
/// Whoever is at an end has found and handed over whatever may follow, also where the event does not
/// stand in the sequence and is only independent of it. Whoever is still at it may not have, and may
/// in turn rely on it being found here: it counts only where the sequence holds the event.
#[must_use]
pub fn is_covered(asleep: &[Event], elsewhere: &[Event], sequence: &[StepRef<'_>]) -> bool {
    let holds = |event: &Event| sequence.iter().any(|seen| seen.event.task == event.task);
    asleep.iter().any(|event| can_begin_with(event, sequence))
        || elsewhere.iter().any(|event| holds(event) && can_begin_with(event, sequence))
}

/// Whether one of the sequences that are there leads to the same.
#[must_use]
pub fn leads_to(mut tree: &[Node], mut sequence: Vec<StepRef<'_>>) -> bool {
    while let Some(node) = tree.iter().find(|node| can_begin_with(&node.event, &sequence)) {
        sequence.retain({
            let mut own = true;
            move |seen| seen.event.task != node.event.task || !std::mem::take(&mut own)
        });
        if node.then.is_empty() || sequence.is_empty() {
            return true;
        }
        tree = &node.then;
    }
    false
}

/// Adds a sequence, unless one that is there leads to the same.
pub fn insert(mut tree: &mut Vec<Node>, mut sequence: Vec<StepRef<'_>>) {
    'deeper: while !sequence.is_empty() {
        for at in 0..tree.len() {
            let event = tree[at].event;
            if !can_begin_with(&event, &sequence) {
                continue;
            }
            if let Some(own) = sequence.iter().position(|seen| seen.event.task == event.task) {
                sequence.remove(own);
            }
            if tree[at].then.is_empty() {
                return;
            }
            tree = &mut tree[at].then;
            continue 'deeper;
        }
        let chain = sequence
            .into_iter()
            .rev()
            .fold(Vec::new(), |then, seen| vec![Node { event: *seen.event, then }]);
        tree.extend(chain);
        return;
    }
}
