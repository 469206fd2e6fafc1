//! Plain data: tasks, objects and records of the current execution, and the state that outlives it.

pub(crate) mod alternate_stack;
pub(crate) mod awaited;
pub(crate) mod cancellation;
pub(crate) mod clients;
pub(crate) mod clock;
pub(crate) mod end;
pub(crate) mod exclusive;
pub(crate) mod library_call;
pub(crate) mod library_words;
pub(crate) mod locks;
pub(crate) mod open_words;
pub(crate) mod outcome;
pub(crate) mod overdue;
pub(crate) mod pending_signals;
pub(crate) mod pipes;
pub(crate) mod root;
pub(crate) mod stack;
pub(crate) mod stacks;
pub(crate) mod start;
pub(crate) mod start_point;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod upcalls;
pub(crate) mod world;
