//! The options of the commands, and what is reported while they run.

use crate::launch::WorkingFiles;
use crate::{StrategyChoice, Suppressions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use traces::clients::Client;
use traces::points::{Granularity, Learned, ModuleAddress, StartPoint};
use traces::report::Bug;
use traces::trace::EnvironmentUse;
use traces::wire::{FoundFailure, Probing, Reset, Tracking};
use traces::{Choice, Failure, FailureKind, Trace};

/// A program with its arguments and environment, checked to be one that can run under control.
#[derive(Debug, Clone)]
pub struct Target {
    /// The executable's absolute path.
    pub program: PathBuf,
    /// `argv[0]`, as the user typed it.
    pub name: OsString,
    /// The arguments after `argv[0]`.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Variables whose values no trace contains, besides those that may be secrets.
    pub unrecorded: BTreeSet<OsString>,
    /// Variables whose values were replaced in the trace that the target comes from, because the program
    /// does not read them.
    pub unread: BTreeSet<OsString>,
    /// What that trace says about the use of the environment.
    pub environment_use: EnvironmentUse,
    /// The working directory.
    pub cwd: PathBuf,
    /// Which files executions see there.
    pub files: WorkingFiles,
    /// The build id, or a digest of the file if it has none.
    pub build_id: String,
    /// What differs from the command that the user gave, one line each.
    pub notes: Vec<String>,
    /// Whether Rust's panics print backtraces as the environment says. No execution that is recorded
    /// does.
    pub prints_backtraces: bool,
}

/// Who merges the results of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Collector {
    /// The process that the user started, from the beginning on, or with `--resume`.
    #[default]
    First,
    /// The process that the user started, after it was away: the search continues as if it had not been,
    /// so that a failure that has ended it still ends it.
    Returned,
    /// Another machine, while that process is away. It has no program to run: failures are kept for the
    /// collector that returns, which runs their schedules again before they count.
    Substitute,
}

/// The options of `explore` and `run`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SearchOptions {
    /// The strategy.
    pub strategy: StrategyChoice,
    /// The prefix of every schedule.
    pub prefix: Vec<Choice>,
    /// The most preemptions after the prefix.
    pub bound: Option<u32>,
    /// The most executions; none for no limit.
    pub max_executions: Option<u64>,
    /// The time limit.
    pub max_time: Option<Duration>,
    /// The steps after which an execution ends that makes no progress.
    pub max_steps: u64,
    /// The steps after which each execution ends; `max_steps` if that is more.
    pub most_steps: u64,
    /// Of a program with long executions: the steps after which most executions of the search end; 0 for
    /// executions to their end.
    pub beginning: u64,
    /// The seed.
    pub seed: u64,
    /// How the program is reset between executions; none to let Heddle choose.
    pub reset: Option<Reset>,
    /// How memory reset finds changed pages.
    pub tracking: Tracking,
    /// The kinds of failure that count.
    pub fail_on: Vec<FailureKind>,
    /// The scheduling points.
    pub points: Granularity,
    /// How the accesses of a program without compiler instrumentation are observed.
    pub probing: Probing,
    /// Patterns of modules, files and functions in which no task is preempted.
    pub atomic: Vec<String>,
    /// Patterns of modules, files and functions outside of which no task is preempted; empty:
    /// everywhere.
    pub focus: Vec<String>,
    /// The points learned so far.
    pub learned: Learned,
    /// The two code locations of the only race that counts as a failure; none if all races count or
    /// none.
    pub race: Option<(ModuleAddress, ModuleAddress)>,
    /// The size limit of the program's heap in bytes; beyond it allocations fail.
    pub max_memory: u64,
    /// The number of spurious wake-ups that each task may have.
    pub spurious: u32,
    /// How many freed blocks may come back in one execution.
    pub reuse: u32,
    /// How many transfers of each task over network connections may be short.
    pub short_counts: u32,
    /// How late a step may be by the clock of its thread, in nanoseconds; none for any delay.
    pub slack: search::time::Slack,
    /// How long an execution waits for another process if no thread can run.
    pub outside_limit: Duration,
    /// Where the search begins, as the user wrote it (`--begin-at`); empty: at main.
    pub begin_at: String,
    /// The same, compiled ([`crate::predicates::compile`]).
    pub start_at: Option<StartPoint>,
    /// The commands of the program's clients, as the user wrote them (`--client`).
    pub client_commands: Vec<String>,
    /// Whether they run in each execution of a search, at the same time (`--live-clients`).
    pub live_clients: bool,
    /// What these did when they were recorded ([`crate::record_clients`]).
    pub clients: Vec<Client>,
    /// The threads that run serially (`--serial`): `T4`, `T4..T9`, a name or a start function.
    pub serial: Vec<String>,
    /// Whether main belongs to a test harness: it runs only when no other thread can.
    pub main_last: bool,
    /// Changes of memory, made in a debugger, that every execution repeats.
    pub changes: Vec<traces::memory_change::MemoryChange>,
    /// Predicates as the user wrote them (`--when`).
    pub when: Vec<String>,
    /// Predicates to lead executions through (`--through`).
    pub through: Vec<String>,
    /// Conditions that must hold in every state, as the user wrote them (`--always`).
    pub always: Vec<String>,
    /// Conditions that must hold in no state, as the user wrote them (`--never`).
    pub never: Vec<String>,
    /// All of these, compiled for the program ([`crate::predicates::compile`]).
    pub predicates: Vec<traces::predicate::Predicate>,
    /// Whether recordings have the names of functions, lines and variables. Those of a failure always do.
    pub names: bool,
    /// The output directory for traces.
    pub out: PathBuf,
    /// Continue after the first failure.
    pub keep_going: bool,
    /// Report reorderings of delayed stores that could cause failures.
    pub store_buffers: bool,
    /// Rules for reports that the user does not want. They stay with the user.
    #[serde(skip)]
    pub suppressions: Suppressions,
    /// The number of worker processes.
    pub workers: u32,
    /// Count how often each branch of the search tree is taken.
    pub visits: bool,
    /// The number of warm-up runs before the search, so that files and caches that the program
    /// creates exist.
    pub prime: u32,
    /// Resume the search whose state is saved in `out`.
    pub resume: bool,
    /// Who merges the results.
    pub collector: Collector,
    /// How long a task may run without reaching a scheduling point before it counts as a `spin`.
    pub spin_after: Duration,
}

