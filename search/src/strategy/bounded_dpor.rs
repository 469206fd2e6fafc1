//! Partial order reduction within a bound on preemptions: runs a schedule of every equivalence
//! class that has a schedule within the bound, and far fewer schedules than exist.
//!
//! Coons, Musuvathi and McKinley, "Bounded Partial-Order Reduction" (OOPSLA 2013), on the
//! persistent sets of Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking
//! Software" (POPL 2005). An unbounded reduction that is cut off at the bound loses classes,
//! because the one schedule that it runs of a class may need more preemptions than another of that
//! class. So if two operations can be reversed, the later one's task is also tried at the point
//! where the scheduler switched to the earlier one's task: a switch there costs no additional
//! preemption. Sleep sets and wake-up trees are unsound in combination with a bound, and are not
//! used. Differences from the paper:
//!
//! * An operation that can enable another task (an unlock, a post, the last step of a task)
//!   conflicts with an operation that waits for it and could have been reached earlier: a task that
//!   blocks is left without a preemption, but one that finds the lock free has to be preempted.
//!   Such a conflict does not hide earlier ones.
//! * Within a stretch of steps of one task, a point at which the task yielded is as cheap for a
//!   switch as the beginning of the stretch, and is tried too.
//! * If no other task can observe a step, the preemption comes before the step and not after it,
//!   which costs no more. If the process ends while other tasks are enabled, the step can be
//!   observed, and if there are deadlines ([`crate::time`]), it may determine one; the search then
//!   starts again without this optimisation.
//! * The pending operations of tasks that never ran again take part, and so does the end of the
//!   process, which conflicts with every operation. Data choices are branches below one operation.

use crate::prefix::{Position, differs};
use crate::reduction::access_index::{AccessIndex, backwards};
use crate::reduction::data_choices::{self, Data};
use crate::reduction::events::{Access, Clock, Event, covers};
use crate::reduction::path_progress::PathProgress;
use crate::reduction::statement_pairs::{Pair, Sets, pair};
use crate::{
    Coverage, Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Strategy,
    View,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use traces::{Operation, TaskId};

/// If a task executed at most this many steps, they are compared one by one, without the index.
const FEW: usize = 8;

/// A node of the path.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PathNode {
    /// The event that was executed.
    event: Event,
    /// The task that could continue here; switching to any other is a preemption.
    stays: Option<TaskId>,
    /// If expiries are among the enabled tasks: the tasks whose choice is a preemption, instead.
    preempt: Option<Vec<TaskId>>,
    /// The enabled tasks whose next step is an expiry.
    expiries: Vec<TaskId>,
    /// The number of preemptions before this node.
    spent: u32,
    /// The first node of the consecutive steps of this task. Invariant: `begins` and `free` are
    /// valid for the nodes that the running execution has reached.
    begins: usize,
    /// The last node from there to here at which a switch to any other task is not a preemption.
    free: Option<usize>,
    enabled: Vec<TaskId>,
    /// The tasks to run from here; the first `tried` of them were run.
    wanted: Vec<TaskId>,
    /// For each of these tasks, the orders because of which it was added. If all of them are
    /// observed in other executions, the task need not run. Empty if it has to run in any case.
    orders: Vec<Vec<Pair>>,
    tried: usize,
    /// The data choices of the step: the outcome that was taken, and the number of outcomes.
    data: Data,
    digest: u32,
}

impl PathNode {
    /// The number of preemptions that the choice of this task would be.
    fn cost(&self, task: TaskId) -> u32 {
        u32::from(match &self.preempt {
            Some(preempt) => preempt.contains(&task),
            None => self.stays.is_some_and(|stays| stays != task),
        })
    }
}

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BoundedDpor {
    bound: u32,
    path: Vec<PathNode>,
    /// The running execution and the state of the search.
    progress: PathProgress,
    /// The index of accesses of the path: of the nodes that the running execution has reached, and
    /// those that it will repeat.
    #[serde(skip)]
    accesses: AccessIndex,
    /// By task: its pending operation, and the length of the path with which it was compared.
    #[serde(skip)]
    compared: Vec<Option<(Event, usize)>>,
    /// The clock of the last operation, without the order that its own accesses add.
    #[serde(skip)]
    before: Clock,
    /// Whether the process may end while other tasks could continue.
    exits: bool,
    /// Whether an expiry may have to wait for its time, and whether one had to in this execution.
    delays: bool,
    #[serde(skip)]
    delayed: bool,
    /// For a guided search: the orders that were observed, which need not be tried.
    guide: Option<Sets>,
    /// Whether anything was left out because of the bound.
    left_out: bool,
}

