//! `icb` and `delay`: `icb` runs all schedules with no preemption, then with one, with two, and so
//! on, so that the simplest failing schedule comes first; `delay` does the same with delays instead
//! of preemptions.
//!
//! Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded
//! Programs" (2007), with the cache of happens-before states of CHESS (2008); Emmi, Qadeer and
//! Rakamarić, "Delay-Bounded Scheduling" (2011). Differences:
//!
//! * The key of the cache is the state, the running task *and* the remaining preemptions. Without
//!   the running task, an alternative would be lost that was free in one execution and costs a
//!   preemption in the other; without the remaining preemptions, an alternative that exceeded the
//!   bound of the earlier execution. If the running task is blocked or has yielded, the key
//!   contains no running task.
//! * No sleep sets: the only form of them that is sound with a bound saves hardly anything in
//!   addition to the cache.
//! * Each level is a depth-first search from the start, so that no frontier has to be stored.
//!   Schedules with fewer preemptions are run again, which is little compared with the new ones of
//!   the level.

use crate::prefix::{Position, TrailChoice};
use crate::reduction::events::{Map, Order, mix};
use crate::strategy::descriptor::{BoundUnit, Descriptor};
use crate::strategy::dfs::{Dfs, Measure};
use crate::{
    Coverage, Decision, GiveUp, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable,
    Strategy, View,
};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use traces::TaskId;

/// The descriptor of `icb`.
pub const ICB: Descriptor =
    Descriptor::new("icb", "all schedules with no preemption, then with one, with two, ...")
        .bounded_by(BoundUnit::Preemptions);

/// The descriptor of `delay`.
pub const DELAY: Descriptor =
    Descriptor::new("delay", "all schedules with no delay, then with one, with two, ...")
        .bounded_by(BoundUnit::Delays);

/// The most states that the cache stores. A state that it drops is only explored again.
const REMEMBERED: usize = 400_000;

/// The cache of a level: for each state, which task was running and how many preemptions remained.
#[derive(Debug, Clone)]
enum Cache {
    /// The cache of a single search: the most remaining preemptions with which the state was
    /// visited.
    Own(Map<(u64, u32), u32>),
    /// The cache of all searches of the level. Each combination is a separate entry, so that the
    /// executions do not depend on which search comes first.
    Shared(&'static [AtomicU64]),
    /// The same table, and the states that were not stored there: for an execution that may be repeated.
    ReadOnly(&'static [AtomicU64], Vec<(u64, u32, u32)>),
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::Own(Map::default())
    }
}

impl Cache {
    /// Whether the state was visited with at least as many remaining preemptions; marks it as
    /// visited.
    fn known(&mut self, state: u64, running: u32, left: u32) -> bool {
        let marks = matches!(self, Cache::Shared(_));
        if let Cache::ReadOnly(_, unstored) = self {
            unstored.push((state, running, left));
        }
        match self {
            Cache::Own(cache) => {
                let room = cache.len() < REMEMBERED;
                match cache.get_mut(&(state, running)) {
                    Some(most) if *most >= left => return true,
                    Some(most) => *most = left,
                    None if room => {
                        cache.insert((state, running), left);
                    }
                    None => {}
                }
                false
            }
            Cache::Shared(table) | Cache::ReadOnly(table, _) => {
                let key = mix(state ^ mix(u64::from(running) << 32 | u64::from(left))).max(1);
                for part in parts(table) {
                    for step in 0..NEAR.min(part.len()) {
                        let slot = &part[(key as usize).wrapping_add(step) % part.len()];
                        let there = slot.load(Relaxed);
                        if there == key {
                            return true;
                        }
                        if there != 0 {
                            continue;
                        }
                        if !marks {
                            return false;
                        }
                        match slot.compare_exchange(0, key, Relaxed, Relaxed) {
                            Ok(_) => return false,
                            Err(other) if other == key => return true,
                            Err(_) => {}
                        }
                    }
                }
                // The table is full: the state is only explored again.
                false
            }
        }
    }
}

/// The number of slots of a part that are examined before the next part is.
const NEAR: usize = 16;
/// The size of the first part of a table; each part is eight times as large as the one before it.
const FIRST: usize = 4096;

/// A table in parts, each of which is used when the one before it is full: a small search touches
/// few pages, and the first access to a page costs more than everything else in a step.
fn parts(mut table: &[AtomicU64]) -> impl Iterator<Item = &[AtomicU64]> {
    let mut size = FIRST;
    std::iter::from_fn(move || {
        if table.is_empty() {
            return None;
        }
        // The last part takes the rest.
        let here = if table.len() <= size + size / 2 { table.len() } else { size };
        let (part, rest) = table.split_at(here);
        table = rest;
        size = size.saturating_mul(8);
        Some(part)
    })
}

/// All schedules within one bound: one level of the search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Level {
    measure: Measure,
    level: u32,
    dfs: Dfs,
    /// Whether the execution was given up because the state was visited before.
    redundant: bool,
    /// The number of steps of the running execution.
    #[serde(skip)]
    steps: usize,
    #[serde(skip)]
    order: Order,
    /// For each step of the order, what was executed up to it.
    #[serde(skip)]
    past: Vec<Past>,
    #[serde(with = "stored_cache")]
    cache: Cache,
}

