//! Each order of two places in the code is tried once: whatever came about one way round is made to
//! come the other way round.
//!
//! From the idea of Wang, Said and Gupta, "Coverage Guided Systematic Concurrency Testing" (2011): of
//! two statements each order should be seen, whichever threads do it, so that a hundred threads alike
//! cost no more than two. Where we depart:
//!
//! * Pairs are taken not only where two operations were adjacent and unordered, but also where nothing
//!   but data ordered them: no creation, join or signal, and no lock that both held.
//! * The first instance of a pair counts, by whichever task: it has the most before it to disturb.
//! * Two ways of turning a pair round: hold the first task back until the other has passed the place
//!   (and then let it go on as soon as it can), or let it move only when nobody else can. Where the task
//!   does the same again and again, it is held back the last time, with the least before it that others
//!   could still spoil, and demoted the first time. Nobody else includes no task that is about to end the
//!   process: what was to come last would not come at all.
//! * Of what an execution suggests, the last race comes first; then one pair for each operation at which
//!   a task can be stopped, before any is stopped at twice: those that change something before those that
//!   read, from the end of the execution to its start, each until the other has done most.
//! * Breadth first for a dozen, then the newest first.
//!
//! It tries what it can think of and ends; that it ends says nothing about what is covered.

use crate::events::{Access, Clock, Event, Map, Order, covers, join, mix};
use crate::{Decision, Next, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;
use traces::{Operation, TaskId};

/// How many are picked oldest first.
const BREADTH: u32 = 12;
/// The most earlier reversals that make a pair count as another.
const CONTEXTS: usize = 6;
/// Longer plans wait until all others are done.
const LONG: usize = 8;
/// Of one place on one object, so many operations of one task are remembered: the first ones and the
/// last.
const INSTANCES: usize = 4;

/// When a task is about to do its `index`-th operation, it stops and another runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Directive {
    task: TaskId,
    index: u32,
    other: TaskId,
    /// Held back until the other was here; ignored where `last` is set.
    statement: u64,
    /// From now on the task moves only when nobody else can.
    last: bool,
    pair: (u64, u64),
}

type Plan = Vec<Directive>;

/// An operation of the execution that runs, and what is known about its order.
#[derive(Debug, Clone)]
struct Done {
    event: Event,
    before: Clock,
    /// What came before by creation, join and signal alone.
    must: Clock,
    /// The mutexes its task held.
    held: Vec<u64>,
}

/// The search. See the module's text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Directed {
    /// Races and pairs that only data ordered.
    turns: VecDeque<Plan>,
    /// Everything less promising.
    rest: VecDeque<Plan>,
    picked: u32,
    /// How many earlier reversals tell pairs apart.
    context: usize,
    seen: Map<(u64, u64, u64, bool), ()>,
    /// The plans that were made.
    made: Map<u64, ()>,
    plan: Plan,
    /// At which step each of the plan's directives took effect.
    #[serde(skip)]
    fired: Vec<usize>,
    #[serde(skip)]
    next: usize,
    #[serde(skip)]
    last: Vec<TaskId>,
    #[serde(skip)]
    hold: Option<Directive>,
    #[serde(skip)]
    forced: Option<TaskId>,
    /// Held back before, and blocked since: it runs as soon as it can.
    #[serde(skip)]
    due: Option<TaskId>,
    #[serde(skip)]
    order: Order,
    #[serde(skip)]
    done: Vec<Done>,
    #[serde(skip)]
    must: Vec<Clock>,
    #[serde(skip)]
    held: Vec<Vec<u64>>,
    #[serde(skip)]
    left: Vec<Next>,
    started: bool,
    exhausted: bool,
}

/// How promising a pair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Race,
    OrderedByData,
    Rest,
}

/// A pair that could come the other way round.
struct Pair {
    /// Where in the execution its earlier operation was done, and as which of its task's: the first time,
    /// and the last.
    instances: [(usize, u32); 2],
    second: usize,
    tier: Tier,
    /// How, the first time.
    directive: Directive,
    to_exit: bool,
}

/// A way to turn a pair round.
struct Turn {
    /// Where in the execution.
    at: usize,
    second: usize,
    tier: Tier,
    directive: Directive,
    to_exit: bool,
}

impl Pair {
    /// Holding the task back the last time, and letting it move last from the first time on.
    fn turns(self) -> impl Iterator<Item = Turn> {
        let Pair { instances: [first, last], second, tier, directive, to_exit } = self;
        let turn = move |(at, index), demotes| {
            let directive = Directive { index, last: demotes, ..directive };
            Turn { at, second, tier, directive, to_exit }
        };
        let hold = (!directive.last).then(|| turn(last, false));
        hold.into_iter().chain([turn(first, true)])
    }
}