impl BoundedDpor {
    /// A search from the start with at most `bound` preemptions.
    #[must_use]
    pub fn new(bound: u32) -> BoundedDpor {
        BoundedDpor {
            bound,
            path: Vec::new(),
            progress: PathProgress::default(),
            accesses: AccessIndex::default(),
            compared: Vec::new(),
            before: Clock::new(),
            exits: false,
            delays: false,
            delayed: false,
            guide: None,
            left_out: false,
        }
    }

    /// A guided search, which tries only orders that were not observed, with or without a bound.
    pub(crate) fn guided(bound: Option<u32>) -> BoundedDpor {
        BoundedDpor { guide: Some(Sets::default()), ..BoundedDpor::new(bound.unwrap_or(u32::MAX)) }
    }

    /// The orders that need not be tried, if the search is guided.
    pub(crate) fn guide(&mut self) -> Option<&mut Sets> {
        self.guide.as_mut()
    }

    /// The number of known branches that were not tried.
    #[must_use]
    pub fn open(&self) -> u64 {
        let open = |place: &PathNode| -> u64 {
            (place.wanted.len() - place.tried) as u64 + data_choices::untried(&place.data)
        };
        self.path.iter().map(open).sum()
    }

    /// Moves on to the next branch; false if there is none.
    fn advance(&mut self) -> bool {
        while let Some(place) = self.path.last_mut() {
            if data_choices::advance(&mut place.data) {
                return true;
            }
            while let Some(&task) = place.wanted.get(place.tried) {
                let orders = &place.orders[place.tried];
                if let Some(guide) = &self.guide
                    && !orders.is_empty()
                    && orders.iter().all(|&pair| guide.contain(pair))
                {
                    // The task may be added again because of another order.
                    place.wanted.remove(place.tried);
                    place.orders.remove(place.tried);
                    continue;
                }
                place.tried += 1;
                // The actual event is set when the branch runs.
                place.event.task = task;
                return true;
            }
            self.path.pop();
        }
        false
    }

    /// Adds the task to those to run at the node, or all enabled tasks if it is not enabled there, or only with an
    /// expiry that is out of the bound: after steps of others, it may have what it waits for.
    fn add(&mut self, at: usize, task: TaskId, order: Option<Pair>) {
        let place = &mut self.path[at];
        let is_out = place.expiries.contains(&task) && place.spent + place.cost(task) > self.bound;
        let wanted = match place.enabled.binary_search(&task) {
            Ok(_) if !is_out => std::slice::from_ref(&task),
            _ => &place.enabled,
        };
        for &task in wanted {
            let cost = place.cost(task);
            if let Some(at) = place.wanted.iter().position(|&other| other == task) {
                let orders = &mut place.orders[at];
                if let Some(order) = order.filter(|_| !orders.is_empty())
                    && !orders.contains(&order)
                {
                    orders.push(order);
                }
                continue;
            }
            if place.spent + cost <= self.bound {
                place.wanted.push(task);
                place.orders.push(order.into_iter().collect());
            } else {
                self.left_out = true;
            }
        }
    }

    /// Adds the event's task before the node `at`, and also at an earlier node where a switch is
    /// not a preemption.
    fn add_before(&mut self, at: usize, event: &Event) {
        if event.is_of_harness() {
            return;
        }
        let task = event.task;
        let order = self.guide.as_ref().map(|_| pair(event, &self.path[at].event));
        if self.bound == u32::MAX {
            return self.add(at, task, order);
        }
        let whose = self.path[at].event.task;
        let goes_on = |path: &[PathNode], at: usize| at > 0 && path[at - 1].event.task == whose;
        // Steps that no other task can observe may as well run later.
        let mut first = at;
        // (A step may begin a wait, whose deadline is later if the step is.)
        let may_be_later = !self.exits && !self.delays;
        while may_be_later && goes_on(&self.path, first) && self.path[first - 1].event.is_alone() {
            first -= 1;
        }
        let could = |at: usize| self.path[at].enabled.binary_search(&task).is_ok();
        let from = if could(first) || !could(at) { first } else { at };
        self.add(from, task, order);
        let mut free = self.path[from].free;
        while let Some(at) = free {
            self.add(at, task, order);
            free = at
                .checked_sub(1)
                .filter(|_| goes_on(&self.path, at))
                .and_then(|at| self.path[at].free);
        }
        self.add(self.path[from].begins, task, order);
    }