/// The cache of a single search is stored with it: without the states that it has visited, a search that
/// was paused would run other executions than one that was not. A shared table stays where it is.
mod stored_cache {
    use super::Cache;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(cache: &Cache, to: S) -> Result<S::Ok, S::Error> {
        let mut states: Vec<((u64, u32), u32)> = match cache {
            Cache::Own(cache) => cache.iter().map(|(&key, &left)| (key, left)).collect(),
            Cache::Shared(_) | Cache::ReadOnly(..) => Vec::new(),
        };
        states.sort_unstable();
        states.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cache, D::Error> {
        let states = Vec::<((u64, u32), u32)>::deserialize(from)?;
        Ok(Cache::Own(states.into_iter().collect()))
    }
}

/// What an execution has executed so far, as far as the order of the operations does not show it.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    /// A hash of the statements of each task, whatever their order.
    statements: u64,
    /// Whether an operation had an effect that depends on hidden state ([`PendingOperation::hides_something`]).
    hides: bool,
    /// Whether a task may have handled a signal. No state is known from then on: at which of its steps the task was,
    /// whether the handler ended its wait, and where the signal is pending show in no operation.
    handles: bool,
}

/// A hash of a task's next statement.
fn statement(next: &PendingOperation) -> u64 {
    let task = mix(!u64::from(next.task.0));
    mix(task ^ mix(next.site ^ u64::from(next.operation.code()) << 56) ^ next.object)
}

impl Level {
    /// The measure that the bound limits.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The level from the start of the program.
    #[must_use]
    pub fn new(measure: Measure, level: u32) -> Level {
        Level {
            measure,
            level,
            dfs: Dfs::by(measure, Some(level)),
            redundant: false,
            steps: 0,
            order: Order::default(),
            past: Vec::new(),
            cache: Cache::default(),
        }
    }

    /// Splits the depth-first search ([`Dfs::split`]), with the same measure and level.
    #[must_use]
    pub fn split(&mut self) -> Option<Level> {
        let dfs = self.dfs.split()?;
        Some(Level { dfs, ..Level::new(self.measure, self.level) })
    }

    /// From here on visited states are stored in this table, which other searches use, too.
    pub fn share(&mut self, table: &'static [AtomicU64]) {
        self.cache = Cache::Shared(table);
    }

    /// From here on visited states are read from the table, but not stored.
    pub fn suspend_cache_updates(&mut self) {
        if let Cache::Shared(table) = self.cache {
            self.cache = Cache::ReadOnly(table, Vec::new());
        }
    }

    /// Stores the states that the current execution visited, and from here on all others again.
    pub fn continue_cache_updates(&mut self) {
        if let Cache::ReadOnly(table, unstored) = &mut self.cache {
            let (mut cache, unstored) = (Cache::Shared(table), std::mem::take(unstored));
            for (state, running, left) in unstored {
                cache.known(state, running, left);
            }
            self.cache = cache;
        }
    }

    /// The depth-first search of the level.
    #[must_use]
    pub fn dfs(&self) -> &Dfs {
        &self.dfs
    }

