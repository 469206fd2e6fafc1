//! The target's heap, the runtime's own heap, and the snapshot that a reset restores.

pub(crate) mod arena;
pub(crate) mod kernel_changes;
pub(crate) mod runtime_heap;
pub(crate) mod shared_views;
pub(crate) mod snapshot;
pub(crate) mod thread_block;
