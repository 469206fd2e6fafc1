//! Dynamic partial order reduction: runs one execution of each class of executions that differ only
//! in the order of independent operations.
//!
//! After Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction" (POPL
//! 2014; JACM 2017): source sets and wake-up trees. Differences:
//!
//! * Races are detected at the end of an execution, and only for its new operations: those of the
//!   prefix were handled when they were new.
//! * The pending operations of tasks that never ran again take part (a lock that is never released,
//!   a semaphore that stays at 0, everything that was pending when the process ended). Without
//!   them, the orders in which they come first would be lost.
//! * A failed compare-and-swap is a read; but as the last operation of a wake-up sequence, where it
//!   may succeed, it counts as a write.
//! * A data choice (for example, which task a signal wakes) has one branch for each outcome, below
//!   the same operation.
//! * Read-write locks that prefer writers: on generated programs every outcome was found, but not
//!   every order, so a search of a program that uses them is never called complete.
//! * If a task yields repeatedly at one site while no other task runs, and the spin detector
//!   ([`crate::spin`]) does not know that it only spins, the task waits until another task has run.
//!   If that excluded a schedule, the search is not called complete.
//!
//! The beginning of the path may belong to a [`crate::share::trunk`] that several searches share.
//! Alternatives found there are sent to the trunk instead of being run here.

mod encoding;
mod node;
mod outgoing;
mod races;

use crate::prefix::{Position, TrailChoice, differs, steps_in_common};
use crate::reduction::data_choices;
use crate::reduction::events::{Clock, Event, covers, join};
use crate::reduction::path_progress::PathProgress;
use crate::reduction::wakeup::{StepRef, insert, is_covered, leads_to};
use crate::spin::timeout_fairness::SiteCounts;
use crate::strategy::descriptor::{BoundUnit, Descriptor};
use crate::{
    Coverage, Decision, GiveUp, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable,
    Strategy, View,
};
use encoding::{Encoded, Table, frame};
pub(crate) use node::PathNode;
use outgoing::OutgoingSequences;
use races::races;
use serde::{Deserialize, Serialize, Serializer};
use traces::compact::Unreadable;
use traces::{Operation, TaskId};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("dpor", "one schedule for each order of dependent operations")
        .bounded_by(BoundUnit::Preemptions);

/// How often a task may yield at one site before another task has to run. Loops of libraries look 16 times
/// before they sleep (C++'s `std::atomic::wait`), or 11 times (crossbeam's `Backoff`): within this limit, a
/// search follows them to their end.
const YIELDS: u32 = 20;
/// The same limit for a task that may be able to leave its loop while no other task runs: a loop
/// that counts its iterations is in a new state after each of them, and would otherwise be followed
/// forever.
const MOST_YIELDS: u32 = 100;

/// With this many outgoing sequences, the worker ends its piece of work to share them.
const HANDFUL: usize = 2_000;

/// The search. See the module documentation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Encoded<OutgoingSequences, PathProgress>")]
pub struct Dpor {
    pub(crate) path: Vec<PathNode>,
    /// For the first nodes of the path, which belong to the trunk: their numbers there.
    pub(crate) trunk: Vec<usize>,
    /// Of the last of these trunk nodes, the number of data choices that the trunk has recorded.
    pub(crate) known: usize,
    /// Sequences to be run from the nodes of the trunk.
    pub(crate) outgoing: OutgoingSequences,
    /// The running execution and the state of the search.
    progress: PathProgress,
    /// From this depth on, the path is new in this execution.
    fresh: usize,
    /// Removed nodes, whose memory new nodes reuse.
    spare: Vec<PathNode>,
    /// By node: the events after it that do not depend on its event.
    beside: Vec<(usize, Vec<usize>)>,
    /// The yields of the running task since another task ran, by site.
    yields: (Option<TaskId>, SiteCounts),
    redundant: bool,
    /// The node at which the program has changed its behaviour: the sleeping events above it were
    /// not tried with the new behaviour.
    rebuilt_at: Option<usize>,
}

impl Dpor {
    /// A search from the start.
    #[must_use]
    pub fn new() -> Dpor {
        Dpor::default()
    }

    /// A search below a path of the trunk; the last node of the path is new.
    pub(crate) fn from(path: Vec<PathNode>, trunk: Vec<usize>) -> Dpor {
        let known = path.last().map_or(0, |last| last.data.len());
        Dpor { fresh: path.len() - 1, path, trunk, known, ..Dpor::default() }
    }

