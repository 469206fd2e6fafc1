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
//! * A task that yields again and again at one place while nobody else moves, and for which it is not known
//!   ([`crate::stall`]) that it only goes round, waits until somebody has moved; a search in which that
//!   left anything out is not called complete.
//!
//! The beginning of the path may belong to a [`crate::trunk`] that several searches share: what is to
//! be tried there is not tried here but handed over.

mod handed;
mod races;
mod written;

use crate::astray::Renewals;
use crate::data::{self, Data};
use crate::events::{Clock, Event, Order, covers, join};
use crate::patience::Times;
use crate::wakeup::{Node, Seen, insert, is_covered, leads_to};
use crate::{Coverage, Decision, Divergence, GiveUp, Next, Outcome, Strategy, View};
use handed::Handed;
use races::races;
use serde::Deserialize;
use traces::{Operation, TaskId};

/// How often a task may yield at one place before somebody else has to move.
const YIELDS: u32 = 3;
/// And how often where it was found that it might get on by itself: a loop that counts its turns is in another state
/// after each, and would be followed for ever.
const MOST_YIELDS: u32 = 100;

/// With so many sequences to hand over it is time to do so.
const HANDFUL: usize = 2_000;

/// A place on the path: what was done there, and what is to be tried besides.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) event: Event,
    /// Everything before the event, without what its own accesses order.
    pub(crate) before: Clock,
    /// Everything up to the event.
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
    pub(crate) tree: Vec<Node>,
    /// What the branch that is being tried is to begin with.
    pub(crate) below: Vec<Node>,
    /// The data choices of the step: what was taken, out of how many.
    pub(crate) data: Data,
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

    /// One that has no place yet.
    fn unused() -> Frame {
        let nothing = Next::new(TaskId::MAIN, Operation::Yield, 0, 0);
        Frame::new(Event::new(&nothing, 0), Vec::new(), 0)
    }

    /// As good as new, with the room that it has.
    fn clear(&mut self) {
        self.enabled.clear();
        self.patient = None;
        self.sleep.clear();
        self.elsewhere.clear();
        self.tree.clear();
        self.below.clear();
        self.data.clear();
    }
}

/// The search. See the module's text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "written::Written<Handed>")]
pub struct Dpor {
    pub(crate) path: Vec<Frame>,
    /// Which of the trunk's places the first ones of the path are.
    pub(crate) trunk: Vec<usize>,
    /// How many data choices of the last of those the trunk knows.
    pub(crate) known: usize,
    /// What is to be tried from those.
    pub(crate) handed: Handed,
    /// How far the execution that runs has come.
    depth: usize,
    /// From here on the path is new in this execution.
    fresh: usize,
    /// How many data choices the last step has made.
    asked: usize,
    order: Order,
    /// Places that were left: the next one takes over the room that they have.
    spare: Vec<Frame>,
    /// By place: what follows on it and does not depend on what is done there.
    beside: Vec<(usize, Vec<usize>)>,
    /// What tasks stood before when the execution ended.
    left: Vec<Next>,
    /// Yields of the running task since another moved: where, and how often.
    yields: (Option<TaskId>, Times),
    redundant: bool,
    started: bool,
    exhausted: bool,
    holes: bool,
    /// The data choice of the last step that had another number of ways to go than when it was made before,
    /// if there is one.
    differs: Option<usize>,
    renewals: Renewals,
    /// Here the program does something else than before: what sleeps above was not tried with that.
    renewed: Option<usize>,
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

