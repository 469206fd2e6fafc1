//! Dynamic partial order reduction: one execution for each class of executions that differ in the
//! order of independent operations alone.
//!
//! After Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction" (POPL 2014;
//! JACM 2017): source sets and wake-up trees. Where we depart:
//!
//! * Races are looked for at the end of an execution, and of its new operations only: those of the
//!   prefix were handled when they were new.
//! * What tasks that never moved again stood before takes part (a lock that is never released, a
//!   semaphore that stays at 0, everything that was pending when the process ended): without it the
//!   orders are lost in which they would have been first.
//! * A failed compare-and-swap is a read, but the last operation of a sequence to be tried, which in
//!   that order may succeed, counts as a write.
//! * A data choice (whom a signal wakes) makes each way a branch of its own below the same operation.
//! * Writers that keep readers out while they wait: every outcome was found on generated programs,
//!   but not every order, so that no search of a program that has them is called complete.
//! * A task that yields again and again while nobody else moves, and for which it is not known
//!   ([`crate::stall`]) that it only goes round, waits until somebody has moved; a search in which that
//!   left anything out is not called complete.
//!
//! The beginning of the path may belong to a [`crate::trunk`] that several searches share: what is to
//! be tried there is not tried here but handed over.

use crate::events::{Access, Clock, Event, Order, covers, join};
use crate::wakeup::{Node, Placed, Seen, insert, is_covered, leads_to};
use crate::{Coverage, Decision, Divergence, GiveUp, Next, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// How often a task may yield before somebody else has to move.
const YIELDS: u32 = 3;

/// With so many sequences to hand over it is time to do so.
const HANDFUL: usize = 2_000;

/// A place on the path: what was done there, and what is to be tried besides.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) event: Event,
    /// Everything before the event, without what its own accesses order.
    #[serde(skip)]
    pub(crate) before: Clock,
    /// Everything up to the event.
    #[serde(skip)]
    pub(crate) clock: Clock,
    /// Who could move here.
    pub(crate) enabled: Vec<TaskId>,
    /// Who could, too, but has yielded so often that it waits.
    pub(crate) patient: Option<TaskId>,
    /// What was tried here, or earlier and is independent of everything since.
    pub(crate) sleep: Vec<Event>,
    /// What another search has begun and not finished, and is independent of everything since: not
    /// to be done here, but what is left out for its sake is not known to be found there.
    pub(crate) elsewhere: Vec<Event>,
    /// What is still to be tried here.
    #[serde(with = "crate::wakeup::flat")]
    pub(crate) tree: Vec<Node>,
    /// What the branch that is being tried is to begin with.
    #[serde(with = "crate::wakeup::flat")]
    pub(crate) below: Vec<Node>,
    /// The data choices of the step: what was taken, out of how many.
    pub(crate) data: Vec<(u32, u32)>,
    pub(crate) digest: u32,
}

impl Frame {
    /// A place where this is to be done.
    pub(crate) fn new(event: Event, enabled: Vec<TaskId>, digest: u32) -> Frame {
        Frame {
            event,
            before: Clock::new(),
            clock: Clock::new(),
            enabled,
            patient: None,
            sleep: Vec::new(),
            elsewhere: Vec::new(),
            tree: Vec::new(),
            below: Vec::new(),
            data: Vec::new(),
            digest,
        }
    }
}

/// What is to be tried from a place that is the trunk's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Handed {
    /// How deep the place lies.
    pub(crate) at: usize,
    pub(crate) sequence: Vec<Placed>,
}

