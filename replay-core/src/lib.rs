//! The controller: checks and launches the target, drives executions, replays and explains them.
//!
//! This crate does not use a terminal. Every command on an execution is implemented here.

pub mod budget;
pub mod control;
pub mod debug;
pub mod error;
pub mod explain;
mod glob;
pub mod launch;
pub mod narrow;
pub mod options;
pub mod predicates;
pub mod private_socket;
pub mod scratch;
pub mod shrink;
pub mod store;
pub mod suppressions;
pub mod symbols;
mod xstate;

pub use control::clients::record_clients;
pub use control::command::{
    Observed, OpenRunner, WorkerPool, explore, explore_with, learn, pieces, print_backtraces,
    reduce_environment, replay, run, run_once, substitute,
};
pub use control::runner;
pub use error::Error;
pub use explain::{
    bisect, blocked, graph, library_calls, lock_cycle, locks, realign, reverse, source, step_index,
    task_status, verdict,
};
pub use launch::{
    FollowedChild, WorkingFiles, build, doctor, preflight, priority, runtime, this_build,
};
pub use options::{
    Collector, Machines, Observer, Progress, Replayed, SearchOptions, Target,
    failure_kinds_for_replay,
};
pub use search::StrategyChoice;
pub use search::strategy::{descriptor, registry};
pub use suppressions::Suppressions;
