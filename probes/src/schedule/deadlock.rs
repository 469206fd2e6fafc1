//! Deadlocks: cycles of waiting tasks, and executions in which no task is enabled.

use crate::memory::arena;
use crate::schedule::external;
use crate::state::cancellation;
use crate::state::clients;
use crate::state::end::End;
use crate::state::locks::{barrier, holders, mutex, rwlock};
use crate::state::outcome::{counts, end, found, key, key_of_text};
use crate::state::start;
use crate::state::task::{Gate, Lifecycle, Task, TaskKind};
use crate::state::world::{World, world};
use crate::steps::record;
use traces::wire::FoundFailure;
use traces::{FailureKind, Operation};

/// Calls `each` for every known task whose progress this one waits for, until a call returns a
/// value.
fn find_holder<T>(number: u16, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    let world = world();
    let task = &world.tasks[usize::from(number)];
    if task.life() != Lifecycle::Alive {
        return None;
    }
    match task.gate() {
        Gate::WokenMutexFree(_) if !task.woken.get() => None,
        Gate::MutexFree(address)
        | Gate::CeilingFree(address)
        | Gate::WokenMutexFree(address)
        | Gate::TimedMutexFree(address) => {
            mutex::owner(address).and_then(|tid| world.by_tid(tid)).and_then(each)
        }
        Gate::Readable(lock) => rwlock::before_reader(lock, &mut each),
        Gate::Writable(lock) => rwlock::before_writer(lock, &mut each),
        Gate::SpinFree(lock) | Gate::WordFree(lock) => holders::holders(lock).find_map(each),
        // A cancelled task gives up its join.
        Gate::Ended(_) if start::may_cancel() && !cancellation::is_disabled(task) => None,
        Gate::Ended(other) => {
            let over = world.tasks[other as usize].life() != Lifecycle::Alive;
            if over { None } else { each(other as u16) }
        }
        _ => None,
    }
}

/// A task whose progress this one waits for, if one is known.
pub(crate) fn holder(number: u16) -> Option<u16> {
    find_holder(number, Some)
}

/// The cycle of waiting tasks that contains `first`, each waiting for the next, if there is one.
fn circle_from(first: u16) -> Option<Vec<u16>> {
    fn extend(path: &mut Vec<u16>, seen: &mut Vec<u16>) -> bool {
        let (first, last) = (path[0], path[path.len() - 1]);
        find_holder(last, |next| {
            if next == first {
                return Some(());
            }
            if seen.contains(&next) {
                return None;
            }
            seen.push(next);
            path.push(next);
            if extend(path, seen) {
                return Some(());
            }
            path.pop();
            None
        })
        .is_some()
    }
    // Fast exit for the common case: the task that is waited for is not blocked itself.
    find_holder(first, |next| (next == first || holder(next).is_some()).then_some(()))?;
    let mut path = vec![first];
    extend(&mut path, &mut Vec::new()).then_some(path)
}

/// A cycle of waiting tasks, each waiting for the next; empty if there is none.
fn cycle() -> Vec<u16> {
    world().alive().find_map(circle_from).unwrap_or_default()
}

/// Ends the execution if this task (or any, for [`World::ALL`]) is in a cycle of waiting tasks: no
/// other task can ever wake them, however long the others run.
#[cold]
pub(crate) fn check_circle(suspect: u16) {
    if let Some(how) = circle_end(suspect) {
        end(how);
    }
}

fn circle_end(suspect: u16) -> Option<End> {
    let cycle = match suspect {
        World::ALL => cycle(),
        task => circle_from(task).unwrap_or_default(),
    };
    let kind = kind_of_circle(&cycle);
    if cycle.is_empty() || !counts(kind) {
        return None;
    }
    let taken = taken_by_none(&cycle);
    Some(taken.unwrap_or_else(|| stuck(kind, cycle[0], &cycle, &cycle, String::new())))
}

/// The kind of a deadlock by a cycle: a read recursion is reported as such only if the user asked
/// for that kind, and as a deadlock otherwise.
fn kind_of_circle(cycle: &[u16]) -> FailureKind {
    let reads_again = |&member: &u16| {
        let gate = world().tasks[usize::from(member)].gate();
        matches!(gate, Gate::Readable(lock) if holders::holders(lock).any(|it| it == member))
    };
    match cycle {
        [_] => FailureKind::SelfDeadlock,
        _ if cycle.iter().any(reads_again) && counts(FailureKind::ReadRecursion) => {
            FailureKind::ReadRecursion
        }
        _ => FailureKind::Deadlock,
    }
}

/// Whether every task waits at one barrier, or joins one that does: no other task will ever arrive
/// there.
fn is_left_at_barrier(members: &[u16]) -> bool {
    let tasks = || members.iter().map(|&member| &world().tasks[usize::from(member)]);
    let at_barrier = |task: &&Task| task.operation.get() == Operation::BarrierPass;
    let Some(first) = tasks().find(at_barrier) else { return false };
    tasks().all(|task| match task.gate() {
        Gate::Ended(_) => true,
        _ => at_barrier(&task) && task.waits_on.get() == first.waits_on.get(),
    })
}