impl SearchOptions {
    /// Whether failures of this kind are reported as warnings, not as failures.
    pub(crate) fn is_warning(&self, kind: FailureKind) -> bool {
        let beside = matches!(kind, FailureKind::Race | FailureKind::LockLeftHeld);
        beside && !self.fail_on.contains(&kind)
    }

    /// The options to repeat an execution that is expected to end with this failure.
    pub(crate) fn expecting(self, failure: Option<FailureKind>) -> SearchOptions {
        match failure {
            // The task is known to spin: a short time limit suffices.
            Some(FailureKind::Spin) => SearchOptions { spin_after: SPINS_AGAIN_AFTER, ..self },
            _ => self,
        }
    }

    /// The part of the strategy that found a failure, named as on the command line.
    pub(crate) fn part(&self, found: &FoundFailure) -> String {
        match found.part.as_str() {
            "" => self.strategy.name().to_owned(),
            part => part.to_owned(),
        }
    }
}

/// The time limit for a task that is known to spin.
const SPINS_AGAIN_AFTER: Duration = Duration::from_millis(300);

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            strategy: StrategyChoice::AUTO,
            prefix: Vec::new(),
            bound: None,
            max_executions: Some(100_000),
            max_time: None,
            max_steps: 100_000,
            most_steps: 10_000_000,
            beginning: 0,
            seed: 0,
            reset: None,
            tracking: Tracking::default(),
            fail_on: FailureKind::ALL.iter().copied().filter(|k| k.fails_by_default()).collect(),
            points: Granularity::default(),
            probing: Probing::default(),
            atomic: Vec::new(),
            focus: Vec::new(),
            serial: Vec::new(),
            main_last: false,
            learned: Learned::default(),
            race: None,
            max_memory: most_memory(),
            spurious: 0,
            reuse: 1,
            short_counts: 0,
            slack: search::time::SLACK,
            outside_limit: Duration::from_secs(10),
            begin_at: String::new(),
            start_at: None,
            client_commands: Vec::new(),
            live_clients: false,
            clients: Vec::new(),
            changes: Vec::new(),
            when: Vec::new(),
            through: Vec::new(),
            always: Vec::new(),
            never: Vec::new(),
            predicates: Vec::new(),
            names: true,
            out: PathBuf::from("heddle-out"),
            keep_going: false,
            store_buffers: false,
            suppressions: Suppressions::default(),
            workers: 1,
            visits: false,
            prime: 0,
            resume: false,
            collector: Collector::First,
            spin_after: Duration::from_secs(2),
        }
    }
}

