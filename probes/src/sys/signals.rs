//! The program's actions for the signals that the runtime handles itself, and the stack of the
//! runtime's handlers ([`crate::executions::faults`]).

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The watchdog's signal. Linux defines it and never sends it.
pub(crate) const WATCHDOG: i32 = libc::SIGSTKFLT;

/// Signals that the runtime handles itself.
pub(crate) const FAULTS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    WATCHDOG,
];

/// The address range of the handlers' stack.
struct Stack(Cell<(u64, u64)>);

// SAFETY: a `Cell` hands out no references. It is written once, before the first execution,
// and the controlled process has one kernel thread.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(Cell::new((0, 0)));

/// The address range of the handlers' stack.
pub(crate) fn stack() -> (u64, u64) {
    STACK.0.get()
}

/// Sets the address range of the handlers' stack.
pub(crate) fn set_stack(range: (u64, u64)) {
    STACK.0.set(range);
}

/// The runtime's handler for faults.
struct Handler(Cell<u64>);

// SAFETY: a `Cell` hands out no references. It is written once, before the first execution, and the
// controlled process has one kernel thread.
unsafe impl Sync for Handler {}

static FAULT_HANDLER: Handler = Handler(Cell::new(0));

/// Sets the address of the runtime's handler for faults.
pub(crate) fn set_fault_handler(handler: u64) {
    FAULT_HANDLER.0.set(handler);
}

/// The action has a restorer.
pub(crate) const SA_RESTORER: u64 = 0x0400_0000;

std::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_restorer",
    ".globl heddle_restorer",
    // Unwinders recognise a signal frame by exactly these instructions.
    "heddle_restorer:",
    "mov rax, 15",
    "syscall",
);
unsafe extern "C" {
    /// The return path of the runtime's handlers.
    pub(crate) fn heddle_restorer();
}

/// The kernel's `struct sigaction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Action {
    pub(crate) handler: u64,
    pub(crate) flags: u64,
    pub(crate) restorer: u64,
    pub(crate) mask: u64,
}

pub(crate) const EMPTY: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };

/// The program's actions for the signals that the runtime handles.
struct Wanted([Cell<Action>; 65]);

// SAFETY: `Cell`s hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Wanted {}

static WANTED: Wanted = Wanted([const { Cell::new(EMPTY) }; 65]);

/// Whether the runtime handles a signal itself.
pub(crate) fn is_reserved(signal: i32) -> bool {
    FAULTS.contains(&signal) || signal == libc::SIGSYS
}

/// Sets the program's action for a signal that the runtime handles, and returns the previous one.
///
/// Until the program sets an action, faults seem to have a handler: Rust's standard library then
/// installs none, and gives its threads no alternative stacks.
pub(crate) fn want(signal: i32, new: Option<Action>) -> Action {
    let cell = &WANTED.0[signal as usize];
    let mut old = cell.get();
    if old.handler == 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
        old = Action {
            handler: FAULT_HANDLER.0.get(),
            flags: (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64,
            ..EMPTY
        };
    }
    if let Some(new) = new {
        let ours = new.handler == FAULT_HANDLER.0.get();
        cell.set(if ours { EMPTY } else { new });
    }
    old
}

/// The program's actions for the signals that the runtime handles.
pub(crate) fn save() -> Vec<Action> {
    WANTED.0.iter().map(Cell::get).collect()
}

/// Restores what [`save`] returned.
pub(crate) fn restore(saved: &[Action]) {
    for (wanted, &was) in WANTED.0.iter().zip(saved) {
        wanted.set(was);
    }
}

/// The program's action for a signal that the runtime handles.
pub(crate) fn wanted(signal: i32) -> Action {
    WANTED.0[signal as usize].get()
}

/// The program's handler for a signal that the runtime handles.
pub(crate) fn own_handler(signal: i32) -> Option<Action> {
    let action = WANTED.0[signal as usize].get();
    (action.handler > 1).then_some(action)
}

/// Resets the program's action for a signal to the default.
pub(crate) fn forget(signal: i32) {
    WANTED.0[signal as usize].set(EMPTY);
}

/// Signals for which the program has a handler, and which came from the kernel or from another process since
/// [`take_outside`]: one bit each. The runtime delivers them, as it does those that tasks send.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);

/// Whether signals from outside are those of live clients, which are actions of these ([`take_from_clients`]).
static ARE_FROM_CLIENTS: AtomicBool = AtomicBool::new(false);
static FROM_CLIENTS: AtomicU64 = AtomicU64::new(0);

/// The signals by which a person or a script asks a program for something.
pub(crate) const REQUESTS: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// From here on signals from outside are actions of live clients, whatever the program does about them.
pub(crate) fn record_for_clients() {
    ARE_FROM_CLIENTS.store(true, Relaxed);
}

/// The signals that live clients sent since the last call: one bit each.
pub(crate) fn take_from_clients() -> u64 {
    FROM_CLIENTS.swap(0, Relaxed)
}

/// The signals that came from outside.
#[inline]
pub(crate) fn take_outside() -> u64 {
    match OUTSIDE.load(Relaxed) {
        0 => 0,
        _ => OUTSIDE.swap(0, Relaxed),
    }
}

/// The signals that came from outside since [`take_outside`].
pub(crate) fn outside() -> u64 {
    OUTSIDE.load(Relaxed)
}

/// Whether a signal came from outside since [`take_outside`].
pub(crate) fn has_outside() -> bool {
    outside() != 0
}

/// The action with which the kernel is to treat a signal for which the program has this one.
pub(crate) fn for_kernel(signal: i32, action: Action) -> Action {
    const DEFAULT: u64 = libc::SIG_DFL as u64;
    const IGNORED: u64 = libc::SIG_IGN as u64;
    match action.handler {
        // The kernel would discard it although a task that blocks it may wait for it.
        DEFAULT if signal == libc::SIGCHLD => for_runtime(),
        DEFAULT | IGNORED if ARE_FROM_CLIENTS.load(Relaxed) && REQUESTS.contains(&signal) => {
            for_runtime()
        }
        DEFAULT | IGNORED => action,
        _ => for_runtime(),
    }
}

/// The action by which the runtime notes a signal.
fn for_runtime() -> Action {
    Action {
        handler: arrives as extern "C" fn(i32) as usize as u64,
        flags: (libc::SA_ONSTACK | libc::SA_RESTART) as u64 | SA_RESTORER,
        restorer: heddle_restorer as *const () as u64,
        mask: u64::MAX,
    }
}

/// The kernel's handler for such a signal, on the runtime's stack for handlers.
extern "C" fn arrives(signal: i32) {
    let is_of_client = ARE_FROM_CLIENTS.load(Relaxed) && signal != libc::SIGCHLD;
    let noted = if is_of_client { &FROM_CLIENTS } else { &OUTSIDE };
    noted.fetch_or(1 << (signal - 1), Relaxed);
}