    /// Sets the consecutive steps to which the last node belongs.
    fn link(&mut self, at: usize) {
        let task = self.path[at].event.task;
        let above = at.checked_sub(1).map(|above| &self.path[above]);
        let above = above.filter(|above| above.event.task == task);
        let (begins, free) = above.map_or((at, None), |above| (above.begins, above.free));
        let place = &mut self.path[at];
        place.begins = begins;
        place.free = if place.stays == Some(task) { free } else { Some(at) };
    }

    /// Compares the pending operations of tasks, enabled or blocked, with the events since the last
    /// comparison.
    fn compare(&mut self, tasks: &[PendingOperation]) {
        let len = self.path.len();
        let exited = self.path.last().is_some_and(|last| last.event.exits);
        for next in tasks {
            let event = Event::new(next, self.progress.order.count(next.task));
            let at = next.task.index();
            if self.compared.len() <= at {
                self.compared.resize(at + 1, None);
            }
            let from = match &self.compared[at] {
                Some((same, upto)) if *same == event => *upto,
                _ => 0,
            };
            self.compared[at] = Some((event.clone(), len));
            // In most cases one event is new, and it accessed other objects.
            let new = &self.path[from..len];
            let elsewhere = new.len() <= FEW && !new.iter().any(|place| meet(&place.event, &event));
            if !elsewhere && (exited || !event.is_alone()) {
                let before = self.progress.order.clock(next.task);
                for at in self.look_back(&event, before, next.enabled, &(from..len)) {
                    self.add_before(at, &event);
                }
            }
        }
    }