    /// The actual event at its first own node, once that has run.
    pub(crate) fn first_event(&self) -> Option<Event> {
        let last = self.trunk.len().checked_sub(1)?;
        self.path.get(last).filter(|_| self.progress.started).map(|frame| frame.event.clone())
    }

    /// Whether the program diverged from the path within the trunk.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.path.len() < self.trunk.len()
    }

    /// Whether an execution was cut or given up, so that its rest was not observed.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.progress.holes
    }

    /// The first node outside the trunk that has open branches.
    pub(crate) fn first_open(&self) -> Option<usize> {
        let open =
            |frame: &PathNode| !frame.tree.is_empty() || data_choices::untried(&frame.data) > 0;
        let own = self.path.iter().enumerate().skip(self.trunk.len());
        let at = own.filter(|(_, frame)| open(frame)).map(|(at, _)| at).next()?;
        (self.progress.started && !self.progress.exhausted).then_some(at)
    }

    /// Moves on to the next branch; false if there is none.
    fn advance(&mut self) -> bool {
        while self.path.len() > self.trunk.len()
            && let Some(frame) = self.path.last_mut()
        {
            if data_choices::advance(&mut frame.data) {
                self.fresh = self.path.len() - 1;
                return true;
            }
            frame.sleep.push(frame.event.clone());
            if !frame.tree.is_empty() {
                let mut node = frame.tree.remove(0);
                frame.event = node.event.clone();
                frame.below = std::mem::take(&mut node.then);
                self.fresh = self.path.len() - 1;
                return true;
            }
            self.spare.extend(self.path.pop());
        }
        false
    }

    /// Adds a node: computes what it inherits, and what runs there first.
    fn descend(&mut self, view: &View<'_>) -> bool {
        let mut frame = self.spare.pop().unwrap_or_else(PathNode::unused);
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
                frame.deferred = Some(task);
            } else {
                self.progress.holes = true;
            }
        }
        let not_due = view.tasks.iter().filter(|next| next.not_due);
        frame.not_due.extend(not_due.map(|next| next.task));
        let rebuilt_at = self.rebuilt_at == Some(self.path.len());
        if let Some(above) = self.path.last_mut() {
            let done = &above.event;
            let independent = |asleep: &&Event| !rebuilt_at && !asleep.depends(done);
            frame.sleep.extend(above.sleep.iter().filter(independent).cloned());
            frame.elsewhere.extend(above.elsewhere.iter().filter(independent).cloned());
            std::mem::swap(&mut frame.tree, &mut above.below);
        }
        // A task that is disabled only because it yielded too often might have made progress.
        self.progress.holes |=
            frame.tree.iter().any(|node| Some(node.event.task) == frame.deferred);
        // What a step after the node enabled in another order is not due here.
        let early = frame.tree.iter().any(|node| frame.not_due.contains(&node.event.task));
        let PathNode { enabled, tree, sleep, elsewhere, below, .. } = &mut frame;
        tree.retain(|node| enabled.contains(&node.event.task));
        let task = if tree.is_empty() {
            let awake = |task: &TaskId| {
                let mut asleep = sleep.iter().chain(elsewhere.iter());
                enabled.contains(task) && !asleep.any(|asleep| asleep.task == *task)
            };
            view.by_default_order().find(awake)
        } else {
            let mut node = tree.remove(0);
            *below = std::mem::take(&mut node.then);
            Some(node.event.task)
        };
        let Some(task) = task else {
            self.spare.push(frame);
            return false;
        };
        frame.event = self.progress.event(view, task);
        self.path.push(frame);
        if early {
            self.try_all(self.path.len() - 1);
        }
        true
    }

    /// Adds all enabled tasks to those to be run at a node: an expiry that should come first there is
    /// not due, and may be due after some of them.
    fn try_all(&mut self, at: usize) {
        let (upto, rest) = self.path.split_at_mut(at);
        let frame = &mut rest[0];
        let untried: Vec<TaskId> = frame.untried().collect();
        for task in untried {
            let index = upto.iter().filter(|above| above.event.task == task).count() as u32;
            let event = PathNode::unknown(task, index);
            let mut clock = vec![0; task.index() + 1];
            clock[task.index()] = index + 1;
            let step = StepRef { event: &event, clock: &clock };
            if at >= self.trunk.len() {
                insert(&mut frame.tree, vec![step]);
            } else {
                self.outgoing.add(at, &[step]);
            }
        }
    }

    /// Reverses the races of an event with those before it.
    fn reverse_all(&mut self, upto: usize, event: &Event, before: &[u32]) {
        let mut waits = false;
        let passing = event.as_passing();
        for first in races(&self.path[..upto], event, before) {
            // In the reversed order a failing operation may find something else, and not fail.
            let passing = passing.as_ref().filter(|one| one.depends(&self.path[first].event));
            waits |= !self.reverse(first, passing.unwrap_or(event), before);
        }
        // Where its time has not come, it waits: then it can only come before what it waits for.
        if waits && let Some(waiting) = event.as_waiting() {
            for first in races(&self.path[..upto], &waiting, before) {
                self.reverse(first, event, before);
            }
        }
    }

    /// Adds a sequence that reverses a race: everything after the first event that does not depend
    /// on it, then the second event. Returns false if the sequence begins with an expiry that is not
    /// due there.
    fn reverse(&mut self, first: usize, event: &Event, before: &[u32]) -> bool {
        self.reverse_and(first, event, before, None)
    }

    /// Like `reverse`, with an event that comes after the sequence and depends on all of it. It matters
    /// where that event ends the process: a search that has completed an independent operation has found
    /// the sequence, but not that the process ends after it.
    fn reverse_and(
        &mut self,
        first: usize,
        event: &Event,
        before: &[u32],
        end: Option<&Event>,
    ) -> bool {
        if event.is_of_harness() {
            return true;
        }
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
        let mut sequence: Vec<StepRef<'_>> = Vec::with_capacity(beside.len() + 1);
        for later in beside.iter().map(|&at| &rest[at]) {
            if later.event.task != event.task || later.event.index < event.index {
                sequence.push(StepRef { event: &later.event, clock: &later.clock });
            }
        }
        let ahead = event.ahead_of(&frame.event);
        let event = ahead.as_ref().unwrap_or(event);
        let mut clock = before.to_vec();
        // Events that are known to happen before an event of the sequence join the sequence.
        for seen in sequence.iter().rev() {
            if !covers(&clock, seen.event) && seen.event.depended(event) {
                join(&mut clock, seen.clock);
            }
        }
        if clock.len() <= event.task.index() {
            clock.resize(event.task.index() + 1, 0);
        }
        clock[event.task.index()] = event.index + 1;
        let last = event.as_write();
        sequence.push(StepRef { event: &last, clock: &clock });
        let mut end_clock = Clock::new();
        if let Some(end) = end {
            end_clock.clone_from(&clock);
            sequence.iter().for_each(|seen| join(&mut end_clock, seen.clock));
            if end_clock.len() <= end.task.index() {
                end_clock.resize(end.task.index() + 1, 0);
            }
            end_clock[end.task.index()] = end.index + 1;
            sequence.push(StepRef { event: end, clock: &end_clock });
        }
        // The end of an execution races with everything before it, and may have to wait; and a task
        // in a spin loop may have been blocked until then. If several steps would have to come
        // first, `--atomic` forbids a preemption here, and the reversed order is not run.
        let begins = sequence[0].event.task;
        if frame.not_due.contains(&begins) {
            self.try_all(first);
            return false;
        }
        if frame.deferred != Some(begins) && !frame.enabled.contains(&begins) {
            self.progress.holes |= sequence.len() > 1;
            return true;
        }
        if is_covered(&frame.sleep, &frame.elsewhere, &sequence) {
            return true;
        }
        if first >= self.trunk.len() {
            insert(&mut frame.tree, sequence);
            return true;
        }
        // A sequence in the trunk's tree will be run by some search, or was. A sequence that is
        // only on its way to the trunk does not count: the trunk may find it covered, but not the
        // sequences derived from it.
        if !leads_to(&frame.tree, sequence.clone()) {
            self.outgoing.add(first, &sequence);
        }
        true
    }

    /// Detects the races of the execution's new events.
    fn harvest(&mut self, failed: bool) {
        let len = self.path.len();
        self.beside.clear();
        let stuck = !self.progress.pending.iter().any(|next| next.enabled);
        // A failure other than a deadlock ended the process, like an exit.
        if failed && !stuck && self.fresh < len {
            self.path[len - 1].event.exits = true;
        }
        for at in self.fresh..len {
            let event = self.path[at].event.clone();
            let before = std::mem::take(&mut self.path[at].before);
            self.reverse_all(at, &event, &before);
            self.path[at].before = before;
        }
        let ended = self
            .path
            .last()
            .filter(|frame| frame.event.exits)
            .map(|frame| (frame.event.clone(), frame.enabled.clone()));
        let mut before = Clock::new();
        let left = std::mem::take(&mut self.progress.pending);
        for next in &left {
            let event = Event::new(next, self.progress.order.count(next.task));
            self.progress.order.before(&event, &mut before);
            if let Some((last, enabled)) = &ended {
                // The last task's pending operation has been executed, unless it waits.
                if next.task == last.task && next.enabled {
                    continue;
                }
                // Every operation that was enabled and pending could have come before the end.
                // (Blocked operations could not, as after any execution.)
                if next.task != last.task && (enabled.contains(&next.task) || next.not_due) {
                    let may_pass = last.as_passing().is_some_and(|last| last.depends(&event));
                    let end = Some(last).filter(|_| !may_pass);
                    self.reverse_and(len - 1, &event, &before, end);
                }
                if next.task != last.task && enabled.contains(&next.task) {
                    continue;
                }
            }
            // The expiry may be due earlier if other tasks have run.
            if next.not_due {
                self.reverse_all(len, &event, &before);
                continue;
            }
            let hopeless = match next.operation {
                Operation::Join => true,
                Operation::Wake | Operation::FutexWoken | Operation::BarrierPass => !next.woken,
                _ => false,
            };
            // After the end it will not be run, also if the last operation is what enables it.
            if next.enabled && ended.is_none() || hopeless {
                continue;
            }
            // The event could only have happened at nodes where it would not have been blocked.
            let event = event.only_what_blocks();
            for first in races(&self.path, &event, &before) {
                self.reverse(first, &event, &before);
            }
        }
        self.progress.pending = left;
    }

    /// The program diverged at the current end of the path: its new behaviour is explored from
    /// here. Nodes of the trunk are not changed, since other searches use them.
    fn rebuild(&mut self) {
        let common = self.trunk.len();
        let own = self.path.len() + usize::from(self.progress.differs.is_none()) > common;
        if own
            && self.progress.rebuilds.rebuild()
            && let (Some(frame), Some(differs)) = (self.path.last_mut(), self.progress.differs)
        {
            frame.data.truncate(differs);
        }
    }

    /// The number of known branches that were not tried.
    #[must_use]
    pub fn open(&self) -> u64 {
        let own = self.path.iter().skip(self.trunk.len());
        own.map(|frame| frame.tree.len() as u64 + data_choices::untried(&frame.data)).sum()
    }
}

