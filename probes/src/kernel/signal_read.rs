//! Reads from a descriptor of `signalfd`.

use crate::kernel::park::{closed_meanwhile, park_at};
use crate::kernel::signal_descriptor::{is_one, signals};
use crate::kernel::signal_waits::await_children;
use crate::state::pending_signals;
use crate::state::task::{ExternalWait, Gate, Interrupted};
use crate::state::world::world;
use crate::steps::record;
use crate::sys::open_flags::may_wait_to_read;
use traces::Operation;

/// What a parked read waits for, on its task's stack.
struct Awaited {
    task: u16,
    signals: u64,
}

/// Whether a signal is pending that the read at this address waits for.
fn is_pending(awaited: u64) -> bool {
    // SAFETY: the address is that of an `Awaited` on the stack of a task that is parked in `read`.
    let awaited = unsafe { &*(awaited as *const Awaited) };
    pending_signals::any(&world().tasks[usize::from(awaited.task)], awaited.signals)
}

/// The size of a `signalfd_siginfo`.
const RECORD: u64 = 128;

/// `read` from such a descriptor: takes as many signals as there is room for, and waits for the first.
pub(crate) fn read(args: [u64; 6], site: u64) -> i64 {
    let [descriptor, to, size, ..] = args;
    if size < RECORD {
        return -i64::from(libc::EINVAL);
    }
    await_children(site);
    let waits = may_wait_to_read(descriptor);
    let awaited = Awaited { task: world().current.get(), signals: signals(descriptor) };
    let wait = ExternalWait::new(is_pending, &raw const awaited as u64).private_if(|_| true);
    let gate = if waits { Gate::Ready(wait.address()) } else { Gate::Open };
    world().task().limited_wait.set(awaited.signals);
    let mut taken = 0;
    if !park_at(gate, Operation::SignalWait, 0, Interrupted::UnlessRestarted, site) {
        return -i64::from(libc::EINTR);
    }
    if waits && !is_one(descriptor) {
        closed_meanwhile(site);
    }
    while taken + RECORD <= size {
        let Some((signal, information)) = pending_signals::take_any(signals(descriptor)) else {
            break;
        };
        record::value(signal as u64);
        let mut info = [0u64; 16];
        // SAFETY: `info` has the size of a `siginfo_t`; the program's buffer has room for the records
        // counted so far and this one.
        unsafe {
            information.write(signal, info.as_mut_ptr() as u64);
            ((to + taken) as *mut [u32; 32]).write_unaligned(as_record(&info));
        }
        taken += RECORD;
    }
    if taken == 0 { -i64::from(libc::EAGAIN) } else { taken as i64 }
}

/// The `signalfd_siginfo` with the contents of a `siginfo_t`.
fn as_record(info: &[u64; 16]) -> [u32; 32] {
    let half = |at: usize| (info[at / 2] >> (at % 2 * 32)) as u32;
    let (signal, error, code) = (half(0), half(1), half(2));
    let mut record = [0; 32];
    record[..3].copy_from_slice(&[signal, error, code]);
    if code as i32 == libc::SI_TIMER {
        // Timer and overrun.
        (record[6], record[8]) = (half(4), half(5));
    } else {
        // Process and user.
        (record[3], record[4]) = (half(4), half(5));
    }
    match signal as i32 {
        // The child's status.
        libc::SIGCHLD if code as i32 > 0 => record[10] = half(6),
        _ => {
            (record[11], record[12], record[13]) = (half(6), half(6), half(7));
        }
    }
    record
}
