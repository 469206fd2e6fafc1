//! Tries each order of two code locations once: after an execution showed one order of two
//! operations, another execution tries to reverse it.
//!
//! After an idea of Wang, Said and Gupta, "Coverage Guided Systematic Concurrency Testing" (2011):
//! both orders of two statements should be seen, whichever threads execute them, so that a hundred
//! equal threads cost no more than two. Differences:
//!
//! * Pairs are taken from operations that were adjacent and unordered, and also from operations
//!   that only data ordered: no creation, join or signal, and no common lock.
//! * The first instance of a pair counts, by whichever task, because most of the execution is still
//!   ahead of it.
//! * There are two ways to reverse a pair: hold the first task back until the other has passed its
//!   code location (then the first continues as soon as it can), or run the first task only when no
//!   other is enabled. If the task repeats the operation, it is held back at the last instance,
//!   after which other tasks can disturb least, and demoted at the first. "No other" excludes tasks
//!   whose next step ends the process: otherwise the demoted task would never run.
//! * Of the pairs that an execution suggests, the last race comes first; then one pair for each
//!   operation at which a task can be stopped, before any is used twice: writes before reads, from
//!   the end of the execution to its start, each until the other task has made the most progress.
//! * The first dozen plans are taken breadth first, then the newest first.
//!
//! The strategy ends when it has no more plans; this says nothing about coverage.

use crate::reduction::events::{Access, Clock, Event, Map, Order, covers, join, mix};
use crate::strategy::descriptor::Descriptor;
use crate::{
    Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Strategy, View,
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;
use traces::{Operation, TaskId};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("directed", "each order of two code locations once");

/// How many plans are taken oldest first.
const BREADTH: u32 = 12;
/// The most earlier reversals that distinguish one pair from the same pair in another context.
const CONTEXTS: usize = 6;
/// Longer plans wait until all others were run.
const LONG: usize = 8;
/// At one code location and object, this many operations of one task are remembered: the first ones
/// and the last.
const INSTANCES: usize = 4;

/// A task that is held runs after the other tasks have yielded this often: their loops may wait
/// for its next operation, and nothing else ends a loop whose iterations differ (in a count of its
/// iterations, say).
const YIELDS: u32 = 100;
/// A task that is held also runs after this many steps more than twice those of the first execution:
/// the others may repeat something at intervals of time for as long as time can pass before its step.
const LONGER: usize = 1_000;

/// A task stops before its `index`-th operation, and another task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Directive {
    task: TaskId,
    index: u32,
    other: TaskId,
    /// The task is held back until another task has executed this statement; ignored if `last` is
    /// set.
    statement: u64,
    /// From here on the task runs only if no other task is enabled.
    last: bool,
    pair: (u64, u64),
}

type Plan = Vec<Directive>;

/// An operation of the current execution, and what is known about its order.
#[derive(Debug, Clone)]
struct Step {
    event: Event,
    before: Clock,
    /// The clock of the order by creation, join and signal alone.
    must: Clock,
    /// The mutexes that its task held.
    held: Vec<u64>,
}

/// The search. See the module documentation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Directed {
    /// Plans that reverse two operations which either race, or are ordered only because one read what
    /// the other wrote.
    turns: VecDeque<Plan>,
    /// The less promising plans.
    rest: VecDeque<Plan>,
    picked: u32,
    /// How many earlier reversals distinguish two plans.
    context: usize,
    seen: Map<(u64, u64, u64, bool), ()>,
    /// The plans that were made so far.
    made: Map<u64, ()>,
    plan: Plan,
    /// For each directive of the plan, the step at which it took effect.
    #[serde(skip)]
    fired: Vec<usize>,
    #[serde(skip)]
    next: usize,
    #[serde(skip)]
    last: Vec<TaskId>,
    #[serde(skip)]
    hold: Option<Directive>,
    /// How often a task yielded while another one was held.
    #[serde(skip)]
    yields: u32,
    #[serde(skip)]
    forced: Option<TaskId>,
    /// A task that was held back and is blocked since: it runs as soon as it is enabled.
    #[serde(skip)]
    due: Option<TaskId>,
    #[serde(skip)]
    order: Order,
    #[serde(skip)]
    done: Vec<Step>,
    #[serde(skip)]
    must: Vec<Clock>,
    #[serde(skip)]
    held: Vec<Vec<u64>>,
    #[serde(skip)]
    left: Vec<PendingOperation>,
    started: bool,
    exhausted: bool,
    /// The steps of the first execution; 0 before its end.
    usual: usize,
}

