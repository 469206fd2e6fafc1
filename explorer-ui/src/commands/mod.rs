//! The verbs, a module for each. A verb calls `replay_core` and prints what [`crate::report`] makes
//! of the result.

pub mod bisect;
mod budget;
pub mod build;
pub mod cargo;
pub mod clean;
pub mod cluster;
pub mod completions;
pub mod config;
mod confirm;
pub mod dap;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod explore;
pub mod export;
pub mod gdb;
pub mod header;
pub mod man;
pub mod narrow;
mod opening;
mod output_path;
mod progress;
mod prospects;
mod rebuilt;
mod recorded_environment;
pub mod replay;
mod replay_predicates;
pub mod run;
pub mod runner;
mod runtime;
pub mod serve;
pub mod show;
pub mod shrink;
mod sources;
pub mod test;
mod trace_program;
pub mod ui;

pub use runtime::{install, target};