impl SearchOptions {
    /// The same options with the scheduling points of a recorded execution, the choices that it may
    /// contain, and the kind of its failure.
    #[must_use]
    pub fn with_points_of(self, trace: &Trace) -> SearchOptions {
        let options = &trace.header.options;
        let mut fail_on = self.fail_on;
        // Kinds that count on request only, such as a leak.
        let kind = trace.failure.as_ref().map(|failure| failure.kind);
        if let Some(kind) = kind
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
            reuse: options.reuse,
            short_counts: options.short_counts,
            slack: options.slack,
            changes: options.changes.clone(),
            predicates: options.predicates.clone(),
            main_last: options.main_last,
            start_at: options.start_at,
            clients: options.clients.clone(),
            ..self
        }
    }
}

/// The kinds of failure that count in a replay of a trace with a failure of kind `also`. Races and
/// locks left held count only if they are that kind, because they end an execution that could
/// continue; leaks too, because looking for them is expensive.
#[must_use]
pub fn failure_kinds_for_replay(also: Option<FailureKind>) -> Vec<FailureKind> {
    let asked = |kind: &FailureKind| {
        use FailureKind::{Conflict, Leak, LockLeftHeld, Race};
        matches!(kind, Race | Conflict | Leak | LockLeftHeld)
    };
    let counts = |kind: &FailureKind| !asked(kind) || also == Some(*kind);
    FailureKind::ALL.iter().copied().filter(counts).collect()
}

/// 4 GB, or half of the machine's memory if that is less.
fn most_memory() -> u64 {
    const MOST: u64 = 4 << 30;
    nix::sys::sysinfo::sysinfo().map_or(MOST, |about| (about.ram_total() / 2).min(MOST))
}

/// The progress of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Executions of the learning phase so far.
    pub learning: u64,
    /// Executions so far.
    pub executions: u64,
    /// The number of distinct schedules among the executions.
    pub distinct: u64,
    /// Executions that failed.
    pub failing: u64,
    /// The number of distinct failures.
    pub failures: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The current bound, if the strategy raises one.
    pub bound: Option<u32>,
    /// The number of known branches that are not started.
    pub open: u64,
    /// The share of the search that is done, accurate within a factor of 2.5, if it can be
    /// estimated.
    pub covered: Option<f64>,
    /// The machines that search, if there are others than this one.
    pub machines: Option<Machines>,
}

/// The machines of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machines {
    /// How many run pieces at present.
    pub present: u32,
    /// The number of their workers.
    pub workers: u32,
    /// How many have disappeared without a message.
    pub lost: u32,
}

/// Receives events while a command runs.
pub trait Observer {
    /// Called a few times a second.
    fn progress(&mut self, progress: &Progress);
    /// A new failure was found; its trace is already saved.
    fn bug(&mut self, bug: &Bug, trace: &Trace);
    /// A message for the user, one line.
    fn note(&mut self, line: &str);
    /// Called a few times a second and at the end. `look` returns the tree of remaining work, if
    /// the strategy has one, and the counts of the branches taken, if they are counted; it is
    /// expensive.
    fn tree(
        &mut self,
        progress: &Progress,
        look: &dyn Fn() -> (Option<search::Tree>, Option<search::Visits>),
    ) {
        let _ = (progress, look);
    }
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub enum Replayed {
    /// Every replay was the same, step by step.
    Same {
        /// The number of replays.
        times: u64,
        /// The failure, which was the same each time, if there was one.
        failure: Option<Failure>,
        /// The program's output.
        output: Vec<u8>,
    },
    /// An execution differed, so there is no result.
    Diverged {
        /// The number of the replay, from 1.
        run: u64,
        /// The first step that differs, from 0.
        step: u64,
        /// How the replay differs from the recording, and the possible reason.
        what: String,
    },
}
