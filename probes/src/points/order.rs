//! What an operation orders: what its task learns, and what it hands on to whoever comes after.

use super::clocks::Clocks;
use super::shadow::Shadow;
use traces::Operation;

/// With the address of a lock: what was released by those that only read. No address has this bit.
const READERS: u64 = 1 << 63;

/// A memory order as compilers number it, from relaxed to sequentially consistent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order(pub(super) i32);

impl Order {
    pub(super) fn acquires(self) -> bool {
        matches!(self.0 & 0xff, 1 | 2 | 4 | 5)
    }

    pub(super) fn is_total(self) -> bool {
        self.0 & 0xff == 5
    }

    pub(super) fn releases(self) -> bool {
        matches!(self.0 & 0xff, 3..=5)
    }
}

/// Something was released at an address: whoever has the memory for something else is to forget it.
fn note(shadow: &Shadow, address: u64) {
    if let Some(word) = shadow.word(address) {
        word.orders = true;
    }
}

/// What was released at these bytes of a word is not there any more.
pub(super) fn forget(clocks: &Clocks, word: u64, mask: u8) {
    for byte in (0..8).filter(|byte| mask & 1 << byte != 0) {
        clocks.forget(word + byte);
        clocks.forget((word + byte) | READERS);
    }
}

/// The task makes an atomic access.
pub(super) fn atomic(
    clocks: &Clocks,
    shadow: &Shadow,
    task: usize,
    address: u64,
    (reads, writes): (bool, bool),
    order: Order,
) {
    if reads {
        if order.acquires() {
            clocks.acquire(task, address);
        } else {
            clocks.acquire_relaxed(task, address);
        }
    }
    if writes {
        note(shadow, address);
        match (order.releases(), reads) {
            (true, true) => clocks.release(task, address),
            (true, false) => clocks.release_anew(task, address),
            (false, goes_on) => clocks.release_relaxed(task, address, goes_on),
        }
    }
}

/// The task does something of the threads library's to an object, perhaps with a mutex; whether that orders
/// anything.
pub(super) fn operation(
    clocks: &Clocks,
    shadow: &Shadow,
    task: usize,
    operation: Operation,
    (object, mutex): (u64, u64),
    succeeds: bool,
) -> bool {
    use Operation as O;
    match operation {
        O::Start | O::Create | O::Join | O::Detach | O::Exit | O::ExitNow => return false,
        O::Handler | O::SignalWait | O::TestCancel => return false,
        O::Yield | O::Sleep | O::Ready | O::Read | O::Write | O::Update | O::Await => return false,
        O::Lock | O::SemWait | O::FutexWoken | O::SpinLock => clocks.acquire(task, object),
        O::ReadLock | O::BarrierPass => clocks.acquire(task, object),
        // Readers may be there together: what one did comes before the next writer, not the next reader.
        O::RwUnlock => {
            note(shadow, object);
            clocks.release(task, if succeeds { object } else { object | READERS });
        }
        O::TryWriteLock | O::TimedWriteLock | O::WriteLock | O::WriteWake => {
            if succeeds {
                clocks.acquire(task, object);
                clocks.acquire(task, object | READERS);
            }
        }
        O::TryLock
        | O::TimedLock
        | O::SemTryWait
        | O::SemTimedWait
        | O::TryReadLock
        | O::TimedReadLock
        | O::SpinTryLock => {
            if succeeds {
                clocks.acquire(task, object);
            }
        }
        O::Unlock | O::SpinUnlock | O::SemPost | O::FutexWake | O::Signal | O::Broadcast => {
            note(shadow, object);
            clocks.release(task, object);
        }
        O::Wait => {
            note(shadow, mutex);
            clocks.release(task, mutex);
        }
        O::Wake | O::TimedWake | O::SpuriousWake => {
            clocks.acquire(task, object);
            clocks.acquire(task, mutex);
        }
        // On the safe side: one after the other, in both directions.
        _ => {
            note(shadow, object);
            clocks.acquire(task, object);
            clocks.release(task, object);
        }
    }
    true
}
