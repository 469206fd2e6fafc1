//! x

pub mod oracle;
