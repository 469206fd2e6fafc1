//! The futexes that a thread holds at its end.
//!
//! A program may register its own list (`set_robust_list`) in place of the C library's, whose robust mutexes the
//! runtime knows. The kernel then walks that list, and leaves the C library's mutexes locked.

use crate::primitives::{futex, mutex};
use crate::state::world::world;
use crate::sys::raw;

/// The head of a list (`struct robust_list_head`): the first entry, where in an entry the futex is, and the entry of an
/// operation that is not finished.
type Head = [u64; 3];

/// The most entries that the kernel follows (`ROBUST_LIST_LIMIT`).
const MOST: usize = 2048;

/// An entry's bit for a futex with priority inheritance.
const PRIORITY: u64 = 1;

/// The system call `set_robust_list`.
pub(crate) fn set(head: u64, size: u64) -> i64 {
    if size != size_of::<Head>() as u64 {
        return -i64::from(libc::EINVAL);
    }
    let is_library = head == of_library();
    world().task().robust_list.set(if is_library { 0 } else { head });
    0
}

/// The head that the C library registered for the kernel thread.
fn of_library() -> u64 {
    let (mut head, mut size) = (0u64, 0usize);
    // SAFETY: the kernel writes only to the two locals.
    unsafe { raw::call!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut size) };
    head
}

/// Whether the running task registered its own list.
pub(crate) fn is_own() -> bool {
    world().task().robust_list.get() != 0
}

/// The system call `get_robust_list` for that list.
pub(crate) fn get(head: u64, size: u64) -> i64 {
    // SAFETY: the caller of `get_robust_list` passes the addresses of two words.
    unsafe {
        *(head as *mut u64) = world().task().robust_list.get();
        *(size as *mut u64) = size_of::<Head>() as u64;
    }
    0
}

/// The running task ends.
pub(crate) fn owner_ends(site: u64) {
    match world().task().robust_list.get() {
        0 => mutex::owner_ends(),
        list => walk(list, site),
    }
}

/// Releases the futexes of a list, in its order, and the one of the operation that is not finished.
fn walk(list: u64, site: u64) {
    let Some([first, offset, unfinished]) = words(list) else { return };
    let futex = |entry: u64| (entry & !PRIORITY).wrapping_add(offset);
    let mut entry = first;
    for _ in 0..MOST {
        if entry & !PRIORITY == list {
            break;
        }
        // The entry may be in memory that the next owner of the futex releases.
        let next = words(entry & !PRIORITY);
        if entry & !PRIORITY != unfinished & !PRIORITY && !end(futex(entry), entry, false, site) {
            return;
        }
        let Some([next]) = next else { return };
        entry = next;
    }
    if unfinished != 0 {
        end(futex(unfinished), unfinished, true, site);
    }
}

/// Releases a futex; false if there is none at this address, where the kernel gives up.
fn end(address: u64, entry: u64, pending: bool, site: u64) -> bool {
    let is_futex = address.is_multiple_of(4) && raw::read(address, &mut [0; 4]);
    if is_futex {
        futex::owner_ends(address, entry & PRIORITY != 0, pending, site);
    }
    is_futex
}

/// The words at an address; none if it is not mapped.
fn words<const COUNT: usize>(address: u64) -> Option<[u64; COUNT]> {
    let mut words = [0; COUNT];
    for (at, word) in words.iter_mut().enumerate() {
        let mut bytes = [0; 8];
        if !raw::read(address.wrapping_add(8 * at as u64), &mut bytes) {
            return None;
        }
        *word = u64::from_le_bytes(bytes);
    }
    Some(words)
}
