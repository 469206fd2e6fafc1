//! The job: the instructions of the controller to the runtime.

use crate::Choice;
use crate::points::{Granularity, Learned, LearningResult, ModuleAddress, PreemptionScope};
use serde::{Deserialize, Serialize};

/// The strategy that the runtime runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// A strategy of the registry in `search`, by its name.
    Named {
        /// The name.
        name: String,
        /// The strategy's parameter; none for its default.
        parameter: Option<u32>,
        /// The seed of the whole search.
        seed: u64,
        /// The limit on preemptions or delays, if there is one.
        bound: Option<u32>,
    },
    /// Every schedule that departs from the default one at few choices.
    Departures {
        /// The most choices that differ from the default schedule's.
        most: u32,
        /// The most preemptions.
        preemptions: u32,
    },
    /// Local search: variations of a failing schedule.
    LocalSearch {
        /// The choices of that schedule.
        choices: Vec<Choice>,
        /// The seed.
        seed: u64,
    },
    /// Partial order reduction within a bound. At its end, random walks check the coverage.
    Orders {
        /// The most preemptions.
        bound: u32,
    },
    /// A recorded schedule, with every step compared.
    Replay {
        /// The choices.
        choices: Vec<Choice>,
        /// For each step the operation's code and the digest of the enabled set; empty: the choices
        /// are followed without a comparison.
        expected: Vec<(u8, u32)>,
    },
}

impl Plan {
    /// The strategy with this name, without a bound and with the default of its parameter.
    #[must_use]
    pub fn seeded(name: &str, seed: u64) -> Plan {
        Plan::Named { name: name.to_owned(), parameter: None, seed, bound: None }
    }

    /// The strategy with this name, within a bound if one is given, with seed 0.
    #[must_use]
    pub fn bounded(name: &str, bound: Option<u32>) -> Plan {
        Plan::Named { name: name.to_owned(), parameter: None, seed: 0, bound }
    }

    /// The limit on preemptions or delays, if there is one.
    #[must_use]
    pub fn bound(&self) -> Option<u32> {
        match self {
            Plan::Named { bound, .. } => *bound,
            Plan::Orders { bound } => Some(*bound),
            Plan::Departures { .. } | Plan::LocalSearch { .. } | Plan::Replay { .. } => None,
        }
    }
}

/// How the program's initial state is restored between executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// Restore the program's memory, as long as executions leave no state in the kernel; otherwise
    /// fork.
    Memory,
    /// For each execution, fork the process as it was before `main`.
    Fork,
    /// Start the program again for each execution.
    Exec,
}

/// Which files the executions see in the working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FilePolicy {
    /// Those that are there.
    #[default]
    Shared,
    /// Those that are there, until an execution is about to change some: it is stopped before that.
    Hold,
    /// Copies, which are restored before each execution.
    Private,
    /// Those that are there although some change, since the directory cannot be copied.
    Unrestored,
}

impl FilePolicy {
    /// As stored in [`crate::wire::Header::files`].
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

/// How the pages that an execution changes are found for memory reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// Each page is protected until its first write.
    #[default]
    Faults,
    /// The kernel tracks writes (`PAGEMAP_SCAN`, Linux 6.7).
    Scan,
    /// All memory is compared with its copy after each execution.
    Compare,
    /// Like `Faults`, and no execution is resumed at a checkpoint within an earlier one.
    Whole,
    /// Like `Faults`, and each execution that is resumed at a checkpoint is compared with the same one
    /// from main.
    Checked,
}

/// How probes are inserted into the program's code, where memory accesses are instrumented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// As jumps where that is certain to be correct, as breakpoints elsewhere.
    #[default]
    Jumps,
    /// As breakpoints only, to check the jumps.
    Breakpoints,
}

/// The instructions of the controller to the runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The choices with which every execution begins.
    pub prefix: Vec<Choice>,
    /// The strategy after the prefix.
    pub plan: Plan,
    /// How the initial state is restored.
    pub reset: Reset,
    /// How changed pages are found with memory reset.
    pub tracking: Tracking,
    /// The number of the first execution, from 1.
    pub first: u64,
    /// The number of the last execution, in a shared search of the last one of the learning phase;
    /// `u64::MAX` for no limit.
    pub last: u64,
    /// End at the first execution that fails.
    pub stop_at_first: bool,
    /// The steps after which an execution ends that makes no progress.
    pub max_steps: u64,
    /// The steps after which each execution ends.
    pub most_steps: u64,
    /// The steps after which most executions of a program with long executions end; 0 for no such limit.
    pub beginning: u64,
    /// End after an execution with which the total number of steps reaches this.
    pub all_steps: u64,
    /// Record enabled sets, and describe objects.
    pub full: bool,
    /// Keep the program's output beyond what a trace stores.
    pub whole_output: bool,
    /// In a full recording: where each thread keeps the number of the asynchronous task that it executes, as the
    /// distance from its thread pointer; none if the program has no such word.
    pub async_word: Option<i64>,
    /// Wait after each execution until the controller has read the result.
    pub park: bool,
    /// Run the pieces of work in [`super::Header::parcel`]; `plan` and `first` are ignored.
    pub shared: bool,
    /// Whether no other worker has run the program: then the learning phase runs before the search.
    pub pioneer: bool,
    /// How many executions are run with fork as well, and compared, before memory reset is trusted.
    pub checks: u32,
    /// Whether the branches that the search takes are counted.
    pub visits: bool,
    /// The codes of the kinds of findings that count as failures.
    pub fail_on: Vec<u8>,
    /// Where the scheduler may choose.
    pub points: Granularity,
    /// How probes are inserted into a program without compiler instrumentation.
    pub probing: Probing,
    /// Whether executions are checked for the effects of delayed stores.
    pub store_buffers: bool,
    /// The learned points at the start.
    pub learned: Learned,
    /// Whether further points are learned, before and during the search.
    pub learn: bool,
    /// The result of an earlier learning phase, if there is one; used if the program's first
    /// execution is the same, or, where executions only observe, if its libraries are.
    pub earlier_learning: Option<LearningResult>,
    /// Whether executions observe all accesses although none of them is a scheduling point. There is
    /// no learning phase then.
    pub observes: bool,
    /// The two sites of the only race that counts as a failure, if races count and not all of them
    /// do.
    pub race: Option<(ModuleAddress, ModuleAddress)>,
    /// The most bytes of the program's heap.
    pub memory: u64,
    /// The number of spurious wake-ups that each task may have.
    pub spurious: u32,
    /// How many freed blocks may come back in one execution.
    pub reuse: u32,
    /// How many transfers of each task over network connections may be short.
    pub short_counts: u32,
    /// How late a step may be by the clock of its task, in nanoseconds; none for any delay.
    pub slack: Option<u64>,
    /// How long the execution waits for another process if no task can run, in milliseconds.
    pub outside_limit: u32,
    /// Where the search begins; none at main.
    pub start_at: Option<crate::points::StartPoint>,
    /// The clients whose actions executions repeat.
    pub clients: Vec<crate::clients::Client>,
    /// The commands of clients that run, and whose actions are recorded.
    pub live: Vec<String>,
    /// Whether these clients start at the same time.
    pub together: bool,
    /// Where tasks may be preempted.
    pub scope: PreemptionScope,
    /// Record the events of the program's heap block with this ordinal, with stacks.
    pub watch: Option<u64>,
    /// Changes of memory to make during the execution.
    pub changes: Vec<crate::memory_change::MemoryChange>,
    /// The predicates that end an execution when they are satisfied.
    pub predicates: Vec<crate::predicate::Predicate>,
}
