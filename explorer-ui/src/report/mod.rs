//! Traces and reports as text for people. Pure functions: no terminal, no file.

pub(crate) mod async_tasks;
pub(crate) mod calls;
pub mod columns;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod failure;
pub mod filter;
pub mod folds;
pub mod forecast;
pub(crate) mod json_output;
pub mod json_text;
pub mod list;

pub mod names;
pub(crate) mod narrow;
pub mod next_commands;
pub mod position;
pub mod rows;
pub mod schedule;
pub mod search;
pub mod source_line;
pub mod style;
pub mod suite;
pub mod summary;
pub(crate) mod task_lifetimes;
pub mod text;
pub mod verdict;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
