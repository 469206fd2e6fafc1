//! The source files of a trace.

use replay_core::source::{Source, Sources};
use std::collections::HashMap;
use std::sync::Arc;
use traces::Trace;

/// The source files of a trace, and a remark for each file that is newer than the program.
pub(super) fn sources(trace: &Trace) -> (HashMap<String, Arc<Source>>, Vec<String>) {
    let (sources, newer) = Sources::all(trace);
    let remark = |file: String| {
        format!("{file} was changed after the program was built: its line numbers may be wrong")
    };
    (sources, newer.into_iter().map(remark).collect())
}
