//! Detection of spin loops: tasks that wait in a loop whose iterations change nothing, so that
//! further iterations need not be run.
//!
//! Musuvathi and Qadeer, "Fair Stateless Model Checking" (2008), disable a task that yields until
//! other tasks have run, which makes searches of spinning programs terminate. Difference: a yield
//! alone proves nothing. A task that yields and makes progress, because it works in portions, must
//! be able to do so while no other task runs, or schedules would be lost. So a task *spins* only if
//! it reaches a site where it yields, or retries an operation that failed there, in exactly the
//! state (registers and stack, without what others wrote there) of its previous visit; if it only
//! read in between; and if none of what it read has changed since. Another iteration would return to
//! the same state: the task is blocked until another task changes what it reads. That is a condition
//! on the state like that of a lock, so every strategy can treat it as one.
//!
//! If only spinning tasks are left, nothing will ever change: a livelock. Before Heddle reports it,
//! each of them runs a number of iterations, one task after the other, since a loop may count its
//! iterations in memory that is not observed. These iterations are neither chosen by the strategy
//! nor counted as steps. A task that leaves its loop in this trial is not blocked at that site
//! again, and the execution does not count as fully explored ([`SpinDetector::blocked_wrongly`]).
//! The same holds if a spinning task wrote to such memory during an iteration, whether or not that
//! ends its loop ([`SpinDetector::may_count_iterations`]).
//!
//! A loop may also look at data under a lock. An iteration that releases what it acquired, and
//! writes nothing, changes nothing. Its task then waits for the *contents* of the lock to change:
//! what other tasks do while they hold the lock. Such an iteration is visible to a task that tries
//! the lock meanwhile; each such attempt therefore lets the waiting task run one more iteration.
//! Most loops that lock make progress, and comparing their states costs time. So a site that locks
//! is compared only from its eighth visit on, and less often after each comparison that found
//! progress. The comparison requires that every write is observed, so it is an option
//! ([`SpinDetector::begin`]).
//!
//! Locks that a program builds itself, from words that it changes, are recognised by their effect: an
//! iteration that leaves every word that it changed as it found it changes nothing. Such a word is
//! different meanwhile, and each access of another task to it lets the waiting task run one more
//! iteration, unless the other task waits, too, and finds what it found in its last iteration.

mod effect;
mod operations;
mod watch;

pub use effect::Effect;

use crate::reduction::events::mix;
use operations::{locks, may_fail, unlocks, waits, waits_with_lock};
use traces::{Operation, TaskId};
use watch::{CONTENTS, LOCK_STATES, RESTORED, TRIED, Visit, Watch};

/// The number of iterations of each task before a livelock is reported, and the most steps of an
/// iteration.
const ITERATIONS: u32 = 100;
const TURN: u32 = 200;

/// The trial before a livelock is reported: which task runs, from which site, and how often.
#[derive(Debug, Clone, Copy)]
struct Trial {
    task: TaskId,
    key: u64,
    iterations: u32,
    steps: u32,
}

/// The spinning tasks of the current execution.
#[derive(Debug, Clone, Default)]
pub struct SpinDetector {
    tasks: Vec<Watch>,
    count: usize,
    /// Whether any task reached a site where it might spin.
    used: bool,
    /// Whether visits of any task are remembered.
    awake: bool,
    /// Whether steps may change memory that is not observed: then any step of another task ends the
    /// spinning.
    blind: bool,
    /// Whether loops that look under a lock or at a clock are recognised.
    sees_lock_polls: bool,
    /// Whether such a loop was found.
    found_lock_poll: bool,
    trial: Option<Trial>,
    /// Sites where a task was blocked although it would have left its loop.
    progressing: Vec<u64>,
    /// Whether a task was blocked whose loop may count its iterations.
    counts: bool,
    /// Whether a task changed an object that it may change back.
    restores: bool,
    /// Whether the present step ends the waiting of a task.
    disturbs: bool,
}

