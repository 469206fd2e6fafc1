//! What a user asks for, and what is told back while it is done.

use crate::Suppressions;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use traces::points::{Granularity, Learned, Spot};
use traces::report::Bug;
use traces::wire::{Found, Probing, Reset, Tracking};
use traces::{Choice, Failure, FailureKind, Trace};

/// A program with its circumstances, checked to be one that can be run under control.
#[derive(Debug, Clone)]
pub struct Target {
    /// The executable, absolute.
    pub program: PathBuf,
    /// The program's name for itself (`argv[0]`), as it was typed.
    pub name: OsString,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its build id, or a digest where it has none.
    pub build_id: String,
}

/// The strategies there are, as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyName {
    /// No preemption; only for `run`.
    Default,
    /// `auto`.
    Auto,
    /// `directed`.
    Directed,
    /// `random`.
    Random,
    /// `sticky`, with the weight of the running task.
    Sticky(u32),
    /// `pct`, with its depth.
    Pct(u32),
    /// `pos`.
    Pos,
    /// `surw`.
    Surw,
    /// `feedback`.
    Feedback,
    /// `hapset`, with the number of walks to learn from first.
    Hapset(u32),
    /// `icb`.
    Icb,
    /// `delay`.
    Delay,
    /// `dpor`.
    Dpor,
    /// `dfs`.
    Dfs,
}

impl StrategyName {
    /// Whether a bound on preemptions or delays means something to it.
    #[must_use]
    pub fn is_bounded(self) -> bool {
        matches!(
            self,
            StrategyName::Dfs
                | StrategyName::Icb
                | StrategyName::Delay
                | StrategyName::Dpor
                | StrategyName::Hapset(_)
        )
    }

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StrategyName::Default => "default",
            StrategyName::Auto => "auto",
            StrategyName::Directed => "directed",
            StrategyName::Sticky(_) => "sticky",
            StrategyName::Pct(_) => "pct",
            StrategyName::Pos => "pos",
            StrategyName::Surw => "surw",
            StrategyName::Feedback => "feedback",
            StrategyName::Hapset(_) => "hapset",
            StrategyName::Icb => "icb",
            StrategyName::Delay => "delay",
            StrategyName::Dpor => "dpor",
            StrategyName::Random => "random",
            StrategyName::Dfs => "dfs",
        }
    }
}

/// The options of `explore` and `run`.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// Which strategy.
    pub strategy: StrategyName,
    /// The choices with which every execution begins.
    pub prefix: Vec<Choice>,
    /// The most preemptions, from there on.
    pub bound: Option<u32>,
    /// The most executions; none for no limit.
    pub max_executions: Option<u64>,
    /// The most time.
    pub max_time: Option<Duration>,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// The seed.
    pub seed: u64,
    /// How to get back to the start; none to let Heddle choose.
    pub reset: Option<Reset>,
    /// How changed pages are found, with memory reset.
    pub tracking: Tracking,
    /// The kinds that count as failures.
    pub fail_on: Vec<FailureKind>,
    /// Where the scheduler may choose.
    pub points: Granularity,
    /// How a program that tells of nothing is looked at.
    pub probing: Probing,
    /// Patterns of the modules, files and functions in which no task is preempted.
    pub atomic: Vec<String>,
    /// The same for those in which alone tasks are; empty: everywhere.
    pub focus: Vec<String>,
    /// What is known already of the program's accesses to memory.
    pub learned: Learned,
    /// The two places of the one race that is a failure, where races are and not all of them.
    pub race: Option<(Spot, Spot)>,
    /// The most bytes of the program's heap; beyond, it is told that there is no more memory.
    pub max_memory: u64,
    /// How many waits of each task may come back with nobody waking it (spurious wake-ups).
    pub spurious: u32,
    /// What memory is changed on the way, because a person wanted it so in a debugger.
    pub changes: Vec<traces::change::Change>,
    /// Where traces are written.
    pub out: PathBuf,
    /// Go on after the first failure.
    pub keep_going: bool,
    /// Look for what delayed stores could lead to.
    pub store_buffers: bool,
    /// Reports that are known and not wanted.
    pub suppressions: Suppressions,
    /// How many processes search at a time.
    pub workers: u32,
    /// Count which ways the search goes, for whoever looks at its tree.
    pub visits: bool,
    /// How many executions come before the search and count for nothing, so that what the program sets up
    /// once outside its memory (files, caches) is there.
    pub prime: u32,
    /// Go on with the search that stands in `out`.
    pub resume: bool,
    /// How long a task may run without reaching a scheduling point before that is a `spin`.
    pub spin_after: Duration,
}

impl SearchOptions {
    /// The part of the strategy that found a failure, as on the command line.
    pub(crate) fn part(&self, found: &Found) -> String {
        match found.part.as_str() {
            "" => self.strategy.name().to_owned(),
            part => part.to_owned(),
        }
    }
}

