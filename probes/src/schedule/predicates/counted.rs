//! Counts executions by the predicates that they reach (`--through`, `heddle narrow`).
//!
//! A predicate that counts executions (`--through`) is reached if it holds in a state in which the
//! task of its first role executes the next operation, is blocked, or fails. There a task is at a site from its
//! arrival until it executes its next operation other than those of sites, since nothing that it does in
//! between is visible. Its local variables are read at its arrival.

use super::{HERE, MOST_ASSIGNMENTS, MOST_PASSED, Prepared};
use crate::detect::access;
use crate::schedule::scheduler::enabled;
use crate::state::task::Task;
use crate::state::world::world;
use std::cell::Cell;
use traces::Operation;
use traces::points::InstrumentationGap;
use traces::predicate::{MOST_ROLES, Slot};

/// The predicates that the execution reached, one bit each; none if executions are not counted.
pub(crate) fn reached() -> Option<u64> {
    HERE.count.get().then(|| HERE.reached.get())
}

/// The task that was chosen is about to execute an operation.
#[inline]
pub(crate) fn executes(task: &Task, operation: Operation) {
    if HERE.count.get()
        && task.passed.get() != 0
        && !matches!(operation, Operation::Site | Operation::Depart)
    {
        reach(task);
    }
}

#[cold]
fn reach(task: &Task) {
    note(world().current.get());
    task.passed.set(0);
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
    for (at, predicate) in here.predicates.iter().enumerate() {
        let is_new = predicate.purpose.counts() && HERE.reached.get() >> at & 1 == 0;
        if is_new && here.place(at, 0, number).is_some() {
            let mut chosen = [0; MOST_ROLES];
            chosen[0] = number;
            let mut left = MOST_ASSIGNMENTS;
            if here.assign(at, 1, &mut chosen, &mut left, (&predicate.condition, true)) {
                HERE.reached.set(HERE.reached.get() | 1 << at);
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
        if site >= MOST_PASSED || usize::from(number) >= MOST_PASSED {
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
