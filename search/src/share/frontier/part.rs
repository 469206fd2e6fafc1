//! One strategy of a search that several processes share, by the way in which it can be divided.

use crate::share::trunk::Trunk;
use crate::strategy::dfs::{Dfs, Measure};
use crate::strategy::dpor::Dpor;
use crate::strategy::iterative::{Level, Levels};
use crate::strategy::stateless::Stateless;
use crate::{AnyStrategy, Coverage, Reduction, Sharing, Strategy};
use serde::{Deserialize, Serialize};
use traces::wire::Plan;

/// The number of searches that run in parallel below one trunk.
///
/// With more searches, more executions turn out to belong to another search, because each knows
/// less of what the others have covered: for one program with 147,456 executions, 20,000 more with
/// eight searches and 114,000 more with 64; for other programs none. With fewer searches, workers
/// wait longer for the last piece of a round. So the number follows the measured share of redundant
/// executions, which does not depend on the number of workers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Parallelism {
    most: usize,
    /// The first executions, up to this many, are run by a single search: a short search would be
    /// over before other workers could take a part of it.
    alone: u64,
    /// The executions of the whole search.
    all: u64,
    /// In the current round: the number of executions, and how many of them were redundant.
    round: (u64, u64),
}

/// The fewest executions of a range of a search whose ranges can have any size, and the most ranges of a
/// round.
const SHORT_RANGE: u64 = 1_000;
const MANY_RANGES: usize = 1_024;

/// The most executions of a piece of a search by beginnings, and the most pieces of a round. Small pieces
/// keep many workers busy: each returns beginnings that others can run.
const BEGINNINGS: u64 = 250;
const MANY_BEGINNINGS: usize = 1_024;

impl Parallelism {
    const FEWEST: usize = 8;
    const MOST: usize = 64;

    fn new(alone: u64) -> Parallelism {
        Parallelism { most: Parallelism::FEWEST, alone, all: 0, round: (0, 0) }
    }

    /// Adds the counts of one search of the round.
    fn count(&mut self, executions: u64, redundant: u64) {
        self.all += executions;
        self.round.0 += executions;
        self.round.1 += redundant;
    }

    /// The number of searches in the next round.
    fn next(&mut self) -> usize {
        let (executions, redundant) = std::mem::take(&mut self.round);
        if self.all < self.alone {
            return 1;
        }
        // A round with a single search does not show how many redundant executions several would
        // have.
        if self.all - executions < self.alone {
            return self.most;
        }
        self.most = match redundant {
            few if few * 50 <= executions => (self.most * 2).min(Parallelism::MOST),
            many if many * 10 > executions => (self.most / 2).max(Parallelism::FEWEST),
            _ => self.most,
        };
        self.most
    }
}

/// A strategy, by the way in which it can be divided.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "a search has only a few of them")]
pub(super) enum Part {
    Ranges {
        strategy: AnyStrategy,
        next: u64,
    },
    Trees {
        bound: Option<u32>,
        open: Vec<Dfs>,
        running: usize,
        left_out: bool,
        holes: bool,
        /// The explored share of the searches that have ended.
        covered: f64,
    },
    Levels {
        levels: Levels,
        open: Vec<Level>,
        running: usize,
        left_out: bool,
        holes: bool,
        /// The explored share of the level's searches that have ended.
        covered: f64,
    },
    Trunk {
        trunk: Trunk,
        running: usize,
        together: Parallelism,
    },
    Beginnings {
        open: Vec<Stateless>,
        running: usize,
        /// Whether a search that ended is not complete.
        holes: bool,
    },
    Alone {
        strategy: Option<AnyStrategy>,
        coverage: Coverage,
    },
}

impl Part {
    /// Creates the part for a plan. `alone`: partial order reduction runs this many executions as a
    /// single search.
    pub(super) fn new(plan: Plan, alone: u64) -> Part {
        let bound = plan.bound();
        match AnyStrategy::new(plan) {
            AnyStrategy::Dfs(dfs) if dfs.counts_preemptions() => Part::Trees {
                bound,
                open: vec![dfs],
                running: 0,
                left_out: false,
                holes: false,
                covered: 0.0,
            },
            AnyStrategy::Level(level) => Part::levels(Levels::new(level.measure(), bound)),
            AnyStrategy::Dpor(dpor) => Part::trunk(dpor, alone),
            AnyStrategy::Stateless(search) => {
                Part::Beginnings { open: vec![search], running: 0, holes: false }
            }
            strategy if strategy.sharing() == Sharing::ByNumber => {
                Part::Ranges { strategy, next: 1 }
            }
            strategy => Part::Alone { strategy: Some(strategy), coverage: Coverage::Open },
        }
    }

