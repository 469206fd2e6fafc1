//! What one executed instruction did to a value: from where it copied the bytes, or that it computed them.
//!
//! A value is followed backwards from the location where it is now. No process is needed for that.

mod effect;
mod location;
mod moves;

pub(crate) use effect::{Effect, effect};
pub(crate) use location::{Location, State};
