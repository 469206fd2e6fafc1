//! The runtime's decoder, compiled from its source files, because the runtime interposes `malloc`.

pub(crate) mod binary;
