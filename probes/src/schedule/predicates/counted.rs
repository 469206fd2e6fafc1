//! Counts executions by the predicates that they reach (`--through`, `heddle narrow`).
//!
//! A predicate that counts executions (`--through`) is reached if it holds in a state in which the
//! task of its first role executes the next operation, is blocked, or fails. There a task is at a site from its
//! arrival until it has executed an operation, since nothing that it does before is visible. What a line
//! calls in a library is one operation, however many steps it is: a lock of Rust's standard library is
//! several. Its local variables are read at its arrival.

use super::HERE;
use super::evaluation::{MOST_ASSIGNMENTS, Prepared, Site};
use crate::detect::access;
use crate::fiber::{backtrace, switch};
use crate::schedule::gates::enabled;
use crate::state::task::Task;
use crate::state::world::world;
use std::cell::Cell;
use traces::Operation;
use traces::points::InstrumentationGap;
use traces::predicate::{MOST_NOTED, MOST_PLACES, MOST_ROLES, Slot};

/// How many frames of library functions there may be above a line.
const DEEPEST: usize = 24;

const WORDS: usize = MOST_NOTED / 64;

/// Predicates, one bit each.
#[derive(Debug)]
pub(crate) struct Reached([Cell<u64>; WORDS]);

impl Reached {
    pub(super) const fn none() -> Reached {
        Reached([const { Cell::new(0) }; WORDS])
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|word| word.set(0));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.get() == 0)
    }

    fn contains(&self, predicate: usize) -> bool {
        self.0.get(predicate / 64).is_some_and(|word| word.get() >> (predicate % 64) & 1 != 0)
    }

    fn insert(&self, predicate: usize) {
        if let Some(word) = self.0.get(predicate / 64) {
            word.set(word.get() | 1 << (predicate % 64));
        }
    }

    /// Their numbers.
    pub(crate) fn each(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MOST_NOTED).filter(|&predicate| self.contains(predicate))
    }
}

/// What has to be restored where main is the only task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saved {
    released: u64,
    reached: [u64; WORDS],
}

/// See [`Saved`].
pub(crate) fn save() -> Saved {
    let reached = std::array::from_fn(|at| HERE.reached.0[at].get());
    Saved { released: HERE.released.get(), reached }
}

/// Restores what [`save`] returned, in an execution that began.
pub(crate) fn restore(saved: Saved) {
    HERE.released.set(saved.released);
    HERE.reached.0.iter().zip(saved.reached).for_each(|(word, was)| word.set(was));
}

/// The predicates that the execution reached; none if executions are not counted.
pub(crate) fn reached() -> Option<&'static Reached> {
    HERE.count.get().then_some(&HERE.reached)
}

/// The running task is about to park before a step.
#[inline]
pub(crate) fn follows(task: &Task, operation: Operation) {
    if HERE.count.get()
        && (task.passed.get() | task.passing.get()) != 0
        && !matches!(operation, Operation::Site | Operation::Depart)
    {
        stay(task);
    }
}

/// The task is still at those sites at which its last step began the operation to which the next one belongs.
#[cold]
fn stay(task: &Task) {
    let number = usize::from(world().current.get());
    let (passed, passing) = (task.passed.get(), task.passing.replace(0));
    let here = HERE.prepared.borrow();
    let mut frames = None;
    for (at, site) in here.sites.iter().enumerate().take(MOST_PLACES) {
        if (passed | passing) >> at & 1 == 0 {
            continue;
        }
        let Some(known) = here.operations.get(number * MOST_PLACES + at) else { return };
        let operation = site.operation(task, &mut frames);
        if passed >> at & 1 == 0 && operation.is_some() && operation == known.get() {
            task.passed.set(task.passed.get() | 1 << at);
        }
        known.set(operation);
    }
}

/// Return addresses, innermost first.
struct Frames {
    addresses: [u64; DEEPEST],
    found: usize,
}

impl Frames {
    /// Those of the running task.
    fn take() -> Frames {
        // On the manager's stack, since that of the task may be nearly full.
        extern "C" fn callers(into: u64) -> u64 {
            // SAFETY: `take` passes the address of its array, which nothing else uses meanwhile.
            let addresses = unsafe { &mut *(into as *mut [u64; DEEPEST]) };
            backtrace::innermost(addresses) as u64
        }
        let mut addresses = [0; DEEPEST];
        let found = switch::on_manager(callers, (&raw mut addresses) as u64) as usize;
        Frames { addresses, found }
    }
}