/// How long a task that is known to spin may do so before it is believed.
pub(crate) const SPINS_AGAIN_AFTER: Duration = Duration::from_millis(300);

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            strategy: StrategyName::Auto,
            prefix: Vec::new(),
            bound: None,
            max_executions: Some(100_000),
            max_time: None,
            max_steps: 100_000,
            seed: 0,
            reset: None,
            tracking: Tracking::default(),
            fail_on: FailureKind::ALL.iter().copied().filter(|k| k.fails_by_default()).collect(),
            points: Granularity::default(),
            probing: Probing::default(),
            atomic: Vec::new(),
            focus: Vec::new(),
            learned: Learned::default(),
            race: None,
            max_memory: most_memory(),
            spurious: 0,
            changes: Vec::new(),
            out: PathBuf::from("heddle-out"),
            keep_going: false,
            store_buffers: false,
            suppressions: Suppressions::default(),
            workers: 1,
            visits: false,
            prime: 0,
            resume: false,
            spin_after: Duration::from_secs(2),
        }
    }
}

impl SearchOptions {
    /// The same with the scheduling points of a recorded execution, and the choices that it may make.
    #[must_use]
    pub fn with_points_of(self, trace: &Trace) -> SearchOptions {
        let options = &trace.header.options;
        let mut fail_on = self.fail_on;
        let kind = trace.failure.as_ref().map(|failure| failure.kind);
        let beside =
            |kind: &FailureKind| matches!(kind, FailureKind::Race | FailureKind::LockLeftHeld);
        if let Some(kind) = kind.filter(beside)
            && !fail_on.contains(&kind)
        {
            fail_on.push(kind);
        }
        SearchOptions {
            fail_on,
            points: Granularity::from_name(&options.points).unwrap_or(Granularity::Api),
            learned: options.learned.clone(),
            race: options.race,
            spurious: options.spurious,
            changes: options.changes.clone(),
            ..self
        }
    }
}

/// The kinds that tell whether an execution went well, for replays: whatever may come instead of
/// `also`, the one that it is about. Races and locks left held are left out unless they are that, as
/// they end an execution that might go on, and leaks, as they cost something to look for.
#[must_use]
pub fn telling(also: Option<FailureKind>) -> Vec<FailureKind> {
    let asked = |kind: &FailureKind| {
        use FailureKind::{Conflict, Leak, LockLeftHeld, Race};
        matches!(kind, Race | Conflict | Leak | LockLeftHeld)
    };
    let counts = |kind: &FailureKind| !asked(kind) || also == Some(*kind);
    FailureKind::ALL.iter().copied().filter(counts).collect()
}

/// 4 GB, or half of what the machine has if that is less.
fn most_memory() -> u64 {
    const MOST: u64 = 4 << 30;
    nix::sys::sysinfo::sysinfo().map_or(MOST, |about| (about.ram_total() / 2).min(MOST))
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Executions so far that learned which accesses conflict, before anything else.
    pub learning: u64,
    /// Executions so far.
    pub executions: u64,
    /// Distinct schedules among them.
    pub distinct: u64,
    /// Executions that failed.
    pub failing: u64,
    /// How many different failures.
    pub failures: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The bound that is searched within, where the search goes by bounds.
    pub bound: Option<u32>,
    /// How many branches are known that nobody has begun.
    pub open: u64,
    /// The share of the search that was run, within a factor of 2.5, where it can be told.
    pub covered: Option<f64>,
}

/// Is told what happens while a command runs.
pub trait Observer {
    /// Called a few times a second.
    fn progress(&mut self, progress: &Progress);
    /// A failure that was not seen before; its trace is on disk by now.
    fn bug(&mut self, bug: &Bug, trace: &Trace);
    /// Anything else worth a line.
    fn note(&mut self, line: &str);
    /// Called a few times a second and at the end: what is left of a search that has a tree, and which
    /// ways it went where that is counted, can be had by calling `look`, which costs something.
    fn tree(
        &mut self,
        progress: &Progress,
        look: &dyn Fn() -> (Option<search::Tree>, Option<search::Visits>),
    ) {
        let _ = (progress, look);
    }
}

/// What came of a replay.
#[derive(Debug, Clone)]
pub enum Replayed {
    /// Every time the same execution, step by step.
    Same {
        /// How often it was run.
        times: u64,
        /// How it failed each time, if it did.
        failure: Option<Failure>,
        /// What the program printed.
        output: Vec<u8>,
    },
    /// An execution differed: there is no verdict.
    Diverged {
        /// Which run, from 1.
        run: u64,
        /// At which step, from 0.
        step: u64,
        /// What was expected, what came, and why that may be.
        what: String,
    },
}
