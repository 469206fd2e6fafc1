//! The values of counters, for updates that count.

use crate::memory::arena;
use crate::sys::checked_read;
use search::reduction::pending::Counting;

/// The number of this size at an address, if it matters for such an update; 0 stands for one that is not
/// positive, or so large that it might overflow,
/// and for memory that is not mapped.
pub(crate) fn value(counting: Counting, address: u64, size: u64) -> u64 {
    let mut bytes = [0; 8];
    let len = size as usize;
    let matters = matches!(counting, Counting::Raises | Counting::Lowers);
    if !matters || !size.is_power_of_two() || size > 8 {
        return 0;
    }
    if arena::holds(address) {
        // SAFETY: the heap's memory is mapped, and `len` is at most the length of `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len) };
    } else if !checked_read::read(address, &mut bytes[..len]) {
        return 0;
    }
    let largest = i64::MAX as u64 >> (64 - 8 * size);
    let value = u64::from_le_bytes(bytes);
    if value <= largest / 2 { value } else { 0 }
}
