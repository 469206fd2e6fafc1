//! Race detection: shadow memory, vector clocks, conflicts, and the scheduling points learned from
//! them.

pub(crate) mod access;
pub(crate) mod atoms;
pub(crate) mod checkpoint;
pub(crate) mod clocks;
pub(crate) mod counters;
pub(crate) mod delayed_stores;
pub(crate) mod heap_words;
pub(crate) mod learned_points;
pub(crate) mod order;
pub(crate) mod race;
pub(crate) mod shadow;
pub(crate) mod slot;
pub(crate) mod table;
pub(crate) mod waiting;
