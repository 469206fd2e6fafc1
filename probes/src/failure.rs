//! How an execution ends, well or badly.

use crate::begin;
use crate::channel;
use crate::debugger;
use crate::dispatch;
use crate::fiber::{self, Parked};
use crate::manager::root;
use crate::models::{barrier, cancel, holdings, mutex, rwlock};
use crate::points;
use crate::record;
use crate::task::{Gate, Life, Task};
use crate::world::{Stage, World, world};
use search::Divergence;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{Found, RECORD_CALLERS, RECORD_DATA, RECORD_ENABLED};
use traces::{Choice, FailureKind, Operation, TaskId};

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

/// The registers of the task that ran when the execution ended, where it was not parked.
pub(crate) fn registers() -> Option<(Parked, bool)> {
    LAST.registers.get()
}

/// Ends the execution: back to the manager, and this stack is left for good.
pub(crate) fn end(end: End) -> ! {
    let world = world();
    world.stage.set(Stage::Manager);
    points::end();
    dispatch::allow();
    channel::header().in_task.store(0, Relaxed);
    if debugger::is_there() {
        debugger::ended(&end);
    }
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
        block: None,
        past: Vec::new(),
        detail,
        choices: Vec::new(),
        preemptions: 0,
        cycle: Vec::new(),
        learned: Box::default(),
        race: None,
        conflict: None,
        delayed: false,
    }
}

/// Ends the execution, since the program does something that is not modelled.
pub(crate) fn unsupported(what: &str, site: u64) -> ! {
    let mut found = found(FailureKind::Unsupported, site, what.to_owned());
    found.key = key_of_text(found.key, what);
    end_here(End::Failed(Box::new(found)))
}

/// A key that differs with the text, too.
pub(crate) fn key_of_text(key: u64, text: &str) -> u64 {
    text.bytes().fold(key, |key, byte| combine(key, u64::from(byte))) | 1
}

/// A number that is the same for failures of one kind at the same places.
pub(crate) fn key(kind: FailureKind, places: &[u64]) -> u64 {
    places.iter().fold(combine(0, u64::from(kind.code())), |key, &place| combine(key, place)) | 1
}

fn combine(key: u64, value: u64) -> u64 {
    let x = (key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ (x >> 32)
}

/// Calls `each` with the tasks that would all have to move before this one can, as far as they are
/// known, until it gives something.
fn find_holder<T>(number: u16, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    let world = world();
    let task = &world.tasks[usize::from(number)];
    if task.life() != Life::Alive {
        return None;
    }
    match task.gate() {
        Gate::WokenMutexFree(_) if !task.woken.get() => None,
        Gate::MutexFree(address)
        | Gate::CeilingFree(address)
        | Gate::WokenMutexFree(address)
        | Gate::TimedMutexFree(address) => {
            mutex::owner(address).and_then(|tid| world.by_tid(tid)).and_then(each)
        }
        Gate::Readable(lock) => rwlock::before_reader(lock, &mut each),
        Gate::Writable(lock) => rwlock::before_writer(lock, &mut each),
        Gate::SpinFree(lock) => holdings::holders(lock).find_map(each),
        // Who may be cancelled gives a join up.
        Gate::Ended(_) if begin::may_cancel() && !cancel::is_disabled(task) => None,
        Gate::Ended(other) => {
            let over = world.tasks[other as usize].life() != Life::Alive;
            if over { None } else { each(other as u16) }
        }
        _ => None,
    }
}

/// A task that would have to move before this one can, where one is known.
pub(crate) fn holder(number: u16) -> Option<u16> {
    find_holder(number, Some)
}

/// The tasks that wait for each other in a circle that `first` is part of, each for the next, where
/// there is one.
fn circle_from(first: u16) -> Option<Vec<u16>> {
    fn go_on(path: &mut Vec<u16>, seen: &mut Vec<u16>) -> bool {
        let (first, last) = (path[0], path[path.len() - 1]);
        find_holder(last, |next| {
            if next == first {
                return Some(());
            }
            if seen.contains(&next) {
                return None;
            }
            seen.push(next);
            path.push(next);
            if go_on(path, seen) {
                return Some(());
            }
            path.pop();
            None
        })
        .is_some()
    }
    // Nearly always whoever is waited for could go on.
    find_holder(first, |next| (next == first || holder(next).is_some()).then_some(()))?;
    let mut path = vec![first];
    go_on(&mut path, &mut Vec::new()).then_some(path)
}

/// The tasks that wait for each other in a circle, each for the next; empty where there is none.
fn cycle() -> Vec<u16> {
    world().alive().find_map(circle_from).unwrap_or_default()
}

/// Ends the execution if this task (or any, for [`World::ALL`]) is part of a circle of tasks that
/// wait for each other: nobody else can ever wake them, however long the others go on.
#[cold]
pub(crate) fn check_circle(suspect: u16) {
    let cycle = match suspect {
        World::ALL => cycle(),
        task => circle_from(task).unwrap_or_default(),
    };
    let kind = kind_of_circle(&cycle);
    if !cycle.is_empty() && counts(kind) {
        check_taken(&cycle);
        stuck(kind, cycle[0], &cycle, &cycle, String::new());
    }
}

/// The kind of a deadlock by a circle. One that the user does not ask for by its name is a deadlock
/// like any other.
fn kind_of_circle(cycle: &[u16]) -> FailureKind {
    let reads_again = |&member: &u16| {
        let gate = world().tasks[usize::from(member)].gate();
        matches!(gate, Gate::Readable(lock) if holdings::holders(lock).any(|it| it == member))
    };
    match cycle {
        [_] => FailureKind::SelfDeadlock,
        _ if cycle.iter().any(reads_again) && counts(FailureKind::ReadRecursion) => {
            FailureKind::ReadRecursion
        }
        _ => FailureKind::Deadlock,
    }
}

/// Whether all wait at one barrier, or for one that does to end: then nobody else will ever come.
fn is_left_at_barrier(members: &[u16]) -> bool {
    let tasks = || members.iter().map(|&member| &world().tasks[usize::from(member)]);
    let at_barrier = |task: &&Task| task.operation.get() == Operation::BarrierPass;
    let Some(first) = tasks().find(at_barrier) else { return false };
    tasks().all(|task| match task.gate() {
        Gate::Ended(_) => true,
        _ => at_barrier(&task) && task.object.get() == first.object.get(),
    })
}

/// Ends the execution if one of these tasks waits for a lock that says that it is held, and was
/// never taken: its bytes are those of another.
fn check_taken(members: &[u16]) {
    for &member in members {
        let task = &world().tasks[usize::from(member)];
        let site = task.site.get();
        let (which, lock) = match task.gate() {
            Gate::MutexFree(mutex) => ("mutex", mutex),
            Gate::Readable(lock) | Gate::Writable(lock) => ("read-write lock", lock),
            Gate::SpinFree(lock) => ("spin lock", lock),
            _ => continue,
        };
        let taken = record::last(lock, 0, Operation::takes).is_some();
        if taken || !counts(FailureKind::Uninitialised) {
            continue;
        }
        let what = format!(
            "a {which} is waited for that nobody locked: a copy of a locked one, uninitialised \
             memory, or locked before main began"
        );
        let mut found = found(FailureKind::Uninitialised, site, what.clone());
        found.key = key_of_text(found.key, &what);
        found.task = Some(member);
        end(End::Failed(Box::new(found)));
    }
}

/// The execution ends with these tasks waiting.
fn stuck(kind: FailureKind, task: u16, members: &[u16], cycle: &[u16], detail: String) -> ! {
    let world = world();
    let site = |&member: &u16| world.tasks[usize::from(member)].site.get();
    let mut places: Vec<u64> = members.iter().map(site).collect();
    places.sort_unstable();
    // The circle begins with its lowest task, whoever closed it.
    let mut cycle = cycle.to_vec();
    if let Some(at) = (0..cycle.len()).min_by_key(|&at| cycle[at]) {
        cycle.rotate_left(at);
    }
    let task = cycle.first().copied().unwrap_or(task);
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
        block: None,
        past: Vec::new(),
        detail,
        choices: Vec::new(),
        preemptions: 0,
        cycle,
        learned: Box::default(),
        race: None,
        conflict: None,
        delayed: false,
    })))
}

