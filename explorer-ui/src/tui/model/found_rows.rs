//! The rows that matched a filter.

use crate::walk::loaded_trace::LoadedTrace;
use std::sync::Arc;

/// The rows of a schedule that match a filter.
#[derive(Debug, Clone)]
pub struct FoundRows {
    /// The filter as typed.
    pub text: String,
    /// The schedule; steps of another one are unknown.
    of: Arc<LoadedTrace>,
    steps: Arc<Vec<usize>>,
}

impl FoundRows {
    /// The matching steps of a schedule, in ascending order.
    #[must_use]
    pub fn new(text: String, of: Arc<LoadedTrace>, steps: Arc<Vec<usize>>) -> FoundRows {
        FoundRows { text, of, steps }
    }

    /// Whether these are rows of this schedule.
    #[must_use]
    pub fn is_of(&self, loaded: &Arc<LoadedTrace>) -> bool {
        Arc::ptr_eq(&self.of, loaded)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether no row matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether the row of a step matches.
    #[must_use]
    pub fn contains(&self, step: usize) -> bool {
        self.steps.binary_search(&step).is_ok()
    }

    /// The place in the list, counted from 0, of the next row behind a step or the previous one
    /// before it, and whether the end of the schedule lies between.
    #[must_use]
    pub fn beside(&self, step: usize, back: bool) -> Option<(usize, bool)> {
        let last = self.steps.len().checked_sub(1)?;
        Some(match back {
            true => match self.steps.partition_point(|&at| at < step) {
                0 => (last, true),
                behind => (behind - 1, false),
            },
            false => match self.steps.partition_point(|&at| at <= step) {
                place if place > last => (0, true),
                place => (place, false),
            },
        })
    }

    /// The step at a place in the list.
    #[must_use]
    pub fn step(&self, place: usize) -> Option<usize> {
        self.steps.get(place).copied()
    }
}
