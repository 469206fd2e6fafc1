//! Sequences that the search found and that have to be tried in the part of the tree that it shares
//! with others.

use crate::reduction::events::{Map, mix};
use crate::reduction::wakeup::{OwnedStep, StepRef};
use serde::{Deserialize, Serialize};

/// Sequences with the depth of the node from which each has to be run. They have most of their
/// operations in common; each operation is stored once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct OutgoingSequences {
    operations: Vec<OwnedStep>,
    /// The depth of the node, and the numbers of the operations.
    sequences: Vec<(usize, Vec<u32>)>,
    /// By hash: the numbers of the operations with that hash.
    #[serde(skip)]
    numbers: Map<u64, Vec<u32>>,
    /// By hash: the indices of the sequences with that hash.
    #[serde(skip)]
    known: Map<u64, Vec<u32>>,
}

impl OutgoingSequences {
    /// The number of sequences.
    pub(crate) fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Adds a sequence, unless it is already in the set.
    pub(crate) fn add(&mut self, at: usize, sequence: &[StepRef<'_>]) {
        let numbers: Vec<u32> = sequence.iter().map(|seen| self.number(seen)).collect();
        let hash = numbers.iter().fold(mix(at as u64), |hash, &one| mix(hash ^ u64::from(one)));
        let same = self.known.entry(hash).or_default();
        let new = (at, numbers);
        if !same.iter().any(|&other| self.sequences[other as usize] == new) {
            same.push(self.sequences.len() as u32);
            self.sequences.push(new);
        }
    }

    fn number(&mut self, seen: &StepRef<'_>) -> u32 {
        let own = u64::from(seen.event.task.0) << 32 | u64::from(seen.event.index);
        let hash = seen.clock.iter().fold(mix(own), |hash, &count| {
            hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(count))
        });
        let same = self.numbers.entry(hash).or_default();
        let known = same.iter().copied().find(|&number| {
            let known = &self.operations[number as usize];
            known.event == *seen.event && known.clock == seen.clock
        });
        known.unwrap_or_else(|| {
            let number = self.operations.len() as u32;
            same.push(number);
            self.operations.push(seen.placed());
            number
        })
    }

    /// All sequences, in the order in which they were found.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, Vec<StepRef<'_>>)> {
        let seen = |&number: &u32| self.operations.get(number as usize).map(OwnedStep::seen);
        self.sequences
            .iter()
            .map(move |(at, numbers)| (*at, numbers.iter().filter_map(seen).collect()))
    }
}