/// The execution ends with these tasks, and something to say of others.
pub(crate) fn stuck_at(
    kind: FailureKind,
    members: &[u16],
    detail: String,
    places: Vec<(String, u64)>,
) -> ! {
    let site = |&member: &u16| world().tasks[usize::from(member)].site.get();
    let mut sites: Vec<u64> = members.iter().map(site).collect();
    sites.sort_unstable();
    let mut found = found(kind, site(&members[0]), detail);
    (found.task, found.key, found.places) = (Some(members[0]), key(kind, &sites), places);
    end(End::Failed(Box::new(found)))
}

/// Nobody can move.
pub(crate) fn deadlock() -> ! {
    let world = world();
    let outside = world
        .alive()
        .find(|&number| matches!(world.tasks[usize::from(number)].gate(), Gate::Ready(_)));
    let cycle = cycle();
    let members: Vec<u16> = if cycle.is_empty() { world.alive().collect() } else { cycle.clone() };
    if let Some(task) = outside {
        let what = "waiting for input that only another process could give".to_owned();
        stuck(FailureKind::Unsupported, task, &members, &[], what);
    }
    check_taken(&members);
    let kind = match is_left_at_barrier(&members) && counts(FailureKind::BarrierCount) {
        true => FailureKind::BarrierCount,
        false => kind_of_circle(&cycle),
    };
    stuck(kind, members[0], &members, &cycle, barrier_left(&members))
}

/// What is said of a barrier to which not all came.
fn barrier_left(members: &[u16]) -> String {
    let tasks = members.iter().map(|&member| &world().tasks[usize::from(member)]);
    let at =
        |task: &Task| (task.operation.get() == Operation::BarrierPass).then(|| task.object.get());
    match tasks.filter_map(at).map(barrier::progress).next() {
        Some((count, came)) => format!("the barrier is for {count} tasks, of which {came} came"),
        None => String::new(),
    }
}

/// Whether failures of this kind are to be reported.
pub(crate) fn counts(kind: FailureKind) -> bool {
    kind == FailureKind::Unsupported || root().fail_on.contains(&kind.code())
}

/// The schedule of the execution so far.
pub(crate) fn choices() -> Vec<Choice> {
    record::all()
        .iter()
        .filter(|record| !matches!(record.operation, RECORD_ENABLED | RECORD_CALLERS))
        .map(|record| match record.operation {
            RECORD_DATA => Choice::Data { taken: record.value as u32, of: record.object as u32 },
            _ => Choice::Task(TaskId(record.task)),
        })
        .collect()
}
