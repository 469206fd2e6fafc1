//! The frontier: the remaining work of a search, divided among workers.
//!
//! A search runs in rounds. In each round the frontier gives out pieces of work: a strategy, and
//! the number of executions that it may run. Any number of workers run the pieces in any order.
//! When all results are back, they determine the next round. So the executions and their numbers
//! depend only on the program and the options, and not on the number of workers or their speed.
//!
//! Sharing keeps the guarantees of each strategy. Random walks get ranges of execution numbers, on
//! which a walk depends. Depth-first searches give away the open alternatives of the node nearest
//! to the start ([`crate::strategy::dfs::Dfs::split`]). The levels of `icb` do the same, and cache
//! visited states in one table, so that each state is continued once. Partial order reduction
//! shares a [`crate::share::trunk::Trunk`]; without shared state, its beginnings are divided. Every other
//! strategy is one piece.

mod part;

use crate::strategy::auto::{Auto, Parts};
use crate::strategy::checked_dpor::{CheckingWalk, Classes};
use crate::strategy::dfs::Measure;
use crate::{AnyStrategy, Coverage, PrefixReplay, Reduction, Strategy, Tree};
use part::Part;
use serde::{Deserialize, Serialize};
use std::mem::Discriminant;
use traces::points::Learned;
use traces::wire::Plan;

/// The sizes of the pieces into which a search is divided.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct PortionSizes {
    /// The most pieces of work per round.
    pub pieces: usize,
    /// The number of executions of the first round, which is a single piece.
    pub first: u64,
    /// The most executions of a piece; pieces of early rounds are smaller.
    pub most: u64,
}

impl Default for PortionSizes {
    fn default() -> PortionSizes {
        PortionSizes { pieces: 64, first: 2_000, most: 32_000 }
    }
}

impl PortionSizes {
    /// Up to this many executions, one worker is faster than several that share.
    fn alone(self) -> u64 {
        2 * self.first
    }
}

/// A piece of work: a strategy, and a number of executions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Work {
    /// The strategy, as it is between two executions.
    pub strategy: AnyStrategy,
    /// The number of the first execution, which walks depend on.
    pub first: u64,
    /// The most executions that the piece may run.
    pub budget: u64,
    /// Whether the piece is part of the search. Otherwise it checks the coverage that the search
    /// claims.
    pub searches: bool,
    /// After how many executions the scheduling points that the piece discovers take effect and end
    /// it. An execution after those does so at once.
    pub settles_after: u64,
    /// The discovered scheduling points that are not in effect yet.
    pub unsettled: Learned,
    part: usize,
}

impl Work {
    fn new(strategy: AnyStrategy, first: u64, budget: u64, part: usize) -> Work {
        let (searches, unsettled) = (part != CHECK, Learned::default());
        Work { strategy, first, budget, searches, settles_after: 0, unsettled, part }
    }

    /// No execution: a worker that receives it returns it after the learning phase.
    #[must_use]
    pub fn learning() -> Work {
        Work::new(AnyStrategy::nothing(), 1, 0, LEARNING)
    }

    /// Whether this is the learning phase.
    #[must_use]
    pub fn is_learning(&self) -> bool {
        self.part == LEARNING
    }

    /// Whether the workers that run such pieces share a table of visited states in memory.
    #[must_use]
    pub fn shares_states(&self) -> bool {
        matches!(&self.strategy, AnyStrategy::Level(level) if level.measure() == Measure::Preemptions)
    }

    /// The same piece of work with another strategy.
    #[must_use]
    pub fn with(self, strategy: AnyStrategy) -> Work {
        Work { strategy, ..self }
    }

    /// The remaining piece after `executions` executions.
    #[must_use]
    pub fn after(self, executions: u64) -> Work {
        let first = self.first + executions;
        let budget = self.budget.saturating_sub(executions);
        let settles_after = self.settles_after.saturating_sub(executions);
        Work { first, budget, settles_after, ..self }
    }
}

