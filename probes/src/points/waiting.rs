//! Loops without a step: a task that waits for another in one is to let it go first.
//!
//! What counts is accesses, not time, so that it does so in every execution.

use super::{Access, POINTS, me, suspect};
use crate::scheduler::{enabled, point};
use crate::task::Gate;
use crate::world::world;
use std::cell::Cell;
use traces::{Operation, TaskId};

/// So many accesses without a step make a task suspect of waiting for another.
pub(super) const PATIENCE: u32 = 1 << 14;
/// So many accesses of a suspect are looked at.
const LOOKED_AT: u32 = 256;
/// A task that waits looks at no more words than these.
const WAITED_FOR: usize = 16;
/// A task that is still busy after so many times that is no longer believed to get anywhere by itself: it may
/// count its turns, and the count matters to nobody.
const BUSY_FOR: u32 = 64;
/// How often in an execution others go first for that.
const MAKES_WAY: u32 = 8;

/// What a suspect does.
pub(super) struct Waiting {
    /// Whether it did anything that somebody who waits does not do.
    busy: Cell<bool>,
    /// The words that it looked at.
    looked_at: Cell<[u64; WAITED_FOR]>,
    /// How often it was found to be busy, without a step.
    found_busy: Cell<u32>,
    /// How often others went first for that.
    made_way: Cell<u32>,
}

impl Waiting {
    pub(super) const fn new() -> Waiting {
        Waiting {
            busy: Cell::new(false),
            looked_at: Cell::new([0; WAITED_FOR]),
            found_busy: Cell::new(0),
            made_way: Cell::new(0),
        }
    }

    /// An execution begins.
    pub(super) fn begin(&self) {
        self.made_way.set(0);
    }

    /// A step was decided.
    #[inline]
    pub(super) fn stepped(&self) {
        self.busy.set(false);
        self.found_busy.set(0);
    }

    /// A suspect's access: whether it tells that it does not wait.
    fn see(&self, access: &Access) {
        let mut words = self.looked_at.get();
        let word = access.address & !7;
        match words.iter().position(|&known| known == word || known == 0) {
            Some(at) => words[at] = word,
            None => self.busy.set(true),
        }
        self.looked_at.set(words);
        // Who waits may count on its own stack how often it looked.
        if access.writes && !access.atomic && !is_on_own_stack(access) {
            self.busy.set(true);
        }
    }

    /// Whether the running task, which is busy, is to let others go first: it has been for long, and one of them may
    /// have to end that. Not where nobody else can move, nor for ever: a loop that does not end is to be found.
    fn makes_way(&self) -> bool {
        self.found_busy.set(self.found_busy.get() + 1);
        if !self.found_busy.get().is_multiple_of(BUSY_FOR) || self.made_way.get() == MAKES_WAY {
            return false;
        }
        let world = world();
        let mut others = world.alive().filter(|&number| usize::from(number) != me());
        let is_free = others.any(|number| enabled(world, &world.tasks[usize::from(number)]));
        self.made_way.set(self.made_way.get() + u32::from(is_free));
        is_free
    }
}

fn is_on_own_stack(access: &Access) -> bool {
    let stack = world().task().stack.get();
    (stack.low..stack.high).contains(&access.address)
}

/// An access that is no step; whether it counts when a task is suspected of waiting.
pub(super) fn no_step(access: &Access, counts: bool) {
    // Of what a task writes that perhaps goes round in a loop with steps its state does not tell.
    if POINTS.watched.get() && access.writes && !is_on_own_stack(access) {
        crate::manager::root().stalls.writes(TaskId(me() as u16));
    }
    if counts {
        watch_for_waiting(access);
    }
}

/// A loop that reads the same again and again without a point, until another task writes, would never
/// end: here it yields. So does one that does something else as well, after much longer, and whatever else takes so
/// long.
fn watch_for_waiting(access: &Access) {
    let waiting = &POINTS.waiting;
    if POINTS.suspect.get() {
        waiting.see(access);
    }
    if POINTS.budget.get() != 0 && POINTS.budget.get() <= PATIENCE {
        return;
    }
    let was_suspect = POINTS.suspect.get();
    if was_suspect && (!waiting.busy.get() || waiting.makes_way()) {
        if waiting.busy.get() {
            // It may well be somewhere else than the last time.
            crate::stall::gets_on();
        }
        return point(Operation::Yield, 0, access.site, Gate::Open);
    }
    suspect(!was_suspect);
    waiting.busy.set(false);
    waiting.looked_at.set([0; WAITED_FOR]);
    POINTS.budget.set(if was_suspect { PATIENCE } else { LOOKED_AT });
}