    /// Begins an execution of the depth-first search.
    fn start(&mut self) {
        self.redundant = false;
        self.steps = 0;
        if self.measure == Measure::Preemptions {
            self.order.rewind(self.dfs.repeats());
        }
    }

    /// What was executed before the current state.
    fn past(&self) -> Past {
        self.steps.checked_sub(1).map(|last| self.past[last]).unwrap_or_default()
    }

    /// The task takes a step that is new.
    fn remember(&mut self, view: &View<'_>, decision: &Decision) {
        let Past { mut statements, mut hides, mut handles } = self.past();
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(*task)
        {
            let index = u64::from(self.order.count(*task));
            statements = statements.wrapping_add(mix(statement(next) ^ mix(index)));
        }
        hides |= view.tasks.iter().any(PendingOperation::hides_something);
        handles |= view.tasks.iter().any(PendingOperation::may_run_handler);
        self.past.push(Past { statements, hides, handles });
    }

    /// Whether the current state was visited with at least as many remaining preemptions.
    fn known(&mut self, view: &View<'_>) -> bool {
        let running =
            view.running.filter(|&task| !view.yielded && view.enabled.binary_search(&task).is_ok());
        let running = running.map_or(u32::MAX, |task: TaskId| u32::from(task.0));
        let left = self.level.saturating_sub(self.dfs.spent());
        // States that were visited before the program changed its behaviour had other
        // continuations.
        let mut state = match self.dfs.rebuilds() {
            0 => self.order.hash(),
            rebuilds => mix(self.order.hash() ^ mix(u64::from(rebuilds))),
        };
        // What a task executes next then depends on more than the order of the operations.
        let Past { statements, hides, handles } = self.past();
        if handles || view.tasks.iter().any(PendingOperation::may_run_handler) {
            return false;
        }
        if hides || view.tasks.iter().any(PendingOperation::hides_something) {
            let pending = view.tasks.iter().map(statement).fold(statements, u64::wrapping_add);
            state = mix(state ^ mix(pending));
        }
        self.cache.known(state, running, left)
    }
}

impl Strategy for Level {
    fn begin(&mut self, number: u64) -> bool {
        let begins = self.dfs.begin(number);
        if begins {
            self.start();
        }
        begins
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        // Delays depend on the task that ran last, which the key of a state does not contain.
        if self.measure != Measure::Preemptions {
            return self.dfs.choose(view);
        }
        let known = self.order.has(self.steps);
        if !known {
            self.past.truncate(self.steps);
            self.order.mark();
            self.order.see(view.tasks, view.running);
            if self.dfs.is_new() && self.known(view) {
                self.redundant = true;
                return Decision::GiveUp(GiveUp::Redundant);
            }
        }
        let decision = self.dfs.choose(view);
        if !known {
            self.remember(view, &decision);
            self.order.follow(view, &decision);
        }
        self.steps += 1;
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = self.dfs.choose_data(of);
        if self.steps.checked_sub(1).is_some_and(|last| !self.order.has(last)) {
            self.order.note(u64::from(taken));
        }
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        // An execution that was given up because its state is known leaves no gap, unless something
        // was left out before.
        let known = self.redundant && outcome == Outcome::GivenUp;
        self.dfs.end(if known { Outcome::Passed } else { outcome });
    }

    fn active_part(&self) -> &'static str {
        match self.measure {
            Measure::Preemptions => "icb",
            Measure::Delays => "delay",
            Measure::Departures { .. } => "departures",
        }
    }

    fn coverage(&self) -> Coverage {
        self.dfs.coverage()
    }
}

impl PrefixReplay for Level {
    fn restart(&mut self) {
        self.dfs.restart();
        self.start();
    }

    fn expected_digest(&self) -> Option<u32> {
        self.dfs.expected_digest()
    }

    fn failed_to_repeat(&self) -> bool {
        self.dfs.failed_to_repeat()
    }

    fn common_steps(&self) -> usize {
        let common = self.dfs.common_steps();
        if self.needs_pending() { common.min(self.order.retained()) } else { common }
    }

