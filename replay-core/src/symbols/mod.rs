//! From addresses to what a person reads.
