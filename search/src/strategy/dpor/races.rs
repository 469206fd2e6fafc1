//! Detection of reversible races.

use super::node::PathNode;
use crate::reduction::events::{Access, Event, covers};

/// The operations of the path that race with `event`, which comes after them: those that could have
/// come after it, with no operation in between that both depend on. `before` is the clock of the
/// events that have to come before `event`.
pub(super) fn races(path: &[PathNode], event: &Event, before: &[u32]) -> Vec<usize> {
    let mut found = Vec::new();
    // The number of events that need not come before it: when that many were examined, the scan can
    // stop. (Otherwise a task that runs for long without a switch would examine all its events each
    // time.)
    let free = path.len().saturating_sub(before.iter().map(|&count| count as usize).sum());
    if free == 0 {
        return found;
    }
    if event.waits {
        return races_of_wait(path, event, before);
    }
    if event.exits {
        let mut seen = Vec::new();
        for (at, frame) in path.iter().enumerate().rev() {
            if !seen.contains(&frame.event.task) {
                seen.push(frame.event.task);
                found.push(at);
            }
        }
    }
    for &(object, access) in event.accesses() {
        let (mut borrowed, mut left) = (false, free);
        for (at, frame) in path.iter().enumerate().rev() {
            if left == 0 {
                break;
            }
            left -= usize::from(!covers(before, &frame.event));
            let Some(theirs) = frame.event.access(object) else { continue };
            let (races, stop) = match (access, theirs) {
                _ if access.commuted(theirs) => (false, false),
                // Those before it need not be ordered before it.
                (_, Access::Add | Access::Raise | Access::Lower(_))
                | (Access::Add | Access::Raise | Access::Lower(_), Access::Read) => (true, false),
                // A read of its memory may have found it free. A task in a spin loop that waits for the
                // object to change has not found it taken.
                (Access::Lock | Access::Take, Access::Read) if !frame.event.tries(object) => {
                    (true, false)
                }
                // If another task reads already, it reads before and after.
                (Access::Lock, Access::Share | Access::Write)
                    if has_shared(&path[..=at], object) =>
                {
                    (false, false)
                }
                (Access::Write, Access::Read | Access::Share | Access::Unshare) => (true, false),
                // A lock could not have come before the unlock that enabled it, nor while other
                // tasks found the mutex held; the same holds for a semaphore that was found at 0.
                (Access::Lock, Access::Unlock | Access::Unshare | Access::Read)
                | (Access::Share, Access::Unlock)
                | (Access::Take, Access::Read) => (false, false),
                (Access::Unlock, Access::Lock | Access::Unlock | Access::Share) => (false, true),
                (Access::Unshare, Access::Lock | Access::Unlock) => (false, true),
                // A task that failed to get the lock since a writer held it shows that no reader
                // could have entered.
                (Access::Share, Access::Read) if has_writer(&path[..at], object) => (false, false),
                // Readers do not block each other.
                (Access::Lock | Access::Read, Access::Share) => (true, false),
                (Access::Share | Access::Unshare, Access::Read)
                | (Access::Read, Access::Unshare)
                | (Access::Unlock | Access::Post(_), Access::Read) => (true, false),
                // A post to a semaphore at 0 enabled this one; behind it there may be another task
                // that decremented it.
                (Access::Take, Access::Post(of_none)) => {
                    let needed = of_none || borrowed;
                    borrowed |= of_none;
                    (!needed, !needed)
                }
                _ => (true, true),
            };
            if races {
                found.push(at);
            }
            if stop {
                break;
            }
        }
    }
    found.retain(|&at| {
        let earlier = &path[at].event;
        earlier.task != event.task && !covers(before, earlier) && !earlier.lets(event)
    });
    found.retain(|&at| !is_within(path, at, event));
    let all = found.clone();
    found.retain(|&at| {
        let earlier = &path[at].event;
        !all.iter().any(|&later| later > at && covers(&path[later].clock, earlier))
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// The same for an operation that waits until other tasks' operations enable it. One after which it was
/// not enabled yet, as far as the path shows, is no race: both orders are the same wait.
fn races_of_wait(path: &[PathNode], event: &Event, before: &[u32]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut left = path.len().saturating_sub(before.iter().map(|&count| count as usize).sum());
    // The dependent operations that are later on the path, and whether the task waits already.
    let (mut later, mut waits) = (Vec::new(), true);
    for (at, frame) in path.iter().enumerate().rev() {
        if left == 0 {
            break;
        }
        if covers(before, &frame.event) {
            waits &= frame.event.task != event.task;
            continue;
        }
        left -= 1;
        if frame.event.task == event.task || !frame.event.depends(event) {
            continue;
        }
        let is_covered = |by: &usize| covers(&path[*by].clock, &frame.event);
        let may_run = frame.enabled.contains(&event.task) || frame.deferred == Some(event.task);
        // Others that need not come after this one may enable the operation.
        let is_known = waits && later.iter().all(is_covered);
        let lets = frame.event.lets(event);
        if (may_run || !is_known) && !lets && !found.iter().any(is_covered) {
            found.push(at);
        }
        later.push(at);
    }
    found.reverse();
    found
}

/// Whether the operation on the path was executed while another task held the lock that `event`
/// takes, and was pending when that lock was released: then `event` could have come before the lock
/// was taken, but not right before the operation. (A wait with a spurious wake-up touches the
/// condition variable, which is signalled with the mutex held, and takes the mutex.)
fn is_within(path: &[PathNode], at: usize, event: &Event) -> bool {
    let locked = event.accesses().iter().filter(|(_, access)| *access == Access::Lock);
    locked.map(|&(object, _)| object).any(|object| {
        let unlocks = |f: &PathNode| f.event.access(object) == Some(Access::Unlock);
        let Some(unlock) = path.iter().rposition(unlocks) else { return false };
        // By any operation: a `trylock` counts, too.
        let holder = path[unlock].event.task;
        let takes = |f: &PathNode| {
            f.event.task == holder && f.event.access(object).is_some_and(|a| a != Access::Read)
        };
        let Some(lock) = path[..unlock].iter().rposition(takes) else { return false };
        (lock + 1..unlock).contains(&at) && covers(&path[unlock].clock, &path[at].event)
    })
}

/// Whether the task of the last operation already held the object, as one of several readers.
fn has_shared(path: &[PathNode], object: u64) -> bool {
    let Some((last, path)) = path.split_last() else { return false };
    let task = last.event.task;
    let own = path.iter().filter(|frame| frame.event.task == task);
    let had = own.fold(0i32, |had, frame| match frame.event.access(object) {
        Some(Access::Share) => had + 1,
        Some(Access::Unshare) => had - 1,
        Some(Access::Write) if frame.event.operation.is_shared_lock() => had + 1,
        _ => had,
    });
    had > 0
}

/// Whether a task holds the object exclusively after these operations.
fn has_writer(path: &[PathNode], object: u64) -> bool {
    path.iter().fold(false, |had, frame| {
        let operation = frame.event.operation;
        match frame.event.access(object) {
            Some(Access::Lock) => true,
            Some(Access::Write) if operation.acquires_lock() && !operation.is_shared_lock() => true,
            Some(Access::Unlock) => false,
            _ => had,
        }
    })
}
