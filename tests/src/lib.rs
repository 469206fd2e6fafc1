//! Programs with known bugs, and what the tests of the whole system share.

pub mod debugging;
pub mod heddle;
pub mod hostile;
pub mod oracle;
pub mod rows;
pub mod rsp;
pub mod targets;
pub mod terminal;
