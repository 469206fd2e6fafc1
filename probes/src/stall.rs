//! Tasks that go round in loops and wait ([`search::stall`]): what the scheduler tells of them.

use crate::failure;
use crate::fiber;
use crate::identity;
use crate::manager::root;
use crate::models::{mutex, rwlock, semaphore, spin};
use crate::points;
use crate::record;
use crate::task::{Life, Task};
use crate::world::{World, world};
use search::stall::{Effect, Stalls, Verdict};
use std::cell::Cell;
use traces::points::Unseen;
use traces::{FailureKind, Operation, TaskId};

/// The most of a stack that is compared. What lies deeper belongs to callers of callers, and is seldom
/// changed by a loop.
const COMPARED: u64 = 16 << 10;

/// The step that runs.
struct Step {
    task: Cell<u16>,
    effect: Cell<Option<Effect>>,
    /// What was at its address before, where that will tell whether anything changed.
    before: Cell<Option<(u64, [u64; 2])>>,
    /// Whether the task saw what is another thing each time, or reached out of the program.
    gets_on: Cell<bool>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Step {}
static STEP: Step = Step {
    task: Cell::new(0),
    effect: Cell::new(None),
    before: Cell::new(None),
    gets_on: Cell::new(false),
};

/// An execution begins.
pub(crate) fn begin() {
    STEP.effect.set(None);
    STEP.before.set(None);
    STEP.gets_on.set(false);
    let root = root();
    root.stalls.begin(!points::are_on());
    root.alike.begin();
    points::watch(false);
}

/// The running task looks at the clock, or does anything else that a loop may go by.
#[inline]
pub(crate) fn gets_on() {
    STEP.gets_on.set(true);
}

/// The task that ran has come to its next operation.
pub(crate) fn arrived(world: &World, stalls: &mut Stalls) {
    if let Some(effect) = STEP.effect.take() {
        let task = TaskId(STEP.task.get());
        let effect = match STEP.before.take() {
            Some((address, before)) if peek(address) == before => Effect::Looked(address & !7),
            _ => effect,
        };
        if STEP.gets_on.replace(false) {
            stalls.gets_on(task);
        }
        stalls.did(task, effect);
    }
    let task = world.task();
    let operation = task.operation.get();
    if Stalls::matters(operation) && task.life() == Life::Alive {
        let number = TaskId(world.current.get());
        let (object, site) = (identity::object(task), task.site.get());
        stalls.comes(number, operation, object, site, || state(task));
        if stalls.counts() {
            points::out_of_sight(Unseen::Counts);
        }
    }
}

/// What a parked task goes on from: its registers, which lie on its stack, and that stack. At a probe
/// the runtime's own frames below the registers are left out: what they were last used for is no part of
/// the program's state.
fn state(task: &Task) -> u64 {
    let (sp, base, probed) = (task.sp.get(), task.base.get(), task.probed.get());
    let from = if (sp..base).contains(&probed) { probed } else { sp };
    let len = task.base.get().saturating_sub(from).min(COMPARED);
    let words = std::ptr::slice_from_raw_parts(from as *const u64, len as usize / 8);
    // SAFETY: between the stack pointer and the outermost frame; the task is parked.
    let words = unsafe { &*words };
    words.iter().fold(from, |hash, &word| {
        let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 29)
    })
}

/// Sixteen bytes of the program's, from a granule on.
fn peek(address: u64) -> [u64; 2] {
    // SAFETY: the task was at this address before, and touches it again.
    let first = unsafe { ((address & !7) as *const u64).read_volatile() };
    if address & 0xfff > 0xff0 {
        return [first, 0];
    }
    // SAFETY: in the same page.
    [first, unsafe { ((address & !7) as *const u64).add(1).read_volatile() }]
}

/// The task was chosen.
pub(crate) fn chosen(world: &World, number: u16, stalls: &Stalls) {
    use Operation as O;
    let task = &world.tasks[usize::from(number)];
    let (operation, address) = (task.operation.get(), task.object.get());
    let object = identity::object(task);
    let (looked, changed) = (Effect::Looked(object), Effect::Changed([object, 0]));
    let unless = |succeeds: bool| if succeeds { changed } else { looked };
    STEP.before.set(None);
    let effect = match operation {
        O::Yield | O::Sleep | O::TestCancel => Effect::None,
        O::Read | O::Await => looked,
        O::Update => {
            if stalls.is_known(TaskId(number)) {
                STEP.before.set(Some((address, peek(address))));
            }
            changed
        }
        O::TryLock => unless(mutex::is_free(address)),
        O::SemTryWait => unless(semaphore::value(address) > 0),
        O::TryReadLock => unless(rwlock::is_readable(address)),
        O::TryWriteLock => unless(rwlock::is_writable(address)),
        O::SpinTryLock => unless(spin::is_free(address)),
        _ => Effect::Changed([object, crate::scheduler::mutex_of(task)]),
    };
    STEP.task.set(number);
    STEP.effect.set(Some(effect));
    points::watch(stalls.is_watched(TaskId(number)));
}

/// Nobody can move but for tasks that stall: the one that goes round once more, to see whether it
/// really does. None: look again who can move.
pub(crate) fn nobody(world: &World, stalls: &mut Stalls) -> Option<u16> {
    let came_to = |task: TaskId| world.tasks[task.index()].operation.get();
    let tried = stalls.is_trying();
    match stalls.verdict(came_to) {
        Verdict::Try(task) => {
            chosen(world, task.0, stalls);
            record::mute(true);
            points::stepped();
            if task.0 != world.current.get() {
                world.current.set(task.0);
                points::new_stretch();
                // SAFETY: every task has a block of the C library's.
                unsafe { fiber::set_thread_pointer(world.tasks[task.index()].block.get()) };
            }
            Some(task.0)
        }
        Verdict::Livelock => livelock(world, stalls),
        Verdict::Deadlock if tried => None,
        Verdict::Deadlock => failure::deadlock(),
    }
}

/// They would go round for ever.
fn livelock(world: &World, stalls: &Stalls) -> ! {
    let members: Vec<u16> = stalls.stalled().map(|task| task.0).collect();
    let mut places = Vec::new();
    for number in world.alive().filter(|number| *number != members[0]) {
        let what = if members.contains(&number) { "goes round" } else { "waits" };
        let site = world.tasks[usize::from(number)].site.get();
        places.push((format!("T{number} {what}"), site));
    }
    let detail = format!("T{} goes round in a loop, and nobody is left to end that", members[0]);
    failure::stuck_at(FailureKind::Livelock, &members, detail, places)
}

/// Whether the task waits for somebody to change something.
pub(crate) fn is_stalled(stalls: &Stalls, number: u16, task: &Task) -> bool {
    // A signal's handler or the like may be due instead.
    stalls.is_stalled(TaskId(number)) && Stalls::matters(task.operation.get())
}

/// The same, for whoever describes tasks.
pub(crate) fn waits(number: u16) -> bool {
    is_stalled(&root().stalls, number, &world().tasks[usize::from(number)])
}
