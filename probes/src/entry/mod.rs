//! How the runtime takes control, and the functions of `heddle.h`.

pub(crate) mod annotations;
mod creation;
pub(crate) mod start_point;
pub(crate) mod startup;
