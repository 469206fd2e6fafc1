//! The dependence relation between operations and the happens-before order: the basis of every
//! strategy that uses more than the set of enabled tasks.
//!
//! Vector clocks are computed during an execution, with one entry for each task; an object has one
//! clock for its last changes and one for all operations on it. A lock depends on the last lock of
//! its mutex *through the unlock in between*: that path orders the two, and yet they can be
//! reversed. So races are detected with the clock from before the operation (see
//! [`Order::before`]).

mod access;
mod accesses;
mod clock;
mod encoding;
mod event;
mod hash;
mod order;

pub use access::{Access, Group};
pub use clock::{Clock, covers, join};
pub use event::Event;
pub(crate) use event::SIGNALS;
pub use hash::{Map, Mixed, mix};
pub use order::Order;
