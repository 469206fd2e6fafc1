//! What the runtime is to do.

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
    /// Every schedule close to the default one.
    Departures {
        /// The most choices that differ from the default schedule's.
        most: u32,
        /// The most preemptions.
        preemptions: u32,
    },
    /// Local search: variations of a failing schedule.
    Near {
        /// The choices of that schedule.
        choices: Vec<Choice>,
        /// The seed.
        seed: u64,
    },
    /// Partial order reduction within a bound. At its end, random walks check what it claims.
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
            Plan::Departures { .. } | Plan::Near { .. } | Plan::Replay { .. } => None,
        }
    }
}

/// How to get back to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// The program's memory put back, as long as it leaves nothing in the kernel; fork from there on.
    Memory,
    /// A fork of the process as it was before `main`, for each execution.
    Fork,
    /// The program started again for each execution.
    Exec,
}

/// How the pages that an execution changes are found, to put memory back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// Each page is protected until it is written for the first time.
    #[default]
    Faults,
    /// The kernel keeps account (`PAGEMAP_SCAN`, Linux 6.7).
    Scan,
    /// All memory is compared with its copy after each execution.
    Compare,
}

/// What stands in the program's text where its accesses to memory are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// Jumps where that is certain to be right, breakpoints elsewhere.
    #[default]
    Jumps,
    /// Breakpoints everywhere, to check the others.
    Breakpoints,
}

/// What the runtime is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The choices with which every execution begins.
    pub prefix: Vec<Choice>,
    /// Which strategy, from there on.
    pub plan: Plan,
    /// Which reset.
    pub reset: Reset,
    /// How changed pages are found, with memory reset.
    pub tracking: Tracking,
    /// The number of the first execution, from 1.
    pub first: u64,
    /// The number of the last; `u64::MAX` for no limit.
    pub last: u64,
    /// End at the first execution that fails.
    pub stop_at_first: bool,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// End after an execution with which all together have so many.
    pub all_steps: u64,
    /// Record enabled sets, and describe objects.
    pub full: bool,
    /// Wait after each execution until the controller has looked.
    pub park: bool,
    /// Do the pieces of work that come by parcel; `plan`, `first` and `last` mean nothing then.
    pub shared: bool,
    /// Whether no other worker has run the program: then what can be learned of it is learned before
    /// the search.
    pub pioneer: bool,
    /// How many executions are compared with a fork's before memory reset is trusted.
    pub checks: u32,
    /// Whether it is counted which ways the search goes.
    pub visits: bool,
    /// The kinds of failure that count: their codes.
    pub fail_on: Vec<u8>,
    /// Where the scheduler may choose.
    pub points: Granularity,
    /// How a program that tells of nothing is looked at.
    pub probing: Probing,
    /// Whether it is looked for what delayed stores could lead to.
    pub store_buffers: bool,
    /// What is known of the program's accesses to memory.
    pub learned: Learned,
    /// Whether more is to be learned: before the search, and while it goes on.
    pub learn: bool,
    /// What was learned of the program before, if it was: taken over where its first execution is the
    /// same.
    pub lesson: Option<LearningResult>,
    /// The two places of the one race that is a failure, where races are and not all of them.
    pub race: Option<(ModuleAddress, ModuleAddress)>,
    /// The most bytes of the program's heap.
    pub memory: u64,
    /// How many waits of each task may come back with nobody waking it.
    pub spurious: u32,
    /// Where tasks may be preempted.
    pub scope: PreemptionScope,
    /// Keep what happens to the block of the program's heap with this ordinal, with stacks.
    pub watch: Option<u64>,
    /// What memory is changed on the way.
    pub changes: Vec<crate::memory_change::MemoryChange>,
}
