//! Pairs of statements of two tasks of which one ran right before the other: the happens-before
//! predecessor sets of [`crate::strategy::hapset`].

use crate::reduction::events::{Access, Event, Map};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A statement of one of two tasks: which, and whether it is the task that was created first.
type Statement = (u64, bool);

/// What came right before what.
pub(crate) type Pair = (Statement, Statement);

/// The predecessor sets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sets {
    seen: BTreeSet<Pair>,
}

/// The two as statements.
pub(crate) fn pair(earlier: &Event, later: &Event) -> Pair {
    let first = earlier.task < later.task;
    ((earlier.statement(), first), (later.statement(), !first))
}

impl Sets {
    /// Whether the one was seen right before the other.
    pub(crate) fn contain(&self, pair: Pair) -> bool {
        self.seen.contains(&pair)
    }

    /// The one was seen right before the other.
    pub(crate) fn insert(&mut self, pair: Pair) {
        self.seen.insert(pair);
    }

    /// Learns from an execution.
    pub(crate) fn learn(&mut self, events: &[Event]) {
        let mut last: Map<u64, &Event> = Map::default();
        for event in events {
            for &(object, access) in event.accesses() {
                // Who gives a lock back had it, and was before or after with that.
                if matches!(access, Access::Unlock | Access::Unshare) {
                    continue;
                }
                let before = last.insert(object, event).filter(|before| before.task != event.task);
                let Some(before) = before else { continue };
                if before.access(object).is_some_and(|theirs| !theirs.commutes(access)) {
                    self.insert(pair(before, event));
                }
            }
        }
    }
}