    /// The nodes whose events could have happened after this operation, the last one first.
    fn look_back(
        &self,
        event: &Event,
        before: &[u32],
        enabled: bool,
        among: &Range<usize>,
    ) -> Vec<usize> {
        let ends = event.exits || among.end > 0 && self.path[among.end - 1].event.exits;
        let mut found: Vec<usize> = Vec::new();
        for task in self.accesses.others(event, ends) {
            self.look_back_at(task, event, before, enabled, ends, among, &mut found);
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found
    }

    /// Like `look_back`, for the events of one task.
    #[allow(clippy::too_many_arguments, reason = "one loop, named")]
    fn look_back_at(
        &self,
        task: TaskId,
        event: &Event,
        before: &[u32],
        enabled: bool,
        ends: bool,
        among: &Range<usize>,
        found: &mut Vec<usize>,
    ) {
        let path = &self.path;
        // Whether the event's task executed something between that node and the end of the path that can be
        // observed. If the process ends while tasks could continue, what they have executed can.
        let ran_between = |at: usize| {
            let own = backwards(vec![self.accesses.of(event.task)], at + 1, among.end);
            own.map(|own| &path[own].event).any(|own| self.exits || !own.accesses().is_empty())
        };
        let places = if ends || joins(event, task) {
            vec![self.accesses.of(task)]
        } else {
            let objects = event.accesses().iter();
            objects.map(|&(object, _)| self.accesses.of_on(task, object)).collect()
        };
        for at in backwards(places, among.start, among.end) {
            let earlier = &path[at].event;
            // Everything that this task did before also happened before.
            if covers(before, earlier) {
                break;
            }
            if self.guide.as_ref().is_some_and(|guide| guide.contain(pair(event, earlier))) {
                continue;
            }
            if conflicts(earlier, event) {
                found.push(at);
                // It may have to come before earlier ones, before which it was enabled.
                if event.waits && path[at].enabled.binary_search(&event.task).is_err() {
                    continue;
                }
                // Where its time has not come, it waits, and can only come before what it waits for.
                let waiting = if self.delays { event.as_waiting() } else { None };
                let goes_on = |waiting: Event| waiting.waits || !conflicts(earlier, &waiting);
                if !waiting.is_some_and(goes_on) {
                    break;
                }
            }
            if enabled && self.guide.is_none() && may_enable(earlier, event) && ran_between(at) {
                found.push(at);
            }
        }
    }

    /// Adds a node at which the default task runs.
    fn descend(&mut self, view: &View<'_>) {
        let spent = self.path.last().map_or(0, |above| above.spent + above.cost(above.event.task));
        let task = view.default_task();
        let stays = view
            .running
            .filter(|&running| !view.yielded && view.enabled.binary_search(&running).is_ok())
            .filter(|running| !view.expiries.contains(running));
        self.delayed |= !view.expiries.is_empty() || view.tasks.iter().any(|next| next.not_due);
        self.path.push(PathNode {
            event: self.progress.event(view, task),
            stays,
            preempt: (!view.expiries.is_empty()).then(|| {
                let enabled = view.enabled.iter().copied();
                enabled.filter(|&task| view.preempts(task)).collect()
            }),
            expiries: view.expiries.to_vec(),
            spent,
            begins: self.path.len(),
            free: None,
            enabled: view.enabled.to_vec(),
            wanted: vec![task],
            orders: vec![Vec::new()],
            tried: 1,
            data: Vec::new(),
            digest: view.digest,
        });
    }

    /// The comparisons that are possible only at the end of the execution.
    fn harvest(&mut self, failed: bool) {
        let left = std::mem::take(&mut self.progress.pending);
        let stuck = !left.iter().any(|next| next.enabled);
        // A failure other than a deadlock ended the process. The last event is therefore an exit,
        // although it was not marked as one.
        if let Some(last) = self.path.last_mut().filter(|_| failed && !stuck) {
            last.event.exits = true;
            let (event, before) = (last.event.clone(), std::mem::take(&mut self.before));
            for at in self.look_back(&event, &before, true, &(0..self.path.len() - 1)) {
                self.add_before(at, &event);
            }
        }
        self.compare(&left);
        let last = self.path.last().map(|last| &last.event).filter(|last| last.exits);
        let others = |next: &PendingOperation| last.is_some_and(|last| last.task != next.task);
        let exits = self.exits || left.iter().any(others);
        let delays = self.delays || self.delayed;
        if (exits, delays) != (self.exits, self.delays) {
            let progress = std::mem::take(&mut self.progress).start_again();
            let guide = self.guide.take();
            let accesses = std::mem::take(&mut self.accesses);
            let again = BoundedDpor::new(self.bound);
            *self = BoundedDpor { exits, delays, progress, guide, accesses, ..again };
        }
    }
}

/// Whether reversing the two events has an observable effect.
fn conflicts(earlier: &Event, event: &Event) -> bool {
    let waits = |access| matches!(access, Access::Lock | Access::Share | Access::Take);
    let lets = |access| matches!(access, Access::Unlock | Access::Unshare | Access::Post(true));
    if earlier.exits || event.exits {
        return true;
    }
    earlier.accesses().iter().any(|&(object, theirs)| {
        let ours = event.access(object);
        ours.is_some_and(|ours| !(ours.commutes(theirs) || waits(ours) && lets(theirs)))
    })
}

/// Whether the two events may depend on each other.
fn meet(earlier: &Event, event: &Event) -> bool {
    let shares = |&(object, _): &(u64, Access)| earlier.access(object).is_some();
    let ends = earlier.exits || event.exits;
    ends || joins(event, earlier.task) || event.accesses().iter().any(shares)
}

/// Whether the event is a join with that task.
fn joins(event: &Event, task: TaskId) -> bool {
    event.operation == Operation::Join && event.other == Some(task)
}

/// Whether the earlier event may enable the later one, so that the later task may be blocked before
/// it.
fn may_enable(earlier: &Event, event: &Event) -> bool {
    joins(event, earlier.task) || earlier.lets(event)
}

impl Strategy for BoundedDpor {
    fn begin(&mut self, _: u64) -> bool {
        if self.progress.exhausted {
            return false;
        }
        if self.progress.started && !self.progress.rebuilds.take() && !self.advance() {
            self.progress.exhausted = true;
            return false;
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
        if self.progress.depth == self.path.len() {
            self.compare(view.tasks);
            self.descend(view);
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
            self.path[self.progress.depth].event = event.clone();
            self.link(self.progress.depth);
            self.before.clear();
            self.before.extend_from_slice(self.progress.order.clock(task));
            self.progress.order.step(&event);
            if self.accesses.len() == self.progress.depth {
                self.accesses.push(&event);
            }
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
            self.path.truncate(self.progress.depth);
        }
        // After the process has ended, the pending operations of its tasks are unknown.
        self.progress.holes |= outcome == Outcome::Failed && self.progress.pending.is_empty();
        self.progress.holes |=
            matches!(outcome, Outcome::Cut | Outcome::GivenUp) || self.progress.differs.is_some();
        if outcome != Outcome::GivenUp {
            self.harvest(outcome == Outcome::Failed);
        }
        // The subtree is explored anew, with the current behaviour of the program.
        if diverged
            && self.progress.rebuilds.rebuild()
            && let (Some(place), Some(differs)) = (self.path.last_mut(), self.progress.differs)
        {
            place.data.truncate(differs);
        }
    }

    fn active_part(&self) -> &'static str {
        "dpor"
    }