impl Strategy for Dpor {
    fn begin(&mut self, _: u64) -> bool {
        if self.progress.exhausted {
            return false;
        }
        if self.progress.started {
            if self.progress.rebuilds.take() {
                self.fresh = self.path.len().saturating_sub(1);
                self.rebuilt_at = Some(self.path.len());
            } else if self.advance() {
                self.rebuilt_at = None;
            } else {
                self.progress.exhausted = true;
                return false;
            }
        }
        self.progress.started = true;
        self.restart();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let known = self.progress.is_known();
        if !known {
            self.progress.observe(view);
        }
        if view.running != self.yields.0 {
            self.yields.0 = view.running;
            self.yields.1.clear();
        }
        // The first half of a wait on a futex ends no iteration. Several of them in a row are attempts of a
        // loop that do not begin to wait.
        let is_wait = |back| {
            let at = self.progress.depth.checked_sub(back).and_then(|at| self.path.get(at));
            at.is_some_and(|frame| frame.event.operation == Operation::FutexWait)
        };
        if view.yielded && (!is_wait(1) || is_wait(2)) {
            self.yields.1.count(view.site);
        }
        if self.progress.depth == self.path.len() {
            if !self.descend(view) {
                self.redundant = true;
                return Decision::GiveUp(GiveUp::Redundant);
            }
        } else if let Some(diverged) =
            self.progress.divergence(view, self.path[self.progress.depth].digest)
        {
            return diverged;
        }
        let task = self.path[self.progress.depth].event.task;
        if let Some(diverged) = differs::unless_enabled(view, task) {
            return diverged;
        }
        if !known {
            let event = self.progress.new_event(view, task);
            let frame = &mut self.path[self.progress.depth];
            self.progress.order.before(&event, &mut frame.before);
            frame.clock.clone_from(self.progress.order.step(&event));
            frame.event = event;
        }
        self.progress.step(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let last = self.progress.depth.checked_sub(1).and_then(|at| self.path.get_mut(at));
        self.progress.choose_data(last.map(|last| &mut last.data), of)
    }

    fn end(&mut self, outcome: Outcome) {
        let diverged = outcome == Outcome::GivenUp && self.failed_to_repeat();
        if self.progress.depth < self.path.len() {
            self.progress.holes = true;
            self.spare.extend(self.path.drain(self.progress.depth..));
        }
        // After the process has ended, the pending operations of its tasks are unknown.
        self.progress.holes |= outcome == Outcome::Failed && self.progress.pending.is_empty();
        match outcome {
            Outcome::Passed | Outcome::Failed => self.harvest(outcome == Outcome::Failed),
            Outcome::Cut => {
                self.progress.holes = true;
                self.harvest(false);
            }
            // Another search runs the continuation, but the events so far may show new races.
            Outcome::GivenUp if self.redundant => self.harvest(false),
            Outcome::GivenUp => self.progress.holes = true,
        }
        self.progress.holes |= self.progress.differs.is_some();
        self.progress.pending.clear();
        if diverged {
            self.rebuild();
        }
    }

    fn active_part(&self) -> &'static str {
        "dpor"
    }

