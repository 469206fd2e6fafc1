//! Functions of Rust's standard library, which is linked into each program, some of whose steps no program can
//! see, and what its locks are made of.
//!
//! They are recognised by their symbols. In a program without symbols they are explored like all others, which
//! only makes its search longer.

use crate::instrument::binary::image::Image;
use std::collections::HashMap;

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
}

/// The functions, by what their symbols contain in both manglings.
///
/// Each thread enters its stack's bounds into a table when it begins, and removes them when it ends
/// (`stack_overflow`): the handler of `SIGSEGV` looks them up. The first thread that has a destructor for
/// thread-local variables makes a key for all (`guard::key`); a loser of that race deletes its own.
///
/// `lock_contended` reads the mutex a hundred times before it sleeps. How often it read, and whether it sleeps
/// before it takes the mutex, is nothing that a program can see.
const FUNCTIONS: [([&str; 2], Known); 7] = [
    (["3std3sys", "14stack_overflow"], Known::Unobserved),
    (["3std3sys12thread_local", "5guard3key6enable"], Known::Unobserved),
    (["3std3sys4sync5mutex5futex", "5Mutex14lock_contended"], Known::LocksMutex),
    (["4core4sync6atomic", "atomic_compare_exchange"], Known::Exchanges),
    (["4core4sync6atomic", "AtomicU32$GT$16compare_exchange"], Known::Exchanges),
    (["3std3sys4sync6rwlock5futex", "6RwLock14read_contended"], Known::IsVoid),
    (["3std3sys4sync6rwlock5futex", "6RwLock15write_contended"], Known::IsVoid),
];

/// The functions of a module that are not explored like all others, by their addresses.
pub(super) fn functions(image: &Image) -> HashMap<u64, Known> {
    image.functions_named(of).into_iter().collect()
}

fn of(symbol: &[u8]) -> Option<Known> {
    let contains = |part: &str| symbol.windows(part.len()).any(|at| at == part.as_bytes());
    // Most symbols of a program are not the library's.
    if !contains("3std3sys") && !contains("4core4sync6atomic") {
        return None;
    }
    let is = |parts: &[&str; 2]| parts.iter().all(|part| contains(part));
    FUNCTIONS.iter().find(|(parts, _)| is(parts)).map(|(_, known)| *known)
}
