//! Threads that Rust's standard library starts.

use crate::instrument::binary::image::Image;
use crate::instrument::binary::rust_library::contains;
use crate::state::root::root;

/// The start routine of all threads of the library, by what its symbol contains in both manglings.
const THREAD_START: [&str; 2] = ["3std3sys", "12thread_start"];

/// Whether the library may have started a thread that begins in the function at this address. Without symbols that is
/// not known.
pub(crate) fn may_start_threads(start: u64) -> bool {
    // Forks that end have the answer in common.
    let last = &root().rust_start;
    if last.get().0 == start {
        return last.get().1;
    }
    let answer =
        Image::all().iter().find(|image| image.bytes(start).is_some()).is_none_or(|image| {
            let is_start = |symbol: &[u8]| THREAD_START.iter().all(|part| contains(symbol, part));
            let functions = image.functions_named(|symbol| Some(is_start(symbol)));
            functions.is_empty() || functions.contains(&(start, true))
        });
    last.set((start, answer));
    answer
}