    fn planned_steps(&self) -> usize {
        self.dfs.planned_steps()
    }

    fn planned_choices(&self) -> Vec<TrailChoice> {
        self.dfs.planned_choices()
    }

    fn adopt(&mut self, before: &mut Level, trail: &[TrailChoice]) -> usize {
        let steps = self.dfs.adopt(&mut before.dfs, trail);
        if !self.needs_pending() {
            return steps;
        }
        self.past = std::mem::take(&mut before.past);
        self.order.adopt(&mut before.order, steps)
    }

    fn position(&self) -> Option<Position> {
        self.dfs.position()
    }

    fn resume(&mut self, position: &Position) {
        self.dfs.resume(position);
        self.steps = position.steps;
    }
}

impl Shareable for Level {}

impl Reduction for Level {
    fn needs_pending(&self) -> bool {
        self.measure == Measure::Preemptions
    }

    #[inline]
    fn needs_pending_now(&self) -> bool {
        self.needs_pending() && !self.order.has(self.steps)
    }

    fn equivalence_class(&self) -> Option<u64> {
        (self.measure == Measure::Preemptions && !self.redundant).then(|| self.order.hash())
    }
}

/// The state of a search level by level.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Levels {
    /// The unit in which levels count: preemptions or delays.
    pub measure: Measure,
    /// The last level, if the user set one.
    pub most: Option<u32>,
    /// The current level.
    pub level: u32,
    /// The highest level up to which nothing was missed.
    finished: Option<u32>,
    exhausted: bool,
    /// Whether no schedule exceeded the level, so that higher levels have no further schedules.
    whole: bool,
    /// Whether a check showed that the key of the cache does not contain the whole state.
    refuted: bool,
}

impl Levels {
    /// Levels from 0 on.
    #[must_use]
    pub fn new(measure: Measure, most: Option<u32>) -> Levels {
        Levels {
            measure,
            most,
            level: 0,
            finished: None,
            exhausted: false,
            whole: false,
            refuted: false,
        }
    }

    /// Ends the level: `complete` if it had no gaps, `left_out` if a schedule exceeded it. Returns
    /// whether there is another level.
    pub fn finish(&mut self, complete: bool, left_out: bool) -> bool {
        if complete {
            let expected = self.finished.map_or(0, |finished| finished + 1);
            if self.level == expected {
                self.finished = Some(self.level);
            }
            self.whole = !left_out && self.finished == Some(self.level);
        }
        self.exhausted = !left_out || self.most.is_some_and(|most| self.level >= most);
        self.level += u32::from(!self.exhausted);
        !self.exhausted
    }

    /// Whether there are no more levels.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// From here on no coverage is claimed.
    pub fn invalidate_coverage(&mut self) {
        self.refuted = true;
    }

    /// The coverage of the levels so far.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        match (self.measure, self.exhausted, self.finished) {
            _ if self.refuted => Coverage::Open,
            (_, true, Some(_)) if self.whole => Coverage::Complete { bound: None },
            (Measure::Preemptions, true, Some(finished)) if self.most == Some(finished) => {
                Coverage::Complete { bound: Some(finished) }
            }
            (Measure::Delays, true, Some(finished)) if self.most == Some(finished) => {
                Coverage::AsAsked
            }
            (Measure::Preemptions, _, Some(finished)) => Coverage::Within(finished),
            _ => Coverage::Open,
        }
    }
}

/// The levels of a search, one after another. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Iterative {
    levels: Levels,
    level: Level,
}

impl Iterative {
    /// A search by preemptions or delays, up to `most` if there is a limit.
    #[must_use]
    pub fn new(measure: Measure, most: Option<u32>) -> Iterative {
        Iterative { levels: Levels::new(measure, most), level: Level::new(measure, 0) }
    }

    /// The state of the levels, and the search of the current level.
    #[must_use]
    pub fn into_parts(self) -> (Levels, Level) {
        (self.levels, self.level)
    }
}

