//! Runs the program: the shared memory, the worker processes, and the commands built on them.

pub(crate) mod beginning;
mod capture;
pub(crate) mod channel;
pub mod clients;
pub mod command;
mod distinct;
pub(crate) mod ending;
mod environment_use;
mod learning_file;
pub mod runner;
mod scope;
pub(crate) mod worker;
