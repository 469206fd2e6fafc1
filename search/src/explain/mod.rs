//! Progress of a search for display: the tree of open branches, and how often each branch was
//! taken.

pub mod tree;
pub mod visits;

pub use tree::Tree;
pub use visits::Visits;