/// What tells a plan from others.
fn identity(plan: &Plan) -> u64 {
    plan.iter().fold(0, |hash, directive| {
        let Directive { task, index, other, statement, last, .. } = *directive;
        let who = u64::from(task.0) << 32 | u64::from(other.0) << 8 | u64::from(last);
        let until = if last { 0 } else { statement };
        mix(mix(mix(hash ^ who) ^ u64::from(index)) ^ until)
    })
}

impl Directed {
    /// A search from the start.
    #[must_use]
    pub fn new() -> Directed {
        Directed { context: 1, ..Directed::default() }
    }

    fn pick(&mut self) -> Option<Plan> {
        self.picked += 1;
        let turns = &mut self.turns;
        let turn = if self.picked > BREADTH { turns.pop_back() } else { turns.pop_front() };
        turn.or_else(|| self.rest.pop_front())
    }

    fn room(&mut self, task: TaskId) {
        if self.must.len() <= task.index() {
            self.must.resize(task.index() + 1, Clock::new());
        }
        if self.held.len() <= task.index() {
            self.held.resize(task.index() + 1, Vec::new());
        }
    }

    /// Who moves: the default order but for the plan.
    fn direct(&mut self, view: &View<'_>) -> TaskId {
        loop {
            let kept = |task: TaskId| {
                self.last.contains(&task) || self.hold.is_some_and(|hold| hold.task == task)
            };
            // Last is not never: who moves last moves before the process ends.
            let ends = |task: TaskId| {
                let exits =
                    view.next(task).is_some_and(|next| next.operation == Operation::ExitNow);
                exits
                    && view.enabled.iter().any(|&other| other != task && self.last.contains(&other))
            };
            let free = |task: TaskId| {
                view.enabled.binary_search(&task).is_ok()
                    && !ends(task)
                    && (!kept(task) || view.enabled.iter().all(|&other| kept(other) || ends(other)))
            };
            if self.forced.is_none() && self.due.is_some_and(free) {
                self.forced = self.due.take();
            }
            let task = match self.forced {
                Some(task) if free(task) => task,
                Some(_) => {
                    self.forced = None;
                    continue;
                }
                None => view.by_default_order().find(|&task| free(task)).unwrap_or(view.enabled[0]),
            };
            let directive = self.plan.get(self.next).copied().filter(|directive| {
                directive.task == task
                    && directive.index == self.order.count(task)
                    && view.enabled.len() > 1
            });
            let Some(directive) = directive else { return task };
            self.next += 1;
            self.fired.push(self.done.len());
            if directive.last {
                self.last.push(task);
                self.hold = None;
            } else {
                self.hold = Some(directive);
            }
            self.forced = Some(directive.other);
        }
    }

    /// The task does what it stands before.
    fn note(&mut self, next: &Next) {
        let event = Event::new(next, self.order.count(next.task));
        let me = event.task.index();
        self.room(event.task);
        if let (Operation::Join, Some(other)) = (event.operation, event.other) {
            self.room(other);
            let theirs = self.must[other.index()].clone();
            join(&mut self.must[me], &theirs);
        }
        let mut before = Clock::new();
        self.order.before(&event, &mut before);
        self.done.push(Done {
            event,
            before,
            must: self.must[me].clone(),
            held: self.held[me].clone(),
        });
        for &(object, access) in event.accesses() {
            match access {
                Access::Lock => self.held[me].push(object),
                Access::Unlock => self.held[me].retain(|&held| held != object),
                _ => {}
            }
        }
        self.order.step(&event);
        if self.must[me].len() <= me {
            self.must[me].resize(me + 1, 0);
        }
        self.must[me][me] = event.index + 1;
        if let (Operation::Create, Some(other)) = (event.operation, event.other) {
            self.room(other);
            let mine = self.must[me].clone();
            join(&mut self.must[other.index()], &mine);
        }
    }

    /// What the last step did to others: whoever it woke, and whether a task is still held back.
    fn settle(&mut self, tasks: &[Next]) {
        let Some(last) = self.done.last().map(|done| done.event) else { return };
        for woken in self.order.see(tasks, Some(last.task)) {
            self.room(woken);
            let clock = self.must[last.task.index()].clone();
            join(&mut self.must[woken.index()], &clock);
        }
        if let Some(hold) = self.hold {
            if hold.other == last.task && hold.statement == last.statement() {
                self.hold = None;
                self.due = Some(hold.task);
            } else if !tasks.iter().any(|next| next.task == hold.other) {
                self.hold = None;
            }
        }
        if self.forced == Some(last.task) {
            self.forced = None;
        }
    }

