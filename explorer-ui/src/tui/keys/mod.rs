//! Keys: their names, the actions they are bound to, and the thread that reads them.

pub mod actions;
pub mod bindings;
pub mod key;
pub(super) mod reader;
