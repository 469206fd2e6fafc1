//! Detection of spin loops: tasks that wait in a loop whose turns change nothing, so that further
//! turns need not be run.
//!
//! Musuvathi and Qadeer, "Fair Stateless Model Checking" (2008), hold back a task that yields until
//! other tasks have run, which makes searches of spinning programs terminate. Difference: a yield
//! alone proves nothing. A task that yields and makes progress, because it works in portions, must
//! be able to do so while no other task runs, or schedules would be lost. So a task *spins* only if
//! it reaches a site where it yields, or retries an operation that failed there, in exactly the
//! state (registers and stack) of its previous visit; if it only read in between; and if none of
//! what it read has changed since. Another turn would return to the same state: the task is blocked
//! until another task changes what it reads. That is a condition on the state like that of a lock,
//! so every strategy can treat it as one.
//!
//! If only spinning tasks are left, nothing will ever change: a livelock. Before Heddle reports it,
//! each of them runs a number of turns, one task after the other, since a loop may count its turns
//! in memory that is not observed. These turns ask no strategy and are not counted as steps. A task
//! that leaves its loop in this trial is not held back at that site again, and the execution does
//! not count as fully explored ([`SpinDetector::blocked_wrongly`]). The same holds if a spinning
//! task wrote to such memory during a turn, whether or not that ends its loop
//! ([`SpinDetector::may_count_turns`]).

use crate::reduction::events::mix;
use traces::{Operation, TaskId};

/// How many sites of a loop are remembered: where the task waits, and where it retries what may
/// fail.
const PLACES: usize = 32;
const TRIED: usize = 8;
/// The most objects of one spin loop that are tracked.
pub const OBJECTS: usize = 3;
/// The most reads that are remembered. A turn with more is not recognised.
const LOOKS: usize = 256;
/// The turns of each task before a livelock is reported, and the most steps of a turn.
const TURNS: u32 = 100;
const TURN: u32 = 200;

/// The effect of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The step changed nothing and read nothing.
    None,
    /// The step read the object, and did not change it.
    Looked(u64),
    /// These objects may have changed; 0 stands for none.
    Changed([u64; 2]),
}

/// A visit of a task to a site.
#[derive(Debug, Clone, Copy)]
struct Visit {
    key: u64,
    state: u64,
    /// The number of reads before the task's last visit.
    since: usize,
    /// Whether nothing that the task read since has changed.
    current: bool,
    /// The number of the task's unobserved writes at its last visit.
    writes: u32,
}

/// The state of the detector for one task.
#[derive(Debug, Clone, Default)]
struct Watch {
    /// The sites that the task visited since it last changed anything.
    places: Vec<Visit>,
    /// The objects that it read since then, in order.
    looks: Vec<u64>,
    /// The objects that it read since its last visit of the site that it is at.
    awaited: Vec<u64>,
    /// How often it wrote to memory that is not part of its state and that no other task observes.
    writes: u32,
    /// The site that it is at, if it may spin there.
    at: Option<u64>,
    /// Whether it was at that site before in the same state.
    repeats: bool,
    /// Whether that was so when it last was at such a place.
    circles: bool,
    stalled: bool,
    /// Where it did what may have no effect, the last few places.
    tried: Vec<u64>,
}

/// The trial before a livelock is reported: which task runs, from which site, and how often.
#[derive(Debug, Clone, Copy)]
struct Trial {
    task: TaskId,
    key: u64,
    turns: u32,
    steps: u32,
}

/// The spinning tasks of the current execution.
#[derive(Debug, Clone, Default)]
pub struct SpinDetector {
    tasks: Vec<Watch>,
    count: usize,
    /// Whether any task was at a site where it might spin.
    awake: bool,
    /// Whether steps may change memory that is not observed: then any step of another task ends the
    /// spinning.
    blind: bool,
    trial: Option<Trial>,
    /// Sites where a task was held back that would have left its loop.
    restless: Vec<u64>,
    /// Whether a task was held back that may count its turns.
    counts: bool,
}

/// What happens if only spinning tasks are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No task spins.
    Deadlock,
    /// This task runs, and no other.
    Try(TaskId),
    /// The tasks would spin for ever.
    Livelock,
}

/// Whether the operation invites other tasks to run first.
fn waits(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Yield | O::Sleep | O::Await)
}

/// Whether the operation may have no effect, depending on the object.
fn may_fail(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::TryLock | O::SemTryWait | O::TryReadLock | O::TryWriteLock | O::SpinTryLock | O::Update
    )
}

