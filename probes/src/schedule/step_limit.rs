//! How many steps an execution may have.
//!
//! The first limit is doubled while the execution makes progress, up to the most that any execution may
//! have. In the second half of what it may have, its memory is hashed eight times: an execution that
//! repeats a state, such as one that polls for something that never happens, ends. So does one that
//! mostly lets time pass, which a server without clients does. All of this follows from the execution
//! alone, so that it is the same in every worker, and in a search that was resumed.
//!
//! A search of beginnings ([`Root::beginning`]) ends the executions of a program with long executions after
//! their first steps, and the rounds of learning where they turn out to be long.

use crate::detect::learned_points;
use crate::schedule::memory_hash;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::Root;
use crate::state::world::World;
use crate::steps::identity;
use search::{Reduction, Strategy, allowance};

/// The most steps with a strategy that stores data for each step, for one task: each step needs memory
/// for each task, and the runtime's memory is bounded.
const STORED_STEPS: u64 = 1_600_000;
/// The least number of tasks that this limit is divided by.
const STORED_TASKS: u64 = 4;

/// How many times the steps of a beginning a round of learning has, of a program with long executions.
const ROUND: u64 = 2;

/// Called where the execution has as many steps as `next` of its allowance says: it may continue, or
/// ends.
#[cold]
pub(crate) fn check(world: &World, root: &Root, step: u64) {
    let allowance = &world.allowance;
    if let Some(limit) = beginning(root) {
        if step >= limit {
            if root.is_learning() {
                root.learned.borrow().find_long();
            }
            outcome::end(End::Cut);
        }
        return allowance.begin(limit, limit);
    }
    let most = match root.strategy.borrow().needs_pending() {
        true => {
            let stored = STORED_STEPS / u64::from(world.created.get()).max(STORED_TASKS);
            root.most_steps.min(stored).max(root.max_steps)
        }
        false => root.most_steps,
    };
    if allowance.limit() == 0 {
        allowance.begin(root.max_steps, most);
    }
    let limit = allowance.limit();
    if step < allowance.next.get() {
        return;
    }
    if step >= limit && limit >= most {
        outcome::end(End::Cut);
    }
    if !allowance.note(memory_hash::of(world, &identity::writable())) {
        return;
    }
    if !allowance.is_progress() {
        outcome::end(End::Cut);
    }
    allowance.begin((2 * limit).min(most), most);
}

/// Called where an execution would have more tasks than it may: in a search of beginnings it is long, and
/// ends.
pub(crate) fn too_many_tasks(root: &Root) {
    if root.beginning == 0 {
        return;
    }
    if root.is_learning() {
        root.learned.borrow().find_long();
    }
    outcome::end_here(End::Cut);
}

/// The steps after which the execution ends although it may make progress, if the search explores the
/// beginnings of executions only.
fn beginning(root: &Root) -> Option<u64> {
    let long = allowance::long(root.beginning);
    if root.beginning == 0 || root.is_checking() {
        None
    } else if root.is_learning() {
        // Once that is known, later rounds need not be as long.
        let is_known = learned_points::is_long();
        let limit = if is_known { ROUND * root.beginning } else { long };
        Some(limit).filter(|&limit| limit < root.max_steps)
    } else if learned_points::is_long() {
        let may_be_longer = root.strategy.borrow().may_be_longer();
        Some(allowance::beginning(root.beginning, root.search_number(), may_be_longer))
    } else {
        None
    }
}
