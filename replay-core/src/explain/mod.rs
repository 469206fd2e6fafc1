//! Explains executions: what happened before what, which task waits for which, which orders cause a
//! failure, and what the source says.

pub mod bisect;
pub mod blocked;
mod event_numbers;
#[cfg(test)]
mod fixtures;
pub mod graph;
mod inferred_locks;
pub mod library_calls;
pub mod lock_cycle;
pub mod locks;
pub mod realign;
pub mod reverse;
pub(crate) mod signature;
pub mod source;
pub mod step_index;
pub mod task_status;
pub mod verdict;
mod word_locks;