    fn coverage(&self) -> Coverage {
        self.progress.coverage(None)
    }
}

impl PrefixReplay for Dpor {
    fn restart(&mut self) {
        self.progress.restart(self.fresh);
        self.yields.0 = None;
        self.yields.1.clear();
        self.redundant = false;
    }

    fn expected_digest(&self) -> Option<u32> {
        self.path.get(self.progress.depth).map(|place| place.digest)
    }

    fn failed_to_repeat(&self) -> bool {
        self.progress.failed_to_repeat(self.path.len())
    }

    fn common_steps(&self) -> usize {
        self.progress.common_steps()
    }

    fn planned_steps(&self) -> usize {
        self.fresh.min(self.path.len())
    }

    fn planned_choices(&self) -> Vec<TrailChoice> {
        let choices = |frame: &PathNode| {
            let step = TrailChoice::step(frame.event.task, frame.digest);
            let data = frame.data.iter().map(|&(taken, of)| TrailChoice::data(taken, of));
            std::iter::once(step).chain(data).collect::<Vec<_>>()
        };
        self.path.iter().flat_map(choices).collect()
    }

    fn adopt(&mut self, before: &mut Dpor, trail: &[TrailChoice]) -> usize {
        let common = steps_in_common(&self.planned_choices(), trail);
        let order = &mut self.progress.order;
        let steps = order.adopt(&mut before.progress.order, common);
        // The next execution finds races with these steps, but does not run them.
        let tasks: Vec<TaskId> = self.path[..steps].iter().map(|frame| frame.event.task).collect();
        for (frame, clock) in self.path.iter_mut().zip(order.clocks_after(&tasks)) {
            frame.clock = clock;
        }
        steps
    }

