//! Ends an execution, with or without a failure.

use crate::fiber::switch::{self, Parked};
use crate::state::end::End;
use crate::state::root::root;
use crate::state::upcalls;
use crate::state::world::{Stage, world};
use crate::sys::channel;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use traces::FailureKind;
use traces::wire::FoundFailure;

/// The end of the execution, which [`end`] stores for the manager.
struct Last {
    end: RefCell<Option<End>>,
    /// The registers of the running task, if it was not parked, and whether they are exact
    /// (`Parked` at a fault).
    registers: Cell<Option<(Parked, bool)>>,
}
// SAFETY: the controlled process has one kernel thread. The `RefCell` is borrowed only for the
// duration of one assignment or `take`, neither of which calls back into this module.
unsafe impl Sync for Last {}
static LAST: Last = Last { end: RefCell::new(None), registers: Cell::new(None) };

/// Takes what [`end`] left.
pub(crate) fn take() -> (End, Option<(Parked, bool)>) {
    (LAST.end.borrow_mut().take().unwrap_or(End::Passed), LAST.registers.take())
}

/// The registers of the task that ran when the execution ended, if it was not parked.
pub(crate) fn registers() -> Option<(Parked, bool)> {
    LAST.registers.get()
}

/// Ends the execution: switches to the manager and abandons the current stack. What the callers own is
/// never freed, so they drop it before, or make the [`End`] in another function.
pub(crate) fn end(end: End) -> ! {
    let world = world();
    world.stage.set(Stage::Manager);
    let end = upcalls::get().execution_ends(end);
    channel::header().in_task.store(0, Relaxed);
    *LAST.end.borrow_mut() = Some(end);
    // SAFETY: borrows that still exist are on the stack that is abandoned here; the manager holds
    // none while an execution runs.
    unsafe { root().end_borrows() };
    // SAFETY: this runs on a fiber's stack, or on the manager's stack in the scheduler on behalf of
    // a fiber. In both cases the manager waits in `heddle_enter`, and its control block is valid.
    unsafe { switch::leave(world.manager_block.get()) }
}

/// Ends the execution from code that runs on a fiber, whose stack the controller may want to see.
#[inline(never)]
pub(crate) fn end_here(how: End) -> ! {
    let mut parked = Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 };
    // SAFETY: stores the current registers into the local `parked`, which has one field for each.
    // This function's frame description is valid at the stored instruction address, so the unwinder
    // can start there.
    unsafe {
        std::arch::asm!(
            "lea {scratch}, [rip]",
            "mov [{to}], {scratch}",
            "mov [{to} + 8], rsp",
            "mov [{to} + 16], rbp",
            "mov [{to} + 24], rbx",
            "mov [{to} + 32], r12",
            "mov [{to} + 40], r13",
            "mov [{to} + 48], r14",
            "mov [{to} + 56], r15",
            to = in(reg) &raw mut parked as *mut u64,
            scratch = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
    LAST.registers.set(Some((parked, true)));
    end(how)
}

/// Ends the execution with a failure seen by a signal handler, with the interrupted registers.
pub(crate) fn end_with(how: End, registers: Parked) -> ! {
    LAST.registers.set(Some((registers, true)));
    end(how)
}

/// A failure of the running task, called from `site`.
pub(crate) fn found(kind: FailureKind, site: u64, detail: String) -> FoundFailure {
    FoundFailure {
        part: String::new(),
        kind,
        key: key(kind, &[site]),
        execution: 0,
        task: Some(world().current.get()),
        address: site,
        exact: false,
        number: 0,
        fault: 0,
        places: Vec::new(),
        block: None,
        past: Vec::new(),
        detail,
        choices: Vec::new(),
        preemptions: 0,
        cycle: Vec::new(),
        learned: Box::default(),
        clients: Box::default(),
        unsettled: false,
        race: None,
        conflict: None,
        callers: Box::default(),
        delayed: false,
    }
}

/// Ends the execution: the program does something that the runtime does not model.
pub(crate) fn unsupported(what: &str, site: u64) -> ! {
    let mut found = found(FailureKind::Unsupported, site, what.to_owned());
    found.key = key_of_text(found.key, what);
    end_here(End::Failed(Box::new(found)))
}

/// A key that also depends on the text.
pub(crate) fn key_of_text(key: u64, text: &str) -> u64 {
    text.bytes().fold(key, |key, byte| combine(key, u64::from(byte))) | 1
}

/// A number that is the same for failures of one kind at the same sites.
pub(crate) fn key(kind: FailureKind, places: &[u64]) -> u64 {
    places.iter().fold(combine(0, u64::from(kind.code())), |key, &place| combine(key, place)) | 1
}

pub(crate) fn combine(key: u64, value: u64) -> u64 {
    let x = (key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ (x >> 32)
}

/// Whether failures of this kind are to be reported.
pub(crate) fn counts(kind: FailureKind) -> bool {
    use FailureKind::{BrokenCondition, Satisfied, Unsupported};
    // The user asked for the conditions one by one.
    matches!(kind, Unsupported | Satisfied | BrokenCondition)
        || root().fail_on.contains(&kind.code())
}
