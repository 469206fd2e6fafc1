//! Tasks that wait by going round in a loop: what they repeat changes nothing, and need not be run.
//!
//! Musuvathi and Qadeer, "Fair Stateless Model Checking" (2008), keep a task that yields back until
//! others have moved, which ends searches of programs that spin. Where we depart: a yield alone says
//! nothing. A task that yields and gets on, as one that works in portions, must be able to do so while
//! nobody else moves, or schedules are lost. So a task *stalls* only when it comes to a place where it
//! yields, or tries what failed there before, in the very state (registers and stack) in which it was
//! there before; when all that it did in between was to look; and when nothing that it looked at has
//! been changed since. Then it would go round once more and be back: it cannot move until somebody
//! changes what it looks at. That is a condition on the state as any lock's, so that every strategy can
//! treat it as one.
//!
//! Where nobody can move but for tasks that stall, nothing will ever change: a livelock. Before that is
//! said each of them goes round a number of times, one after the other, since a loop may count its turns
//! where nobody sees it. No strategy is asked meanwhile, and no step is counted. One that leaves its
//! loop so is not kept back at that place again, and the execution is one in which not everything was
//! seen ([`Stalls::was_wrong`]). Nor was it where a task that is kept back wrote to such memory in its turn, whether
//! or not that ends its loop ([`Stalls::counts`]).

use crate::events::mix;
use traces::{Operation, TaskId};

/// How many places of a loop are remembered: where it waits, and where it tries what may fail.
const PLACES: usize = 32;
const TRIED: usize = 8;
/// Of a loop that looks at more objects than these no more can be told.
pub const OBJECTS: usize = 3;
/// How many looks are remembered. A turn of more is not known as one.
const LOOKS: usize = 256;
/// How many turns each task gets before a livelock is believed, and the most steps of a turn.
const TURNS: u32 = 100;
const TURN: u32 = 200;

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changed, and nothing was looked at.
    None,
    /// The object was looked at, and is as it was.
    Looked(u64),
    /// These objects may have changed; 0 stands for none.
    Changed([u64; 2]),
}

/// A place where a task was.
#[derive(Debug, Clone, Copy)]
struct Place {
    key: u64,
    state: u64,
    /// How many looks came before the task was there last.
    since: usize,
    /// Whether nothing has changed that the task looked at since.
    current: bool,
    /// How often the task had written, out of sight, when it was there last.
    writes: u32,
}

/// What is known of one task.
#[derive(Debug, Clone, Default)]
struct Watch {
    /// Where it was since it last changed anything.
    places: Vec<Place>,
    /// What it looked at since then, one after the other.
    looks: Vec<u64>,
    /// What it looked at since it was last at the place before which it stands.
    awaited: Vec<u64>,
    /// How often it wrote to memory that is no part of its state, and that nobody else looks at.
    writes: u32,
    /// The place before which it stands, if that is one where it may stall.
    at: Option<u64>,
    /// Whether it was there before, in the same state.
    repeats: bool,
    /// Whether that was so when it last was at such a place.
    circles: bool,
    stalled: bool,
    /// Where it did what may have no effect, the last few places.
    tried: Vec<u64>,
}

/// Who goes round before a livelock is believed, from where, and how often.
#[derive(Debug, Clone, Copy)]
struct Trial {
    task: TaskId,
    key: u64,
    turns: u32,
    steps: u32,
}

/// Who stalls in the execution that runs.
#[derive(Debug, Clone, Default)]
pub struct Stalls {
    tasks: Vec<Watch>,
    count: usize,
    /// Whether any task was ever at a place where it might stall.
    awake: bool,
    /// Whether steps may change more than can be seen: then a loop waits for anybody to do anything.
    blind: bool,
    trial: Option<Trial>,
    /// Places where a task was kept back that would have gone on.
    restless: Vec<u64>,
    /// Whether one was kept back that may count its turns.
    counts: bool,
}

/// What is to be done where nobody can move but for those that stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody stalls.
    Deadlock,
    /// This one task is to move.
    Try(TaskId),
    /// They would go round for ever.
    Livelock,
}

/// Whether a task that comes to do this invites others to go first.
fn waits(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Yield | O::Sleep | O::Await)
}

/// Whether what is done may have no effect, depending on the object.
fn may_fail(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::TryLock | O::SemTryWait | O::TryReadLock | O::TryWriteLock | O::SpinTryLock | O::Update
    )
}

impl Watch {
    /// Whether it waits for what cannot be told.
    fn is_vague(&self, blind: bool) -> bool {
        blind || self.looks.is_empty()
    }

