//! Plain data: tasks, objects and records of the current execution, and the state that outlives it.

pub(crate) mod declarations;
pub(crate) mod end;
pub(crate) mod exclusive;
pub(crate) mod identity;
pub(crate) mod locks;
pub(crate) mod objects;
pub(crate) mod outcome;
pub(crate) mod record;
pub(crate) mod root;
pub(crate) mod stack;
pub(crate) mod task;
pub(crate) mod upcalls;
pub(crate) mod world;
