//! What an execution changed in the kernel, to be undone by a memory reset.
//!
//! Private mappings and files opened for reading belong to one execution: those left at its end are
//! unmapped and closed, so that the next execution gets the same addresses and descriptors. Signal
//! actions are stored here and passed to the kernel only where they differ from its own, so that a
//! program that sets the same ones at each start causes no system calls.

use crate::state::root::root;
use crate::sys::raw;
use crate::sys::signals::{self, Action};
use std::cell::Cell;

/// The most mappings and descriptors at a time that are recorded; beyond that, memory reset is
/// given up.
const MAPS: usize = 256;
const FILES: usize = 1024;
const SIGNALS: usize = 65;

/// A signal's action, once the program has asked for it or changed it.
#[derive(Clone, Copy)]
struct Known {
    /// Before the program changed it.
    first: Action,
    /// As the program sees it.
    now: Action,
    /// As the kernel has it.
    kernel: Action,
}

struct Ledger {
    maps: [Cell<(u64, u64)>; MAPS],
    maps_len: Cell<usize>,
    /// Bytes of writable private memory that the execution mapped and has not unmapped.
    bytes: Cell<u64>,
    files: [Cell<u64>; FILES / 64],
    signals: [Cell<Option<Known>>; SIGNALS],
    /// Whether an action differs from the kernel's.
    behind: Cell<bool>,
    /// Whether anything is recorded at all, to skip the reset otherwise.
    used: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references to their contents, and the
// controlled process has one kernel thread.
unsafe impl Sync for Ledger {}
static LEDGER: Ledger = Ledger {
    maps: [const { Cell::new((0, 0)) }; MAPS],
    maps_len: Cell::new(0),
    bytes: Cell::new(0),
    files: [const { Cell::new(0) }; FILES / 64],
    signals: [const { Cell::new(None) }; SIGNALS],
    behind: Cell::new(false),
    used: Cell::new(false),
};

fn maps() -> &'static [Cell<(u64, u64)>] {
    &LEDGER.maps[..LEDGER.maps_len.get()]
}

/// Records a new mapping; false if there is no room.
fn mapped(start: u64, end: u64) -> bool {
    let len = LEDGER.maps_len.get();
    if len == MAPS {
        return false;
    }
    LEDGER.used.set(true);
    LEDGER.maps[len].set((start, end));
    LEDGER.maps_len.set(len + 1);
    true
}

/// Whether a range is within one mapping of this execution.
fn holds(start: u64, end: u64) -> bool {
    maps().iter().any(|map| map.get().0 <= start && end <= map.get().1)
}

/// Removes a range that is unmapped; false if it is not entirely of this execution.
fn unmapped(start: u64, end: u64) -> bool {
    let Some(at) = maps().iter().position(|map| map.get().0 <= start && end <= map.get().1) else {
        return false;
    };
    let (low, high) = maps()[at].get();
    let last = LEDGER.maps_len.get() - 1;
    LEDGER.maps[at].set(LEDGER.maps[last].get());
    LEDGER.maps_len.set(last);
    // What remains of the mapping before and after the unmapped range.
    (low == start || mapped(low, start)) && (end == high || mapped(end, high))
}

fn file(descriptor: u64) -> Option<(&'static Cell<u64>, u64)> {
    let word = LEDGER.files.get(descriptor as usize / 64)?;
    Some((word, 1 << (descriptor % 64)))
}

/// Whether a descriptor was opened in this execution.
fn is_own(descriptor: u64) -> bool {
    file(descriptor).is_some_and(|(word, bit)| word.get() & bit != 0)
}

fn page_end(start: u64, len: u64) -> u64 {
    start.saturating_add(len).next_multiple_of(4096)
}

/// Whether a call allocates memory.
fn asks_for_memory(number: i64, args: [u64; 6]) -> bool {
    number == libc::SYS_mmap
        && args[2] as i32 & libc::PROT_WRITE != 0
        && args[3] as i32 & libc::MAP_TYPE == libc::MAP_PRIVATE
}

/// Whether a call asks for more memory than the program may have.
pub(crate) fn is_too_much(number: i64, args: [u64; 6]) -> bool {
    asks_for_memory(number, args) && LEDGER.bytes.get().saturating_add(args[1]) > root().memory
}

/// Records the effect of a call that was made; false if it has an effect that cannot be undone.
pub(crate) fn note(number: i64, args: [u64; 6], answer: i64) -> bool {
    let failed = (-4095..0).contains(&answer);
    let end = page_end(args[0], args[1]);
    if !failed && asks_for_memory(number, args) {
        LEDGER.used.set(true);
        LEDGER.bytes.set(LEDGER.bytes.get() + args[1]);
    } else if !failed && number == libc::SYS_munmap {
        LEDGER.bytes.set(LEDGER.bytes.get().saturating_sub(args[1]));
    }
    match number {
        libc::SYS_mmap => {
            // A shared mapping that is only read changes nothing, either.
            let private = args[3] as i32 & libc::MAP_TYPE == libc::MAP_PRIVATE
                || args[2] as i32 & libc::PROT_WRITE == 0;
            let fixed = args[3] as i32 & (libc::MAP_FIXED | libc::MAP_GROWSDOWN) != 0;
            let end = page_end(answer as u64, args[1]);
            failed || (private && !fixed && mapped(answer as u64, end))
        }
        libc::SYS_munmap => failed || unmapped(args[0], end),
        libc::SYS_mprotect | libc::SYS_madvise => failed || holds(args[0], end),
        libc::SYS_open => failed || only_read(args[1]) && opened(answer as u64),
        libc::SYS_openat => failed || only_read(args[2]) && opened(answer as u64),
        libc::SYS_close => match file(args[0]) {
            Some((word, bit)) if word.get() & bit != 0 => {
                word.set(word.get() & !bit);
                true
            }
            _ => failed,
        },
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_lseek
        | libc::SYS_getdents64
        | libc::SYS_fadvise64 => failed || is_own(args[0]),
        _ => false,
    }
}

