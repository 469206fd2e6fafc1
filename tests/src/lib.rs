//! Programs with known bugs, and shared support of the end-to-end tests.

pub mod cluster;
pub mod corpus;
pub mod debugging;
pub mod figures;
pub mod headers;
pub mod heddle;
pub mod hits;
pub mod hostile;
pub mod hot_loops;
pub mod installed;
pub mod oracle;
pub mod packages;
pub mod pages;
pub mod parallel;
pub mod predicates;
pub mod programs;
pub mod rows;
pub mod rpc;
pub mod rsp;
pub mod runner;
pub mod style;
pub mod suites;
pub mod targets;
pub mod terminal;
