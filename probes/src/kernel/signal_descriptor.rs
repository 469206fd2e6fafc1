//! `signalfd`: descriptors that report pending signals.
//!
//! A read is a wait for a signal, as `sigwaitinfo` is ([`crate::kernel::signal_read`]). For `poll` and
//! its kind the descriptor is an eventfd. Before the runtime asks the kernel which descriptors are ready, it sets the count of each to
//! what the asking task would find: the signals of the process, and its own.

use crate::memory::kernel_changes;
use crate::state::outcome;
use crate::state::pending_signals;
use crate::state::upcalls;
use crate::state::world::world;
use crate::sys::open_flags::may_wait_to_read;
use crate::sys::raw;
use crate::sys::stops;
use std::cell::Cell;

/// A descriptor of the program.
#[derive(Clone, Copy)]
struct Reporter {
    descriptor: u64,
    signals: u64,
    /// Whether its eventfd has a count.
    is_ready: bool,
}

/// The most descriptors for signals in one execution.
const MOST: usize = 16;

struct Reporters([Cell<Option<Reporter>>; MOST]);
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Reporters {}
static REPORTERS: Reporters = Reporters([const { Cell::new(None) }; MOST]);

/// An execution begins.
pub(crate) fn clear() {
    REPORTERS.0.iter().for_each(|slot| slot.set(None));
}

/// Whether the execution has no such descriptors.
pub(crate) fn is_clear() -> bool {
    REPORTERS.0.iter().all(|slot| slot.get().is_none())
}

fn slot(descriptor: u64) -> Option<&'static Cell<Option<Reporter>>> {
    // The kernel uses the lower half of the argument.
    let is_it = |one: Reporter| one.descriptor as u32 == descriptor as u32;
    REPORTERS.0.iter().find(|slot| slot.get().is_some_and(is_it))
}

/// Whether a descriptor reports signals.
pub(crate) fn is_one(descriptor: u64) -> bool {
    slot(descriptor).is_some()
}

const fn error(code: i32) -> i64 {
    -(code as i64)
}

/// The system calls `signalfd` and `signalfd4`.
pub(crate) fn create(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [descriptor, set, size, flags, ..] = args;
    let flags = if number == libc::SYS_signalfd4 { flags as i32 } else { 0 };
    let mut bytes = [0; 8];
    if size != 8 || flags & !(libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) != 0 {
        return error(libc::EINVAL);
    }
    if !raw::read(set, &mut bytes) {
        return error(libc::EFAULT);
    }
    let never = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
    let signals = u64::from_ne_bytes(bytes) & !never;
    if descriptor as i32 != -1 {
        // SAFETY: `F_GETFD` takes no pointer.
        let is_open = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFD) } >= 0;
        let Some((slot, known)) = slot(descriptor).and_then(|slot| Some((slot, slot.get()?)))
        else {
            return error(if is_open { libc::EINVAL } else { libc::EBADF });
        };
        slot.set(Some(Reporter { signals, ..known }));
        return i64::from(descriptor as i32);
    }
    let Some(free) = REPORTERS.0.iter().find(|slot| slot.get().is_none()) else {
        outcome::unsupported("more than 16 descriptors of signalfd in one execution", site);
    };
    // SAFETY: passes no pointer; the flags are the same bits as those of an eventfd.
    let made = unsafe { raw::call!(libc::SYS_eventfd2, 0, flags) };
    if made >= 0 {
        free.set(Some(Reporter { descriptor: made as u64, signals, is_ready: false }));
        if !kernel_changes::opened(made as u64) {
            upcalls::get().state_left();
        }
    }
    made
}

/// Makes the descriptors as ready as this task would find them.
pub(crate) fn update(task: u16) {
    let task = &world().tasks[usize::from(task)];
    for slot in &REPORTERS.0 {
        let Some(reporter) = slot.get() else { continue };
        let is_ready = pending_signals::any(task, reporter.signals);
        if is_ready == reporter.is_ready {
            continue;
        }
        let mut count = 1u64;
        let call = if is_ready { libc::SYS_write } else { libc::SYS_read };
        // A forked copy of the process would use the same open file.
        stops::outside();
        // SAFETY: the kernel reads or writes a local of eight bytes. Neither call waits: the count is 0
        // before the write, and 1 before the read.
        unsafe { raw::call!(call, reporter.descriptor, &raw mut count, 8) };
        slot.set(Some(Reporter { is_ready, ..reporter }));
    }
}

/// The signals that a descriptor reports; none for other descriptors.
pub(crate) fn signals(descriptor: u64) -> u64 {
    slot(descriptor).and_then(Cell::get).map_or(0, |known| known.signals)
}

/// A descriptor is closed or replaced.
pub(crate) fn closed(descriptor: u64) {
    if let Some(slot) = slot(descriptor) {
        slot.set(None);
    }
}

/// This process is a copy that is not controlled: its descriptors become the kernel's.
pub(crate) fn leave_control() {
    for known in REPORTERS.0.iter().filter_map(|slot| slot.take()) {
        let waits = may_wait_to_read(known.descriptor);
        let flags = if waits { 0 } else { libc::SFD_NONBLOCK };
        // SAFETY: the kernel reads the set from a local; the other calls pass no pointers.
        unsafe {
            let closes = raw::call!(libc::SYS_fcntl, known.descriptor, libc::F_GETFD)
                & i64::from(libc::FD_CLOEXEC);
            let set = known.signals;
            let made = raw::call!(libc::SYS_signalfd4, u64::MAX, &raw const set, 8, flags);
            let on_exec = if closes != 0 { libc::O_CLOEXEC } else { 0 };
            if made >= 0 {
                raw::call!(libc::SYS_dup3, made, known.descriptor, on_exec);
                raw::call!(libc::SYS_close, made);
            }
        }
    }
}