/// The search. See the module's text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Dpor {
    pub(crate) path: Vec<Frame>,
    /// Which of the trunk's places the first ones of the path are.
    pub(crate) trunk: Vec<usize>,
    /// How many data choices of the last of those the trunk knows.
    pub(crate) known: usize,
    /// What is to be tried from those.
    pub(crate) handed: Vec<Handed>,
    /// How far the execution that runs has come.
    depth: usize,
    /// So many steps of it are those of the execution before it, and [`Order`] has them.
    #[serde(skip)]
    known_steps: usize,
    /// From here on the path is new in this execution.
    fresh: usize,
    /// How many data choices the last step has made.
    asked: usize,
    #[serde(skip)]
    order: Order,
    /// What tasks stood before when the execution ended.
    #[serde(skip)]
    left: Vec<Next>,
    /// Yields of the running task since another moved.
    yields: (Option<TaskId>, u32),
    redundant: bool,
    started: bool,
    exhausted: bool,
    holes: bool,
    /// Whether a step of the execution that runs had other ways to go than when it ran before.
    #[serde(skip)]
    differs: bool,
}

impl Dpor {
    /// A search from the start.
    #[must_use]
    pub fn new() -> Dpor {
        Dpor::default()
    }

    /// A search of what follows on a path, all of which is the trunk's; the last of it is new.
    pub(crate) fn from(path: Vec<Frame>, trunk: Vec<usize>) -> Dpor {
        let known = path.last().map_or(0, |last| last.data.len());
        Dpor { fresh: path.len() - 1, path, trunk, known, ..Dpor::default() }
    }

    /// What its first own operation turned out to be, once it was run.
    pub(crate) fn first_event(&self) -> Option<Event> {
        let last = self.trunk.len().checked_sub(1)?;
        self.path.get(last).filter(|_| self.started).map(|frame| frame.event)
    }