    /// The pairs of this execution, each with the earlier operation's first instance.
    fn pairs(&self) -> Vec<Pair> {
        let exited = self.done.last().is_some_and(|done| done.event.exits);
        let mut all: Vec<(Done, bool)> = self.done.iter().cloned().map(|d| (d, false)).collect();
        if exited {
            let last = self.done.len() - 1;
            for next in self.left.iter().filter(|next| next.task != self.done[last].event.task) {
                let event = Event::new(next, self.order.count(next.task));
                let before = self.order.clock(next.task).to_vec();
                let never = Done { event, before, must: Clock::new(), held: Vec::new() };
                all.push((never, true));
            }
        }
        let mut by_object: Map<u64, Vec<usize>> = Map::default();
        let mut instances: Map<(u64, u64, u64), usize> = Map::default();
        let mut got: Map<(u64, u64, u64), usize> = Map::default();
        let mut pairs = Vec::new();
        for (second, (done, never)) in all.iter().enumerate() {
            let event = &done.event;
            let mut candidates = Vec::new();
            if *never {
                candidates.push(self.done.len() - 1);
            } else {
                for &(object, access) in event.accesses() {
                    let earlier = by_object.entry(object).or_default();
                    if !matches!(access, Access::Unlock | Access::Unshare) {
                        candidates.extend(earlier.iter().copied().filter(|&first| {
                            let (first, _) = &all[first];
                            self.could_turn(first, done, object, access)
                        }));
                    }
                    let task = u64::from(event.task.0);
                    let instance = instances.entry((object, event.statement(), task)).or_insert(0);
                    *instance += 1;
                    if *instance > INSTANCES {
                        let same = |&at: &usize| {
                            let other = &all[at].0.event;
                            other.task == event.task && other.statement() == event.statement()
                        };
                        if let Some(before) = earlier.iter().rposition(same) {
                            earlier.remove(before);
                        }
                    }
                    earlier.push(second);
                }
                if event.exits {
                    candidates.extend((0..second).rev().find(|&first| {
                        let first = &all[first].0.event;
                        first.task != event.task && !covers(&done.before, first)
                    }));
                }
            }
            for first in candidates {
                let earlier = &all[first].0.event;
                let ordered = !event.exits && !*never && covers(&done.before, earlier);
                let key = (earlier.statement(), event.statement(), u64::from(ordered));
                if let Some(&at) = got.get(&key) {
                    let Pair { instances: [_, last], directive, .. }: &mut Pair = &mut pairs[at];
                    let tasks = (directive.task, directive.other) == (earlier.task, event.task);
                    if tasks && first > last.0 {
                        *last = (first, earlier.index);
                    }
                    continue;
                }
                got.insert(key, pairs.len());
                let same = earlier.statement() == event.statement();
                pairs.push(Pair {
                    instances: [(first, earlier.index); 2],
                    second,
                    tier: match () {
                        () if same => Tier::Rest,
                        () if ordered => Tier::OrderedByData,
                        () => Tier::Race,
                    },
                    directive: Directive {
                        task: earlier.task,
                        index: earlier.index,
                        other: event.task,
                        statement: event.statement(),
                        last: *never || earlier.exits,
                        pair: (earlier.statement(), event.statement()),
                    },
                    to_exit: event.exits,
                });
            }
        }
        pairs
    }

    fn could_turn(&self, first: &Done, second: &Done, object: u64, access: Access) -> bool {
        let Some(theirs) = first.event.access(object) else { return false };
        let matters =
            !matches!(theirs, Access::Unlock | Access::Unshare) && !theirs.commutes(access);
        let ordered_by_data = || {
            !covers(&second.must, &first.event)
                && !second.held.iter().any(|held| first.held.contains(held))
        };
        first.event.task != second.event.task
            && matters
            && (!covers(&second.before, &first.event) || ordered_by_data())
    }