/// The result of a piece of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkResult {
    /// The piece of work, with the state of its strategy after the executions.
    pub work: Work,
    /// The number of executions that were run.
    pub executions: u64,
    /// The number of executions that were given up because every continuation is covered by another
    /// execution.
    pub redundant: u64,
    /// Whether the strategy has run everything.
    pub exhausted: bool,
    /// The equivalence classes of the executions, if the strategy computes them.
    pub classes: Vec<u64>,
}

/// What a piece of work and its result have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkOutline {
    first: u64,
    budget: u64,
    searches: bool,
    part: usize,
    strategy: Discriminant<AnyStrategy>,
}

impl Work {
    /// What the result of this piece must have, too.
    #[must_use]
    pub fn outline(&self) -> WorkOutline {
        WorkOutline {
            first: self.first,
            budget: self.budget,
            searches: self.searches,
            part: self.part,
            strategy: std::mem::discriminant(&self.strategy),
        }
    }
}

impl WorkResult {
    /// Whether this can be a result of that piece of work: another machine may return anything.
    #[must_use]
    pub fn continues(&self, work: &WorkOutline) -> bool {
        self.work.outline() == *work
            && self.executions <= work.budget
            && self.redundant <= self.executions
            && self.classes.len() as u64 <= self.executions
    }
}

/// Depth-first searches report their explored share only from this share on. Earlier estimates
/// reflect only the neighbourhood of the first executions, and were wrong by factors of 3 to 50.
const MIN_REPORTED_SHARE: f64 = 0.5;
/// The estimated size may have changed by at most this factor since the search was half as far.
const MAX_SIZE_CHANGE: f64 = 1.25;

/// A search begins again at once this often. Most programs show all of their conflicts sooner.
const IMMEDIATE_RESTARTS: u32 = 4;
/// The number of executions that the next restart waits for; each later one waits twice as long as the
/// one before, until the doublings end.
const FIRST_DELAY: u64 = 16;
const MOST_DOUBLINGS: u32 = 16;

/// The most random walks per piece of a check.
const WALKS: u64 = 2_000;

/// The index that stands for the check in a list of parts.
const CHECK: usize = usize::MAX;
/// The index that stands for the learning phase.
const LEARNING: usize = CHECK - 1;

/// The whole search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Frontier {
    portions: PortionSizes,
    parts: Vec<Part>,
    classes: Classes,
    rounds: u32,
    runs: u64,
    redundant: u64,
    /// The number of executions before the last restart; they served only to learn the scheduling
    /// points.
    superseded: u64,
    /// How often the search began again.
    #[serde(default)]
    restarts: u32,
    checks: u64,
    checked: bool,
    doubted: bool,
    /// After each round: the number of executions, and the estimated share of the search, or of the
    /// current level.
    #[serde(default)]
    sizes: Vec<(u64, f64)>,
    /// The level that `sizes` describes, and the number of executions before it.
    #[serde(default)]
    measured: (Option<u32>, u64),
}

impl Frontier {
    /// A new search.
    #[must_use]
    pub fn new(plan: Plan) -> Frontier {
        Frontier::in_portions(plan, PortionSizes::default())
    }

    /// A new search with other sizes of pieces.
    #[must_use]
    pub fn in_portions(plan: Plan, portions: PortionSizes) -> Frontier {
        Frontier {
            portions,
            parts: vec![Part::new(plan, portions.alone())],
            classes: Classes::default(),
            rounds: 0,
            runs: 0,
            redundant: 0,
            superseded: 0,
            restarts: 0,
            checks: 0,
            checked: false,
            doubted: false,
            sizes: Vec::new(),
            measured: (None, 0),
        }
    }

