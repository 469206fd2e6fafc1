//! Where the runtime stops for a debugger.
//!
//! The debugger holds the process by ptrace. The runtime stops with a breakpoint instruction of its
//! own where only it knows that something happens: the execution begins, a step was chosen, the
//! execution is over. Everything else is the debugger's.

pub(crate) mod loose;

use crate::channel::{self, header};
use crate::dispatch;
use crate::entry;
use crate::failure::{self, End};
use crate::fiber::{self, Parked};
use crate::manager;
use crate::objects;
use crate::points::binary;
use crate::raw;
use crate::world::world;
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
    // SAFETY: the debugger goes on after it.
    unsafe { std::arch::asm!("int3", options(nostack)) }
}

/// The execution is about to begin: says where everything is, and stops.
pub(crate) fn begin() {
    let debug = &header().debug;
    let (text, len) = entry::own_text();
    debug.text.store(text, Relaxed);
    debug.text_len.store(len, Relaxed);
    debug.describe.store(heddle_describe as *const () as u64, Relaxed);
    debug.selector.store(dispatch::selector(), Relaxed);
    debug.step.store(0, Relaxed);
    binary::show(debug);
    loose::prepare();
    let stack = raw::map(0, STACK, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    let Some(stack) = stack else { channel::fail("no memory for the debugger's stack") };
    debug.stack.store((stack + STACK) as u64, Relaxed);
    stop(stopped::BEGIN);
}

/// A step was chosen, the `step`-th from 1. Without a debugger, the step to stop at is 0.
///
/// Whether it stops may make no difference to what is in the registers afterwards: in those that a
/// call may change, the program would show it to whoever looks.
#[inline]
pub(crate) fn chosen(step: u64) {
    let debug = &header().debug;
    debug.step.store(step, Relaxed);
    // SAFETY: compares a number in shared memory, and sets one beside it.
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

/// The running task gets a signal that the program sent itself: no kernel is asked, so no debugger would
/// hear of it.
pub(crate) fn signal(signal: i32) {
    if is_there() {
        header().debug.signal.store(signal as u64, Relaxed);
        stop(stopped::SIGNAL);
    }
}

/// What was in watched memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Watched([[u8; 8]; WATCHES]);

/// What is in watched memory, if anybody watches any: the processor tells of no writes of the kernel's.
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

/// A system call has been made: stops if it changed what is watched.
pub(crate) fn look(before: Option<Watched>) {
    let (Some(Watched(before)), Some(Watched(now))) = (before, watched()) else { return };
    for index in (0..WATCHES).filter(|&index| before[index] != now[index]) {
        header().debug.touched.store(index as u64, Relaxed);
        stop(stopped::TOUCHED);
    }
}

/// A system call moves something that is outside the process.
pub(crate) fn outside() {
    let outside = &header().debug.outside;
    outside.store(outside.load(Relaxed) + 1, Relaxed);
}

/// The execution is over.
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

/// Fills in the table of tasks. The debugger sets a thread going here on a stack of its own, and
/// puts everything back after the stop.
extern "C" fn heddle_describe() -> ! {
    let world = world();
    let parked = || {
        // SAFETY: between steps every task is parked.
        unsafe { fiber::parked(world.task().sp.get()) }
    };
    let running = match header().debug.stopped.load(Relaxed) {
        stopped::BEGIN | stopped::STEP => Some((parked(), false)),
        stopped::END => failure::registers(),
        // The debugger has them.
        _ => {
            Some((Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 }, true))
        }
    };
    manager::tell_tasks(running, objects::known);
    loop {
        breakpoint();
    }
}
