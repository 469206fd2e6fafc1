//! Stops of the runtime for a debugger.
//!
//! The debugger holds the process by ptrace. The runtime stops, with its own breakpoint
//! instruction, at events that only the runtime can observe: the execution begins, a step was
//! chosen, a signal is delivered, watched memory changed in a system call, the execution ended. The
//! debugger does everything else.

use crate::debugger::detached;

use crate::executions::manager;
use crate::fiber::switch::{self, Parked};
use crate::instrument::binary;
use crate::state::end::End;
use crate::state::objects;
use crate::state::outcome;
use crate::state::world::world;
use crate::sys::channel::{self, header};
use crate::sys::dispatch;
use crate::sys::own_image;
use crate::sys::raw;
use search::Divergence;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{Debug, WATCHES, ended, stopped};

/// The size of the stack for [`heddle_describe`].
const STACK: usize = 64 * 1024;

/// Whether a debugger holds this process.
pub(crate) fn is_there() -> bool {
    header().debug.on.load(Relaxed) != 0
}

#[inline(never)]
fn stop(why: u64) {
    header().debug.stopped.store(why, Relaxed);
    breakpoint();
}

fn breakpoint() {
    // SAFETY: a debugger holds the process, catches the breakpoint and continues behind it with all
    // registers unchanged.
    unsafe { std::arch::asm!("int3", options(nostack)) }
}

/// The execution is about to begin: gives the debugger the addresses that it needs, and stops.
pub(crate) fn begin() {
    let debug = &header().debug;
    let (text, len) = own_image::text();
    debug.text.store(text, Relaxed);
    debug.text_len.store(len, Relaxed);
    debug.describe.store(heddle_describe as *const () as u64, Relaxed);
    debug.selector.store(dispatch::selector(), Relaxed);
    debug.step.store(0, Relaxed);
    binary::show(debug);
    detached::prepare();
    let stack = raw::map(0, STACK, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    let Some(stack) = stack else { channel::fail("no memory for the debugger's stack") };
    debug.stack.store((stack + STACK) as u64, Relaxed);
    stop(stopped::BEGIN);
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

/// The execution ended.
pub(crate) fn ended(end: &End) {
    let debug = &header().debug;
    let (how, found) = match end {
        End::Passed => (ended::PASSED, None),
        End::Failed(found) => (ended::FAILED, Some(found)),
        End::Cut | End::GivenUp => (ended::CUT, None),
        End::Diverged(Divergence { step, what }) => {
            channel::note(&format!("step {}: {what}", step + 1));
            (ended::DIVERGED, None)
        }
    };
    if let Some(found) = found {
        channel::note(&found.detail);
    }
    debug.end.store(how, Relaxed);
    debug.kind.store(found.map_or(0, |found| u64::from(found.kind.code())), Relaxed);
    debug.number.store(found.map_or(0, |found| found.number as u64), Relaxed);
    let task = found.and_then(|found| found.task).map_or(0, |task| u64::from(task) + 1);
    debug.task.store(task, Relaxed);
    stop(stopped::END);
}

/// Fills in the table of tasks. The debugger starts the thread here on a separate stack, and
/// restores everything after the stop.
extern "C" fn heddle_describe() -> ! {
    let world = world();
    let parked = || {
        // SAFETY: at these stops the current task is parked, so its saved stack pointer is valid.
        unsafe { switch::parked(world.task().sp.get()) }
    };
    let running = match header().debug.stopped.load(Relaxed) {
        stopped::BEGIN | stopped::STEP => Some((parked(), false)),
        stopped::END => outcome::registers(),
        // The debugger has the registers.
        _ => {
            Some((Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 }, true))
        }
    };
    manager::fill_tasks(running, objects::known);
    loop {
        breakpoint();
    }
}