    pub(super) fn levels(levels: Levels) -> Part {
        let open = vec![Level::new(levels.measure, levels.level)];
        Part::Levels { levels, open, running: 0, left_out: false, holes: false, covered: 0.0 }
    }

    pub(super) fn trunk(search: Dpor, alone: u64) -> Part {
        Part::Trunk { trunk: Trunk::new(search), running: 0, together: Parallelism::new(alone) }
    }

    /// Why machines that share no memory cannot share the part, if they cannot.
    pub(super) fn needs_one_machine(&self) -> Option<&'static str> {
        match self {
            Part::Ranges { .. }
            | Part::Trees { .. }
            | Part::Trunk { .. }
            | Part::Beginnings { .. } => None,
            Part::Levels { levels, .. } => match levels.measure {
                Measure::Preemptions => {
                    Some("its workers share a table of visited states in memory")
                }
                Measure::Delays | Measure::Departures { .. } => None,
            },
            // Of its parts, only icb needs one machine, and most of its work is that of the others.
            Part::Alone { strategy: Some(AnyStrategy::Auto(_)), .. } => None,
            Part::Alone { .. } => Some("each of its executions depends on the ones before it"),
        }
    }

    /// How many pieces a round of this part alone has, and how many executions each may run: `pieces` with
    /// `each`, unless the part can be divided further. `most`: the most executions of the round.
    pub(super) fn portions(&self, pieces: usize, each: u64, most: u64) -> (usize, u64) {
        match self {
            // No execution depends on an earlier one, so that the result does not depend on the sizes.
            Part::Ranges { strategy, .. } if !strategy.learns() => {
                let all = (pieces as u64).saturating_mul(each).min(most);
                let many = ((all / SHORT_RANGE) as usize).clamp(pieces, pieces.max(MANY_RANGES));
                (many, all.div_ceil(many as u64))
            }
            Part::Beginnings { .. } => (MANY_BEGINNINGS, BEGINNINGS),
            _ => (pieces, each),
        }
    }

    /// How many executions the first piece of the part runs, where those of others run `first`.
    pub(super) fn first(&self, first: u64) -> u64 {
        match self {
            Part::Ranges { strategy, .. } if !strategy.learns() => first.min(SHORT_RANGE / 2),
            Part::Beginnings { .. } => first.min(BEGINNINGS / 4),
            _ => first,
        }
    }

    /// Takes up to `wanted` strategies to run in the next round.
    pub(super) fn take(&mut self, wanted: usize) -> Vec<AnyStrategy> {
        match self {
            Part::Ranges { strategy, .. } => vec![strategy.clone(); wanted],
            Part::Trees { open, running, .. } => {
                let taken = spread(open, wanted, Dfs::split);
                *running = taken.len();
                taken.into_iter().map(AnyStrategy::Dfs).collect()
            }
            Part::Levels { open, running, .. } => {
                let taken = spread(open, wanted, Level::split);
                *running = taken.len();
                taken.into_iter().map(AnyStrategy::Level).collect()
            }
            Part::Trunk { trunk, running, together } => {
                let taken = trunk.take(wanted.min(together.next()));
                *running = taken.len();
                taken.into_iter().map(AnyStrategy::Dpor).collect()
            }
            Part::Beginnings { open, running, .. } => {
                let mut taken = spread(open, wanted, Stateless::split);
                *running = taken.len();
                // Each is to have some to give away when it returns.
                let each = wanted.div_ceil(taken.len().max(1));
                taken.iter_mut().for_each(|search| search.want(2 * each));
                taken.into_iter().map(AnyStrategy::Stateless).collect()
            }
            Part::Alone { strategy, .. } => strategy.take().into_iter().collect(),
        }
    }

    /// Adds the counts of one strategy before it is put back.
    pub(super) fn count(&mut self, executions: u64, redundant: u64) {
        if let Part::Trunk { together, .. } = self {
            together.count(executions, redundant);
        }
    }

    /// Puts back a strategy after its executions.
    pub(super) fn put(&mut self, back: AnyStrategy, done: bool) {
        match (self, back) {
            (Part::Ranges { strategy, .. }, theirs) => strategy.merge(&theirs),
            (
                Part::Trees { open, running, left_out, holes, covered, .. },
                AnyStrategy::Dfs(dfs),
            ) => {
                *running -= 1;
                if done {
                    *covered += dfs.covered();
                    *left_out |= dfs.left_out();
                    *holes |= dfs.has_holes();
                } else {
                    open.push(dfs);
                }
            }
            (
                Part::Levels { levels, open, running, left_out, holes, covered },
                AnyStrategy::Level(level),
            ) => {
                *running -= 1;
                if done {
                    *covered += level.dfs().covered();
                    *left_out |= level.dfs().left_out();
                    *holes |= level.dfs().has_holes();
                } else {
                    open.push(level);
                }
                if *running == 0 && open.is_empty() && levels.finish(!*holes, *left_out) {
                    (*left_out, *holes, *covered) = (false, false, 0.0);
                    open.push(Level::new(levels.measure, levels.level));
                }
            }
            (Part::Trunk { trunk, running, .. }, AnyStrategy::Dpor(dpor)) => {
                *running -= 1;
                trunk.put(dpor, done);
            }
            (Part::Beginnings { open, running, holes }, AnyStrategy::Stateless(search)) => {
                *running -= 1;
                *holes |= search.has_holes();
                if search.open() > 0 {
                    open.push(search);
                }
            }
            (Part::Alone { strategy, coverage }, back) => {
                *coverage = back.coverage();
                if !done {
                    *strategy = Some(back);
                }
            }
            _ => {}
        }
    }

    /// Whether no work remains. Valid when all strategies have been put back.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Part::Ranges { .. } => false,
            Part::Trees { open, running, .. } => open.is_empty() && *running == 0,
            Part::Levels { open, running, .. } => open.is_empty() && *running == 0,
            Part::Trunk { trunk, running, .. } => trunk.is_exhausted() && *running == 0,
            Part::Beginnings { open, running, .. } => open.is_empty() && *running == 0,
            Part::Alone { strategy, .. } => strategy.is_none(),
        }
    }

    pub(super) fn coverage(&self) -> Coverage {
        match self {
            Part::Ranges { .. } => Coverage::Open,
            Part::Trees { bound, holes, .. } if self.is_over() && !holes => {
                Coverage::Complete { bound: *bound }
            }
            Part::Trunk { trunk, .. } if self.is_over() && trunk.is_whole() => {
                Coverage::Complete { bound: None }
            }
            Part::Beginnings { holes: false, .. } if self.is_over() => {
                Coverage::Complete { bound: None }
            }
            Part::Trees { .. } | Part::Trunk { .. } | Part::Beginnings { .. } => Coverage::Open,
            Part::Levels { levels, .. } => levels.coverage(),
            Part::Alone { coverage, .. } => *coverage,
        }
    }

    pub(super) fn invalidate_coverage(&mut self) {
        match self {
            Part::Trunk { trunk, .. } => trunk.invalidate_coverage(),
            Part::Levels { levels, .. } => levels.invalidate_coverage(),
            Part::Beginnings { holes, .. } => *holes = true,
            Part::Alone { strategy, coverage } => {
                if let Some(strategy) = strategy {
                    strategy.invalidate_coverage();
                }
                *coverage = Coverage::Open;
            }
            _ => {}
        }
    }

    /// The explored share of the part, if it can be estimated.
    pub(super) fn covered(&self) -> Option<f64> {
        match self {
            Part::Trees { open, covered, .. } => {
                Some(covered + open.iter().map(Dfs::covered).sum::<f64>())
            }
            Part::Levels { open, covered, .. } => {
                Some(covered + open.iter().map(|level| level.dfs().covered()).sum::<f64>())
            }
            _ => None,
        }
    }

    /// The number of known branches that no search has begun.
    pub(super) fn open_branches(&self) -> u64 {
        match self {
            Part::Trees { open, .. } => open.iter().map(Dfs::open).sum(),
            Part::Levels { open, .. } => open.iter().map(|level| level.dfs().open()).sum(),
            Part::Trunk { trunk, .. } => trunk.open_branches(),
            Part::Beginnings { open, .. } => open.iter().map(|search| search.open() as u64).sum(),
            Part::Ranges { .. } | Part::Alone { .. } => 0,
        }
    }
}

/// Splits the open searches until there are `wanted` of them, or none can be split.
fn spread<T>(open: &mut Vec<T>, wanted: usize, split: impl Fn(&mut T) -> Option<T>) -> Vec<T> {
    let mut taken = std::mem::take(open);
    let mut at = 0;
    let mut barren = 0;
    while taken.len() < wanted && barren < taken.len() {
        let one = at % taken.len();
        at += 1;
        match split(&mut taken[one]) {
            Some(other) => {
                taken.push(other);
                barren = 0;
            }
            None => barren += 1,
        }
    }
    taken
}