    fn coverage(&self) -> Coverage {
        self.progress.coverage(self.left_out.then_some(self.bound))
    }
}

impl PrefixReplay for BoundedDpor {
    fn restart(&mut self) {
        // The event of the last node has changed.
        let same = self.path.len().saturating_sub(1);
        self.progress.restart(same);
        self.accesses.truncate(same);
        self.compared.clear();
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

    fn position(&self) -> Option<Position> {
        self.progress.position()
    }

    fn resume(&mut self, position: &Position) {
        self.progress.resume(position);
    }
}

impl Shareable for BoundedDpor {}

impl Reduction for BoundedDpor {
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
        Some(self.progress.order.hash())
    }

    fn invalidate_coverage(&mut self) {
        self.progress.holes = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Program, programs, run, runs};
    use crate::strategy::dfs::Dfs;
    use std::collections::BTreeSet;

    fn endings<S: Strategy>(program: &Program, mut strategy: S) -> BTreeSet<String> {
        runs(program, &mut strategy)
            .map(|run| format!("{:?} {:?}", run.ending.expect("not given up"), run.variables))
            .collect()
    }

    /// The smallest programs on which incorrect reductions lose a class within a bound: a reduction
    /// that only cuts off at the bound, one that ignores the nodes where switching is not a
    /// preemption, and one that ignores unlocks as conflicts.
    #[test]
    fn nothing_is_lost_on_the_smallest_counterexamples() {
        let programs = [
            programs::short(&["r a; w a", "w a"]),
            programs::short(&["l m; r a", "", "w a"]),
            programs::short(&["w a; l m; r a", "l m; w a; u m; w a"]),
            programs::short(&["r a; w a", "", "r a; w a"]),
            programs::short(&["r a; w a; r a", "r a", "w a"]),
            programs::short(&["w a", "w a", "r a"]),
            programs::account(),
            programs::opposite(),
            programs::reorder(2),
        ];
        for (number, program) in programs.iter().enumerate() {
            for bound in 0..=3 {
                let all = endings(program, Dfs::new(Some(bound)));
                let found = endings(program, BoundedDpor::new(bound));
                assert_eq!(found, all, "program {number} within {bound}");
            }
        }
    }

    #[test]
    fn within_a_bound_the_published_numbers_of_classes() {
        for (program, expected) in
            [(programs::locked(2, 3), [2, 6, 14, 18]), (programs::locked(3, 2), [6, 24, 60, 90])]
        {
            for (bound, expected) in expected.into_iter().enumerate() {
                let mut search = BoundedDpor::new(bound as u32);
                let mut classes = BTreeSet::new();
                let mut executions = 0;
                while search.begin(1) {
                    let run = run(&program, &mut search);
                    assert!(run.preemptions as usize <= bound, "{run:?}");
                    classes.insert(search.equivalence_class());
                    executions += 1;
                }
                println!("within {bound}: {executions} executions");
                assert_eq!(classes.len(), expected, "within {bound}");
            }
        }
    }

    /// Guided by the observed orders: a task that was added for two orders, one of which was
    /// observed since, has not been run for the other.
    #[test]
    fn a_task_that_is_wanted_for_two_orders_is_run_unless_both_were_seen() {
        let program = programs::short(&["w a", "w a", "w a"]);
        let [one, other] = [((1, true), (2, false)), ((3, true), (4, false))];
        for (seen, runs) in
            [(&[][..], true), (&[one], true), (&[other], true), (&[one, other], false)]
        {
            let mut search = BoundedDpor::guided(None);
            assert!(search.begin(1));
            run(&program, &mut search);
            // Orders that the execution itself showed are not tried again.
            let at = search.path.iter().position(|place| place.enabled.len() > 2).expect("one");
            search.path.truncate(at + 1);
            for place in &mut search.path {
                place.wanted.truncate(1);
                place.orders.truncate(1);
            }
            let task = *search.path[at].enabled.last().expect("two");
            search.add(at, task, Some(one));
            search.add(at, task, Some(other));
            let guide = search.guide().expect("it is guided");
            seen.iter().for_each(|&pair| guide.insert(pair));
            let ran = search.advance() && search.path[at].event.task == task;
            assert_eq!(ran, runs, "{seen:?}");
        }
    }

    #[test]
    fn a_bound_that_excludes_nothing_runs_everything() {
        let mut search = BoundedDpor::new(30);
        let classes = runs(&programs::locked(3, 1), &mut search).count();
        assert_eq!(search.coverage(), Coverage::Complete { bound: None });
        assert!(classes >= 6);
        let mut search = BoundedDpor::new(0);
        assert!(runs(&programs::locked(2, 3), &mut search).count() >= 2);
        assert_eq!(search.coverage(), Coverage::Complete { bound: Some(0) });
    }
}
