//! The part of the runtime's state that the decoder's catalogue refers to.

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../probes/src/state/open_words.rs"]
pub(crate) mod open_words;

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../probes/src/state/library_words.rs"]
pub(crate) mod library_words;
