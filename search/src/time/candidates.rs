//! Which steps could happen next, and which expiries are enabled.

use super::clocks::Clocks;
use crate::reduction::pending::PendingOperation;
use std::borrow::Borrow;
use traces::{Operation, TaskId};

/// How late a step may be by the clock of its task: a time, or none if any delay is possible.
pub type Slack = Option<u64>;

/// A task that could take a step if time did not matter, or that waits for a mutex which another such
/// task holds for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The task.
    pub task: TaskId,
    /// The earliest time of its step.
    pub at: u64,
    /// Whether the step is an expiry.
    pub expires: bool,
}

impl Candidate {
    /// The task as a candidate. Its pending operation is an expiry if it has a deadline here. `next` returns the
    /// pending operation with its objects, which costs more than the rest: most often the operation and the deadline
    /// determine the time.
    #[must_use]
    pub fn new<N: Borrow<PendingOperation>>(
        clocks: &mut Clocks,
        (task, operation): (TaskId, Operation),
        expires: Option<u64>,
        next: impl FnOnce() -> N,
    ) -> Candidate {
        let at = match (expires, clocks.ready_undelayed(task, operation)) {
            // What the task waits for was there at the time of some task, which is no later.
            (Some(deadline), _) if deadline >= clocks.latest() => deadline,
            (Some(deadline), Some(ready)) => ready.max(deadline),
            (Some(deadline), None) => clocks.ready(next().borrow()).max(deadline),
            (None, Some(ready)) => ready,
            (None, None) => clocks.enabled_since(next().borrow()),
        };
        Candidate { task, at, expires: expires.is_some() }
    }
}

/// A task that waits for a mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MutexWaiter {
    /// The task.
    pub task: TaskId,
    /// When the task could have acquired the mutex if it had been free ([`Clocks::ready`]).
    pub at: u64,
    /// The task that holds the mutex.
    pub owner: TaskId,
    /// Whether no time has passed for its owner since it acquired the mutex ([`Clocks::is_momentary`]).
    pub momentary: bool,
}

impl MutexWaiter {
    /// The task with this pending acquisition, which waits for `owner`.
    #[must_use]
    pub fn new(clocks: &Clocks, next: &PendingOperation, owner: TaskId) -> MutexWaiter {
        MutexWaiter {
            task: next.task,
            at: clocks.ready(next),
            owner,
            momentary: clocks.is_momentary(next.object, owner),
        }
    }
}

/// Adds the tasks that wait for mutexes whose owners hold them for a moment only, and can run. Such a
/// task could have acquired the mutex before, so it is late like a task that can run now.
pub fn add_waiters(candidates: &mut Vec<Candidate>, waiters: &mut Vec<MutexWaiter>) {
    waiters.retain(|waiter| waiter.momentary);
    loop {
        let before = waiters.len();
        waiters.retain(|waiter| {
            let runs = candidates.iter().any(|one| one.task == waiter.owner && !one.expires);
            if runs {
                candidates.push(Candidate { task: waiter.task, at: waiter.at, expires: false });
            }
            !runs
        });
        if waiters.len() == before {
            return;
        }
    }
}

/// The base of a state with these candidates: no step that follows can be earlier.
#[must_use]
pub fn base(candidates: &[Candidate]) -> u64 {
    candidates.iter().map(|one| one.at).min().unwrap_or(u64::MAX)
}

/// Removes from `candidates` everything but the expiries that are enabled, the earliest first, and
/// calls `withhold` for those that are not.
pub fn due(candidates: &mut Vec<Candidate>, slack: Slack, mut withhold: impl FnMut(TaskId)) {
    let until = slack.map_or(u64::MAX, |slack| base(candidates).saturating_add(slack));
    candidates.retain(|one| {
        if one.expires && one.at > until {
            withhold(one.task);
        }
        one.expires && one.at <= until
    });
    candidates.sort_unstable_by_key(|one| (one.at, one.task));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::moment::SECOND;

    fn one(task: u16, at: u64, expires: bool) -> Candidate {
        Candidate { task: TaskId(task), at, expires }
    }

    /// The tasks whose expiry is enabled, and those whose is not.
    fn split(candidates: &[Candidate], slack: Slack) -> (Vec<u16>, Vec<u16>) {
        let (mut all, mut withheld) = (candidates.to_vec(), Vec::new());
        due(&mut all, slack, |task| withheld.push(task.0));
        (all.iter().map(|one| one.task.0).collect(), withheld)
    }

    #[test]
    fn an_expiry_is_enabled_within_the_slack_of_the_base() {
        let waits = [one(0, 0, false), one(1, 30 * SECOND, true), one(2, SECOND, true)];
        assert_eq!(split(&waits, Some(0)), (vec![], vec![1, 2]));
        assert_eq!(split(&waits, Some(SECOND)), (vec![2], vec![1]));
        assert_eq!(split(&waits, None), (vec![2, 1], vec![]));
        assert_eq!(split(&waits[1..], Some(SECOND)), (vec![2], vec![1]));
        assert_eq!(split(&waits[1..2], Some(0)), (vec![1], vec![]));
    }

    #[test]
    fn a_task_that_waits_for_one_that_can_run_is_late_as_well() {
        let waiter = |task, at, owner, momentary| MutexWaiter {
            task: TaskId(task),
            at,
            owner: TaskId(owner),
            momentary,
        };
        let mut candidates = vec![one(0, 9, false), one(1, 20, true)];
        let mut waiters = vec![
            waiter(2, 5, 3, true),
            waiter(3, 7, 0, true),
            waiter(4, 1, 0, false),
            waiter(5, 2, 1, true),
            waiter(6, 3, 7, true),
            waiter(7, 3, 6, true),
        ];
        add_waiters(&mut candidates, &mut waiters);
        let added: Vec<_> = candidates[2..].iter().map(|one| (one.task.0, one.at)).collect();
        assert_eq!(added, [(3, 7), (2, 5)]);
        assert_eq!(base(&candidates), 5);
    }
}
