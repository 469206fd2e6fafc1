//! Faults: crashes of the program, the net's signals, and the watchdog's.
//!
//! The handlers run on a stack of their own, with nothing blocked, so that one may be left for good.
//! The program's own handlers for the same signals are kept beside and called first.

use crate::debugger;
use crate::dispatch;
use crate::failure::{self, End};
use crate::fiber::Parked;
use crate::points::binary;
use crate::raw;
use crate::world::{on_fiber, world};
use std::cell::Cell;
use traces::FailureKind;

/// The watchdog's signal. Linux defines it and never sends it.
pub(crate) const WATCHDOG: i32 = libc::SIGSTKFLT;

/// Signals that are the runtime's to handle.
const FAULTS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    WATCHDOG,
];

/// Where the handlers' stack lies.
struct Stack(Cell<(u64, u64)>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Stack {}
static STACK: Stack = Stack(Cell::new((0, 0)));

/// Where the handlers' stack lies.
pub(crate) fn stack() -> (u64, u64) {
    STACK.0.get()
}

/// The kernel's view of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Action {
    pub(crate) handler: u64,
    pub(crate) flags: u64,
    pub(crate) restorer: u64,
    pub(crate) mask: u64,
}

const EMPTY: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
const SA_RESTORER: u64 = 0x0400_0000;

/// What the program asked for, for the signals that are the runtime's.
struct Wanted([Cell<Action>; 65]);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Wanted {}
static WANTED: Wanted = Wanted([const { Cell::new(EMPTY) }; 65]);

std::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_restorer",
    ".globl heddle_restorer",
    // An unwinder recognises a signal frame by these very instructions.
    "heddle_restorer:",
    "mov rax, 15",
    "syscall",
);
unsafe extern "C" {
    fn heddle_restorer();
}

/// Whether a signal is the runtime's.
pub(crate) fn is_reserved(signal: i32) -> bool {
    FAULTS.contains(&signal) || signal == libc::SIGSYS
}

fn set(signal: i32, handler: u64) -> bool {
    // A debugger that has let go of the process interrupts it by the watchdog's signal, and not in the
    // middle of serving a breakpoint.
    let defers = signal == libc::SIGTRAP && debugger::is_there();
    let action = Action {
        handler,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64 | SA_RESTORER,
        restorer: heddle_restorer as *const () as u64,
        mask: if defers { 1 << (WATCHDOG - 1) } else { 0 },
    };
    // SAFETY: a valid action; the handler has the type of one with SA_SIGINFO.
    unsafe { raw::call!(libc::SYS_rt_sigaction, signal, &raw const action, 0, 8) == 0 }
}

/// Installs the handlers and their stack, once for each process; forks inherit both.
pub(crate) fn install() -> Result<(), String> {
    thread_local_free::once(|| {
        const SIZE: usize = 64 * 1024;
        let stack = raw::map(0, SIZE, libc::PROT_READ | libc::PROT_WRITE, 0)
            .ok_or("no memory for the fault handlers' stack")?;
        STACK.0.set((stack as u64, (stack + SIZE) as u64));
        let alternative = libc::stack_t { ss_sp: stack as *mut _, ss_flags: 0, ss_size: SIZE };
        // SAFETY: the stack is new and is never unmapped.
        let set_stack =
            unsafe { raw::call!(libc::SYS_sigaltstack, &raw const alternative, 0) == 0 };
        let fault = on_fault as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);
        let net = dispatch::on_dispatch
            as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);
        let mut good = set_stack && set(libc::SIGSYS, net as *const () as u64);
        for signal in FAULTS {
            good &= set(signal, fault as *const () as u64);
        }
        // Whatever mask the starter left, these must arrive.
        let mask = 0u64;
        // SAFETY: reads one mask.
        unsafe {
            raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8);
        }
        good.then_some(()).ok_or_else(|| "the fault handlers cannot be installed".to_owned())
    })
}

/// `Once` without thread-locals or locks.
mod thread_local_free {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static DONE: AtomicBool = AtomicBool::new(false);

