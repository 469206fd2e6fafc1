//! The common prefix: what an execution does before it creates its first thread.
//!
//! No decision is made in it, so it is the same in all executions. After some executions, memory reset
//! therefore restores the state at its end instead of the state in which main begins: what the program
//! does there (reads its input, fills its tables) is done once. The records of its steps, and its
//! output, stay where they are, and strategies see its decisions ([`prefix_steps`]), so that a schedule
//! still begins at main.
//!
//! That needs a state that memory and a few variables of the runtime describe completely: main is the
//! only task, nothing in the kernel belongs to the execution, and no table of the runtime has an entry
//! of it. In any other state executions still begin at main.

use crate::executions::manager;
use crate::fiber::switch::{self, Parked};
use crate::kernel::{pass, signal_descriptor, task_files, timer};
use crate::memory::kernel_changes;
use crate::primitives::mutex_ceiling;
use crate::schedule::predicates;
use crate::schedule::prefix_steps::{self, PrefixSteps};
use crate::schedule::program_predicates;
use crate::schedule::{scheduler, stall, time};
use crate::state::end::End;
use crate::state::locks::holders;
use crate::state::outcome;
use crate::state::pending_signals;
use crate::state::root::root;
use crate::state::world::world;
use crate::steps::{declarations, record};
use crate::sys::channel::header;
use search::time::Clocks;
use search::{Decision, GiveUp};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::wire::RECORD_DATA;

/// Whether the execution ended because it reached the end of the common prefix.
struct Reached(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Reached {}
static REACHED: Reached = Reached(Cell::new(false));

/// The state of the runtime at the end of the prefix, as far as [`crate::executions::memory_loop`] does not restore it
/// anyway.
pub(crate) struct CommonPrefix {
    steps: PrefixSteps,
    record: record::Saved,
    stalls: stall::Saved,
    /// None if they are as at the beginning of an execution.
    clocks: Option<Clocks>,
    names: (usize, usize),
    last_call: i64,
    predicates: predicates::Saved,
    output: u64,
}

/// Runs the execution that was begun, and stops it before it creates its first thread, if the state
/// there can be restored. Then the second value has that state, and the execution did not end.
pub(crate) fn execute_and_stop() -> (End, Option<CommonPrefix>) {
    REACHED.0.set(false);
    prefix_steps::take();
    world().notes_prefix.set(true);
    switch::set_pick(pick);
    let (end, _) = manager::execute();
    stop_noting();
    (end, REACHED.0.get().then(CommonPrefix::save).flatten())
}

/// Decides as the scheduler does, until the program is about to create its first thread.
extern "C" fn pick() -> u64 {
    let world = world();
    if world.created.get() == 1 && world.task().operation.get() == Operation::Create {
        crate::detect::access::settle_write();
        if is_restorable() {
            REACHED.0.set(true);
            // SAFETY: main has just parked, and the runtime does no floating-point arithmetic.
            unsafe { switch::store_control_words(world.task().sp.get()) };
            outcome::end(End::Cut);
        }
        stop_noting();
    }
    scheduler::heddle_pick()
}

fn stop_noting() {
    world().notes_prefix.set(false);
    switch::set_pick(scheduler::heddle_pick);
}

/// Whether [`CommonPrefix`] and the snapshot describe the present state completely.
fn is_restorable() -> bool {
    let world = world();
    let chose = || record::all().iter().any(|record| record.operation == RECORD_DATA);
    let learned = root().learned.borrow();
    world.outside.get() == 0
        && world.pending.get() == 0
        && !world.exiting.get()
        && holders::is_clear()
        && timer::is_clear()
        && signal_descriptor::is_clear()
        && task_files::is_clear()
        && mutex_ceiling::is_clear()
        && pending_signals::is_clear()
        && kernel_changes::is_clear()
        && declarations::save().is_some()
        && program_predicates::is_clear()
        && !pass::has_left_traces()
        && prefix_steps::are_common()
        && learned.has_found_no_handler()
        && !chose()
}

impl CommonPrefix {
    fn save() -> Option<CommonPrefix> {
        Some(CommonPrefix {
            steps: prefix_steps::take(),
            record: record::save(),
            stalls: stall::save(),
            clocks: Some(root().time.borrow().clocks.clone())
                .filter(|clocks| !clocks.are_new(time::start())),
            names: declarations::save()?,
            last_call: pass::save(),
            predicates: predicates::save(),
            output: header().output_len.load(Relaxed),
        })
    }

    /// Runs the execution that was begun, from the end of the prefix on, after its state was restored.
    pub(crate) fn execute_from_end(&self) -> (End, Option<(Parked, bool)>) {
        manager::begin_execution();
        record::restore(&self.record);
        stall::restore(&self.stalls);
        declarations::restore(self.names);
        pass::restore(self.last_call);
        predicates::restore(self.predicates);
        if let Some(clocks) = &self.clocks {
            root().time.borrow().clocks.clone_from(clocks);
        }
        header().output_len.store(self.output, Relaxed);
        let shown = self.steps.show(&mut *root().strategy.borrow());
        match shown {
            Ok(()) => manager::resume(),
            Err(Decision::GiveUp(GiveUp::Diverged(divergence))) => {
                crate::detect::access::end();
                (End::Diverged(divergence), None)
            }
            Err(_) => {
                crate::detect::access::end();
                (End::GivenUp, None)
            }
        }
    }
}