    /// What was done suggests what to turn round.
    fn harvest(&mut self) {
        let mut turns: Vec<Turn> = self.pairs().into_iter().flat_map(Pair::turns).collect();
        // Those that hold back first, from the end of the execution to its start; then the others.
        let reads = |at: usize| {
            let accesses = self.done.get(at).map(|done| done.event.accesses());
            accesses.is_some_and(|all| all.iter().all(|&(_, access)| access == Access::Read))
        };
        turns.sort_by_key(|&Turn { at, second, directive: Directive { last, .. }, .. }| {
            // As long as possible; where it moves last from then on, that decides nothing.
            let until = if last { second } else { usize::MAX - second };
            (last, !last && reads(at), Reverse(at), until)
        });
        let mut new: Vec<(Turn, usize, Plan)> = Vec::new();
        let mut stops: Map<(TaskId, u32, bool), usize> = Map::default();
        for turn in turns {
            let Turn { at, tier, directive, to_exit, .. } = turn;
            let earlier = self.plan.iter().zip(&self.fired).filter(|&(before, &fired)| {
                fired < at || fired == at && before.task != directive.task
            });
            let mut plan: Plan = earlier.map(|(&before, _)| before).collect();
            let context = plan.iter().rev().take(self.context - 1).fold(1, |hash, directive| {
                let (first, second) = directive.pair;
                mix(hash ^ first.rotate_left(32) ^ second ^ u64::from(directive.last) << 60)
            });
            let context = mix(context ^ tier as u64);
            let (first, second) = directive.pair;
            if self.seen.insert((context, first, second, directive.last), ()).is_some() {
                continue;
            }
            plan.push(directive);
            if self.made.insert(identity(&plan), ()).is_some() {
                continue;
            }
            let tier = if plan.len() > LONG || to_exit { Tier::Rest } else { tier };
            let stop = (directive.task, directive.index, directive.last);
            let times = stops.entry(stop).or_default();
            *times += 1;
            new.push((Turn { tier, ..turn }, *times, plan));
        }
        new.sort_by_key(|(turn, times, _)| (turn.directive.last, *times));
        let races = new.iter().enumerate().filter(|(_, (turn, ..))| turn.tier == Tier::Race);
        let latest = races
            .max_by_key(|&(number, (turn, ..))| (!turn.directive.last, turn.at, Reverse(number)));
        if let Some((race, _)) = latest {
            new[..=race].rotate_right(1);
        }
        for (turn, _, plan) in new {
            let queue = if turn.tier == Tier::Rest { &mut self.rest } else { &mut self.turns };
            queue.push_back(plan);
        }
    }
}

impl Strategy for Directed {
    fn begin(&mut self, _: u64) -> bool {
        if self.exhausted {
            return false;
        }
        if self.started {
            match self.pick() {
                Some(plan) => self.plan = plan,
                None if self.context < CONTEXTS => {
                    self.context += 1;
                    self.seen.clear();
                    self.made.clear();
                    self.plan.clear();
                }
                None => {
                    self.exhausted = true;
                    return false;
                }
            }
        }
        self.started = true;
        self.fired.clear();
        self.next = 0;
        self.last.clear();
        self.hold = None;
        self.forced = None;
        self.due = None;
        self.order.clear();
        self.done.clear();
        self.must.iter_mut().for_each(Clock::clear);
        self.held.iter_mut().for_each(Vec::clear);
        self.left.clear();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if self.done.is_empty() {
            self.order.see(view.tasks, None);
        }
        self.settle(view.tasks);
        let task = self.direct(view);
        if let Some(next) = view.next(task) {
            self.note(next);
        }
        Decision::Task(task)
    }

    fn choose_data(&mut self, _: u32) -> u32 {
        0
    }

    fn detailed(&self) -> bool {
        true
    }

    fn left(&mut self, tasks: &[Next]) {
        self.settle(tasks);
        self.left.extend_from_slice(tasks);
    }

    fn end(&mut self, outcome: Outcome) {
        if !matches!(outcome, Outcome::GivenUp) {
            self.harvest();
        }
    }

    fn part(&self) -> &'static str {
        "directed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Ending, Program, programs, runs};

    fn first_failure(program: &Program) -> Option<usize> {
        let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
        let mut directed = Directed::new();
        let mut all = runs(program, &mut directed).take(1_000);
        all.position(|run| fails(run.ending)).map(|at| at + 1)
    }

    /// It was forgotten where it had to wait for a lock, and went on only when the other was done.
    #[test]
    fn a_task_held_back_goes_on_as_soon_as_it_gets_its_lock() {
        let reader_first = programs::created(&programs::twostage(1), &[2, 1]);
        assert_eq!(first_failure(&reader_first), Some(2));
    }

    /// The item that is taken twice is the last one, however often others were taken before.
    #[test]
    fn what_a_task_does_again_and_again_is_stopped_the_last_time() {
        for items in [2, 3, 4, 6, 12] {
            let found = first_failure(&programs::work_stealing(2, items));
            assert_eq!(found, Some(4), "{items} items");
        }
    }

    #[test]
    fn no_schedule_is_asked_for_twice() {
        let program = programs::reorder(3);
        let mut directed = Directed::new();
        let mut plans = Vec::new();
        for number in 1..200 {
            if !directed.begin(number) || directed.context > 1 {
                break;
            }
            plans.push(identity(&directed.plan));
            let _ = crate::simulate::run(&program, &mut directed);
        }
        let count = plans.len();
        plans.sort_unstable();
        plans.dedup();
        assert!(count > 10 && plans.len() == count, "{} of {count}", plans.len());
    }
}
