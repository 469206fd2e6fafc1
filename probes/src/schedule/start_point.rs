//! The point at which a search begins (`--begin-at`).
//!
//! Up to this point an execution has one schedule, in which no task is preempted, so what a server does until it waits
//! for its clients is not explored. Strategies do not see these steps. They are recorded like others: a trace begins at
//! main, and follows the whole schedule.

use crate::schedule::stall;
use crate::state::root::{Root, root};
use crate::state::start_point;
use crate::state::task::TaskKind;
use crate::state::upcalls;
use crate::state::world::{World, world};
use traces::TaskId;
use traces::points::StartPoint;
use traces::wire::Plan;

/// An execution begins.
pub(crate) fn begin() {
    start_point::set_ahead(root().start_at.is_some());
}

/// Whether the schedule up to the point is fixed: not in an execution that follows a given one.
pub(crate) fn is_fixed(root: &Root) -> bool {
    root.prefix.is_empty() && matches!(root.plan, Plan::Named { .. } | Plan::Orders { .. })
}

/// Whether the execution has no choice at present.
pub(crate) fn has_one_schedule() -> bool {
    start_point::is_ahead() && is_fixed(root())
}

/// Whether the execution, which was before the point, has reached it now. These tasks are enabled, some only because
/// time passes (`expiries`). The search begins here if it has.
#[cold]
pub(crate) fn is_reached(enabled: &[TaskId], expiries: &[TaskId]) -> bool {
    let is_reached = match root().start_at {
        Some(StartPoint::Site) => start_point::is_at_site(),
        _ => is_idle(world(), enabled, expiries),
    };
    if is_reached {
        start_point::set_ahead(false);
        upcalls::get().start_point_reached();
        stall::begin();
    }
    is_reached
}

/// The task that runs next before the point, if the schedule is fixed there.
#[cold]
pub(crate) fn next(enabled: &[TaskId], expiries: &[TaskId]) -> Option<u16> {
    let (world, root) = (world(), root());
    if !is_fixed(root) {
        return None;
    }
    let works = |task: &&TaskId| !expiries.contains(task) && !is_client(world, **task);
    let running = world.running.get().map(TaskId);
    let mut working = enabled.iter().filter(works);
    let continues = working.clone().find(|task| Some(**task) == running);
    // A program that only waits may wait for a time.
    continues.or_else(|| working.next()).or_else(|| enabled.first()).map(|task| task.0)
}

/// Whether the program only waits: for clients, other processes, or times.
fn is_idle(world: &World, enabled: &[TaskId], expiries: &[TaskId]) -> bool {
    enabled.iter().all(|&task| is_client(world, task) || expiries.contains(&task))
}

fn is_client(world: &World, task: TaskId) -> bool {
    world.tasks[task.index()].kind.get() == TaskKind::Client
}
