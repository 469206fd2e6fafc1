//! Observation of memory accesses: probes on uninstrumented code, and compiler instrumentation.

pub(crate) mod binary;
pub(crate) mod compiled;
pub(crate) mod fast_path;
pub(crate) mod freed_memory;
pub(crate) mod monitoring;
pub(crate) mod reuse;