    pub(super) fn once(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        if DONE.swap(true, Relaxed) { Ok(()) } else { work() }
    }
}

/// Sets what the program wants for a signal of the runtime's, and gives what it wanted before.
///
/// Before the program sets anything, faults seem to have a handler: Rust's standard library then
/// leaves them alone, and gives its threads no alternative stacks.
pub(crate) fn want(signal: i32, new: Option<Action>) -> Action {
    let cell = &WANTED.0[signal as usize];
    let mut old = cell.get();
    if old.handler == 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
        old = Action {
            handler: on_fault as *const () as u64,
            flags: (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64,
            ..EMPTY
        };
    }
    if let Some(new) = new {
        let ours = new.handler == on_fault as *const () as u64;
        cell.set(if ours { EMPTY } else { new });
    }
    old
}

/// What the program wants for the runtime's signals.
pub(crate) fn save() -> Vec<Action> {
    WANTED.0.iter().map(Cell::get).collect()
}

/// Puts back what [`save`] gave.
pub(crate) fn restore(saved: &[Action]) {
    for (wanted, &was) in WANTED.0.iter().zip(saved) {
        wanted.set(was);
    }
}

/// What the program wants for one of the runtime's signals.
pub(crate) fn wanted(signal: i32) -> Action {
    WANTED.0[signal as usize].get()
}

/// The program's own handler for a signal of the runtime's.
fn own_handler(signal: i32) -> Option<Action> {
    let action = WANTED.0[signal as usize].get();
    (action.handler > 1).then_some(action)
}

/// Calls the program's handler for `SIGABRT`, as `abort` would.
pub(crate) fn call_abort_handler() {
    debugger::signal(libc::SIGABRT);
    if let Some(action) = own_handler(libc::SIGABRT) {
        WANTED.0[libc::SIGABRT as usize].set(EMPTY);
        // SAFETY: the program gave it as a handler.
        unsafe {
            let handler: extern "C-unwind" fn(i32) = std::mem::transmute(action.handler);
            handler(libc::SIGABRT);
        }
    }
}

/// The registers a handler was called from.
pub(crate) fn registers(context: &libc::ucontext_t) -> Parked {
    let register = |name: i32| context.uc_mcontext.gregs[name as usize] as u64;
    Parked {
        rip: register(libc::REG_RIP),
        rsp: register(libc::REG_RSP),
        rbp: register(libc::REG_RBP),
        rbx: register(libc::REG_RBX),
        r12: register(libc::REG_R12),
        r13: register(libc::REG_R13),
        r14: register(libc::REG_R14),
        r15: register(libc::REG_R15),
    }
}

/// The block that a register's value was read from after it was freed.
fn poison(context: *mut libc::ucontext_t) -> Option<u64> {
    // SAFETY: the kernel's; the general registers come first, up to rsp.
    let general = unsafe { &(&(*context).uc_mcontext.gregs)[..=libc::REG_RCX as usize] };
    general.iter().find_map(|&value| crate::arena::poison_of(value as u64))
}

