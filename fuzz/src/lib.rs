//! The functions that the fuzz targets call. Each accepts any bytes, and panics if a property is
//! violated.

pub mod condition;
pub mod decoder;
pub mod expression;
mod instrument;
pub mod packets;
mod state;
pub mod trace;