    fn position(&self) -> Option<Position> {
        Some(Position { yields: self.yields.clone(), ..self.progress.position()? })
    }

    fn resume(&mut self, position: &Position) {
        self.progress.resume(position);
        self.yields.clone_from(&position.yields);
    }
}

impl Reduction for Dpor {
    fn needs_pending(&self) -> bool {
        true
    }

    #[inline]
    fn needs_pending_now(&self) -> bool {
        !self.progress.is_known()
    }

    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        let last = self.progress.depth.checked_sub(1).map(|at| self.path[at].event.task);
        self.progress.pending_at_end(tasks, last);
    }

    fn equivalence_class(&self) -> Option<u64> {
        (!self.redundant).then(|| self.progress.order.hash())
    }

    fn invalidate_coverage(&mut self) {
        self.progress.holes = true;
    }
}

impl Shareable for Dpor {
    fn must_share(&self) -> bool {
        self.outgoing.len() >= HANDFUL
    }
}

impl Serialize for Dpor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut table = Table::default();
        // Of a search that is over, only its events and data choices are still of interest.
        let place = |frame| match self.progress.exhausted {
            true => table.event_of(frame),
            false => table.place(frame),
        };
        let path = self.path.iter().map(place).collect();
        let written = Encoded {
            path,
            events: table.events,
            trunk: self.trunk.clone(),
            known: self.known,
            outgoing: &self.outgoing,
            progress: &self.progress,
            fresh: self.fresh,
            redundant: self.redundant,
            rebuilt_at: self.rebuilt_at,
        };
        written.serialize(to)
    }
}

impl TryFrom<Encoded<OutgoingSequences, PathProgress>> for Dpor {
    type Error = Unreadable;

    fn try_from(written: Encoded<OutgoingSequences, PathProgress>) -> Result<Dpor, Unreadable> {
        let events = written.events;
        let path = written.path.into_iter().map(|place| frame(&events, place));
        Ok(Dpor {
            path: path.collect::<Result<_, Unreadable>>()?,
            trunk: written.trunk,
            known: written.known,
            outgoing: written.outgoing,
            progress: written.progress,
            fresh: written.fresh,
            redundant: written.redundant,
            rebuilt_at: written.rebuilt_at,
            ..Dpor::default()
        })
    }
}

#[cfg(test)]
mod tests;
