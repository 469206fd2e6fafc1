//! The loop over executions: learning, running, judging, resetting, reporting to the controller.

mod checkpoint_cost;
pub(crate) mod checkpoints;
pub(crate) mod common_prefix;
pub(crate) mod faults;
pub(crate) mod job;
pub(crate) mod learning;
pub(crate) mod manager;
pub(crate) mod memory_edits;
pub(crate) mod memory_loop;
pub(crate) mod outbox;
pub(crate) mod own_memory;
pub(crate) mod processes;
pub(crate) mod shared_search;
pub(crate) mod start_point;
pub(crate) mod upcalls;