/// The priority class of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Race,
    OrderedByData,
    Rest,
}

/// A pair that can be reversed.
struct Pair {
    /// The earlier operation may have executed several times at the same site. For its first and for
    /// its last execution: the step, and the index among the operations of its task.
    instances: [(usize, u32); 2],
    second: usize,
    tier: Tier,
    /// The directive for the first instance.
    directive: Directive,
    to_exit: bool,
}

/// A way to reverse a pair.
struct Turn {
    /// The position in the execution.
    at: usize,
    second: usize,
    tier: Tier,
    directive: Directive,
    to_exit: bool,
}

impl Pair {
    /// Two ways: hold the task back at the last instance, or demote it from the first instance on.
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

/// A hash that distinguishes plans.
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

    /// Keeps no task back any longer if the others only yield, or make the execution long.
    fn end_hopeless_plan(&mut self, view: &View<'_>) {
        let hold = self.hold.map(|hold| hold.task);
        let kept = |task: &TaskId| self.last.contains(task) || hold == Some(*task);
        if !view.enabled.iter().any(kept) {
            return;
        }
        self.yields += u32::from(view.gave_way);
        let is_long = self.usual > 0 && self.done.len() > 2 * self.usual + LONGER;
        if is_long || view.gave_way && self.yields > YIELDS {
            // The plan cannot be carried out.
            self.next = self.plan.len();
            self.hold = None;
            self.last.clear();
            self.forced = None;
            self.due = self.due.or(hold);
        }
    }

