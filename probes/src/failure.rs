//! How an execution ends, well or badly.

use crate::channel;
use crate::dispatch;
use crate::fiber::{self, Parked};
use crate::manager::root;
use crate::models::mutex;
use crate::points;
use crate::record;
use crate::task::Gate;
use crate::world::{Stage, world};
use search::Divergence;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{Found, RECORD_DATA, RECORD_ENABLED};
use traces::{Choice, FailureKind, TaskId};

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The program ended with status 0.
    Passed,
    /// It failed.
    Failed(Box<Found>),
    /// It reached the step limit.
    Cut,
    /// The strategy gave it up.
    GivenUp,
    /// It was not the execution that was to be followed.
    Diverged(Divergence),
}

/// What the end leaves for the manager.
struct Last {
    end: RefCell<Option<End>>,
    /// The registers of the task that ran, where it was not parked, and whether they are a fault's.
    registers: Cell<Option<(Parked, bool)>>,
}
// SAFETY: there is one kernel thread, and nothing here calls back.
unsafe impl Sync for Last {}
static LAST: Last = Last { end: RefCell::new(None), registers: Cell::new(None) };

/// Takes what [`end`] left.
pub(crate) fn take() -> (End, Option<(Parked, bool)>) {
    (LAST.end.borrow_mut().take().unwrap_or(End::Passed), LAST.registers.take())
}

/// Ends the execution: back to the manager, and this stack is left for good.
pub(crate) fn end(end: End) -> ! {
    let world = world();
    world.stage.set(Stage::Manager);
    points::end();
    dispatch::allow();
    channel::header().in_task.store(0, Relaxed);
    *LAST.end.borrow_mut() = Some(end);
    // SAFETY: a fiber runs or the scheduler does on its behalf; the manager waits.
    unsafe { fiber::leave(world.manager_block.get()) }
}

/// Ends the execution from code that runs on a fiber, whose stack the controller may want to see.
#[inline(never)]
pub(crate) fn end_here(how: End) -> ! {
    let mut parked = Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 };
    // SAFETY: reads registers; the frame description of this function holds at the label, too.
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

/// Ends the execution with a failure seen by a signal handler, with the registers it came from.
pub(crate) fn end_with(how: End, registers: Parked) -> ! {
    LAST.registers.set(Some((registers, true)));
    end(how)
}

/// A failure of the running task, called from `site`.
pub(crate) fn found(kind: FailureKind, site: u64, detail: String) -> Found {
    Found {
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
        detail,
        choices: Vec::new(),
        cycle: Vec::new(),
        learned: traces::points::Learned::default(),
        races_before: 0,
    }
}

/// Ends the execution, since the program does something that is not modelled.
pub(crate) fn unsupported(what: &str, site: u64) -> ! {
    let mut found = found(FailureKind::Unsupported, site, what.to_owned());
    found.key = what.bytes().fold(found.key, |key, byte| combine(key, u64::from(byte)));
    end_here(End::Failed(Box::new(found)))
}

/// A number that is the same for failures of one kind at the same places.
pub(crate) fn key(kind: FailureKind, places: &[u64]) -> u64 {
    places.iter().fold(combine(0, u64::from(kind.code())), |key, &place| combine(key, place)) | 1
}

fn combine(key: u64, value: u64) -> u64 {
    let x = (key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ (x >> 32)
}

/// The task that would have to move before this one can, where one is known.
pub(crate) fn holder(number: u16) -> Option<u16> {
    let world = world();
    match world.tasks[usize::from(number)].gate() {
        Gate::MutexFree(address)
        | Gate::WokenMutexFree(address)
        | Gate::TimedMutexFree(address) => mutex::owner(address).and_then(|tid| world.by_tid(tid)),
        Gate::Ended(other) => Some(other),
        _ => None,
    }
}

/// The tasks that wait for each other in a circle, each for the next; empty where there is none.
fn cycle() -> Vec<u16> {
    for first in world().alive() {
        let mut path = vec![first];
        while let Some(next) = holder(path[path.len() - 1]) {
            if let Some(at) = path.iter().position(|&task| task == next) {
                return path.split_off(at);
            }
            path.push(next);
        }
    }
    Vec::new()
}

/// Nobody can move.
pub(crate) fn deadlock() -> ! {
    let world = world();
    let mut places: Vec<u64> = Vec::new();
    let mut outside = None;
    for number in world.alive() {
        let task = &world.tasks[usize::from(number)];
        if matches!(task.gate(), Gate::Ready(..)) {
            outside = Some(number);
        }
    }
    let cycle = cycle();
    let members: Vec<u16> = if cycle.is_empty() { world.alive().collect() } else { cycle.clone() };
    for &member in &members {
        places.push(world.tasks[usize::from(member)].site.get());
    }
    places.sort_unstable();
    let (kind, task, detail) = match (outside, cycle.as_slice()) {
        (Some(task), _) => (
            FailureKind::Unsupported,
            task,
            "waiting for input that only another process could give".to_owned(),
        ),
        (None, &[alone]) => (FailureKind::SelfDeadlock, alone, String::new()),
        (None, _) => (FailureKind::Deadlock, members[0], String::new()),
    };
    end(End::Failed(Box::new(Found {
        part: String::new(),
        kind,
        key: key(kind, &places),
        execution: 0,
        task: Some(task),
        address: world.tasks[usize::from(task)].site.get(),
        exact: false,
        number: 0,
        fault: 0,
        places: Vec::new(),
        detail,
        choices: Vec::new(),
        cycle,
        learned: traces::points::Learned::default(),
        races_before: 0,
    })))
}

/// Whether failures of this kind are to be reported.
pub(crate) fn counts(kind: FailureKind) -> bool {
    kind == FailureKind::Unsupported || root().fail_on.contains(&kind.code())
}

/// The schedule of the execution so far.
pub(crate) fn choices() -> Vec<Choice> {
    record::all()
        .iter()
        .filter(|record| record.operation != RECORD_ENABLED)
        .map(|record| match record.operation {
            RECORD_DATA => Choice::Data { taken: record.value as u32, of: record.object as u32 },
            _ => Choice::Task(TaskId(record.task)),
        })
        .collect()
}
