//! Outside the target: checks and launches it, drives it, replays, understands what happened.
//!
//! Knows nothing of terminals. Everything a person can do to an execution goes through here.

pub mod bisect;
pub mod build;
mod capture;
mod channel;
pub mod command;
pub mod debug;
mod distinct;
pub mod doctor;
pub mod error;
pub mod graph;
mod launch;
mod lesson;
pub mod options;
pub mod preflight;
pub mod realign;
pub mod runtime;
mod scope;
pub mod shrink;
mod signature;
pub mod source;
pub mod store;
pub mod suppressions;
pub mod symbols;
pub mod walk;
mod worker;

pub use command::{explore, learn, replay, run};
pub use error::Error;
pub use options::{Observer, Progress, Replayed, SearchOptions, StrategyName, Target, telling};
pub use suppressions::Suppressions;
