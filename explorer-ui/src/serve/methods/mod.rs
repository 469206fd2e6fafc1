//! The methods, by what they are about.

pub(super) mod explain;
pub(super) mod navigate;
pub(super) mod open;
pub(super) mod schedule;
pub(super) mod search;
pub(super) mod values;