impl Watch {
    /// Whether it is unknown what the task waits for.
    fn is_vague(&self, blind: bool) -> bool {
        blind || self.looks.is_empty()
    }

    /// The task looks at an object.
    fn needs_pending_now(&mut self, object: u64) {
        if self.looks.len() == LOOKS {
            let gone = LOOKS / 2;
            self.looks.drain(..gone);
            self.places.retain(|place| place.since >= gone);
            self.places.iter_mut().for_each(|place| place.since -= gone);
        }
        self.looks.push(object);
    }

    /// Another task has changed these objects: returns whether the task waited for that.
    fn see_changed(&mut self, objects: [u64; 2]) -> bool {
        let changed = |looks: &[u64]| looks.iter().any(|look| *look != 0 && objects.contains(look));
        for place in &mut self.places {
            place.current &= !changed(&self.looks[place.since..]);
        }
        self.stalled && changed(&self.awaited)
    }
}

impl SpinDetector {
    /// Begins an execution; `blind` if memory accesses are not instrumented.
    pub fn begin(&mut self, blind: bool) {
        if self.awake {
            self.tasks.clear();
            self.restless.clear();
        }
        self.counts = false;
        (self.count, self.awake, self.blind, self.trial) = (0, false, blind, None);
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
        waits(operation) || may_fail(operation)
    }

    /// Whether the task spins and is therefore blocked.
    #[must_use]
    #[inline]
    pub fn is_spinning(&self, task: TaskId) -> bool {
        self.count > 0 && self.tasks.get(task.index()).is_some_and(|watch| watch.stalled)
    }

