//! Concurrent predicates in the program's source (`heddle_cp` of `heddle.h`): threads wait at their
//! predicates until as many others as wanted wait at theirs.
//!
//! The idea of Gottschlich, Pokam and Pereira, "Concurrent Predicates: A Debugging Technique for Every
//! Parallel Programmer" (2013). Departures:
//!
//! * A thread does not sleep and retry. After each step that may change memory, every waiting thread
//!   evaluates its predicate again, before any other step: no state is missed, and no time passes.
//! * When no waiting thread has to evaluate its predicate, all of them are counted in the same state, and
//!   every one whose count is as wanted is satisfied at once. Until their statements have run, no other
//!   thread runs that is not waited for: what was decided stays true.
//! * Waiting is a matter of priority: when no other thread can run, or after many steps, a waiting thread
//!   continues without being satisfied. So waiting never causes a deadlock.
//!
//! All this is a function of the execution, and the same for every strategy. A replay repeats the
//! recorded choices, as with atomic regions.

use crate::schedule::predicates::keeps_memory;
use crate::schedule::scheduler::point;
use crate::state::root::root;
use crate::state::task::Gate;
use crate::state::world::{MAX_TASKS, World, world};
use crate::steps::declarations;
use crate::steps::record;
use crate::sys::channel;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;
use traces::{Operation, TaskId};

/// After this many steps of others without an arrival or a decision, waiting threads are offered like others.
const QUIET: u64 = 2_000;

/// A thread that evaluated its predicate this often at one place continues.
const MOST_EVALUATIONS: u32 = 10_000;

/// How many other threads of the group must wait with their predicates true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    None,
    Fewer(u32),
    More(u32),
    Exactly(u32),
    /// All that wait, and at least one, when no further thread can arrive.
    All,
}

impl Count {
    /// The numbers are those of `heddle.h`.
    fn from_code(code: u32, number: u32) -> Count {
        match code {
            0 => Count::None,
            1 => Count::Fewer(number),
            2 => Count::More(number),
            3 => Count::Exactly(number),
            _ => Count::All,
        }
    }

    /// Whether the count is as wanted: `holding` other threads of `waiting` have true predicates.
    fn matches(self, holding: u32, waiting: u32, none_can_arrive: bool) -> bool {
        match self {
            Count::None => holding == 0,
            Count::Fewer(number) => holding < number,
            Count::More(number) => holding > number,
            Count::Exactly(number) => holding == number,
            Count::All => none_can_arrive && waiting > 0 && holding == waiting,
        }
    }
}

/// What a thread does at a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is at none.
    Away,
    /// It evaluates its predicate.
    Evaluating,
    /// It is parked; its predicate was evaluated.
    Waiting,
    /// It was counted, and its statements have not begun.
    Satisfied,
    /// Its statements run.
    Running,
    /// It waits until another thread has left the serial code with this identity.
    Entering(u64),
}

/// One thread's state.
#[derive(Debug, Clone, Copy)]
struct Visit {
    stage: Stage,
    group: u64,
    count: Count,
    priority: i32,
    holds: bool,
    /// The number of changes when the predicate was evaluated last.
    evaluated: u64,
    evaluations: u32,
    /// The identity of the serial code that it executes, or 0.
    serial: u64,
}

const AWAY: Visit = Visit {
    stage: Stage::Away,
    group: 0,
    count: Count::None,
    priority: 0,
    holds: false,
    evaluated: 0,
    evaluations: 0,
    serial: 0,
};

struct Here {
    visits: [Cell<Visit>; MAX_TASKS],
    /// Whether a visit began in this execution.
    are_used: Cell<bool>,
    /// How often memory, or the set of waiting threads, may have changed.
    changes: Cell<u64>,
    /// The steps of threads that do not wait, since the last arrival or decision.
    quiet: Cell<u64>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Here {}
static HERE: Here = Here {
    visits: [const { Cell::new(AWAY) }; MAX_TASKS],
    are_used: Cell::new(false),
    changes: Cell::new(1),
    quiet: Cell::new(0),
};

/// An execution begins.
pub(crate) fn begin() {
    if HERE.are_used.replace(false) {
        HERE.visits.iter().for_each(|visit| visit.set(AWAY));
    }
    HERE.changes.set(1);
    HERE.quiet.set(0);
}

/// Whether no thread has arrived in this execution.
pub(crate) fn is_clear() -> bool {
    !HERE.are_used.get()
}

fn mine() -> &'static Cell<Visit> {
    &HERE.visits[usize::from(world().current.get())]
}