/// Whether the watchdog struck where the program's stack cannot be told, on the way from a call or a
/// probe of the program's to the code that serves it. The next such one ends the execution instead.
struct Due(Cell<bool>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Due {}
static DUE: Due = Due(Cell::new(false));

/// An execution begins: what was due in the last one is not in this.
pub(crate) fn begin() {
    DUE.0.set(false);
}

/// Ends the execution at a system call or a probe of the program's, if the watchdog struck shortly before.
#[inline]
pub(crate) fn end_if_due(site: u64) {
    if DUE.0.replace(false) {
        let mut found = failure::found(FailureKind::Spin, site, String::new());
        found.number = WATCHDOG;
        found.key = failure::key(FailureKind::Spin, &[world().task().site.get()]);
        failure::end_here(End::Failed(Box::new(found)));
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's.
    let (registers, code, fault) =
        unsafe { (registers(&*context), (*info).si_code, (*info).si_addr() as u64) };
    // SAFETY: the kernel's.
    if debugger::loose::serves(signal, code, unsafe { &mut *context }) {
        return;
    }
    if signal == WATCHDOG && !on_fiber() {
        return;
    }
    let (low, high) = stack();
    if signal == WATCHDOG
        && ((low..high).contains(&registers.rsp)
            || crate::dispatch::is_stub(registers.rip)
            || binary::may_serve(registers.rip))
    {
        DUE.0.set(true);
        return;
    }
    // The bit of a page fault's error code that says: a write.
    const WRITE: i64 = 2;
    // SAFETY: the kernel's.
    let error = unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] };
    if signal == libc::SIGSEGV
        && code > 0
        && error & WRITE != 0
        && crate::manager::memory::write_fault(fault)
    {
        return;
    }
    // SAFETY: the kernel's.
    if signal == libc::SIGTRAP && binary::on_breakpoint(unsafe { &mut *context }) {
        return;
    }
    let mut registers = registers;
    if let Some(own) = binary::original(registers.rip) {
        // A copy of the program's instruction: it faulted where the program has it.
        registers.rip = own;
        // SAFETY: the kernel's.
        unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] = own as i64 };
    }
    if !on_fiber() {
        crate::channel::fail(&format!(
            "signal {signal} at 0x{:x} (address 0x{fault:x}) outside the program's tasks",
            registers.rip
        ));
    }
    if let Some(action) = own_handler(signal) {
        if action.flags & libc::SA_RESETHAND as u64 != 0 {
            WANTED.0[signal as usize].set(EMPTY);
        }
        // SAFETY: the program gave it as a handler of this type.
        unsafe {
            if action.flags & libc::SA_SIGINFO as u64 != 0 {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) =
                    std::mem::transmute(action.handler);
                handler(signal, info, context);
            } else {
                let handler: extern "C" fn(i32) = std::mem::transmute(action.handler);
                handler(signal);
            }
        }
        return;
    }
    let sent = code <= 0;
    if WANTED.0[signal as usize].get().handler == 1 && sent {
        return; // ignored
    }
    let world = world();
    let stack = world.task().stack.get();
    let in_guard = signal == libc::SIGSEGV
        && !sent
        && (stack.low..stack.low + stack.guard.max(1)).contains(&fault);
    let below_main = world.current.get() == 0 && signal == libc::SIGSEGV && !sent && {
        // Main's stack grows until its limit, which is reached earlier where the environment above it is
        // large: what is near the stack pointer and not there is its end.
        registers.rsp.abs_diff(fault) < 1 << 16
            && (stack.low.saturating_sub(1 << 20)..stack.high).contains(&fault)
    };
    // Whoever brings a stack may have put pages below it that cannot be touched.
    let below_own = stack.foreign && signal == libc::SIGSEGV && !sent && {
        registers.rsp < stack.low + 4096
            && registers.rsp.abs_diff(fault) < 1 << 16
            && fault < stack.low
    };
    let poison = poison(context).filter(|_| signal == libc::SIGSEGV && !sent);
    let kind = match signal {
        WATCHDOG => FailureKind::Spin,
        libc::SIGABRT => FailureKind::Abort,
        _ if in_guard || below_main || below_own => FailureKind::StackOverflow,
        _ if poison.is_some() => FailureKind::UseAfterFree,
        _ => FailureKind::Crash,
    };
    let detail = match kind {
        FailureKind::UseAfterFree => "a pointer that was read from freed memory was used",
        _ => "",
    };
    let mut found = failure::found(kind, registers.rip, detail.to_owned());
    found.exact = true;
    found.number = signal;
    found.fault = fault;
    if let Some(freed) = poison.and_then(crate::arena::freed_block) {
        found.block = Some(freed.ordinal);
        found.places = freed.places;
        found.past = freed.past;
    }
    if kind == FailureKind::Abort {
        found.key = failure::key(kind, &[world.task().site.get()]);
    }
    if kind == FailureKind::Spin {
        // The watchdog strikes anywhere in the loop.
        found.key = failure::key(kind, &[world.task().site.get()]);
    }
    failure::end_with(End::Failed(Box::new(found)), registers)
}
