//! The accesses of an instruction that a probe is on, one after the other.

use crate::detect::access::{Access, is_point, peek};
use crate::instrument::binary::calls;
use crate::instrument::binary::monitored::{plain, update};
use crate::instrument::binary::operand::{Operand, Parts};
use crate::instrument::binary::parts;
use crate::instrument::binary::probe::Probe;
use crate::schedule::predicates;
use crate::state::world::world;
use crate::sys::stops;

/// A signal handler accesses memory. Where it reads the registers of the code that it interrupted, the result depends
/// on the instruction at which it came: the scheduling points are only some of them.
#[cold]
fn touch_in_handler(probe: &Probe, address: u64, size: u64) {
    let (low, high) = world().task().shown_registers.get();
    if address < high && address.saturating_add(size) > low {
        let what = "the registers that a signal handler finds in its context";
        calls::report_unexplored(what, "the kernel", probe.behind);
    }
}

/// The instruction is about to make this access.
pub(super) fn touch(probe: &Probe, operand: &Operand, address: u64, size: u64) {
    if world().task().handler.get().0 != 0 {
        touch_in_handler(probe, address, size);
    }
    let access = |writes| {
        let (atomic, site) = (probe.atomic, probe.behind);
        let access = Access { address, size, writes, atomic, proven: false, site, in_parts: false };
        parts::marked(operand, access)
    };
    // A call may write less than it reads; `cmpxchg16b` writes all.
    let is_split = size <= 8 || size == 16 && operand.parts == Parts::One;
    match (operand.reads, operand.writes) {
        (true, true) if probe.atomic => {
            update(&access(true), probe.counting, probe.counts());
        }
        (true, true) if is_split && (probe.predicate || is_point(&access(false))) => {
            read_and_write(probe, &access(false), &access(true));
        }
        (true, true) => {
            plain(&access(false));
            plain(&access(true));
        }
        (_, writes) => plain(&access(writes)),
    }
}

/// Makes two steps of an update that is not atomic, as another task may write in between: the instruction must see the
/// value that the first step read.
fn read_and_write(probe: &Probe, read: &Access, write: &Access) {
    let Access { address, size, .. } = *read;
    let halves = || [peek(address, size), peek(address + 8, size.saturating_sub(8))];
    plain(read);
    let found = halves();
    let task = world().task();
    // For its own thread the instruction is one: a signal arrives before it or after it.
    task.in_instruction.set(probe.is_single);
    if probe.predicate {
        predicates::arrive_before_write(probe.address, probe.behind);
    }
    plain(write);
    task.in_instruction.set(false);
    if halves() != found {
        // SAFETY: the program is about to write these bytes, so they are mapped and writable; a fault here is the
        // program's.
        stops::unseen(|| unsafe {
            std::ptr::copy_nonoverlapping(
                (&raw const found).cast::<u8>(),
                address as *mut u8,
                size as usize,
            );
        });
    }
}