impl Strategy for Iterative {
    fn begin(&mut self, number: u64) -> bool {
        while !self.levels.is_exhausted() {
            if self.level.begin(number) {
                return true;
            }
            let dfs = self.level.dfs();
            let complete = matches!(dfs.coverage(), Coverage::Complete { .. });
            if self.levels.finish(complete, dfs.left_out()) {
                self.level = Level::new(self.levels.measure, self.levels.level);
            }
        }
        false
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.level.choose(view)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.level.choose_data(of)
    }

    fn end(&mut self, outcome: Outcome) {
        self.level.end(outcome);
    }

    fn active_part(&self) -> &'static str {
        self.level.active_part()
    }

    fn coverage(&self) -> Coverage {
        self.levels.coverage()
    }
}

impl PrefixReplay for Iterative {
    fn restart(&mut self) {
        self.level.restart();
    }

    fn expected_digest(&self) -> Option<u32> {
        self.level.expected_digest()
    }

    fn failed_to_repeat(&self) -> bool {
        self.level.failed_to_repeat()
    }
}

impl Reduction for Iterative {
    fn needs_pending(&self) -> bool {
        self.level.needs_pending()
    }

    fn needs_pending_now(&self) -> bool {
        self.level.needs_pending_now()
    }

    fn equivalence_class(&self) -> Option<u64> {
        self.level.equivalence_class()
    }

    fn invalidate_coverage(&mut self) {
        self.levels.invalidate_coverage();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{programs, run, runs};
    use std::collections::BTreeSet;

    /// Whether an execution was tried before it was run must not show in the search.
    #[test]
    fn states_that_were_not_stored_at_once_are_stored_later() {
        let executions = |suspends: bool| {
            let program = programs::locked(3, 2);
            let mut level = Level::new(Measure::Preemptions, 2);
            level.share((0..1 << 16).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak());
            let mut all = Vec::new();
            for number in 1.. {
                if suspends {
                    level.suspend_cache_updates();
                }
                if !level.begin(number) {
                    return all;
                }
                all.push(run(&program, &mut level).choices);
                level.continue_cache_updates();
            }
            all
        };
        let plain = executions(false);
        assert!(plain.len() > 10, "{}", plain.len());
        assert_eq!(executions(true), plain);
    }

    /// The smallest programs on which incorrect caches lose a class within a bound: a cache whose
    /// key lacks the running task, one whose key lacks the remaining preemptions, and one combined
    /// with sleep sets.
    #[test]
    fn the_cache_loses_nothing_on_the_smallest_counterexamples() {
        let programs = [
            programs::short(&["l m; r a", "", "w a"]),
            programs::short(&["w a; l m; r a", "l m; w a; u m; w a"]),
            programs::short(&["r a; w a", "", "r a; w a"]),
            programs::short(&["r a; w a; r a", "r a", "w a"]),
            programs::short(&["r a; w a", "w a"]),
        ];
        for (number, program) in programs.iter().enumerate() {
            for bound in 0..=2 {
                let all: BTreeSet<_> = runs(program, &mut Dfs::new(Some(bound)))
                    .map(|run| (run.ending.expect("not given up"), run.variables))
                    .collect();
                let mut icb = Iterative::new(Measure::Preemptions, Some(bound));
                let found: BTreeSet<_> = runs(program, &mut icb)
                    .filter_map(|run| Some((run.ending.ok()?, run.variables)))
                    .collect();
                assert_eq!(found, all, "program {number} within {bound}");
            }
        }
    }

    #[test]
    fn within_a_bound_the_published_numbers_of_outcomes() {
        // The number of classes with at most 0, 1, 2, 3 preemptions, for a search with the same
        // bound.
        for (program, expected) in
            [(programs::locked(2, 3), [2, 6, 14, 18]), (programs::locked(3, 2), [6, 24, 60, 90])]
        {
            for (bound, expected) in expected.into_iter().enumerate() {
                let mut icb = Iterative::new(Measure::Preemptions, Some(bound as u32));
                let mut classes = BTreeSet::new();
                let mut number = 0;
                loop {
                    number += 1;
                    if !icb.begin(number) {
                        break;
                    }
                    if crate::simulation::run(&program, &mut icb).ending.is_ok() {
                        classes.insert(icb.equivalence_class());
                    }
                }
                assert_eq!(classes.len(), expected, "within {bound}");
            }
        }
    }
}