impl Site {
    /// The operation of the line to which the running task's next step belongs; none if it is another line's.
    fn operation(&self, task: &Task, frames: &mut Option<Frames>) -> Option<u64> {
        let mut address = task.site.get().wrapping_sub(1);
        if !self.function.contains(&address) && !self.function.is_empty() {
            let frames = frames.get_or_insert_with(Frames::take);
            let mut returns = frames.addresses[..frames.found].iter().map(|it| it.wrapping_sub(1));
            address = returns.find(|address| self.function.contains(address))?;
        }
        let (_, call) = self.code.iter().find(|(code, _)| code.contains(&address))?;
        Some(if *call > 0 { u64::from(*call) } else { address })
    }
}

/// The task that was chosen is about to execute an operation.
#[inline]
pub(crate) fn executes(task: &Task, operation: Operation) {
    if HERE.count.get()
        && task.passed.get() != 0
        && !matches!(operation, Operation::Site | Operation::Depart)
    {
        leave(task, operation);
    }
}

#[cold]
fn leave(task: &Task, operation: Operation) {
    // A task that was woken has not done what it waited for: another one may be first.
    if operation != Operation::FutexWoken {
        note(world().current.get());
    }
    task.passing.set(task.passed.replace(0));
}

/// The execution ends with a failure, which the task that runs may have found at a site.
pub(crate) fn fails() {
    let world = world();
    let number = world.current.get();
    let is_there = HERE.count.get() && usize::from(number) < world.tasks.len();
    if is_there && world.tasks[usize::from(number)].passed.get() != 0 {
        note(number);
    }
}

/// Notes the predicates that hold with a task in their first role.
fn note(number: u16) {
    let here = HERE.prepared.borrow();
    let passed = world().tasks[usize::from(number)].passed.get();
    let sites = here.sites.iter().take(MOST_PLACES).enumerate();
    for (_, site) in sites.filter(|(at, _)| passed >> at & 1 != 0) {
        for &(at, role, _) in site.roles.iter().filter(|(.., role, _)| *role == 0) {
            let predicate = &here.predicates[at];
            let is_new = predicate.purpose.counts() && !HERE.reached.contains(at);
            if is_new && here.takes(at, role, number) {
                let mut chosen = [0; MOST_ROLES];
                chosen[0] = number;
                let mut left = MOST_ASSIGNMENTS;
                if here.assign(at, 1, &mut chosen, &mut left, (&predicate.condition, true)) {
                    HERE.reached.insert(at);
                }
            }
        }
    }
}

/// Notes the predicates that hold with a blocked task in their first role: it cannot execute it before others
/// do.
pub(super) fn note_blocked() {
    let world = world();
    for number in world.alive() {
        let task = &world.tasks[usize::from(number)];
        if task.passed.get() != 0 && !enabled(world, task) {
            note(number);
        }
    }
}

impl Prepared {
    /// The running task arrives at a site of predicates that count executions: saves what it alone
    /// decides.
    pub(super) fn pass(&self, task: &Task, site: usize) {
        let number = world().current.get();
        if site >= MOST_PLACES || usize::from(number) >= MOST_PLACES {
            access::note_gap(InstrumentationGap::Assignments);
            return;
        }
        for &(predicate, role, place) in &self.sites[site].roles {
            let of = &self.predicates[predicate];
            if !of.purpose.counts() {
                continue;
            }
            for (at, slot) in of.slots.iter().enumerate() {
                if let Slot::Local { role: wanted, code } = slot
                    && usize::from(*wanted) == role
                    && let Some(saved) = self.slot_at_arrival(predicate, at, number)
                {
                    let value = code.get(place).and_then(|code| self.local(code, task, number));
                    saved.set(value);
                }
            }
        }
        task.passed.set(task.passed.get() | 1 << site);
    }

    pub(super) fn slot_at_arrival(
        &self,
        predicate: usize,
        slot: usize,
        number: u16,
    ) -> Option<&Cell<Option<u64>>> {
        self.at_arrival.get(usize::from(number) * self.slots + self.first_slots[predicate] + slot)
    }
}