    /// The task looks at an object.
    fn looks(&mut self, object: u64) {
        if self.looks.len() == LOOKS {
            let gone = LOOKS / 2;
            self.looks.drain(..gone);
            self.places.retain(|place| place.since >= gone);
            self.places.iter_mut().for_each(|place| place.since -= gone);
        }
        self.looks.push(object);
    }

    /// Somebody else has changed these objects: whether the task waited for that.
    fn see_changed(&mut self, objects: [u64; 2]) -> bool {
        let changed = |looks: &[u64]| looks.iter().any(|look| *look != 0 && objects.contains(look));
        for place in &mut self.places {
            place.current &= !changed(&self.looks[place.since..]);
        }
        self.stalled && changed(&self.awaited)
    }
}

impl Stalls {
    /// An execution begins; `blind` where accesses to memory are not seen.
    pub fn begin(&mut self, blind: bool) {
        if self.awake {
            self.tasks.clear();
            self.restless.clear();
        }
        self.counts = false;
        (self.count, self.awake, self.blind, self.trial) = (0, false, blind, None);
    }

    /// Whether steps have to be told of: not before a task came to a place where it might stall.
    #[must_use]
    #[inline]
    pub fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether a task that comes to do this may stall there, so that [`Stalls::comes`] has to be told.
    #[must_use]
    #[inline]
    pub fn matters(operation: Operation) -> bool {
        waits(operation) || may_fail(operation)
    }

    /// The task may not move.
    #[must_use]
    #[inline]
    pub fn is_stalled(&self, task: TaskId) -> bool {
        self.count > 0 && self.tasks.get(task.index()).is_some_and(|watch| watch.stalled)
    }

    /// Whether the task stands where it was before: then what it is about to do can be looked at
    /// beforehand.
    #[must_use]
    pub fn is_known(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| watch.at.is_some())
    }

    /// What a task goes round to see changed, if it was where it stands before: the objects, and
    /// whether that is all.
    #[must_use]
    pub fn awaits(&self, task: TaskId) -> ([u64; OBJECTS], bool) {
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

    /// A task comes to an operation at a place in the code, in a state that is asked for if it matters.
    pub fn comes(
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
        let place = Place { key, state, since, current: true, writes };
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

    /// Whether the task was at a place where it may come again.
    #[must_use]
    pub fn is_watched(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|watch| !watch.places.is_empty())
    }

    /// The task writes to memory that is no part of its state, and it is no step.
    pub fn writes(&mut self, task: TaskId) {
        if let Some(watch) = self.tasks.get_mut(task.index()) {
            watch.writes = watch.writes.wrapping_add(1);
        }
    }

    /// Whether a task was kept back in this execution that may count how often it goes round: each turn comes to
    /// another state then, and what more of them come to is not tried.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// The task took a step, with this effect.
    pub fn did(&mut self, task: TaskId, effect: Effect) {
        let mut circles = false;
        if let Some(own) = self.tasks.get_mut(task.index()) {
            circles = own.circles;
            let known = own.at.take();
            own.repeats = false;
            match effect {
                Effect::None => {}
                Effect::Looked(object) => own.looks(object),
                Effect::Changed(_) => {
                    // What had an effect is tried for the first time where it comes again.
                    own.tried.retain(|&key| Some(key) != known);
                    self.gets_on(task);
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

    /// The task has changed something, or seen what is another thing each time.
    pub fn gets_on(&mut self, task: TaskId) {
        let Some(watch) = self.tasks.get_mut(task.index()) else { return };
        watch.places.clear();
        watch.looks.clear();
        watch.awaited.clear();
        watch.circles = false;
        if self.trial.is_some_and(|trial| trial.task == task) {
            self.end_trial();
        }
    }

    /// Nobody can move but for those that stall, or one of these is being tried and has come to an
    /// operation: what now. [`Verdict::Deadlock`] is for the caller to judge: the one that was tried may
    /// be able to move.
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

    /// Whether one that stalls is tried, and so nobody else may move.
    #[must_use]
    #[inline]
    pub fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// The task that is tried gets on: it should not have been kept back.
    fn end_trial(&mut self) {
        let Some(trial) = self.trial.take() else { return };
        self.restless.push(trial.key);
        let watch = &mut self.tasks[trial.task.index()];
        self.count -= usize::from(std::mem::take(&mut watch.stalled));
    }

    /// Who stalls.
    pub fn stalled(&self) -> impl Iterator<Item = TaskId> + '_ {
        let all = self.tasks.iter().enumerate().filter(|(_, watch)| watch.stalled);
        all.map(|(number, _)| TaskId(number as u16))
    }

    /// Whether a task was kept back in this execution that would have got on.
    #[must_use]
    pub fn was_wrong(&self) -> bool {
        !self.restless.is_empty()
    }
}

#[cfg(test)]
mod tests;
