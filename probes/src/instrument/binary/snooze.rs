//! The waits of the channels of Rust's standard library for what another thread is about to do
//! ([`crate::instrument::binary::snooze_sites`]).
//!
//! Where the channels wait in a loop, each iteration counts, so that the task is in a new state, and no search
//! is complete that follows it. The count decides only how long the iteration pauses, and whether it lets others
//! run. So it has the same high value in each: the task is in a state that was seen after one iteration in which
//! nothing changed. Where it lets others run, that is a step. An execution in which the task pauses first has the same
//! reads as one in which others run between them.

use crate::detect::access::is_in_company;
use crate::instrument::binary::snooze_sites::Counters;
use crate::schedule::scheduler::point;
use crate::state::task::Gate;
use traces::Operation;

/// The number of the register that holds the first argument.
const RDI: usize = 7;

/// What is counted: so much that other threads run. Versions of the library that wait in another way after
/// the tenth time do so at once.
const COUNTED: u32 = 11;

/// The running task is about to call a function that waits, and that `yields` or only pauses. Whether that was
/// done here.
pub(super) fn waits(site: u64, general: &[u64; 16], yields: bool) -> bool {
    if !is_in_company() {
        return false;
    }
    // SAFETY: the function was found by its name. Its only argument is a reference to the count, of which no
    // other reference exists that the program uses now: the count belongs to the caller.
    unsafe { (general[RDI] as *mut u32).write(COUNTED) };
    if yields {
        point(Operation::Yield, 0, site, Gate::Open);
    }
    true
}

/// The running task is about to compare the count in a register. A square of the count decides only how often
/// the task pauses, which it does not.
pub(super) fn compares((count, square): Counters, general: &mut [u64; 16]) {
    if is_in_company() {
        general[usize::from(square)] = 0;
        general[usize::from(count)] = COUNTED.into();
    }
}
