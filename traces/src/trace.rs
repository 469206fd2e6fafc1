//! A trace: everything needed to run an execution again and to know that it was the same.

use crate::{Execution, Failure};
use serde::{Deserialize, Serialize};

/// How the execution came about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Header {
    /// The version of Heddle that wrote it.
    pub heddle: String,
    /// The program's file, absolute.
    pub program: String,
    /// Its GNU build id in hexadecimal, or a digest of the file where it has none.
    pub build_id: String,
    /// Its arguments, without the program's own name, as bytes.
    pub args: Vec<Vec<u8>>,
    /// Its environment as bytes, without the variables in `left_out`.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of variables that may hold secrets and so were not kept.
    pub left_out: Vec<String>,
    /// The working directory.
    pub cwd: String,
    /// What was asked for.
    pub options: Options,
    /// The number of the execution in its search, from 1; 0 outside one.
    pub found_at: u64,
}

/// The options that decide what an execution is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Options {
    /// The strategy, as on the command line.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// Which scheduling points: `api`, `racy` or `all`.
    pub points: String,
    /// The reset that was in use: `fork`, `exec` or `memory`.
    pub reset: String,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// Which accesses to memory were scheduling points.
    #[serde(default)]
    pub learned: crate::points::Learned,
    /// The two places of the race that the execution is to fail with, where it is one.
    #[serde(default)]
    pub race: Option<(crate::points::Spot, crate::points::Spot)>,
    /// The most bytes of the program's heap.
    #[serde(default = "unlimited")]
    pub max_memory: u64,
    /// How many waits of each task might come back with nobody waking it.
    #[serde(default)]
    pub spurious: u32,
    /// What memory is changed on the way, because a person wanted it so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<crate::change::Change>,
}

fn unlimited() -> u64 {
    u64::MAX
}

/// One recorded execution with its circumstances and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// How it came about.
    pub header: Header,
    /// What happened.
    pub execution: Execution,
    /// How it failed, if it did.
    pub failure: Option<Failure>,
    /// What the program printed, both streams in order, cut at a limit.
    pub output: Vec<u8>,
}
