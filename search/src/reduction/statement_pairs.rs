//! Pairs of statements of two tasks where one ran immediately before the other: the happens-before
//! predecessor sets of [`crate::strategy::hapset`].

use crate::reduction::events::{Access, Event, Map};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A statement of one of two tasks: its hash, and whether the task is the one created first.
type Statement = (u64, bool);

/// A statement, and the statement that ran immediately before it.
pub(crate) type Pair = (Statement, Statement);

/// The predecessor sets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sets {
    seen: BTreeSet<Pair>,
}

/// The pair of two events' statements.
pub(crate) fn pair(earlier: &Event, later: &Event) -> Pair {
    let first = earlier.task < later.task;
    ((earlier.statement(), first), (later.statement(), !first))
}

impl Sets {
    /// Whether the pair was observed.
    pub(crate) fn contain(&self, pair: Pair) -> bool {
        self.seen.contains(&pair)
    }

    /// Records the pair as observed.
    pub(crate) fn insert(&mut self, pair: Pair) {
        self.seen.insert(pair);
    }

    /// Adds the pairs of an execution.
    pub(crate) fn learn(&mut self, events: &[Event]) {
        let mut last: Map<u64, &Event> = Map::default();
        for event in events {
            for &(object, access) in event.accesses() {
                // The order of a release is already determined by that of its acquisition.
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