fn set_stage(visit: &Cell<Visit>, stage: Stage) {
    visit.set(Visit { stage, ..visit.get() });
}

/// Something changed that a waiting thread may depend on.
fn note_progress() {
    HERE.changes.set(HERE.changes.get() + 1);
    HERE.quiet.set(0);
}

fn use_them() {
    HERE.are_used.set(true);
    root().scoped.set(true);
    let unseen = &channel::header().instrumentation.unseen;
    unseen.store(unseen.load(Relaxed) | InstrumentationGap::Held as u64, Relaxed);
}

/// The running thread arrives at a predicate. From here on it is not preempted, until it waits.
pub(crate) fn arrive(group: u64, code: u32, number: u32, priority: i32, site: u64) {
    use_them();
    point(Operation::Site, 0, site, Gate::Open);
    let visit = mine();
    let count = Count::from_code(code, number);
    let serial = visit.get().serial;
    visit.set(Visit { stage: Stage::Evaluating, group, count, priority, serial, ..AWAY });
    declarations::enter_region(world().current.get());
    note_progress();
}

/// The running thread evaluated its predicate. Returns 1 if it is satisfied, 0 if it continues without
/// that, and 2 if it has to evaluate the predicate again.
pub(crate) fn evaluated(holds: bool, site: u64) -> i32 {
    let (visit, number) = (mine(), world().current.get());
    let before = visit.get();
    visit.set(Visit {
        stage: Stage::Waiting,
        holds,
        evaluated: HERE.changes.get(),
        evaluations: before.evaluations + 1,
        ..before
    });
    // A thread that only waits here does not spin.
    root().alike.borrow().forget(usize::from(number));
    declarations::leave_region(number);
    point(Operation::Depart, 0, site, Gate::Open);
    declarations::enter_region(number);
    let after = visit.get();
    let again = after.evaluated < HERE.changes.get() && after.evaluations < MOST_EVALUATIONS;
    match after.stage {
        Stage::Satisfied => {
            set_stage(visit, Stage::Running);
            1
        }
        _ if again => {
            set_stage(visit, Stage::Evaluating);
            2
        }
        _ => {
            set_stage(visit, Stage::Away);
            note_progress();
            0
        }
    }
}

/// The running thread has executed its statements.
pub(crate) fn leave(site: u64) {
    let visit = mine();
    let was_satisfied = visit.get().stage == Stage::Running;
    set_stage(visit, Stage::Away);
    declarations::leave_region(world().current.get());
    if was_satisfied {
        note_progress();
        // The statements of the others run first.
        point(Operation::Depart, 0, site, Gate::Open);
    }
}

/// The running thread begins code that it executes without a preemption; of the code with one identity
/// that is not 0, one thread at a time executes it.
pub(crate) fn enter_serial(identity: u64, site: u64) {
    use_them();
    let (visit, number) = (mine(), world().current.get());
    if identity != 0 {
        set_stage(visit, Stage::Entering(identity));
        point(Operation::Site, 0, site, Gate::Open);
        visit.set(Visit { stage: Stage::Away, serial: identity, ..visit.get() });
    }
    declarations::enter_region(number);
}

/// The running thread has executed its serial code.
pub(crate) fn leave_serial() {
    let visit = mine();
    visit.set(Visit { serial: 0, ..visit.get() });
    declarations::leave_region(world().current.get());
}

