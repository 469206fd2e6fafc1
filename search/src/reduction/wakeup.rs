//! Wake-up trees (Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction",
//! 2014): the sequences that are still to be run from a node, chosen so that none of them is
//! equivalent to one that was run.

use crate::reduction::events::{Clock, Event, covers};
use serde::{Deserialize, Serialize};

/// An operation in a sequence that is to be run, with its clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedStep {
    /// The operation.
    pub event: Event,
    /// The clock of the operation, itself included.
    pub clock: Clock,
}

/// Like [`OwnedStep`], but borrowed: most sequences are compared and discarded.
#[derive(Debug, Clone, Copy)]
pub struct StepRef<'a> {
    /// The operation.
    pub event: &'a Event,
    /// The clock of the operation, itself included.
    pub clock: &'a [u32],
}

impl OwnedStep {
    /// Borrows the step.
    #[must_use]
    pub fn seen(&self) -> StepRef<'_> {
        StepRef { event: &self.event, clock: &self.clock }
    }
}

impl StepRef<'_> {
    fn is_after(&self, other: &StepRef<'_>) -> bool {
        covers(self.clock, other.event)
    }

    /// Copies the step.
    #[must_use]
    pub fn placed(&self) -> OwnedStep {
        OwnedStep { event: self.event.clone(), clock: self.clock.to_vec() }
    }
}

/// A node: the operation that leads to it, and the sequences that are to be run after it, oldest
/// first.
///
/// A tree may be as deep as an execution has steps, so it is copied and dropped without recursion,
/// for which a stack would be too small.
#[derive(Debug)]
pub struct Node {
    /// The operation.
    pub event: Event,
    /// The sequences after it; if there are none, any continuation may be run.
    pub then: Vec<Node>,
}

impl Clone for Node {
    fn clone(&self) -> Node {
        let list = listed(std::slice::from_ref(self));
        let owned = list.into_iter().map(|(event, count)| (event.clone(), count)).collect();
        let copy = from_list(owned).and_then(|mut nodes| nodes.pop());
        copy.unwrap_or(Node { event: self.event.clone(), then: Vec::new() })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.then);
        while let Some(mut node) = open.pop() {
            open.append(&mut node.then);
        }
    }
}

/// A tree as a list in preorder: each operation with its number of children. Readers of nested formats
/// limit the depth.
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

/// The inverse of [`listed`]; none if the list does not describe trees.
#[must_use]
pub fn from_list(list: Vec<(Event, u32)>) -> Option<Vec<Node>> {
    // Built from the end, so that the children of an operation exist before the operation is
    // reached.
    let mut done: Vec<Node> = Vec::new();
    for (event, count) in list.into_iter().rev() {
        let mut then = done.split_off(done.len().checked_sub(count as usize)?);
        then.reverse();
        done.push(Node { event, then });
    }
    done.reverse();
    Some(done)
}

/// Serialises trees as lists.
pub mod flat {
    use super::{Node, from_list, listed};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use traces::compact::Unreadable;

    /// See [`listed`].
    ///
    /// # Errors
    ///
    /// Errors of the serialiser.
    pub fn serialize<S: Serializer>(nodes: &[Node], to: S) -> Result<S::Ok, S::Error> {
        listed(nodes).serialize(to)
    }

    /// The inverse of [`serialize`].
    ///
    /// # Errors
    ///
    /// Errors of the deserialiser, and lists that do not describe trees.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Node>, D::Error> {
        from_list(Vec::deserialize(from)?).ok_or_else(|| D::Error::custom(Unreadable))
    }
}

/// Whether `event` can come first in `sequence`: it depends on no event before it.
#[must_use]
pub fn can_begin_with(event: &Event, sequence: &[StepRef<'_>]) -> bool {
    begins_unless(event, sequence, |seen| event.depends(seen))
}

/// The same for an event of a tree, where other events that are not in the sequence may precede it.
fn can_continue_with(event: &Event, sequence: &[StepRef<'_>]) -> bool {
    begins_unless(event, sequence, |seen| event.depends_on_many(seen))
}

fn begins_unless(
    event: &Event,
    sequence: &[StepRef<'_>],
    depends: impl Fn(&Event) -> bool,
) -> bool {
    match sequence.iter().position(|seen| seen.event.task == event.task) {
        Some(at) => !sequence[..at].iter().any(|earlier| sequence[at].is_after(earlier)),
        None => !sequence.iter().any(|seen| depends(seen.event)),
    }
}

/// Whether every continuation of `sequence` is found by the searches that have completed `asleep`,
/// or have begun `elsewhere`.
///
/// A completed search has found and shared all continuations, also if its event is not in the
/// sequence but only independent of it. A search that is still running may not have, and may in
/// turn rely on this sequence to find them; so its event counts only if the sequence contains it.
#[must_use]
pub fn is_covered(asleep: &[Event], elsewhere: &[Event], sequence: &[StepRef<'_>]) -> bool {
    let holds = |event: &Event| sequence.iter().any(|seen| seen.event.task == event.task);
    asleep.iter().any(|event| can_begin_with(event, sequence))
        || elsewhere.iter().any(|event| holds(event) && can_begin_with(event, sequence))
}

/// Whether the tree already has a sequence equivalent to this one.
#[must_use]
pub fn leads_to(mut tree: &[Node], mut sequence: Vec<StepRef<'_>>) -> bool {
    while let Some(node) = tree.iter().find(|node| can_continue_with(&node.event, &sequence)) {
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

/// Adds a sequence, unless the tree already has an equivalent one.
pub fn insert(mut tree: &mut Vec<Node>, mut sequence: Vec<StepRef<'_>>) {
    'deeper: while !sequence.is_empty() {
        for at in 0..tree.len() {
            let event = &tree[at].event;
            if !can_continue_with(event, &sequence) {
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
            .fold(Vec::new(), |then, seen| vec![Node { event: seen.event.clone(), then }]);
        tree.extend(chain);
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::pending::PendingOperation;
    use traces::{Operation, TaskId, compact};

    fn leaf(object: u64) -> Node {
        let next = PendingOperation::new(TaskId(1), Operation::Write, object, 0);
        Node { event: Event::new(&next, 0), then: Vec::new() }
    }

    #[test]
    fn a_copy_has_the_same_branches() {
        let mut tree = vec![leaf(8), leaf(16)];
        tree[0].then = vec![leaf(24), leaf(32)];
        tree[0].then[1].then = vec![leaf(40)];
        assert_eq!(listed(&tree.clone()), listed(&tree));
    }

    #[test]
    fn a_list_with_too_few_branches_is_refused() {
        #[derive(Debug, serde::Deserialize)]
        struct Stored(#[serde(with = "flat")] Vec<Node>);
        let of = |branches: u32| compact::encode(&vec![(leaf(8).event.clone(), branches)]);
        let Stored(whole) = compact::decode(&of(0)).expect("a leaf");
        assert_eq!(listed(&whole), listed(&[leaf(8)]));
        // One with a branch that does not follow.
        assert!(compact::decode::<Stored>(&of(1)).is_err());
    }

    #[test]
    fn a_tree_of_a_million_levels_is_copied_and_dropped() {
        let chain = (0..1_000_000)
            .fold(Vec::new(), |then, at| vec![Node { then, event: leaf(at * 8).event.clone() }]);
        let copy = chain.clone();
        drop(chain);
        assert_eq!(listed(&copy).len(), 1_000_000);
    }
}