fn only_read(flags: u64) -> bool {
    let flags = flags as i32;
    flags & libc::O_ACCMODE == libc::O_RDONLY && flags & (libc::O_CREAT | libc::O_TRUNC) == 0
}

/// Records a descriptor of this execution; false if there is no room.
pub(crate) fn opened(descriptor: u64) -> bool {
    let Some((word, bit)) = file(descriptor) else { return false };
    LEDGER.used.set(true);
    word.set(word.get() | bit);
    true
}

fn ask(signal: usize) -> Action {
    let mut action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
    // SAFETY: the kernel writes the action to a local.
    unsafe {
        raw::call!(libc::SYS_rt_sigaction, signal, 0, &raw mut action, 8);
    }
    action
}

fn known(signal: usize) -> Known {
    LEDGER.signals[signal].get().unwrap_or_else(|| {
        let action = ask(signal);
        Known { first: action, now: action, kernel: action }
    })
}

/// The program's action for a signal.
pub(crate) fn action(signal: i32) -> Action {
    known(signal as usize).now
}

/// `rt_sigaction` for a signal that the runtime does not use.
pub(crate) fn serve_action(args: [u64; 6]) -> i64 {
    let signal = args[0] as i32;
    let fixed = [libc::SIGKILL, libc::SIGSTOP].contains(&signal);
    if !(1..SIGNALS as i32).contains(&signal) || args[3] != 8 || (fixed && args[1] != 0) {
        return -i64::from(libc::EINVAL);
    }
    let mut known = known(signal as usize);
    let old = known.now;
    // SAFETY: the caller of `rt_sigaction` passes valid actions or null.
    unsafe {
        if args[1] != 0 {
            known.now = *(args[1] as *const Action);
            LEDGER.used.set(true);
            let behind = signals::for_kernel(signal, known.now) != known.kernel;
            LEDGER.behind.set(LEDGER.behind.get() || behind);
        }
        if args[2] != 0 {
            *(args[2] as *mut Action) = old;
        }
    }
    LEDGER.signals[signal as usize].set(Some(known));
    0
}

/// The program is about to start a process, whose end the kernel reports by `SIGCHLD`.
pub(crate) fn expect_children() {
    let slot = &LEDGER.signals[libc::SIGCHLD as usize];
    slot.set(Some(known(libc::SIGCHLD as usize)));
    LEDGER.used.set(true);
    LEDGER.behind.set(true);
    update_kernel_actions();
}

/// Live clients may send these signals from here on.
pub(crate) fn expect_clients() {
    signals::record_for_clients();
    for signal in signals::REQUESTS {
        LEDGER.signals[signal as usize].set(Some(known(signal as usize)));
    }
    LEDGER.used.set(true);
    LEDGER.behind.set(true);
    update_kernel_actions();
}

/// Passes changed actions to the kernel, before anything that may cause a signal.
pub(crate) fn update_kernel_actions() {
    if !LEDGER.behind.replace(false) {
        return;
    }
    for (signal, slot) in LEDGER.signals.iter().enumerate() {
        let Some(known) = slot.get() else { continue };
        let kernel = signals::for_kernel(signal as i32, known.now);
        if kernel != known.kernel {
            // SAFETY: the kernel reads an action from a local. Its handler is the runtime's.
            unsafe {
                raw::call!(libc::SYS_rt_sigaction, signal, &raw const kernel, 0, 8);
            }
            slot.set(Some(Known { kernel, ..known }));
        }
    }
}

/// Whether the execution has mapped and opened nothing that is still there.
pub(crate) fn is_clear() -> bool {
    LEDGER.maps_len.get() == 0 && LEDGER.files.iter().all(|word| word.get() == 0)
}

/// Whether the program sees the signal actions with which executions begin.
pub(crate) fn are_actions_first() -> bool {
    let known = LEDGER.signals.iter().filter_map(Cell::get);
    known.into_iter().all(|known| known.now == known.first)
}

/// From here on, executions begin with the signal actions that the program sees now.
pub(crate) fn keep_actions() {
    for slot in &LEDGER.signals {
        if let Some(known) = slot.get() {
            slot.set(Some(Known { first: known.now, ..known }));
        }
    }
}

/// Undoes what the execution left in the kernel.
pub(crate) fn restore() {
    if !LEDGER.used.replace(false) {
        return;
    }
    // SAFETY: the mappings and descriptors were made by the program in the execution that ended, so
    // nothing uses them any more.
    unsafe {
        for map in maps() {
            let (start, end) = map.get();
            raw::call!(libc::SYS_munmap, start, end - start);
        }
        LEDGER.maps_len.set(0);
        LEDGER.bytes.set(0);
        for (index, word) in LEDGER.files.iter().enumerate() {
            let mut bits = word.replace(0);
            while bits != 0 {
                raw::call!(libc::SYS_close, index as u64 * 64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
    }
    for (signal, slot) in LEDGER.signals.iter().enumerate() {
        if let Some(known) = slot.get() {
            // The kernel keeps its action: most programs will set the same one again.
            slot.set(Some(Known { now: known.first, ..known }));
            let behind = signals::for_kernel(signal as i32, known.first) != known.kernel;
            LEDGER.behind.set(LEDGER.behind.get() || behind);
        }
    }
}
