//! Stops of the runtime for a debugger.
//!
//! The debugger holds the process by ptrace. The runtime stops, with its own breakpoint
//! instruction, at events that only the runtime can observe: the execution begins, a step was
//! chosen, a signal is delivered, watched memory changed in a system call, the execution ended. The
//! debugger does everything else.

use crate::sys::channel::header;
use crate::sys::raw;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;
use traces::wire::{Debug, WATCHES, acting, stopped};

/// Whether a debugger holds this process.
pub(crate) fn is_there() -> bool {
    header().debug.on.load(Relaxed) != 0
}

#[inline(never)]
/// Stops for this reason.
pub(crate) fn stop(why: u64) {
    header().debug.stopped.store(why, Relaxed);
    breakpoint();
}

/// Stops.
pub(crate) fn breakpoint() {
    // SAFETY: a debugger holds the process, catches the breakpoint and continues behind it with all
    // registers unchanged.
    unsafe { std::arch::asm!("int3", options(nostack)) }
}

/// A step was chosen, the `step`-th from 1; stops if the debugger wants to stop here. Without a
/// debugger, the step to stop at is 0.
///
/// Whether it stops must make no difference to the registers afterwards: those that a call may
/// change would show it to the program. Hence the assembly.
#[inline]
pub(crate) fn chosen(step: u64) {
    let debug = &header().debug;
    debug.step.store(step, Relaxed);
    // SAFETY: `debug` is in the mapped header; the code compares one field and stores another, and
    // `int3` is only reached under a debugger, which continues behind it.
    unsafe {
        std::arch::asm!(
            "cmp {step}, [{debug} + {stop_at}]",
            "jne 2f",
            "mov qword ptr [{debug} + {stopped}], {why}",
            "int3",
            "2:",
            step = in(reg) step,
            debug = in(reg) std::ptr::from_ref(debug),
            stop_at = const std::mem::offset_of!(Debug, stop_at),
            stopped = const std::mem::offset_of!(Debug, stopped),
            why = const stopped::STEP,
            options(nostack),
        );
    }
}

/// The program sent itself a signal, which the running task gets. The kernel is not involved, so
/// the debugger would not notice otherwise.
pub(crate) fn signal(signal: i32) {
    if is_there() {
        header().debug.signal.store(signal as u64, Relaxed);
        stop(stopped::SIGNAL);
    }
}

/// Accesses memory in place of the program: a debugger that watches it reports the access.
pub(crate) fn for_program<R>(access: impl FnOnce() -> R) -> R {
    mark(acting::PROGRAM, access)
}

/// Accesses memory in a way that the program would not: a debugger does not report it.
pub(crate) fn unseen<R>(access: impl FnOnce() -> R) -> R {
    mark(acting::RESTORES, access)
}

fn mark<R>(actor: u64, access: impl FnOnce() -> R) -> R {
    let word = &header().debug.acting;
    word.store(actor, Relaxed);
    // The access is a plain one, which the compiler could otherwise move.
    compiler_fence(SeqCst);
    let result = access();
    compiler_fence(SeqCst);
    word.store(acting::RUNTIME, Relaxed);
    result
}

/// Whether a debugger lets the running task execute a function, outside of any schedule.
#[inline]
pub(crate) fn is_calling() -> bool {
    header().debug.calling.load(Relaxed) != 0
}

/// The contents of watched memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Watched([[u8; 8]; WATCHES]);

/// The contents of watched memory, if there is any: the processor's debug registers do not report
/// writes by the kernel.
pub(crate) fn watched() -> Option<Watched> {
    let watched = &header().debug.watched;
    (watched[0][1].load(Relaxed) != 0).then(|| {
        let mut values = [[0; 8]; WATCHES];
        for (value, [address, len]) in values.iter_mut().zip(watched) {
            let len = (len.load(Relaxed) as usize).min(8);
            raw::read(address.load(Relaxed), &mut value[..len]);
        }
        Watched(values)
    })
}

/// After a system call: stops if it changed watched memory.
pub(crate) fn look(before: Option<Watched>) {
    let (Some(Watched(before)), Some(Watched(now))) = (before, watched()) else { return };
    for index in (0..WATCHES).filter(|&index| before[index] != now[index]) {
        header().debug.touched.store(index as u64, Relaxed);
        stop(stopped::TOUCHED);
    }
}

/// A system call changes state outside the process.
pub(crate) fn outside() {
    let outside = &header().debug.outside;
    outside.store(outside.load(Relaxed) + 1, Relaxed);
}
