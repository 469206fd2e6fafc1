//! The runtime's signal handlers: faults of the program, system call dispatch, and the watchdog.
//!
//! The handlers run on a separate stack, with no signal blocked, so that they can be left
//! without returning. The program's own handlers for these signals are stored separately and called
//! first.

use crate::fiber::backtrace;
use crate::fiber::switch::Parked;
use crate::instrument::binary;
use crate::kernel::{dispatch, interruption, pass};
use crate::schedule::interrupt::{self, Due};
use crate::state::end::End;
use crate::state::outcome;
use crate::state::overdue;
use crate::state::world::{on_fiber, world};
use crate::sys::signals::{self, Action, FAULTS, SA_RESTORER, WATCHDOG, heddle_restorer};
use crate::sys::stops;
use crate::sys::{checked_read, raw};
use traces::FailureKind;

fn set(signal: i32, handler: u64) -> bool {
    // A debugger that has detached interrupts the process by the watchdog's signal, which must not
    // arrive in the middle of serving a breakpoint.
    let defers = signal == libc::SIGTRAP && stops::is_there();
    let action = Action {
        handler,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64 | SA_RESTORER,
        restorer: heddle_restorer as *const () as u64,
        mask: if defers { 1 << (WATCHDOG - 1) } else { 0 },
    };
    // SAFETY: the action is a valid local, and `handler` is a function of the type that SA_SIGINFO
    // requires.
    unsafe { raw::call!(libc::SYS_rt_sigaction, signal, &raw const action, 0, 8) == 0 }
}

/// Installs the handlers and their stack, once per process; forks inherit both.
pub(crate) fn install() -> Result<(), String> {
    once_without_locks::once(|| {
        const SIZE: usize = 64 * 1024;
        let stack = raw::map(0, SIZE, libc::PROT_READ | libc::PROT_WRITE, 0)
            .ok_or("no memory for the fault handlers' stack")?;
        signals::set_stack((stack as u64, (stack + SIZE) as u64));
        let alternative = libc::stack_t { ss_sp: stack as *mut _, ss_flags: 0, ss_size: SIZE };
        // SAFETY: the stack was just mapped for this purpose and is never unmapped.
        let set_stack =
            unsafe { raw::call!(libc::SYS_sigaltstack, &raw const alternative, 0) == 0 };
        let fault = on_fault as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);
        let net = dispatch::on_dispatch
            as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);
        let mut good = set_stack && set(libc::SIGSYS, net as *const () as u64);
        signals::set_fault_handler(fault as *const () as u64);
        for signal in FAULTS {
            good &= set(signal, fault as *const () as u64);
        }
        // The starter may have left signals blocked; the runtime's must arrive.
        let mask = 0u64;
        // SAFETY: the kernel only reads the local mask.
        unsafe {
            raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8);
        }
        if good {
            checked_read::begin();
        }
        good.then_some(()).ok_or_else(|| "cannot install the signal handlers".to_owned())
    })
}

/// `Once` without thread-locals or locks.
mod once_without_locks {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static DONE: AtomicBool = AtomicBool::new(false);

    pub(crate) fn once(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        if DONE.swap(true, Relaxed) { Ok(()) } else { work() }
    }
}

/// The registers at the interruption that caused a signal.
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

