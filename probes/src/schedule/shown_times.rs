//! Times that the program read from a clock, among the words of its memory.
//!
//! The state of a task that waits in a loop is compared with each time replaced by its distance from
//! the task's present time ([`search::spin::times`]): a time limit that each iteration computes anew is
//! the same distance away, and one that was computed before the loop comes nearer.
//!
//! A word counts as a time if it lies within a day of the present time of the calendar or the
//! monotonic clock, in a unit that programs use. If that is wrong, the number is replaced by another
//! one, which differs wherever the number did; only a coincidence of two such changes could hide one.
//! The distance is exact, in nanoseconds, also for a time in a coarser unit: a time limit in seconds
//! would otherwise seem to stay as far away.

use crate::state::clock::{self, MONOTONIC_START, REALTIME_START};
use search::spin::times::{Times, is_converted, unit};
use std::cell::Cell;
use std::ffi::CStr;
use traces::TaskId;

/// The last callers of functions that read a clock, and whether what they do with it is followed.
struct Callers([Cell<(u64, bool)>; 8]);
// SAFETY: `Cell`s hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Callers {}
static CALLERS: Callers = Callers([const { Cell::new((0, false)) }; 8]);

/// Whether the use of the time that a call from `site` reads is observed: in the program's own
/// code, and in the C++ library, which passes it on. Other libraries may store a time that no access
/// of the program shows, and return the time since then.
pub(crate) fn are_followed(site: u64) -> bool {
    if let Some((_, are)) = CALLERS.0.iter().map(Cell::get).find(|(known, _)| *known == site) {
        return are;
    }
    // SAFETY: `info` is plain data, and the loader only writes it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid for the call; any address may be asked for.
    let is_known = unsafe { libc::dladdr(site as *const _, &raw mut info) } != 0;
    let are = is_known && !info.dli_fname.is_null() && {
        // SAFETY: the loader returned the name of a loaded object, which is a C string.
        let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
        let is_system = SYSTEM.iter().any(|folder| name.starts_with(folder));
        !is_system || name.windows(CXX.len()).any(|part| part == CXX)
    };
    let free = CALLERS.0.iter().find(|known| known.get().0 == 0).unwrap_or(&CALLERS.0[0]);
    free.set((site, are));
    are
}

/// Directories of system libraries, and the name of the C++ library.
const SYSTEM: [&[u8]; 4] = [b"/lib/", b"/lib64/", b"/usr/lib/", b"/usr/lib64/"];
const CXX: &[u8] = b"libstdc++";

/// Whether the task, or a task on whose steps it depends, has read a clock.
pub(crate) fn read_clock(task: TaskId) -> bool {
    clock::shown_to(task).is_some()
}

/// Adds a task's state, whose words are in several parts, to a hash, with each time replaced by its distance
/// from now.
pub(crate) fn fold(
    state: &[&[u64]],
    hash: u64,
    task: TaskId,
    add: impl Fn(u64, u64) -> u64,
) -> u64 {
    let Some(shown) = clock::shown_to(task) else {
        return state.iter().copied().flatten().fold(hash, |hash, &word| add(hash, word));
    };
    let epochs = [REALTIME_START, MONOTONIC_START].map(|start| start + shown);
    let times = Times::of(state, epochs, shown);
    state.iter().fold(hash, |hash, words| times.fold(words, hash, &add))
}

/// Whether the program's memory at this address holds a time.
pub(crate) fn is_at(task: TaskId, address: u64, size: u64) -> bool {
    let Some(shown) = clock::shown_to(task) else { return false };
    let is_near = |word: u64| {
        let epochs = [REALTIME_START, MONOTONIC_START].map(|start| start + shown);
        epochs.iter().any(|&now| unit(word, now).is_some() || is_converted(word, now))
    };
    let address = address & !3;
    // SAFETY: the program accesses this memory next, or the same access succeeded before. The words
    // lie in the accessed one.
    let half = |at: u64| u64::from(unsafe { (at as *const u32).read_volatile() });
    if size < 8 {
        return size == 4 && is_near(half(address));
    }
    let words = (0..size.min(64) / 8).map(|number| address + 8 * number);
    words.into_iter().any(|at| is_near(half(at) | half(at + 4) << 32))
}
