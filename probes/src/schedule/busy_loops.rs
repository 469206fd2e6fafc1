//! Spin loops without scheduling points: a task that waits for another in such a loop must yield to
//! it.
//!
//! Detection counts accesses, not time, so that it gives the same result in every execution.

use crate::detect::access::{Access, POINTS, me, suspect};
use crate::schedule::scheduler::{enabled, point};
use crate::state::task::Gate;
use crate::state::world::world;
use std::cell::Cell;
use traces::{Operation, TaskId};

/// After this many accesses without a step, a task is suspected of waiting for another.
pub(crate) const PATIENCE: u32 = 1 << 14;
/// How many accesses of a suspected task are inspected.
const LOOKED_AT: u32 = 256;
/// The most words that a waiting task reads.
const WAITED_FOR: usize = 16;
/// After this many inspections that found a task busy, without a step, it yields nevertheless: it
/// may count its iterations in memory that no other task uses.
const BUSY_FOR: u32 = 64;
/// How many times per execution a busy task yields for that reason.
const MOST_YIELDS: u32 = 8;

/// What a suspected task does.
pub(crate) struct Waiting {
    /// Whether it did anything that a waiting task does not do.
    busy: Cell<bool>,
    /// The words that it read.
    looked_at: Cell<[u64; WAITED_FOR]>,
    /// How many times it was found busy, without a step.
    found_busy: Cell<u32>,
    /// How many times it yielded for that reason.
    yields: Cell<u32>,
}

impl Waiting {
    pub(crate) const fn new() -> Waiting {
        Waiting {
            busy: Cell::new(false),
            looked_at: Cell::new([0; WAITED_FOR]),
            found_busy: Cell::new(0),
            yields: Cell::new(0),
        }
    }

    /// An execution begins.
    pub(crate) fn begin(&self) {
        self.yields.set(0);
    }

    /// A step was decided.
    #[inline]
    pub(crate) fn stepped(&self) {
        self.busy.set(false);
        self.found_busy.set(0);
    }

    /// An access of a suspected task: notes whether it shows that the task does not wait.
    fn inspect(&self, access: &Access) {
        let mut words = self.looked_at.get();
        let word = access.address & !7;
        match words.iter().position(|&known| known == word || known == 0) {
            Some(at) => words[at] = word,
            None => self.busy.set(true),
        }
        self.looked_at.set(words);
        // A waiting task may count its iterations on its own stack.
        if access.writes && !access.atomic && !is_on_own_stack(access) {
            self.busy.set(true);
        }
    }

    /// Whether the running task, which is busy, is to yield: it has been busy for long, and another
    /// task may have to end its loop. It does not if no other task is enabled, and only a few
    /// times: a loop that never ends must still be reported.
    fn must_yield(&self) -> bool {
        self.found_busy.set(self.found_busy.get() + 1);
        if !self.found_busy.get().is_multiple_of(BUSY_FOR) || self.yields.get() == MOST_YIELDS {
            return false;
        }
        let world = world();
        let mut others = world.alive().filter(|&number| usize::from(number) != me());
        let is_free = others.any(|number| enabled(world, &world.tasks[usize::from(number)]));
        self.yields.set(self.yields.get() + u32::from(is_free));
        is_free
    }
}

fn is_on_own_stack(access: &Access) -> bool {
    let stack = world().task().stack.get();
    (stack.low..stack.high).contains(&access.address)
}

/// An access that is no step. `counts`: whether it counts for the detection of waiting.
pub(crate) fn no_step(access: &Access, counts: bool) {
    // The state of a task in a spin loop with steps does not include what it writes elsewhere.
    if POINTS.watched.get() && access.writes && !is_on_own_stack(access) {
        crate::state::root::root().stalls.borrow().record_write(TaskId(me() as u16));
    }
    if counts {
        watch_for_waiting(access);
    }
}

/// A loop that reads the same values without a scheduling point, until another task writes, would
/// never end: it yields here. So does a loop that does other things as well, after many more
/// accesses, and any other code that takes that long.
fn watch_for_waiting(access: &Access) {
    let waiting = &POINTS.waiting;
    if POINTS.suspect.get() {
        waiting.inspect(access);
    }
    if POINTS.budget.get() != 0 && POINTS.budget.get() <= PATIENCE {
        return;
    }
    let was_suspect = POINTS.suspect.get();
    if was_suspect && (!waiting.busy.get() || waiting.must_yield()) {
        if waiting.busy.get() {
            // Its state may differ from the last time.
            crate::schedule::stall::makes_progress();
        }
        return point(Operation::Yield, 0, access.site, Gate::Open);
    }
    suspect(!was_suspect);
    waiting.busy.set(false);
    waiting.looked_at.set([0; WAITED_FOR]);
    POINTS.budget.set(if was_suspect { PATIENCE } else { LOOKED_AT });
}