    /// The task to run: the default order, modified by the plan.
    fn direct(&mut self, view: &View<'_>) -> TaskId {
        self.end_hopeless_plan(view);
        loop {
            let kept = |task: TaskId| {
                self.last.contains(&task) || self.hold.is_some_and(|hold| hold.task == task)
            };
            // A demoted task runs before a step that ends the process.
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

    /// Records the task's pending operation as executed.
    fn note(&mut self, next: &PendingOperation) {
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
        self.done.push(Step {
            event: event.clone(),
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

    /// Records the effect of the last step on other tasks: which it woke, and whether a task is
    /// still held back.
    fn settle(&mut self, tasks: &[PendingOperation]) {
        let Some(last) = self.done.last().map(|done| done.event.clone()) else { return };
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
        let mut all: Vec<(Step, bool)> = self.done.iter().cloned().map(|d| (d, false)).collect();
        if exited {
            let last = self.done.len() - 1;
            for next in self.left.iter().filter(|next| next.task != self.done[last].event.task) {
                let event = Event::new(next, self.order.count(next.task));
                let before = self.order.clock(next.task).to_vec();
                let never = Step { event, before, must: Clock::new(), held: Vec::new() };
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
            // A test harness in main runs only when no other task can: its operations have their places.
            if event.is_of_harness() {
                continue;
            }
            for first in candidates {
                let earlier = &all[first].0.event;
                if earlier.is_of_harness() {
                    continue;
                }
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

    fn could_turn(&self, first: &Step, second: &Step, object: u64, access: Access) -> bool {
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

    /// Derives plans from the execution.
    fn harvest(&mut self) {
        let mut turns: Vec<Turn> = self.pairs().into_iter().flat_map(Pair::turns).collect();
        // First the plans that hold a task back, from the end of the execution to its start; then
        // those that demote one.
        let reads = |at: usize| {
            let accesses = self.done.get(at).map(|done| done.event.accesses());
            accesses.is_some_and(|all| all.iter().all(|&(_, access)| access == Access::Read))
        };
        turns.sort_by_key(|&Turn { at, second, directive: Directive { last, .. }, .. }| {
            // The longer the other task can run, the better; for a demotion this makes no
            // difference.
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
        self.yields = 0;
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

    fn end(&mut self, outcome: Outcome) {
        if self.usual == 0 {
            self.usual = self.done.len();
        }
        if !matches!(outcome, Outcome::GivenUp) {
            self.harvest();
        }
    }

    fn active_part(&self) -> &'static str {
        "directed"
    }
}

impl PrefixReplay for Directed {}

impl Shareable for Directed {}

impl Reduction for Directed {
    fn needs_pending(&self) -> bool {
        true
    }

    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        self.settle(tasks);
        self.left.extend_from_slice(tasks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Ending, Program, programs, runs};

    fn first_failure(program: &Program) -> Option<usize> {
        let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
        let mut directed = Directed::new();
        let mut all = runs(program, &mut directed).take(1_000);
        all.position(|run| fails(run.ending)).map(|at| at + 1)
    }

    /// A task that is held back has to wait for a lock afterwards. It must run when it gets the
    /// lock, and not only after the other task has finished.
    #[test]
    fn a_task_held_back_continues_as_soon_as_it_gets_its_lock() {
        let reader_first = programs::created(&programs::twostage(1), &[2, 1]);
        assert_eq!(first_failure(&reader_first), Some(2));
    }

    /// The item that is taken twice is the last one, after any number of others.
    #[test]
    fn a_repeated_operation_is_held_back_at_its_last_instance() {
        for items in [2, 3, 4, 6, 12] {
            let found = first_failure(&programs::work_stealing(2, items));
            assert_eq!(found, Some(4), "{items} items");
        }
    }

    /// The loop counts its iterations, so that no two are equal: only the task that is held can
    /// end it.
    #[test]
    fn a_task_is_not_held_while_another_one_spins() {
        use crate::simulation::{At, Code, Compare, Value};
        let flag = At(0, None);
        let waits = vec![
            Code::Load(1, flag),
            Code::If(Value::Register(1), Compare::Equal, Value::Is(1), 5),
            Code::Sum(2, Value::Register(2), Value::Is(1)),
            Code::Yield,
            Code::Jump(0),
        ];
        let sets = vec![Code::Store(flag, Value::Is(1))];
        let program = programs::with(vec![sets, waits], vec![(0, 0), (1, 0)], vec![0], 0, &[]);
        let all: Vec<_> = runs(&program, &mut Directed::new()).take(100).collect();
        assert!(all.len() > 1, "one order was reversed");
        let longest = all.iter().map(|run| run.choices.len()).max();
        assert!(longest < Some(4 * YIELDS as usize), "{longest:?} steps");
        assert!(longest > Some(YIELDS as usize), "no execution held a task: {longest:?} steps");
    }

    /// A task that works at intervals does so for as long as time can pass: the plan ends before.
    #[test]
    fn a_task_is_not_held_while_another_one_works_on() {
        use crate::simulation::{At, Code, Compare, Value};
        let (flag, counter) = (At(0, None), At(1, None));
        let works = vec![
            Code::Load(1, flag),
            Code::If(Value::Register(1), Compare::Equal, Value::Is(1), 5),
            Code::Sum(2, Value::Register(2), Value::Is(1)),
            Code::Store(counter, Value::Register(2)),
            Code::If(Value::Register(2), Compare::Less, Value::Is(20_000), 0),
        ];
        let sets = vec![Code::Store(flag, Value::Is(1))];
        let program = programs::with(vec![sets, works], vec![(0, 0), (1, 0)], vec![0, 0], 0, &[]);
        let all: Vec<_> = runs(&program, &mut Directed::new()).take(100).collect();
        assert!(all.len() > 1, "one order was reversed");
        let longest = all.iter().map(|run| run.choices.len()).max();
        assert!(longest > Some(LONGER) && longest < Some(2 * LONGER), "{longest:?} steps");
    }

    /// The harness's main comes after all other tasks that can run, so no plan can change its place.
    #[test]
    fn a_test_needs_as_many_executions_as_its_body() {
        use crate::simulation::Code;
        for body in [programs::twostage(1), programs::reorder(3), programs::work_stealing(2, 3)] {
            let mut test = body.clone();
            let number = test.tasks.len();
            test.tasks.push((test.code.len(), 0));
            let harness = vec![Code::Create(number), Code::Join(number), Code::End];
            let moved = std::mem::replace(&mut test.code[0], harness);
            test.code.push(moved);
            test.main_last = true;
            let (alone, tested) = (first_failure(&body), first_failure(&test));
            assert!(alone.is_some() && tested <= alone, "{alone:?} and {tested:?}");
        }
    }

    #[test]
    fn no_plan_is_made_twice() {
        let program = programs::reorder(3);
        let mut directed = Directed::new();
        let mut plans = Vec::new();
        for number in 1..200 {
            if !directed.begin(number) || directed.context > 1 {
                break;
            }
            plans.push(identity(&directed.plan));
            let _ = crate::simulation::run(&program, &mut directed);
        }
        let count = plans.len();
        plans.sort_unstable();
        plans.dedup();
        assert!(count > 10 && plans.len() == count, "{} of {count}", plans.len());
    }
}