    /// Whether the task is at a site that it visited before: the scheduler then examines its
    /// operation before the step.
    #[must_use]
    pub fn is_at_known_site(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.at.is_some())
    }

    /// The objects that a task waits to see changed, if it spins at its site, and whether these are
    /// all.
    #[must_use]
    pub fn awaited_objects(&self, task: TaskId) -> ([u64; OBJECTS], bool) {
        let mut objects = [0; OBJECTS];
        let Some(watch) = self.tasks.get(task.index()).filter(|watch| watch.repeats) else {
            return (objects, true);
        };
        if watch.is_vague(self.blind) || watch.awaited.len() > OBJECTS {
            return (objects, false);
        }
        objects[..watch.awaited.len()].copy_from_slice(&watch.awaited);
        (objects, true)
    }

    /// A task arrives at an operation. `state` is called only if the state of the task matters.
    pub fn arrive(
        &mut self,
        task: TaskId,
        operation: Operation,
        object: u64,
        site: u64,
        state: impl FnOnce() -> u64,
    ) {
        let key = mix(mix(site) ^ object) ^ u64::from(operation.code());
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Watch::default());
        }
        self.awake = true;
        let watch = &mut self.tasks[task.index()];
        (watch.at, watch.repeats) = (None, false);
        // What is tried at a place for the first time is not tried again.
        if !waits(operation) && !watch.tried.contains(&key) {
            if watch.tried.len() == TRIED {
                watch.tried.remove(0);
            }
            watch.tried.push(key);
            return;
        }
        let state = state();
        watch.at = Some(key);
        let known = watch.places.iter_mut().find(|place| place.key == key);
        // As it was when the task was there before, in this state.
        let same = known.as_deref().copied().filter(|place| place.state == state);
        watch.awaited.clear();
        if let Some(same) = same {
            watch.awaited.extend_from_slice(&watch.looks[same.since..]);
            watch.awaited.sort_unstable();
            watch.awaited.dedup();
        }
        let wrote = same.is_some_and(|same| same.writes != watch.writes);
        let circles = same.is_some_and(|same| same.current);
        let (since, writes) = (watch.looks.len(), watch.writes);
        let place = Visit { key, state, since, current: true, writes };
        match known {
            Some(known) => *known = place,
            None => {
                if watch.places.len() == PLACES {
                    watch.places.remove(0);
                }
                watch.places.push(place);
            }
        }
        (watch.repeats, watch.circles) = (same.is_some(), same.is_some());
        match &mut self.trial {
            Some(trial) if trial.task == task => match (key == trial.key, circles) {
                (false, _) => {}
                (true, true) => (trial.turns, trial.steps) = (trial.turns + 1, 0),
                (true, false) => self.end_trial(),
            },
            _ if circles && !self.restless.contains(&key) => {
                watch.stalled = true;
                self.count += 1;
                self.counts |= wrote;
            }
            _ => {}
        }
    }

    /// Whether the task visited a site that it may visit again.
    #[must_use]
    pub fn has_known_sites(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| !watch.places.is_empty())
    }

    /// The task writes, outside a step, to memory that is not part of its state.
    pub fn record_write(&mut self, task: TaskId) {
        if let Some(watch) = self.tasks.get_mut(task.index()) {
            watch.writes = watch.writes.wrapping_add(1);
        }
    }

    /// Whether a task was held back in this execution that may count its turns: each turn leads to
    /// a new state then, and the results of more turns were not explored.
    #[must_use]
    pub fn may_count_turns(&self) -> bool {
        self.counts
    }

    /// The task executed a step with this effect.
    pub fn record_step(&mut self, task: TaskId, effect: Effect) {
        let mut circles = false;
        if let Some(own) = self.tasks.get_mut(task.index()) {
            circles = own.circles;
            let known = own.at.take();
            own.repeats = false;
            match effect {
                Effect::None => {}
                Effect::Looked(object) => own.needs_pending_now(object),
                Effect::Changed(_) => {
                    // What had an effect is tried for the first time where it comes again.
                    own.tried.retain(|&key| Some(key) != known);
                    self.record_progress(task);
                }
            }
        }
        for (number, watch) in self.tasks.iter_mut().enumerate() {
            if number == task.index() || watch.places.is_empty() {
                continue;
            }
            let disturbed = if watch.is_vague(self.blind) {
                if !circles {
                    for place in &mut watch.places {
                        place.current = watch.at == Some(place.key);
                    }
                }
                !circles
            } else if let Effect::Changed(objects) = effect {
                watch.see_changed(objects)
            } else {
                false
            };
            if disturbed {
                self.count -= usize::from(std::mem::take(&mut watch.stalled));
            }
        }
        if let Some(trial) = &mut self.trial {
            trial.steps += 1;
            if trial.steps > TURN {
                self.end_trial();
            }
        }
    }

    /// The task has changed something, or reads a value that differs each time.
    pub fn record_progress(&mut self, task: TaskId) {
        let Some(watch) = self.tasks.get_mut(task.index()) else { return };
        watch.places.clear();
        watch.looks.clear();
        watch.awaited.clear();
        watch.circles = false;
        if self.trial.is_some_and(|trial| trial.task == task) {
            self.end_trial();
        }
    }

    /// Decides what happens if only spinning tasks are left, or if the task of the trial reached an
    /// operation. [`Verdict::Deadlock`] leaves the decision to the caller: the task of the trial
    /// may be enabled.
    pub fn verdict(&mut self, came_to: impl FnOnce(TaskId) -> Operation) -> Verdict {
        if let Some(Trial { task, .. }) = self.trial {
            let looks = match came_to(task) {
                Operation::Read => true,
                operation => waits(operation) || may_fail(operation) && self.repeats(task),
            };
            if !looks {
                self.end_trial();
                return Verdict::Deadlock;
            }
        }
        let from = match self.trial {
            None => 0,
            Some(trial) if trial.turns < TURNS => return Verdict::Try(trial.task),
            Some(trial) => trial.task.index() + 1,
        };
        let next = (from..self.tasks.len()).find(|&number| self.tasks[number].stalled);
        let key = next.and_then(|number| self.tasks[number].at);
        match (next, key) {
            (Some(number), Some(key)) => {
                let task = TaskId(number as u16);
                self.trial = Some(Trial { task, key, turns: 0, steps: 0 });
                Verdict::Try(task)
            }
            _ if self.trial.is_some() => Verdict::Livelock,
            _ => Verdict::Deadlock,
        }
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

    /// The task of the trial makes progress: it was held back wrongly.
    fn end_trial(&mut self) {
        let Some(trial) = self.trial.take() else { return };
        self.restless.push(trial.key);
        let watch = &mut self.tasks[trial.task.index()];
        self.count -= usize::from(std::mem::take(&mut watch.stalled));
    }

    /// The tasks that spin.
    pub fn spinning(&self) -> impl Iterator<Item = TaskId> + '_ {
        let all = self.tasks.iter().enumerate().filter(|(_, watch)| watch.stalled);
        all.map(|(number, _)| TaskId(number as u16))
    }

    /// Whether a task was held back in this execution that would have made progress.
    #[must_use]
    pub fn blocked_wrongly(&self) -> bool {
        !self.restless.is_empty()
    }
}

#[cfg(test)]
mod tests;