    /// Whether an execution was cut or given up, so that not everything was seen.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.holes
    }

    /// The first place that is not the trunk's and has something left to be tried.
    pub(crate) fn first_open(&self) -> Option<usize> {
        let open = |frame: &Frame| {
            !frame.tree.is_empty() || frame.data.iter().any(|&(taken, of)| taken + 1 < of)
        };
        let own = self.path.iter().enumerate().skip(self.trunk.len());
        let at = own.filter(|(_, frame)| open(frame)).map(|(at, _)| at).next()?;
        (self.started && !self.exhausted).then_some(at)
    }

    /// Goes to the next branch; false if there is none.
    fn advance(&mut self) -> bool {
        while self.path.len() > self.trunk.len()
            && let Some(frame) = self.path.last_mut()
        {
            while let Some((taken, of)) = frame.data.last_mut() {
                *taken += 1;
                if *taken < *of {
                    self.fresh = self.path.len() - 1;
                    return true;
                }
                frame.data.pop();
            }
            frame.sleep.push(frame.event);
            if !frame.tree.is_empty() {
                let node = frame.tree.remove(0);
                frame.event = node.event;
                frame.below = node.then;
                self.fresh = self.path.len() - 1;
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn diverged(view: &View<'_>, what: String) -> Decision {
        Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
    }

    /// A new place: what it inherits, and what is done there first.
    fn descend(&mut self, view: &View<'_>) -> bool {
        let mut enabled = view.enabled.to_vec();
        let mut patient = None;
        if let (Some(task), YIELDS..) = self.yields
            && enabled.len() > 1
        {
            enabled.retain(|&other| other != task);
            patient = view.enabled.contains(&task).then_some(task);
        }
        let (sleep, elsewhere, mut tree) = match self.path.last_mut() {
            Some(above) => {
                let done = above.event;
                let left = |events: &[Event]| -> Vec<Event> {
                    events.iter().filter(|asleep| !asleep.depends(&done)).copied().collect()
                };
                let below = std::mem::take(&mut above.below);
                (left(&above.sleep), left(&above.elsewhere), below)
            }
            None => (Vec::new(), Vec::new(), Vec::new()),
        };
        // One that is kept back only since it yielded so often might have got on.
        self.holes |= tree.iter().any(|node| Some(node.event.task) == patient);
        tree.retain(|node| enabled.contains(&node.event.task));
        let (task, below) = if tree.is_empty() {
            let awake = |task: &TaskId| {
                let mut asleep = sleep.iter().chain(&elsewhere);
                enabled.contains(task) && !asleep.any(|asleep| asleep.task == *task)
            };
            match view.by_default_order().find(awake) {
                Some(task) => (task, Vec::new()),
                None => return false,
            }
        } else {
            let node = tree.remove(0);
            (node.event.task, node.then)
        };
        let event = self.event(view, task);
        let frame = Frame::new(event, enabled, view.digest);
        self.path.push(Frame { sleep, elsewhere, tree, below, patient, ..frame });
        true
    }

    /// What the task is about to do.
    fn event(&self, view: &View<'_>, task: TaskId) -> Event {
        let next = match view.tasks.binary_search_by_key(&task, |next| next.task) {
            Ok(at) => view.tasks[at],
            Err(_) => Next::new(task, Operation::Yield, 0, 0),
        };
        Event::new(&next, self.order.count(task))
    }

    /// The operations on the path before `upto` that race with `event`: that could have come after
    /// it, with nothing in between that has to stay in between.
    fn races(&self, event: &Event, before: &[u32], upto: usize) -> Vec<usize> {
        let path = &self.path[..upto];
        let mut found = Vec::new();
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
            let mut borrowed = false;
            for (at, frame) in path.iter().enumerate().rev() {
                let Some(theirs) = frame.event.access(object) else { continue };
                let (races, stop) = match (access, theirs) {
                    _ if access.commutes(theirs) => (false, false),
                    // What another reads already it has before and after.
                    (Access::Lock, Access::Share | Access::Write)
                        if self.has_shared(at, object) =>
                    {
                        (false, false)
                    }
                    (Access::Write, Access::Read | Access::Share | Access::Unshare) => {
                        (true, false)
                    }
                    // A lock could not have come before the unlock that let it in, nor while others
                    // found the mutex held; the same for a semaphore that was found at 0.
                    (Access::Lock, Access::Unlock | Access::Unshare | Access::Read)
                    | (Access::Share, Access::Unlock)
                    | (Access::Take, Access::Read) => (false, false),
                    (Access::Unlock, Access::Lock | Access::Unlock | Access::Share) => {
                        (false, true)
                    }
                    (Access::Unshare, Access::Lock | Access::Unlock) => (false, true),
                    // Who tried in vain since a writer had it shows that no reader could come.
                    (Access::Share, Access::Read) if self.has_writer(at, object) => (false, false),
                    // Readers do not stand in each other's way.
                    (Access::Lock | Access::Read, Access::Share) => (true, false),
                    (Access::Share | Access::Unshare, Access::Read)
                    | (Access::Read, Access::Unshare)
                    | (Access::Unlock | Access::Post(_), Access::Read) => (true, false),
                    // One that was posted to nothing let this one in; behind it may be another
                    // that took.
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
            let earlier = &self.path[at].event;
            earlier.task != event.task && !covers(before, earlier) && !earlier.lets(event)
        });
        found.retain(|&at| !self.is_within(at, event, upto));
        let all = found.clone();
        found.retain(|&at| {
            let earlier = &self.path[at].event;
            !all.iter().any(|&later| later > at && covers(&self.path[later].clock, earlier))
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether the operation on the path came while somebody held what `event` locks, and had come when
    /// that was given back: then `event` could have come before the lock was taken, and not right before
    /// the operation. (A wait that may come back by itself touches the condition, which is signalled with
    /// the mutex held, and takes the mutex.)
    fn is_within(&self, at: usize, event: &Event, upto: usize) -> bool {
        let locked = event.accesses().iter().filter(|(_, access)| *access == Access::Lock);
        locked.map(|&(object, _)| object).any(|object| {
            let path = &self.path[..upto];
            let unlocks = |f: &Frame| f.event.access(object) == Some(Access::Unlock);
            let Some(unlock) = path.iter().rposition(unlocks) else { return false };
            // However it was taken: a lock that is only tried counts, too.
            let holder = path[unlock].event.task;
            let takes = |f: &Frame| {
                f.event.task == holder && f.event.access(object).is_some_and(|a| a != Access::Read)
            };
            let Some(lock) = path[..unlock].iter().rposition(takes) else { return false };
            (lock + 1..unlock).contains(&at)
                && covers(&self.path[unlock].clock, &self.path[at].event)
        })
    }

    /// Whether the task of the operation at `upto` had the object before, as one of several may.
    fn has_shared(&self, upto: usize, object: u64) -> bool {
        let task = self.path[upto].event.task;
        let own = self.path[..upto].iter().filter(|frame| frame.event.task == task);
        let had = own.fold(0i32, |had, frame| match frame.event.access(object) {
            Some(Access::Share) => had + 1,
            Some(Access::Unshare) => had - 1,
            Some(Access::Write) if frame.event.operation.shares() => had + 1,
            _ => had,
        });
        had > 0
    }

    /// Whether somebody had the object alone before the operation at `upto`.
    fn has_writer(&self, upto: usize, object: u64) -> bool {
        self.path[..upto].iter().fold(false, |had, frame| {
            let operation = frame.event.operation;
            match frame.event.access(object) {
                Some(Access::Lock) => true,
                Some(Access::Write) if operation.takes() && !operation.shares() => true,
                Some(Access::Unlock) => false,
                _ => had,
            }
        })
    }

    /// Has the other order of a race tried: everything after the first that does not depend on it,
    /// then the second.
    fn reverse(&mut self, first: usize, event: &Event, before: &[u32], own: Option<usize>) {
        let (upto, rest) = self.path.split_at_mut(first + 1);
        let frame = &mut upto[first];
        let mut sequence: Vec<Seen<'_>> = Vec::with_capacity(rest.len() + 1);
        for (at, later) in rest.iter().enumerate() {
            let ours = later.event.task == event.task && later.event.index >= event.index;
            if own == Some(first + 1 + at) || ours || covers(&later.clock, &frame.event) {
                continue;
            }
            sequence.push(Seen { event: &later.event, clock: &later.clock });
        }
        let mut clock = before.to_vec();
        for seen in sequence.iter().filter(|seen| seen.event.depends(event)) {
            join(&mut clock, seen.clock);
        }
        if clock.len() <= event.task.index() {
            clock.resize(event.task.index() + 1, 0);
        }
        clock[event.task.index()] = event.index + 1;
        let last = event.as_write();
        sequence.push(Seen { event: &last, clock: &clock });
        // The end of an execution races with all that came before, and may have to wait for it; and a
        // task that goes round may have been kept back until then. Where several steps would have to
        // come first, somebody keeps tasks from being preempted here.
        let begins = sequence[0].event.task;
        if frame.patient != Some(begins) && !frame.enabled.contains(&begins) {
            self.holes |= sequence.len() > 1;
            return;
        }
        if is_covered(&frame.sleep, &frame.elsewhere, &sequence) {
            return;
        }
        if first >= self.trunk.len() {
            insert(&mut frame.tree, sequence);
            return;
        }
        // What stands in a tree of the trunk's will be begun by somebody, or was. What is only on its
        // way there says nothing: the trunk may find it covered, and what follows from it not.
        let same = |handed: &Handed| {
            let theirs = handed.sequence.iter().map(|placed| &placed.event);
            handed.at == first
                && handed.sequence.len() == sequence.len()
                && theirs.eq(sequence.iter().map(|seen| seen.event))
        };
        if !self.handed.iter().any(same) && !leads_to(&frame.tree, sequence.clone()) {
            let sequence = sequence.iter().map(Seen::placed).collect();
            self.handed.push(Handed { at: first, sequence });
        }
    }

    /// The races of what was new in the execution.
    fn harvest(&mut self, failed: bool) {
        let len = self.path.len();
        let stuck = !self.left.iter().any(|next| next.enabled);
        // A failure that is no deadlock ended the process: like an exit.
        if failed && !stuck && self.fresh < len {
            self.path[len - 1].event.exits = true;
        }
        for at in self.fresh..len {
            let event = self.path[at].event;
            let before = std::mem::take(&mut self.path[at].before);
            for first in self.races(&event, &before, at) {
                self.reverse(first, &event, &before, Some(at));
            }
            self.path[at].before = before;
        }
        let ended = self
            .path
            .last()
            .filter(|frame| frame.event.exits)
            .map(|frame| (frame.event.task, frame.enabled.clone()));
        for next in std::mem::take(&mut self.left) {
            let event = Event::new(&next, self.order.count(next.task));
            let before = self.order.before(&event);
            if let Some((last, enabled)) = &ended {
                // What the last one stands before has been done, unless it waits.
                if next.task == *last && next.enabled {
                    continue;
                }
                // Whatever was still to come could have come before the end. (What could not was
                // blocked, as after any execution.)
                if next.task != *last && enabled.contains(&next.task) {
                    self.reverse(len - 1, &event, &before, None);
                    continue;
                }
            }
            let hopeless = match next.operation {
                Operation::Join => true,
                Operation::Wake | Operation::FutexWoken | Operation::BarrierPass => !next.woken,
                _ => false,
            };
            if next.enabled || hopeless {
                continue;
            }
            // It could have come where what it waits for was there, and nowhere else.
            let event = event.only_what_blocks();
            for first in self.races(&event, &before, len) {
                self.reverse(first, &event, &before, None);
            }
        }
    }

    /// How many branches are known that were not tried.
    #[must_use]
    pub fn open(&self) -> u64 {
        let ways = |frame: &Frame| -> u64 {
            frame.data.iter().map(|&(taken, of)| u64::from(of - taken - 1)).sum()
        };
        let own = self.path.iter().skip(self.trunk.len());
        own.map(|frame| frame.tree.len() as u64 + ways(frame)).sum()
    }
}

impl Strategy for Dpor {
    fn begin(&mut self, _: u64) -> bool {
        if self.exhausted {
            return false;
        }
        if self.started && !self.advance() {
            self.exhausted = true;
            return false;
        }
        self.started = true;
        self.again();
        true
    }

    fn again(&mut self) {
        self.depth = 0;
        self.asked = 0;
        self.yields = (None, 0);
        self.redundant = false;
        self.known_steps = self.order.rewind(self.fresh);
        self.left.clear();
        self.differs = false;
    }

    fn expected(&self) -> Option<u32> {
        self.path.get(self.depth).map(|place| place.digest)
    }

    fn fell_short(&self) -> bool {
        self.depth < self.path.len() || self.differs
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let known = self.depth < self.known_steps;
        if !known {
            self.order.mark();
            self.order.see(view.tasks, view.running);
        }
        if view.running != self.yields.0 {
            self.yields = (view.running, 0);
        }
        if view.yielded {
            self.yields.1 += 1;
        }
        if self.depth == self.path.len() {
            if !self.descend(view) {
                self.redundant = true;
                return Decision::GiveUp(GiveUp::Redundant);
            }
        } else if self.differs {
            return Self::diverged(view, "the step before had other ways to go than now".into());
        } else if self.path[self.depth].digest != view.digest {
            return Self::diverged(view, "other tasks could move here before than now".into());
        }
        let task = self.path[self.depth].event.task;
        if view.enabled.binary_search(&task).is_err() {
            return Self::diverged(view, format!("{task} could move here before, and now cannot"));
        }
        if !known {
            let event = self.event(view, task);
            self.holes |= view.next(task).is_some_and(Next::hides_something);
            self.holes |= view.joins_nobody(&event);
            let frame = &mut self.path[self.depth];
            frame.event = event;
            frame.before = self.order.before(&event);
            frame.clock.clone_from(self.order.step(&event));
        }
        self.depth += 1;
        self.asked = 0;
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let Some(frame) = self.depth.checked_sub(1).and_then(|at| self.path.get_mut(at)) else {
            self.holes = true;
            return 0;
        };
        if self.asked == frame.data.len() {
            frame.data.push((0, of));
        }
        let (taken, before) = frame.data[self.asked];
        self.differs |= before != of;
        self.asked += 1;
        let taken = taken.min(of - 1);
        if self.depth > self.known_steps {
            self.order.note(u64::from(taken));
        }
        taken
    }

    fn detailed(&self) -> bool {
        true
    }

    #[inline]
    fn looks(&self) -> bool {
        self.depth >= self.known_steps
    }

    fn left(&mut self, tasks: &[Next]) {
        let last = self.depth.checked_sub(1).map(|at| self.path[at].event.task);
        self.order.see(tasks, last);
        self.left.clear();
        self.left.extend_from_slice(tasks);
        self.holes |= tasks.iter().any(|next| next.vague);
    }

    fn end(&mut self, outcome: Outcome) {
        if self.depth < self.path.len() {
            self.holes = true;
            self.path.truncate(self.depth);
        }
        // A process that is gone cannot say what else was to come.
        self.holes |= outcome == Outcome::Failed && self.left.is_empty();
        match outcome {
            Outcome::Passed | Outcome::Failed => self.harvest(outcome == Outcome::Failed),
            Outcome::Cut => {
                self.holes = true;
                self.harvest(false);
            }
            // Somebody else runs what follows, and yet what came so far may show something.
            Outcome::GivenUp if self.redundant => self.harvest(false),
            Outcome::GivenUp => self.holes = true,
        }
        self.holes |= self.differs;
        self.left.clear();
    }

    fn class(&self) -> Option<u64> {
        (!self.redundant).then(|| self.order.hash())
    }

    fn is_full(&self) -> bool {
        self.handed.len() >= HANDFUL
    }

    fn doubt(&mut self) {
        self.holes = true;
    }

    fn part(&self) -> &'static str {
        "dpor"
    }

    fn coverage(&self) -> Coverage {
        if self.exhausted && !self.holes {
            Coverage::Complete { bound: None }
        } else {
            Coverage::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Program, programs, runs};
    use std::collections::BTreeSet;

    /// How many executions a complete search takes; each of them a class of its own.
    fn executions(program: &Program) -> usize {
        let mut dpor = Dpor::new();
        let mut count = 0;
        for run in runs(program, &mut dpor) {
            assert!(run.ending.is_ok(), "an execution that turned out to be redundant: {run:?}");
            count += 1;
        }
        assert_eq!(dpor.coverage(), Coverage::Complete { bound: None });
        count
    }

    #[test]
    fn one_execution_for_each_trace() {
        let cases = [
            (programs::readers(8), 256),
            (programs::lastzero(5), 64),
            (programs::lastzero(10), 3_328),
            (programs::indexer(11), 1),
            (programs::indexer(12), 8),
            (programs::indexer(13), 64),
            (programs::indexer(14), 512),
            (programs::filesystem(13), 1),
            (programs::filesystem(14), 2),
            (programs::filesystem(16), 8),
            (programs::filesystem(18), 32),
            (programs::filesystem(19), 64),
            (programs::disjoint(6), 1),
            (programs::locked(3, 1), 6),
            (programs::locked(5, 1), 120),
            (programs::locked(6, 1), 720),
            (programs::locked(2, 2), 6),
            (programs::locked(2, 5), 252),
            (programs::locked(3, 2), 90),
            // Two that end, and the deadlock.
            (programs::opposite(), 3),
        ];
        for (number, (program, expected)) in cases.iter().enumerate() {
            assert_eq!(executions(program), *expected, "case {number}");
        }
    }

    #[test]
    fn every_ending_of_every_schedule_is_among_them() {
        let cases = [
            programs::account(),
            programs::opposite(),
            programs::reorder(2),
            programs::lost_update(2),
            programs::pipe_release(true),
            programs::short(&["w a", "w a", "r a"]),
            programs::short(&["l m; r a", "", "w a"]),
            programs::short(&["w a; l m; r a", "l m; w a; u m; w a"]),
        ];
        for (number, program) in cases.iter().enumerate() {
            let all: BTreeSet<_> = runs(program, &mut crate::dfs::Dfs::new(Some(3)))
                .map(|run| (run.ending.expect("not given up"), run.variables))
                .collect();
            let found: BTreeSet<_> = runs(program, &mut Dpor::new())
                .filter_map(|run| Some((run.ending.ok()?, run.variables)))
                .collect();
            let missing: Vec<_> = all.difference(&found).collect();
            assert!(missing.is_empty(), "case {number}: {missing:?}");
        }
    }
}