/// The end of the execution if one of these tasks waits for a lock whose bytes say "locked" although no
/// task locked it: they are, for example, a copy of another lock.
fn taken_by_none(members: &[u16]) -> Option<End> {
    for &member in members {
        let task = &world().tasks[usize::from(member)];
        let site = task.site.get();
        let (which, lock) = match task.gate() {
            Gate::MutexFree(mutex) => ("mutex", mutex),
            Gate::Readable(lock) | Gate::Writable(lock) => ("read-write lock", lock),
            Gate::SpinFree(lock) => ("spin lock", lock),
            _ => continue,
        };
        if let Some(mut found) = arena::freed_object(which, lock, site) {
            found.task = Some(member);
            return Some(End::Failed(Box::new(found)));
        }
        let taken = record::last(lock, 0, Operation::acquires_lock).is_some();
        if taken || !counts(FailureKind::Uninitialised) {
            continue;
        }
        let what = format!(
            "waits for a {which} that no task locked: a copy of a locked one, uninitialised \
             memory, or locked before main began"
        );
        let mut found = found(FailureKind::Uninitialised, site, what);
        found.key = key_of_text(found.key, &found.detail);
        found.task = Some(member);
        return Some(End::Failed(Box::new(found)));
    }
    None
}

/// The end of an execution with these tasks waiting.
fn stuck(kind: FailureKind, task: u16, members: &[u16], cycle: &[u16], detail: String) -> End {
    let world = world();
    let site = |&member: &u16| world.tasks[usize::from(member)].site.get();
    let mut places: Vec<u64> = members.iter().map(site).collect();
    places.sort_unstable();
    // The cycle begins with its lowest task, so that the report does not depend on which task
    // closed it.
    let mut cycle = cycle.to_vec();
    if let Some(at) = (0..cycle.len()).min_by_key(|&at| cycle[at]) {
        cycle.rotate_left(at);
    }
    let task = cycle.first().copied().unwrap_or(task);
    let site = world.tasks[usize::from(task)].site.get();
    End::Failed(Box::new(FoundFailure {
        key: key(kind, &places),
        task: Some(task),
        cycle,
        ..found(kind, site, detail)
    }))
}

/// The end of an execution with these tasks as its members, and a text and a site for others.
pub(crate) fn stuck_at(
    kind: FailureKind,
    members: &[u16],
    mut sites: Vec<u64>,
    detail: String,
    places: Vec<(String, u64)>,
) -> End {
    let first = sites[0];
    sites.sort_unstable();
    let mut found = found(kind, first, detail);
    (found.task, found.key, found.places) = (Some(members[0]), key(kind, &sites), places);
    End::Failed(Box::new(found))
}

/// No task is enabled.
pub(crate) fn deadlock() -> ! {
    end(deadlock_end())
}

/// Only timers can run, and what they do lets no thread run.
pub(crate) fn despite_timers() -> ! {
    end(deadlock_end())
}

/// Whether a task is a thread of the program. (A timer is a task as well.)
fn is_thread(&number: &u16) -> bool {
    world().tasks[usize::from(number)].is_thread()
}

fn deadlock_end() -> End {
    let world = world();
    let cycle = cycle();
    let is_timer = |number: u16| world.tasks[usize::from(number)].kind.get() == TaskKind::Timer;
    let timers = world.alive().any(is_timer);
    let members: Vec<u16> = match cycle.is_empty() {
        true => world.alive().filter(is_thread).collect(),
        false => cycle.clone(),
    };
    let waits = match external::clients_wait_for_data() {
        true => None,
        false => external::first_wait(),
    };
    if let Some((task, wait)) = waits {
        let limit = traces::seconds(external::limit());
        let what = format!(
            "a {wait}, which no other process ended within {limit}: start that process first, or give it \
             more time with --patience"
        );
        return stuck(FailureKind::Unsupported, task, &members, &[], what);
    }
    if let Some(taken) = taken_by_none(&members) {
        return taken;
    }
    let kind = match is_left_at_barrier(&members) && counts(FailureKind::BarrierCount) {
        true => FailureKind::BarrierCount,
        false => kind_of_circle(&cycle),
    };
    let unanswered = clients::describe_awaited().filter(|_| !clients::are_finished());
    let detail = match barrier_left(&members) {
        left if left.is_empty() && unanswered.is_some() => unanswered.unwrap_or_default(),
        left if left.is_empty() && timers => {
            "a timer is armed, but its expirations change nothing that a thread waits for"
                .to_owned()
        }
        left => left,
    };
    stuck(kind, members[0], &members, &cycle, detail)
}

/// How many tasks arrived at the barrier where tasks wait, for the message.
fn barrier_left(members: &[u16]) -> String {
    let tasks = members.iter().map(|&member| &world().tasks[usize::from(member)]);
    let at =
        |task: &Task| (task.operation.get() == Operation::BarrierPass).then(|| task.object.get());
    match tasks.filter_map(at).map(barrier::progress).next() {
        Some((count, arrived)) => {
            format!("the barrier is for {count} tasks, of which {arrived} arrived")
        }
        None => String::new(),
    }
}
