//! Wake-up trees (Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction",
//! 2014): which beginnings are still to be tried from a place, so that none of them turns out to be
//! one that was tried.

use crate::events::{Clock, Event, covers};

/// An operation in a sequence that is to be tried, with what happens before it.
#[derive(Debug, Clone)]
pub struct Placed {
    /// What.
    pub event: Event,
    /// Everything up to it, itself included.
    pub clock: Clock,
}

impl Placed {
    fn is_after(&self, other: &Placed) -> bool {
        covers(&self.clock, &other.event)
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

/// Whether `sequence` can be begun with `event`: nothing in it has to come before.
#[must_use]
pub fn can_begin_with(event: &Event, sequence: &[Placed]) -> bool {
    match sequence.iter().position(|placed| placed.event.task == event.task) {
        Some(at) => !sequence[..at].iter().any(|earlier| sequence[at].is_after(earlier)),
        None => !sequence.iter().any(|placed| placed.event.depends(event)),
    }
}

/// Adds a sequence, unless one that is there leads to the same.
pub fn insert(mut tree: &mut Vec<Node>, mut sequence: Vec<Placed>) {
    'deeper: while !sequence.is_empty() {
        for at in 0..tree.len() {
            let event = tree[at].event;
            if !can_begin_with(&event, &sequence) {
                continue;
            }
            if let Some(own) = sequence.iter().position(|placed| placed.event.task == event.task) {
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
            .fold(Vec::new(), |then, placed| vec![Node { event: placed.event, then }]);
        tree.extend(chain);
        return;
    }
}
