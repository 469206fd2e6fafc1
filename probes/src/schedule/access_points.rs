//! Memory accesses as scheduling points. Instrumentation reports each access here before it happens.

use crate::detect::access::{
    Access, POINTS, done, is_awake, is_in_company, is_point, look, me, peek, settle_write,
};
use crate::detect::delayed_stores;
use crate::detect::learned_points;
use crate::schedule::busy_loops::no_step;
use crate::schedule::scheduler::{point, read_step};
use crate::state::task::Gate;
use crate::state::world::world;
use search::spin::SpinDetector;
use traces::Operation;
use traces::store_buffers::MemoryEffect;

/// Handles an access just before it happens: it may be a scheduling point, and is compared in any
/// case.
#[inline(never)]
pub(crate) fn visit(access: Access) {
    if !is_awake() {
        return;
    }
    let is_point = is_point(&access);
    if is_point {
        arrive(&access, if access.writes { Operation::Write } else { Operation::Read });
    } else {
        no_step(&access, !POINTS.picky.get() || learned_points::is_site(access.site));
    }
    look(&access);
    if is_point {
        if access.proven {
            let act = if access.writes { MemoryEffect::Store } else { MemoryEffect::Load };
            delayed_stores::note(act, access.address, access.site);
        }
        done(&access);
    }
}

/// A library is about to store, by an atomic operation that is not instrumented, what the program's
/// code reads.
pub(crate) fn stored(address: u64, size: u64, site: u64) {
    if is_in_company() {
        settle_write();
        visit(Access { address, size, writes: true, atomic: true, proven: false, site });
    }
}

/// Parks before the access until the task is chosen.
pub(crate) fn arrive(access: &Access, operation: Operation) {
    if operation != Operation::Read {
        crate::state::root::root().alike.borrow().writes(me());
        return arrive_at(access, operation);
    }
    let found = || peek(access.address, access.size);
    read_step(access.address, access.site, found, |operation| arrive_at(access, operation));
}

fn arrive_at(access: &Access, operation: Operation) {
    if SpinDetector::may_spin_at(operation) {
        clear_below();
    }
    if (access.address & 7) + access.size > 8 {
        return arrive_at_several(access, operation);
    }
    point(operation, access.address, access.site, Gate::Open);
}

/// Parks before an access to several words until the task is chosen. The step depends on every
/// operation on any of those words that other tasks also access.
fn arrive_at_several(access: &Access, operation: Operation) {
    let end = access.address + access.size;
    let is_hot = |at: &u64| {
        POINTS.shadow.is_known(*at) && POINTS.shadow.word(*at).is_some_and(|word| word.hot.get())
    };
    let mut hot = (access.address & !7..end).step_by(8).filter(is_hot);
    let first = hot.next().unwrap_or(access.address).max(access.address);
    let task = world().task();
    task.second.set(hot.next().unwrap_or(0));
    task.wide.set(hot.next().is_some());
    point(operation, first, access.site, Gate::Open);
    task.second.set(0);
    task.wide.set(false);
}

/// Overwrites what earlier calls left on the stack where the runtime's frames will be. Those frames
/// do not fill every slot, and they are compared with the rest of the stack of a task in a spin
/// loop (`crate::schedule::stall`).
#[inline(never)]
fn clear_below() {
    std::hint::black_box(&mut [0u64; 160]);
}
