//! A trace: everything that is needed to repeat an execution and to verify that it is the same.

use crate::{Execution, Failure};
use serde::{Deserialize, Serialize};

/// The circumstances of the execution.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Header {
    /// The version of Heddle that wrote the trace.
    pub heddle: String,
    /// The absolute path of the program's file.
    pub program: String,
    /// The name by which it was called (`argv[0]`), as bytes, if that is not its path. Programs copy
    /// their arguments, so the addresses on their heap depend on its length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<u8>,
    /// Its GNU build id in hexadecimal, or a digest of the file where it has none.
    pub build_id: String,
    /// Its arguments, without the program's own name, as bytes.
    pub args: Vec<Vec<u8>>,
    /// Its environment as bytes, without the variables in `left_out`.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The names of variables that were left out because they may hold secrets.
    pub left_out: Vec<String>,
    /// The names of variables in `env` whose values are replaced by [`UNREAD`] characters, as many as
    /// the value had: the program does not read them. The length is kept because the addresses on the
    /// program's first stack depend on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// What is known about the variables that the program reads.
    #[serde(default)]
    pub environment_use: EnvironmentUse,
    /// The working directory.
    pub cwd: String,
    /// The options.
    pub options: Options,
    /// The number of the execution in its search, from 1; 0 if it was not part of a search.
    pub found_at: u64,
}

/// The character that replaces each byte of a value that the program does not read.
pub const UNREAD: u8 = b'*';

/// Which variables of its environment a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EnvironmentUse {
    /// It was not examined.
    #[default]
    Unknown,
    /// Those whose names its files contain. The execution was the same without the other values.
    Named,
    /// It refers to the environment as a whole, so every value is kept.
    Whole,
    /// The execution was not the same without the values that its files do not name, so every value is
    /// kept.
    Differs,
    /// That was not examined by another execution, since the program changes state outside of its memory,
    /// so every value is kept.
    Once,
}

/// The options that determine an execution.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Options {
    /// The strategy, as on the command line.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// The scheduling points: `api`, `racy` or `all`.
    pub points: String,
    /// The reset that was used: `fork`, `exec` or `memory`.
    pub reset: String,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// The memory accesses that were scheduling points.
    #[serde(default)]
    pub learned: crate::points::Learned,
    /// The two accesses of the race that counts as a failure, if the failure is a race.
    #[serde(default)]
    pub race: Option<(crate::points::ModuleAddress, crate::points::ModuleAddress)>,
    /// The most bytes of the program's heap.
    #[serde(default = "unlimited")]
    pub max_memory: u64,
    /// The most spurious wake-ups of each task.
    #[serde(default)]
    pub spurious: u32,
    /// How many freed blocks may come back in one execution (`--reuse`).
    #[serde(default)]
    pub reuse: u32,
    /// How many transfers of each task over network connections may be short (`--short-counts`).
    #[serde(default)]
    pub short_counts: u32,
    /// How late a step may be by the clock of its thread, in nanoseconds (`--slack`); none for any
    /// delay.
    #[serde(default)]
    pub slack: Option<u64>,
    /// Changes of memory that the user made in a debugger and saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<crate::memory_change::MemoryChange>,
    /// Whether the execution ran in a copy of the working directory (`--scratch`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_files: bool,
    /// The predicates of the search (`--when`): their sites are steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<crate::predicate::Predicate>,
    /// Where the search began (`--begin-at`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<crate::points::StartPoint>,
    /// What the program's clients do (`--client`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<crate::clients::Client>,
    /// Whether main belongs to a test harness: it runs only when no other task can, and its accesses are
    /// no scheduling points.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub main_last: bool,
}

fn unlimited() -> u64 {
    u64::MAX
}

/// A recorded execution: the program, how it was started, the schedule, and the result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The circumstances.
    pub header: Header,
    /// The execution.
    pub execution: Execution,
    /// The failure, if the execution failed.
    pub failure: Option<Failure>,
    /// The output of the program, both streams in order, up to a size limit.
    pub output: Vec<u8>,
}

impl Trace {
    /// The number of steps until the failure happened: those before the panic, if that is the failure, and else all.
    /// The steps after it, in which a runtime ends its threads, are an effect.
    #[must_use]
    pub fn steps_to_failure(&self) -> usize {
        let all = self.execution.steps.len();
        let panicked = self.failure.as_ref().and_then(Failure::panicked);
        panicked.map_or(all, |event| all.min(event.step as usize))
    }
}
