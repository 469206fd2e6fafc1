//! Scheduling points: the enabled tasks, the strategy's choice, spin loops.

pub(crate) mod access_points;
pub(crate) mod busy_loops;
pub(crate) mod deadlock;
pub(crate) mod external;
pub(crate) mod gates;
pub(crate) mod interrupt;
pub(crate) mod memory_hash;
pub(crate) mod pending;
pub(crate) mod predicates;
pub(crate) mod prefix_steps;
pub(crate) mod program_predicates;
pub(crate) mod scheduler;
pub(crate) mod scope;
pub(crate) mod shown_times;
pub(crate) mod stall;
pub(crate) mod start_point;
pub(crate) mod step_limit;
pub(crate) mod time;