/// The ordinal of the freed block that a register's value was read from, if one holds the pattern
/// of freed memory.
fn poison(context: *mut libc::ucontext_t) -> Option<u64> {
    // SAFETY: the kernel passes a valid context to the handler; the general registers are the first
    // ones, up to rcx.
    let general = unsafe { &(&(*context).uc_mcontext.gregs)[..=libc::REG_RCX as usize] };
    general.iter().find_map(|&value| crate::memory::arena::poison_of(value as u64))
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel passes a valid `siginfo_t` and context to a handler with SA_SIGINFO.
    let (registers, code, fault, sender) = unsafe {
        (registers(&*context), (*info).si_code, (*info).si_addr() as u64, (*info).si_pid())
    };
    // SAFETY: the context is valid until the handler returns, and this is the only reference to it.
    let is_read = || checked_read::recovers(unsafe { &mut *context });
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) && code > 0 && is_read() {
        return;
    }
    // SAFETY: as above.
    if crate::debugger::detached::serves(signal, code, unsafe { &mut *context }) {
        return;
    }
    if signal == WATCHDOG && !on_fiber() {
        return;
    }
    let (low, high) = signals::stack();
    if signal == WATCHDOG
        && ((low..high).contains(&registers.rsp)
            || dispatch::is_stub(registers.rip)
            || binary::may_serve(registers.rip))
    {
        overdue::note();
        return;
    }
    // The bit of a page fault's error code that means a write.
    const WRITE: i64 = 2;
    // SAFETY: as above.
    let error = unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] };
    if signal == libc::SIGSEGV
        && code > 0
        && error & WRITE != 0
        && crate::memory::snapshot::write_fault(fault)
    {
        return;
    }
    // The pages that are closed can be read. Not every system that emulates Linux has the bit that means the fetch
    // of an instruction.
    if signal == libc::SIGSEGV && code > 0 && error & WRITE == 0 && binary::on_execution(fault) {
        return;
    }
    // SAFETY: as above; the reference ends with the call.
    if signal == libc::SIGTRAP && binary::on_breakpoint(unsafe { &mut *context }) {
        return;
    }
    // SAFETY: as above; the reference ends with the call.
    let is_abandoned = || backtrace::abandon(unsafe { &mut *context });
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) && code > 0 && is_abandoned() {
        return;
    }
    let mut registers = registers;
    if let Some(own) = binary::original(registers.rip) {
        // A trampoline's copy of a program's instruction faulted: report the original address.
        registers.rip = own;
        // SAFETY: as above.
        unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] = own as i64 };
    }
    let sent = code <= 0;
    if !on_fiber() {
        if sent && !stops::is_there() {
            crate::sys::channel::disturbed(signal);
        }
        crate::sys::channel::fail(&format!(
            "signal {signal} at 0x{:x} (address 0x{fault:x}) outside the program's tasks",
            registers.rip
        ));
    }
    if let Some(action) = signals::own_handler(signal) {
        if action.flags & libc::SA_RESETHAND as u64 != 0 {
            signals::forget(signal);
        }
        // SAFETY: the program installed the function as a handler of one of these types, chosen by
        // `SA_SIGINFO`.
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
    if signals::wanted(signal).handler == 1 && sent {
        return; // the program ignores it
    }
    let controller = crate::sys::channel::header().controller;
    let is_watchdog = signal == WATCHDOG && sender as u32 == controller;
    if sent && !is_watchdog && !stops::is_there() {
        // The runtime delivers the signals that the program sends to itself: another process sent
        // this one.
        crate::sys::channel::disturbed(signal);
    }
    let world = world();
    let stack = world.task().stack.get();
    let in_guard = signal == libc::SIGSEGV
        && !sent
        && (stack.low..stack.low + stack.guard.max(1)).contains(&fault);
    let below_main = world.current.get() == 0 && signal == libc::SIGSEGV && !sent && {
        // Main's stack grows until its limit, which it reaches earlier if the environment above it
        // is large. So a fault near the stack pointer, in this range, is a stack overflow.
        registers.rsp.abs_diff(fault) < 1 << 16
            && (stack.low.saturating_sub(1 << 20)..stack.high).contains(&fault)
    };
    // A program that provides a thread's stack itself may have put inaccessible pages below it.
    let below_own = stack.foreign && signal == libc::SIGSEGV && !sent && {
        registers.rsp < stack.low + 4096
            && registers.rsp.abs_diff(fault) < 1 << 16
            && fault < stack.low
    };
    let poison = poison(context).filter(|_| signal == libc::SIGSEGV && !sent);
    if let Some((call, site)) = pass::blocked().filter(|_| signal == WATCHDOG) {
        let what = format!("{call} blocks the only kernel thread");
        let mut found = outcome::found(FailureKind::Unsupported, site, what);
        found.key = outcome::key_of_text(found.key, &found.detail);
        outcome::end_with(End::Failed(Box::new(found)), registers);
    }
    if signal == WATCHDOG && !stops::is_there() {
        match interrupt::due() {
            Due::Yield => {
                // SAFETY: as above; the reference ends with the call. The program's own code was interrupted,
                // on a fiber: the runtime's was excluded here and above.
                if !unsafe { interruption::redirect(&mut *context) } {
                    interrupt::later();
                }
                return;
            }
            Due::Continue => return,
            Due::Spins => {}
        }
    }
    let kind = match signal {
        WATCHDOG => FailureKind::Spin,
        libc::SIGABRT => FailureKind::Abort,
        _ if in_guard || below_main || below_own => FailureKind::StackOverflow,
        _ if poison.is_some() => FailureKind::UseAfterFree,
        _ => FailureKind::Crash,
    };
    let detail = match kind {
        FailureKind::UseAfterFree => "a pointer that was read from freed memory is dereferenced",
        _ => "",
    };
    let mut found = outcome::found(kind, registers.rip, detail.to_owned());
    found.exact = true;
    found.number = signal;
    found.fault = fault;
    if let Some(freed) = poison.and_then(crate::memory::arena::freed_block) {
        found.block = Some(freed.ordinal);
        found.key = freed.key;
        found.places = freed.places;
        found.past = freed.past;
    }
    if kind == FailureKind::Abort {
        found.key = outcome::key(kind, &[world.task().site.get()]);
    }
    if kind == FailureKind::Spin {
        // The watchdog interrupts the loop at an arbitrary instruction, so the key is the last
        // step's site.
        found.key = outcome::key(kind, &[world.task().site.get()]);
    }
    outcome::end_with(End::Failed(Box::new(found)), registers)
}
