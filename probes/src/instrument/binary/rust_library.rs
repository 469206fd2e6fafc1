//! Functions of Rust's standard library, which is linked into each program, some of whose steps no program can
//! see, and what its locks are made of.
//!
//! They are recognised by their symbols. In a program without symbols they are explored like all others, which
//! only makes its search longer.

use crate::instrument::binary::image::Image;
use crate::instrument::binary::lock_sites::LockPart;
use crate::instrument::binary::snooze_sites::Counters;
use std::collections::HashMap;

/// How an instruction takes part in what the runtime makes of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LibraryPart {
    /// Not at all.
    #[default]
    None,
    /// In a lock.
    Lock(LockPart),
    /// It is the entry of a function by which a channel waits for a moment, which the runtime takes in its place.
    Snooze {
        /// Whether the function lets other threads run after some time.
        yields: bool,
    },
    /// It is a comparison where a channel counts in these registers how often it has waited.
    Counts(Counters),
}

/// How a function is explored, if not like all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// What it shares between threads is the library's alone: its accesses are not observed.
    Unobserved,
    /// It takes a lock that another thread held: the runtime does that in its place.
    LocksMutex,
    /// It compares a word and swaps it.
    Exchanges,
    /// It returns nothing, which its instructions do not say.
    IsVoid,
    /// It waits for a moment, and counts how often: the runtime does that in its place.
    Snoozes {
        /// Whether it lets other threads run after some time.
        yields: bool,
    },
    /// It is a function of a channel, which may wait for a moment, too.
    OfChannel,
}

/// The functions, by what their symbols contain in both manglings.
///
/// Each thread enters its stack's bounds into a table when it begins, and removes them when it ends
/// (`stack_overflow`): the handler of `SIGSEGV` looks them up. The first thread that has a destructor for
/// thread-local variables makes a key for all (`guard::key`); a loser of that race deletes its own.
///
/// `lock_contended` reads the mutex a hundred times before it sleeps. How often it read, and whether it sleeps
/// before it takes the mutex, is nothing that a program can see.
///
/// `spin_heavy` and `spin_light` pause the longer, the more often they were called, and the former lets other
/// threads run in the end: how often that was is nothing that a program can see either.
const FUNCTIONS: [([&str; 2], Known); 10] = [
    (["3std3sys", "14stack_overflow"], Known::Unobserved),
    (["3std3sys12thread_local", "5guard3key6enable"], Known::Unobserved),
    (["3std3sys4sync5mutex5futex", "5Mutex14lock_contended"], Known::LocksMutex),
    (["4core4sync6atomic", "atomic_compare_exchange"], Known::Exchanges),
    (["4core4sync6atomic", "AtomicU32$GT$16compare_exchange"], Known::Exchanges),
    (["3std3sys4sync6rwlock5futex", "6RwLock14read_contended"], Known::IsVoid),
    (["3std3sys4sync6rwlock5futex", "6RwLock15write_contended"], Known::IsVoid),
    ([CHANNELS, "7Backoff10spin_heavy"], Known::Snoozes { yields: true }),
    ([CHANNELS, "7Backoff10spin_light"], Known::Snoozes { yields: false }),
    ([CHANNELS, CHANNELS], Known::OfChannel),
];

/// The module of the channels.
const CHANNELS: &str = "3std4sync4mpmc";

/// `enable::run` runs the destructors of a thread's variables. It drops the thread's own handle, which others have too.
const RUNS_DESTRUCTORS: &str = "5guard3key6enable3run";

/// The functions of a module that are not explored like all others, by their addresses.
pub(super) fn functions(image: &Image) -> HashMap<u64, Known> {
    image.functions_named(of).into_iter().collect()
}

/// Whether a symbol contains a text.
pub(super) fn contains(symbol: &[u8], part: &str) -> bool {
    symbol.windows(part.len()).any(|at| at == part.as_bytes())
}

fn of(symbol: &[u8]) -> Option<Known> {
    let contains = |part: &str| contains(symbol, part);
    // Most symbols of a program are not the library's.
    if !["3std3sys", "4core4sync6atomic", CHANNELS].iter().any(|part| contains(part)) {
        return None;
    }
    if contains(RUNS_DESTRUCTORS) {
        return None;
    }
    let is = |parts: &[&str; 2]| parts.iter().all(|part| contains(part));
    FUNCTIONS.iter().find(|(parts, _)| is(parts)).map(|(_, known)| *known)
}