/// The decision of the detector when only spinning tasks are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No task spins.
    Deadlock,
    /// This task runs, and no other.
    Try(TaskId),
    /// The tasks would spin forever.
    Livelock,
}

impl SpinDetector {
    /// Begins an execution; `blind` if memory accesses are not instrumented. `sees_lock_polls`:
    /// whether loops that look under a lock are recognised, which requires that
    /// [`SpinDetector::record_write`] is called for every write of a task with remembered visits.
    pub fn begin(&mut self, blind: bool, sees_lock_polls: bool) {
        if self.used {
            self.tasks.clear();
            self.progressing.clear();
        }
        (self.counts, self.used, self.found_lock_poll) = (false, false, false);
        (self.restores, self.disturbs) = (false, false);
        self.sees_lock_polls = sees_lock_polls && !blind;
        (self.count, self.awake, self.blind, self.trial) = (0, false, blind, None);
    }

    /// Whether nothing was recorded since the execution began.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !self.used && !self.awake
    }

    /// Whether the scheduler has to report steps: only after a task was at a site where it might
    /// spin.
    #[must_use]
    #[inline]
    pub fn is_active(&self) -> bool {
        self.awake
    }

    /// Whether a task may spin at this operation, so that [`SpinDetector::arrive`] has to be
    /// called.
    #[must_use]
    #[inline]
    pub fn may_spin_at(operation: Operation) -> bool {
        waits(operation) || may_fail(operation) || locks(operation) || waits_with_lock(operation)
    }

    /// Whether the task spins and is therefore blocked.
    #[must_use]
    #[inline]
    pub fn is_spinning(&self, task: TaskId) -> bool {
        self.count > 0 && self.tasks.get(task.index()).is_some_and(|watch| watch.stalled)
    }

    /// Whether the task is at a site that it visited before. The scheduler then observes its
    /// operation's value before the step.
    #[must_use]
    pub fn is_at_known_site(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.at.is_some())
    }

    /// The objects that a task waits to see changed, if it spins at its site, and whether it changes
    /// them itself for a while; none if these are unknown.
    #[must_use]
    pub fn awaited_objects(
        &self,
        task: TaskId,
    ) -> Option<impl Iterator<Item = (u64, bool)> + Clone + '_> {
        let watch = self.tasks.get(task.index()).filter(|watch| watch.repeats);
        if watch.is_some_and(|watch| watch.is_vague(self.blind)) {
            return None;
        }
        let awaited = watch.map_or(&[][..], |watch| &watch.awaited);
        Some(awaited.iter().map(|&read| (read & !(CONTENTS | RESTORED), read & RESTORED != 0)))
    }

    /// A task arrives at an operation. `state` and `content`, which return hashes of the state of the
    /// task and of the content of an object, are called only if these matter.
    pub fn arrive(
        &mut self,
        task: TaskId,
        operation: Operation,
        object: u64,
        site: u64,
        state: impl FnOnce() -> u64,
        content: impl Fn(u64) -> u64,
    ) {
        let key = mix(mix(site) ^ object) ^ u64::from(operation.code());
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Watch::default());
        }
        self.used = true;
        let watch = &mut self.tasks[task.index()];
        (watch.at, watch.repeats) = (None, false);
        if waits_with_lock(operation) {
            if !self.sees_lock_polls {
                return;
            }
        } else if locks(operation) {
            if !self.sees_lock_polls || !watch.is_compared(key) {
                return;
            }
        } else if !waits(operation) && !watch.tried.contains(&key) {
            // The first attempt at a site is not a retry.
            if watch.tried.len() == TRIED {
                watch.tried.remove(0);
            }
            watch.tried.push(key);
            return;
        }
        self.awake = true;
        let state = watch.held.iter().fold(state(), |state, &lock| mix(state ^ lock));
        let is_here =
            |visit: &Visit| visit.key == key && (visit.state == state || !locks(operation));
        let known = watch.visits.iter().position(is_here);
        // The previous visit in the same state.
        let same = known.map(|at| watch.visits[at]).filter(|visit| visit.state == state);
        watch.awaited.clear();
        if let Some(same) = same {
            watch.await_what_was_read_since(&same);
        }
        let has_restored =
            |is_private| same.is_none_or(|same| watch.has_restored(&same, is_private, &content));
        let wrote = same.is_some_and(|same| same.writes != watch.writes) || !has_restored(true);
        let looks_under_lock = watch.awaited.iter().any(|read| read & (CONTENTS | RESTORED) != 0);
        if !has_restored(false) || wrote && looks_under_lock {
            // Most loops that write between their locks make progress.
            return self.record_progress(task);
        }
        let states = || watch.visits.iter().filter(|visit| visit.key == key).count();
        if known.is_none() && locks(operation) && states() == LOCK_STATES {
            watch.visits.retain(|visit| visit.key != key);
            watch.compare_less(|site| site == key);
            return self.sleep_if_unused();
        }
        // What the loop reads is known only now: before its first read, an iteration that reads
        // nothing looks the same.
        let vague = watch.is_vague(self.blind);
        let circles = same.is_some_and(|same| if vague { same.undisturbed } else { same.current });
        let (since, changes, writes) = (watch.reads.len(), watch.changes.len(), watch.writes);
        let visit = Visit { key, state, since, current: true, undisturbed: true, changes, writes };
        watch.record_visit(known, visit);
        watch.retraced = same.map(|same| same.since);
        watch.at = Some(key);
        (watch.repeats, watch.circles) = (same.is_some(), same.is_some());
        watch.writes_at_site = writes;
        match &mut self.trial {
            Some(trial) if trial.task == task => match (key == trial.key, circles) {
                (false, _) => {}
                (true, true) => (trial.iterations, trial.steps) = (trial.iterations + 1, 0),
                (true, false) => self.end_trial(),
            },
            // A task that waits in the middle of its iteration would keep others from the lock.
            _ if circles
                && watch.held.is_empty()
                && watch.holds_no_word()
                && !self.progressing.contains(&key) =>
            {
                watch.stalled = true;
                self.count += 1;
                self.counts |= wrote;
                self.found_lock_poll |= looks_under_lock || watch.read_clock;
            }
            _ => {}
        }
    }

    /// Whether a task waited in a loop that looks under a lock or at a clock.
    #[must_use]
    pub fn found_lock_poll(&self) -> bool {
        self.found_lock_poll
    }

    /// The task read a clock, in its last step or after it. The state that [`SpinDetector::arrive`]
    /// compares has to be the same in two iterations that differ in the time only. A loop that ends
    /// at a time may find that time in other memory, so all accesses have to be observed, as for
    /// loops that look under a lock.
    pub fn record_clock(&mut self, task: TaskId) {
        if !self.sees_lock_polls {
            return self.record_progress(task);
        }
        if let Some(watch) = self.tasks.get_mut(task.index()) {
            watch.read_clock = true;
        }
    }

    /// Whether the detector remembers visits of the task.
    #[must_use]
    pub fn has_known_sites(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| !watch.visits.is_empty())
    }

    /// The task is about to write, outside a step, to memory that is not part of its state. `before`
    /// returns a hash of the object's content, if it can be read. True if further writes would say nothing new
    /// until the task arrives at its next operation.
    pub fn record_write(
        &mut self,
        task: TaskId,
        object: u64,
        before: impl FnOnce() -> Option<u64>,
    ) -> bool {
        self.tasks.get_mut(task.index()).is_none_or(|watch| watch.record_write(object, before))
    }

    /// Whether a task was blocked in this execution whose loop may count its iterations. Each
    /// iteration then leads to a new state, and the results of further iterations were not
    /// explored.
    #[must_use]
    pub fn may_count_iterations(&self) -> bool {
        self.counts
    }

    /// The task executed a step with this effect. `objects`: what it read or may have changed;
    /// `found`: a hash of what it found there, if these are observed.
    pub fn record_step(&mut self, task: TaskId, effect: Effect, objects: &[u64], found: u64) {
        let (mut circles, mut idle, mut retraces) = (false, false, false);
        if let Some(own) = self.tasks.get_mut(task.index()) {
            (circles, idle) = (own.circles, own.is_idle());
            let (known, retraced) = (own.at.take(), own.retraced.is_some());
            own.repeats = false;
            if self.trial.is_none() {
                // It was blocked at a wait that a signal has ended since.
                self.count -= usize::from(std::mem::take(&mut own.stalled));
            }
            let makes_progress = match effect {
                _ if own.visits.is_empty() => !matches!(effect, Effect::None | Effect::Read),
                Effect::None => false,
                Effect::Read => {
                    objects.iter().for_each(|&object| own.record_read(object, found));
                    false
                }
                Effect::Tried(lock) => {
                    own.record_read(lock, found);
                    false
                }
                Effect::Acquired { .. } | Effect::Replaced { .. } if !self.sees_lock_polls => true,
                Effect::Acquired { lock, tried } => {
                    own.held.push(lock);
                    own.record_read(lock | CONTENTS, 0);
                    if tried {
                        own.record_read(lock, 0);
                    }
                    false
                }
                Effect::Released(lock) => {
                    let held = own.held.iter().rposition(|&held| held == lock);
                    held.map(|at| own.held.remove(at)).is_none()
                }
                Effect::Replaced { object, before, after } => {
                    self.restores = true;
                    !own.record_change(object, before, after)
                }
                Effect::Changed => true,
            };
            retraces = own.retraced.is_some();
            if makes_progress {
                // After an effect, the next attempt at this site is a first attempt again.
                own.tried.retain(|&key| Some(key) != known);
                self.record_progress(task);
            } else if retraced && !retraces {
                let outstanding = own.outstanding();
                self.show_changes(task, &outstanding);
            }
        }
        let is_changed = |read: u64| match effect {
            Effect::None => false,
            Effect::Read => {
                !retraces && read & RESTORED != 0 && objects.contains(&(read & !RESTORED))
            }
            Effect::Tried(lock) => read == lock | CONTENTS,
            Effect::Acquired { lock, tried: true } => read & !CONTENTS == lock,
            Effect::Acquired { lock, .. } | Effect::Released(lock) => {
                read == lock || !idle && read == lock | CONTENTS
            }
            Effect::Replaced { object, .. } => {
                read == object || !retraces && read == object | RESTORED
            }
            Effect::Changed => objects.contains(&(read & !(CONTENTS | RESTORED))),
        };
        let changes = match effect {
            Effect::None => false,
            Effect::Read => self.restores,
            _ => true,
        };
        for (number, watch) in self.tasks.iter_mut().enumerate() {
            if number == task.index() || watch.visits.is_empty() {
                continue;
            }
            if !circles {
                for visit in &mut watch.visits {
                    visit.undisturbed = watch.at == Some(visit.key);
                }
            }
            let sees_changed = changes && watch.see_changed(is_changed);
            let disturbed = if watch.is_vague(self.blind) { !circles } else { sees_changed };
            if disturbed && std::mem::take(&mut watch.stalled) {
                self.count -= 1;
                self.disturbs = true;
            }
        }
        if let Some(trial) = &mut self.trial {
            trial.steps += 1;
            if trial.steps > TURN || self.disturbs {
                self.end_trial();
            }
        }
        self.disturbs = false;
    }

    /// The task does something else than in its last iteration: other tasks see what it has changed
    /// since that iteration.
    fn show_changes(&mut self, task: TaskId, changed: &[u64]) {
        if changed.is_empty() {
            return;
        }
        let others = self.tasks.iter_mut().enumerate();
        for (_, watch) in others.filter(|(number, _)| *number != task.index()) {
            if watch.see_changed(|read| changed.contains(&(read & !RESTORED)))
                && std::mem::take(&mut watch.stalled)
            {
                self.count -= 1;
                self.disturbs = true;
            }
        }
    }

    /// The task has changed an object, or has read a value that differs each time.
    pub fn record_progress(&mut self, task: TaskId) {
        let Some(watch) = self.tasks.get_mut(task.index()) else { return };
        let outstanding = watch.outstanding();
        let visits = watch.forget();
        watch.compare_less(|key| visits.iter().any(|visit| visit.key == key));
        if self.trial.is_some_and(|trial| trial.task == task) {
            self.end_trial();
        }
        self.show_changes(task, &outstanding);
        self.sleep_if_unused();
    }

    /// Without remembered visits, no step has to be reported.
    fn sleep_if_unused(&mut self) {
        if self.tasks.iter().all(|watch| watch.visits.is_empty()) {
            self.awake = false;
            self.tasks.iter_mut().for_each(|watch| watch.circles = false);
        }
    }

    /// Decides what happens if only spinning tasks are left, or if the task of the trial reached an
    /// operation. [`Verdict::Deadlock`] leaves the decision to the caller: the task of the trial
    /// may be enabled. `pending`: the operation of a task and its object, if nothing else blocks it.
    pub fn verdict(&mut self, pending: impl Fn(TaskId) -> Option<(Operation, u64)>) -> Verdict {
        if let Some(Trial { task, .. }) = self.trial {
            let changes_nothing = match pending(task) {
                Some((Operation::Read | Operation::FutexWait, _)) => true,
                Some((Operation::Write | Operation::Update, object))
                    if self.restores_in_loop(task, object) || self.has_seen(task, object) =>
                {
                    true
                }
                Some((operation, _))
                    if locks(operation) || unlocks(operation) || waits_with_lock(operation) =>
                {
                    self.sees_lock_polls
                }
                Some((operation, _)) => {
                    waits(operation) || may_fail(operation) && self.repeats(task)
                }
                None => false,
            };
            if !changes_nothing {
                self.end_trial();
                return Verdict::Deadlock;
            }
        }
        let from = match self.trial {
            None => 0,
            Some(trial) if trial.iterations < ITERATIONS => return Verdict::Try(trial.task),
            Some(trial) => trial.task.index() + 1,
        };
        let is_next = |&number: &usize| {
            self.tasks[number].stalled && pending(TaskId(number as u16)).is_some()
        };
        let next = (from..self.tasks.len()).find(is_next);
        let key = next.and_then(|number| self.tasks[number].at);
        match (next, key) {
            (Some(number), Some(key)) => {
                let task = TaskId(number as u16);
                self.trial = Some(Trial { task, key, iterations: 0, steps: 0 });
                Verdict::Try(task)
            }
            _ if self.trial.is_some() => Verdict::Livelock,
            _ => Verdict::Deadlock,
        }
    }

    fn restores_in_loop(&self, task: TaskId, object: u64) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.restores(object))
    }

    /// Whether an operation on the object in the task's loop has left it as it was.
    fn has_seen(&self, task: TaskId, object: u64) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.has_read(object))
    }

    fn repeats(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.repeats)
    }

    /// Whether a trial is running, so that no other task may run.
    #[must_use]
    #[inline]
    pub fn is_in_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// The task of the trial makes progress: it was blocked wrongly.
    fn end_trial(&mut self) {
        let Some(trial) = self.trial.take() else { return };
        self.progressing.push(trial.key);
        let watch = &mut self.tasks[trial.task.index()];
        self.count -= usize::from(std::mem::take(&mut watch.stalled));
    }

    /// The tasks that spin.
    pub fn spinning(&self) -> impl Iterator<Item = TaskId> + '_ {
        let all = self.tasks.iter().enumerate().filter(|(_, watch)| watch.stalled);
        all.map(|(number, _)| TaskId(number as u16))
    }

    /// Whether a task was blocked in this execution that would have made progress.
    #[must_use]
    pub fn blocked_wrongly(&self) -> bool {
        !self.progressing.is_empty()
    }
}

#[cfg(test)]
mod tests;
