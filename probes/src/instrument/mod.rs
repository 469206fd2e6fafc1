//! Observation of memory accesses: probes on uninstrumented code, and compiler instrumentation.

pub(crate) mod binary;
pub(crate) mod compiled;
pub(crate) mod fast_path;