/// The number of tasks to offer of those in `enabled`, which are moved to its front with their operations.
#[cold]
pub(crate) fn restrict(
    world: &World,
    enabled: &mut [TaskId],
    operations: &mut [Operation],
) -> usize {
    if !HERE.are_used.get() {
        return enabled.len();
    }
    if !keeps_memory(world.last.get()) {
        HERE.changes.set(HERE.changes.get() + 1);
    }
    let yielded = world.last.get().yielded_or_timed_out(record::last_value());
    let running = world.running.get().filter(|&task| !yielded && declarations::keeps(task));
    let offer = |enabled: &mut [TaskId], operations: &mut [Operation], task: TaskId| {
        let at = enabled.iter().position(|&other| other == task);
        at.inspect(|&at| (enabled[0], operations[0]) = (task, operations[at])).is_some()
    };
    if running.is_some_and(|task| offer(enabled, operations, TaskId(task))) {
        return 1;
    }
    let visit = |task: &TaskId| HERE.visits[usize::from(task.0)].get();
    let first = |stages: &dyn Fn(Visit) -> bool| {
        let some = enabled.iter().filter(|task| stages(visit(task)));
        // The highest priority, and of equal ones the lowest number.
        some.max_by_key(|task| (visit(task).priority, std::cmp::Reverse(task.0))).copied()
    };
    let is_satisfied = |visit: Visit| visit.stage == Stage::Satisfied;
    let next = first(&|visit| visit.stage == Stage::Running)
        .or_else(|| first(&is_satisfied))
        .or_else(|| first(&|visit| visit.stage == Stage::Evaluating))
        .or_else(|| {
            let changes = HERE.changes.get();
            first(&|visit| visit.stage == Stage::Waiting && visit.evaluated < changes)
        });
    let next = next.or_else(|| {
        decide(world, false);
        first(&is_satisfied)
    });
    if let Some(next) = next {
        offer(enabled, operations, next);
        return 1;
    }
    let is_entered =
        |identity: u64| world.alive().any(|task| visit(&TaskId(task)).serial == identity);
    let waits = |task: &TaskId| match visit(task).stage {
        Stage::Waiting => true,
        Stage::Entering(identity) => is_entered(identity),
        _ => false,
    };
    let free = enabled.iter().filter(|task| !waits(task)).count();
    if free > 0 && HERE.quiet.get() < QUIET {
        HERE.quiet.set(HERE.quiet.get() + 1);
        let mut kept = 0;
        for at in 0..enabled.len() {
            if !waits(&enabled[at]) {
                (enabled[kept], operations[kept]) = (enabled[at], operations[at]);
                kept += 1;
            }
        }
        return kept;
    }
    decide(world, true);
    if let Some(next) = first(&is_satisfied) {
        offer(enabled, operations, next);
        return 1;
    }
    enabled.len()
}

/// Counts the waiting threads, and marks those as satisfied whose counts are as wanted.
fn decide(world: &World, none_can_arrive: bool) {
    let waiting = |number: &u16| {
        Some(HERE.visits[usize::from(*number)].get()).filter(|one| one.stage == Stage::Waiting)
    };
    // Marked only after all were counted.
    let mut satisfied = [false; MAX_TASKS];
    for number in world.alive() {
        let Some(one) = waiting(&number).filter(|one| one.holds) else { continue };
        let others = world.alive().filter(|&other| other != number).filter_map(|it| waiting(&it));
        let (mut holding, mut all) = (0, 0);
        for other in others.filter(|other| other.group == one.group) {
            all += 1;
            holding += u32::from(other.holds);
        }
        satisfied[usize::from(number)] = one.count.matches(holding, all, none_can_arrive);
    }
    for number in world.alive().filter(|&number| satisfied[usize::from(number)]) {
        set_stage(&HERE.visits[usize::from(number)], Stage::Satisfied);
        HERE.quiet.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_count_compares_the_other_threads() {
        let matching = |code, number| -> Vec<u32> {
            let count = Count::from_code(code, number);
            (0..5).filter(|&holding| count.matches(holding, 4, true)).collect()
        };
        assert_eq!(matching(0, 0), [0]);
        assert_eq!(matching(1, 2), [0, 1]);
        assert_eq!(matching(2, 2), [3, 4]);
        assert_eq!(matching(3, 2), [2]);
        assert_eq!(matching(4, 0), [4]);
        assert!(!Count::All.matches(0, 0, true), "alone, it is no concurrent predicate");
        assert!(!Count::All.matches(4, 4, false), "another thread may arrive");
    }
}
