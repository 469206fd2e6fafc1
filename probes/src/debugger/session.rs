//! The beginning and the end of an execution under a debugger, and the table of tasks for it.
use crate::debugger::detached;

use crate::debugger::task_table;
use crate::fiber::switch::{self, Parked};
use crate::instrument::binary;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::world::{Stage, world};
use crate::steps::objects;
use crate::sys::channel::{self, header};
use crate::sys::dispatch;
use crate::sys::own_image;
use crate::sys::raw;
use crate::sys::stops::{breakpoint, stop};
use search::Divergence;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{ended, stopped};

/// The size of the stack for [`heddle_describe`].
const STACK: usize = 64 * 1024;

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

/// The execution ended.
pub(crate) fn ended(end: &End) {
    let debug = &header().debug;
    let (how, found) = match end {
        End::Passed => (ended::PASSED, None),
        End::Failed(found) => (ended::FAILED, Some(found)),
        End::Cut | End::Outside | End::GivenUp => (ended::CUT, None),
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
///
/// With a task (plus one), this process is a copy in which that task is about to execute a function
/// for the debugger: from now on it is the running task, on its own stack, whatever ran before.
extern "C" fn heddle_describe(caller: u64) -> ! {
    let world = world();
    if let Some(task) = caller.checked_sub(1) {
        let header = header();
        world.stage.set(Stage::Fiber);
        world.current.set(task as u16);
        world.running.set(Some(task as u16));
        header.running.store(task as u32, Relaxed);
        header.debug.stopped.store(stopped::NOT, Relaxed);
        header.debug.calling.store(1, Relaxed);
        // At the end of an execution they go to the kernel.
        dispatch::block();
        loop {
            breakpoint();
        }
    }
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
    task_table::fill_tasks(running, objects::known);
    loop {
        breakpoint();
    }
}
