//! What a search shows of its progress: the tree of open branches, and how often each branch was taken.

pub mod tree;
pub mod visits;

pub use tree::Tree;
pub use visits::Visits;