    /// Whether the program left the path where it is the trunk's.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.path.len() < self.trunk.len()
    }

    /// Whether an execution was cut or given up, so that not everything was seen.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.holes
    }

    /// The first place that is not the trunk's and has something left to be tried.
    pub(crate) fn first_open(&self) -> Option<usize> {
        let open = |frame: &Frame| !frame.tree.is_empty() || data::untried(&frame.data) > 0;
        let own = self.path.iter().enumerate().skip(self.trunk.len());
        let at = own.filter(|(_, frame)| open(frame)).map(|(at, _)| at).next()?;
        (self.started && !self.exhausted).then_some(at)
    }

    /// Goes to the next branch; false if there is none.
    fn advance(&mut self) -> bool {
        while self.path.len() > self.trunk.len()
            && let Some(frame) = self.path.last_mut()
        {
            if data::advance(&mut frame.data) {
                self.fresh = self.path.len() - 1;
                return true;
            }
            frame.sleep.push(frame.event);
            if !frame.tree.is_empty() {
                let node = frame.tree.remove(0);
                frame.event = node.event;
                frame.below = node.then;
                self.fresh = self.path.len() - 1;
                return true;
            }
            self.spare.extend(self.path.pop());
        }
        false
    }

    fn diverged(view: &View<'_>, what: String) -> Decision {
        Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
    }

    /// A new place: what it inherits, and what is done there first.
    fn descend(&mut self, view: &View<'_>) -> bool {
        let mut frame = self.spare.pop().unwrap_or_else(Frame::unused);
        frame.clear();
        frame.digest = view.digest;
        frame.enabled.extend_from_slice(view.enabled);
        let yields = self.yields.1.most();
        if let Some(task) = self.yields.0.filter(|task| frame.enabled.contains(task))
            && yields >= YIELDS
            && view.enabled.len() > 1
        {
            frame.enabled.retain(|&other| other != task);
            if yields < MOST_YIELDS {
                frame.patient = Some(task);
            } else {
                self.holes = true;
            }
        }
        let renewed = self.renewed == Some(self.path.len());
        if let Some(above) = self.path.last_mut() {
            let done = above.event;
            let independent = |asleep: &&Event| !renewed && !asleep.depends(&done);
            frame.sleep.extend(above.sleep.iter().filter(independent));
            frame.elsewhere.extend(above.elsewhere.iter().filter(independent));
            std::mem::swap(&mut frame.tree, &mut above.below);
        }
        // One that is kept back only since it yielded so often might have got on.
        self.holes |= frame.tree.iter().any(|node| Some(node.event.task) == frame.patient);
        let Frame { enabled, tree, sleep, elsewhere, below, .. } = &mut frame;
        tree.retain(|node| enabled.contains(&node.event.task));
        let task = if tree.is_empty() {
            let awake = |task: &TaskId| {
                let mut asleep = sleep.iter().chain(elsewhere.iter());
                enabled.contains(task) && !asleep.any(|asleep| asleep.task == *task)
            };
            view.by_default_order().find(awake)
        } else {
            let node = tree.remove(0);
            *below = node.then;
            Some(node.event.task)
        };
        let Some(task) = task else {
            self.spare.push(frame);
            return false;
        };
        frame.event = self.event(view, task);
        self.path.push(frame);
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

    /// Has the other order of a race tried: everything after the first that does not depend on it,
    /// then the second.
    fn reverse(&mut self, first: usize, event: &Event, before: &[u32]) {
        let (upto, rest) = self.path.split_at_mut(first + 1);
        let frame = &mut upto[first];
        let beside = match self.beside.iter().position(|&(at, _)| at == first) {
            Some(known) => &self.beside[known].1,
            None => {
                let places = rest.iter().enumerate();
                let places = places.filter(|(_, later)| !covers(&later.clock, &frame.event));
                self.beside.push((first, places.map(|(at, _)| at).collect()));
                &self.beside[self.beside.len() - 1].1
            }
        };
        let mut sequence: Vec<Seen<'_>> = Vec::with_capacity(beside.len() + 1);
        for later in beside.iter().map(|&at| &rest[at]) {
            if later.event.task != event.task || later.event.index < event.index {
                sequence.push(Seen { event: &later.event, clock: &later.clock });
            }
        }
        let mut clock = before.to_vec();
        // Whatever is known to come before something that does has come along with it.
        for seen in sequence.iter().rev() {
            if !covers(&clock, seen.event) && seen.event.depends(event) {
                join(&mut clock, seen.clock);
            }
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
        if !leads_to(&frame.tree, sequence.clone()) {
            self.handed.add(first, &sequence);
        }
    }

    /// The races of what was new in the execution.
    fn harvest(&mut self, failed: bool) {
        let len = self.path.len();
        self.beside.clear();
        let stuck = !self.left.iter().any(|next| next.enabled);
        // A failure that is no deadlock ended the process: like an exit.
        if failed && !stuck && self.fresh < len {
            self.path[len - 1].event.exits = true;
        }
        for at in self.fresh..len {
            let event = self.path[at].event;
            let before = std::mem::take(&mut self.path[at].before);
            for first in races(&self.path[..at], &event, &before) {
                self.reverse(first, &event, &before);
            }
            self.path[at].before = before;
        }
        let ended = self
            .path
            .last()
            .filter(|frame| frame.event.exits)
            .map(|frame| (frame.event.task, frame.enabled.clone()));
        let mut before = Clock::new();
        let left = std::mem::take(&mut self.left);
        for next in &left {
            let event = Event::new(next, self.order.count(next.task));
            self.order.before(&event, &mut before);
            if let Some((last, enabled)) = &ended {
                // What the last one stands before has been done, unless it waits.
                if next.task == *last && next.enabled {
                    continue;
                }
                // Whatever was still to come could have come before the end. (What could not was
                // blocked, as after any execution.)
                if next.task != *last && enabled.contains(&next.task) {
                    self.reverse(len - 1, &event, &before);
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
            for first in races(&self.path, &event, &before) {
                self.reverse(first, &event, &before);
            }
        }
        self.left = left;
    }

    /// The path was left where it ends now: what the program does there from now on is searched. Not where
    /// the path is the trunk's, which is not this search's to change.
    fn renew(&mut self) {
        let common = self.trunk.len();
        let own = self.path.len() + usize::from(self.differs.is_none()) > common;
        if own
            && self.renewals.renew()
            && let (Some(frame), Some(differs)) = (self.path.last_mut(), self.differs)
        {
            frame.data.truncate(differs);
        }
    }

    /// How many branches are known that were not tried.
    #[must_use]
    pub fn open(&self) -> u64 {
        let own = self.path.iter().skip(self.trunk.len());
        own.map(|frame| frame.tree.len() as u64 + data::untried(&frame.data)).sum()
    }
}

impl Strategy for Dpor {
    fn begin(&mut self, _: u64) -> bool {
        if self.exhausted {
            return false;
        }
        if self.started {
            if self.renewals.take() {
                self.fresh = self.path.len().saturating_sub(1);
                self.renewed = Some(self.path.len());
            } else if self.advance() {
                self.renewed = None;
            } else {
                self.exhausted = true;
                return false;
            }
        }
        self.started = true;
        self.again();
        true
    }

    fn again(&mut self) {
        self.depth = 0;
        self.asked = 0;
        self.yields.0 = None;
        self.yields.1.clear();
        self.redundant = false;
        self.order.rewind(self.fresh);
        self.left.clear();
        self.differs = None;
    }

    fn expected(&self) -> Option<u32> {
        self.path.get(self.depth).map(|place| place.digest)
    }

    fn fell_short(&self) -> bool {
        self.depth < self.path.len() || self.differs.is_some()
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let known = self.order.has(self.depth);
        if !known {
            self.order.mark();
            self.order.see(view.tasks, view.running);
        }
        if view.running != self.yields.0 {
            self.yields.0 = view.running;
            self.yields.1.clear();
        }
        if view.yielded {
            self.yields.1.count(view.place);
        }
        if self.depth == self.path.len() {
            if !self.descend(view) {
                self.redundant = true;
                return Decision::GiveUp(GiveUp::Redundant);
            }
        } else if self.differs.is_some() {
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
            self.order.before(&event, &mut frame.before);
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
        let (taken, same) = data::answer(&mut frame.data, self.asked, of);
        if !same {
            self.differs.get_or_insert(self.asked);
        }
        self.asked += 1;
        if !self.order.has(self.depth - 1) {
            self.order.note(u64::from(taken));
        }
        taken
    }

    fn detailed(&self) -> bool {
        true
    }

    #[inline]
    fn looks(&self) -> bool {
        !self.order.has(self.depth)
    }

    fn left(&mut self, tasks: &[Next]) {
        let last = self.depth.checked_sub(1).map(|at| self.path[at].event.task);
        self.order.see(tasks, last);
        self.left.clear();
        self.left.extend_from_slice(tasks);
        self.holes |= tasks.iter().any(|next| next.vague);
    }

    fn end(&mut self, outcome: Outcome) {
        let left = outcome == Outcome::GivenUp && self.fell_short();
        if self.depth < self.path.len() {
            self.holes = true;
            self.spare.extend(self.path.drain(self.depth..));
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
        self.holes |= self.differs.is_some();
        self.left.clear();
        if left {
            self.renew();
        }
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