    /// Why machines that share no memory cannot share the search, if they cannot: its result would not be
    /// that of one machine, or one of them would do all the work.
    #[must_use]
    pub fn needs_one_machine(&self) -> Option<&'static str> {
        self.parts.iter().find_map(Part::needs_one_machine)
    }

    /// The pieces of the next round, with at most `most` executions in total; none when the search
    /// is over. Every piece has to be returned to [`Frontier::settle`] before the next round.
    pub fn round(&mut self, most: u64) -> Vec<Work> {
        if self.is_over() {
            if self.is_finished() {
                return Vec::new();
            }
            let walks = self.classes.walks();
            let Coverage::Complete { bound } = self.coverage() else { return Vec::new() };
            let piece = |first: u64| {
                let budget = walks.min(first + WALKS - 1) + 1 - first;
                let strategy = AnyStrategy::CheckingWalk(CheckingWalk::within(bound));
                Work::new(strategy, first, budget, CHECK)
            };
            return (1..=walks).step_by(WALKS as usize).map(piece).collect();
        }
        if most == 0 {
            return Vec::new();
        }
        let (portions, each) = self.portions(most);
        self.rounds = self.rounds.saturating_add(1);
        let left = self.parts.iter().filter(|part| !part.is_over()).count();
        let mut taken: Vec<(usize, usize, AnyStrategy)> = Vec::new();
        for (part, from) in self.parts.iter_mut().enumerate().filter(|(_, part)| !part.is_over()) {
            let mut strategies = from.take((portions / left).max(1));
            // Searches whose schedules begin alike become neighbours: a worker that runs one after another
            // resumes executions at the steps that both have in common. Those of several parts in turn
            // have none.
            if left == 1 {
                strategies.sort_by_cached_key(PrefixReplay::planned_choices);
            }
            let strategies = strategies.into_iter().enumerate();
            taken.extend(strategies.map(|(number, strategy)| (number, part, strategy)));
        }
        // Interleaves the parts: the first piece of each part, then the second of each, and so on.
        taken.sort_by_key(|&(number, part, _)| (number, part));
        let count = taken.len() as u64;
        let share = each.min(most / count);
        let more = if share < each { most % count } else { 0 };
        let mut works = Vec::new();
        for (at, (_, part, strategy)) in taken.into_iter().enumerate() {
            let budget = share + u64::from((at as u64) < more);
            let first = match &mut self.parts[part] {
                Part::Ranges { next, .. } => std::mem::replace(next, *next + budget),
                _ => 1,
            };
            let settles_after = if self.rounds == 1 { self.restart_delay() } else { 0 };
            works.push(Work { settles_after, ..Work::new(strategy, first, budget, part) });
        }
        works
    }

    /// How many pieces the next round has, and how many executions each may run, if the round may run
    /// `most` in total. That depends on the strategy and on the search so far, never on the workers.
    fn portions(&self, most: u64) -> (usize, u64) {
        let PortionSizes { pieces, first, .. } = self.portions;
        let each = match self.rounds {
            0 => {
                let first = self.parts.first().map_or(first, |part| part.first(first));
                return (1, first.max(self.restart_delay()));
            }
            more => (first << more.min(8)).min(self.portions.most),
        };
        match self.parts.as_slice() {
            [part] => part.portions(pieces, each, most),
            _ => (pieces, each),
        }
    }

    /// How many executions run after a restart before new scheduling points cause the next one. In
    /// a program with many conflicts that only few schedules show, almost every execution discovers
    /// some: if each began the search again, only its first executions would ever run.
    fn restart_delay(&self) -> u64 {
        match self.restarts.checked_sub(IMMEDIATE_RESTARTS) {
            None => 0,
            Some(more) => FIRST_DELAY << more.min(MOST_DOUBLINGS),
        }
    }

    /// Whether executions do not depend on the results of earlier ones.
    #[must_use]
    pub fn is_memoryless(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Ranges { .. }))
    }

    /// Restarts the search after new scheduling points were discovered. Earlier executions count as
    /// learning, and not towards coverage.
    pub fn begin_again(&mut self, plan: Plan) {
        let fresh = Frontier::in_portions(plan, self.portions);
        let (runs, redundant, checks) = (self.runs, self.redundant, self.checks);
        let (superseded, restarts) = (runs - redundant, self.restarts.saturating_add(1));
        *self = Frontier { runs, redundant, superseded, restarts, checks, ..fresh };
    }

    /// Takes back the results of a round, in the order in which its pieces were given out.
    pub fn settle(&mut self, round: Vec<WorkResult>) {
        let mut check = None;
        for done in round {
            let WorkResult { work, executions, redundant, exhausted, classes } = done;
            if work.is_learning() {
                continue;
            }
            if work.part == CHECK {
                self.checks += executions;
                let holds = executions == work.budget && self.classes.contain(&classes);
                check = Some(holds && check != Some(false));
                continue;
            }
            self.runs += executions;
            self.redundant += redundant;
            self.classes.add(executions, &classes);
            self.parts[work.part].count(executions, redundant);
            self.parts[work.part].put(work.strategy, exhausted);
        }
        self.measure();
        match check {
            Some(true) => self.checked = true,
            Some(false) => self.invalidate_coverage(),
            None => self.part_ways(),
        }
    }

    /// Whether a random walk ended in a class of executions that the finished search had not found.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.doubted
    }

    fn invalidate_coverage(&mut self) {
        self.doubted = true;
        self.checked = true;
        self.parts.iter_mut().for_each(Part::invalidate_coverage);
    }

    /// After the first executions of `auto`, its parts become independent searches.
    fn part_ways(&mut self) {
        let [Part::Alone { strategy, coverage }] = self.parts.as_mut_slice() else { return };
        let whole = matches!(coverage, Coverage::Complete { bound: None });
        match strategy.take() {
            Some(AnyStrategy::Auto(auto)) if auto.is_steady() && !whole => {
                self.parts = Self::apart(auto, self.portions.alone())
            }
            other => *strategy = other,
        }
    }

    fn apart(auto: Auto, alone: u64) -> Vec<Part> {
        let next = crate::strategy::auto::STEADY + 1;
        let Parts { directed, dpor, sticky, pos, icb } = auto.into_parts();
        let mut parts = vec![
            Part::Ranges { strategy: AnyStrategy::Sticky(sticky), next },
            Part::Ranges { strategy: AnyStrategy::Pos(pos), next },
        ];
        parts.extend(dpor.map(|dpor| Part::trunk(dpor, alone)));
        parts.extend(icb.map(|icb| {
            let (levels, level) = icb.into_parts();
            let open = vec![level];
            Part::Levels { levels, open, running: 0, left_out: false, holes: false, covered: 0.0 }
        }));
        parts.extend(directed.map(|directed| Part::Alone {
            strategy: Some(AnyStrategy::Directed(directed)),
            coverage: Coverage::Open,
        }));
        parts
    }

    /// The number of executions of the search, including those that were given up.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The number of executions of the search that ran to their end, since the last restart.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.runs - self.redundant - self.superseded
    }

    /// The number of executions before the last restart.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        self.superseded
    }

    /// The number of executions that checked the claimed coverage and have been returned.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.checks
    }

    /// The explored share of the search, or of the current level of a bounded one, if it is known
    /// within a factor of 2.5. That is so for a depth-first search of which at least half seems to
    /// be done, and whose estimated size has not changed since it was half as far. Partial order
    /// reduction has no estimate: it adds branches to nodes that were finished, and estimates were
    /// too small by a factor of sixteen.
    #[must_use]
    pub fn covered(&self) -> Option<f64> {
        let (runs, covered) = *self.sizes.last()?;
        let size = runs as f64 / covered;
        let half = self.sizes.iter().rev().find(|(before, _)| *before <= runs / 2)?;
        let since = self.sizes.iter().skip_while(|size| size.0 < half.0);
        let steady = since.map(|&(runs, covered)| runs as f64 / covered).all(|before| {
            let factor = (size / before).max(before / size);
            factor <= MAX_SIZE_CHANGE
        });
        (steady && covered >= MIN_REPORTED_SHARE).then_some(covered.min(1.0))
    }

    /// Adds the current estimate to `sizes`.
    fn measure(&mut self) {
        let level = self.level();
        let [part] = self.parts.as_slice() else { return };
        if level != self.measured.0 {
            self.measured = (level, if level == Some(0) { 0 } else { self.runs });
            self.sizes.clear();
        }
        if let Some(covered) = part.covered().filter(|&covered| covered > 0.0) {
            self.sizes.push((self.runs - self.measured.1, covered));
        }
    }

    /// The number of known branches that no search has begun. Valid between two rounds.
    #[must_use]
    pub fn open_branches(&self) -> u64 {
        self.parts.iter().map(Part::open_branches).sum()
    }

    /// The unexplored part as a tree, while the pieces `out` are being run. None for searches
    /// without such a tree: random walks, and partial order reduction, which discovers its branches
    /// during the search.
    #[must_use]
    pub fn tree<'a>(&self, out: impl Iterator<Item = &'a Work>) -> Option<Tree> {
        let mut tree = Tree::default();
        let part = self.parts.iter().position(|part| match part {
            Part::Trees { open, holes, .. } => {
                open.iter().for_each(|dfs| tree.add(dfs.open_branches(), dfs.has_holes()));
                tree.gaps |= holes;
                true
            }
            Part::Levels { levels, open, holes, .. } if levels.measure == Measure::Preemptions => {
                open.iter().for_each(|level| {
                    tree.add(level.dfs().open_branches(), level.dfs().has_holes())
                });
                tree.gaps |= holes;
                true
            }
            _ => false,
        })?;
        for work in out.filter(|work| work.part == part) {
            match &work.strategy {
                AnyStrategy::Dfs(dfs) => tree.add(dfs.open_branches(), dfs.has_holes()),
                AnyStrategy::Level(level) => {
                    tree.add(level.dfs().open_branches(), level.dfs().has_holes())
                }
                _ => {}
            }
        }
        Some(tree)
    }

    /// The current bound, if the strategy raises a bound level by level.
    #[must_use]
    pub fn level(&self) -> Option<u32> {
        self.parts.iter().find_map(|part| match part {
            Part::Levels { levels, .. } => Some(levels.level),
            _ => None,
        })
    }

    /// The coverage of the search so far.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let all = || self.parts.iter().map(Part::coverage);
        let whole = |coverage: &Coverage| matches!(coverage, Coverage::Complete { bound: None });
        match self.parts.as_slice() {
            [one] => one.coverage(),
            _ if self.doubted => Coverage::Open,
            _ => all()
                .find(whole)
                .or_else(|| all().find(|coverage| !matches!(coverage, Coverage::Open)))
                .unwrap_or(Coverage::Open),
        }
    }

    /// Whether no work remains, checks included.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let claims = matches!(self.coverage(), Coverage::Complete { .. });
        let to_check = claims && !self.checked && self.has_classes() && self.classes.walks() > 0;
        self.is_over() && !to_check
    }

    /// Whether one part has covered everything, or no part has work left.
    fn is_over(&self) -> bool {
        let whole = matches!(self.coverage(), Coverage::Complete { bound: None });
        whole || self.parts.iter().all(Part::is_over)
    }

    /// Whether the executions have equivalence classes, by which a check can compare them.
    fn has_classes(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Trunk { .. } | Part::Beginnings { .. } => true,
            Part::Levels { levels, .. } => levels.measure == Measure::Preemptions,
            Part::Alone { coverage, .. } => matches!(coverage, Coverage::Complete { .. }),
            Part::Ranges { .. } | Part::Trees { .. } => false,
        })
    }
}

/// Runs a piece of work: `run` runs the rest of an execution and returns whether it ran to its end.
/// For drivers that use no processes.
pub fn work(mut work: Work, mut run: impl FnMut(&mut AnyStrategy) -> bool) -> WorkResult {
    let (mut ran, mut redundant) = (0, 0);
    let mut classes = Vec::new();
    let exhausted = loop {
        if ran == work.budget || work.strategy.must_share() {
            break false;
        }
        if !work.strategy.begin(work.first + ran) {
            break true;
        }
        redundant += u64::from(!run(&mut work.strategy));
        ran += 1;
        classes.extend(work.strategy.equivalence_class());
    };
    WorkResult { work, executions: ran, redundant, exhausted, classes }
}

#[cfg(test)]
mod tests;
