//! The object that `--json` prints. Field names and order are a promise to scripts.

use crate::FailureKind;
use serde::{Deserialize, Serialize};

/// What a search or a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A failure was found.
    Bug,
    /// Everything that was asked for was covered, and nothing failed.
    Clean,
    /// Nothing failed, but time or executions ran out first.
    Incomplete,
    /// The program does something that is not modelled.
    Unsupported,
    /// It could not be run.
    Error,
}

/// How many scheduling points of each sort were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Points {
    /// Sites of calls into the threads library and its like.
    pub api: u64,
    /// Sites of memory accesses found to conflict.
    pub racy: u64,
    /// How many of those an earlier search had learned of, whose knowledge was kept and found to hold.
    #[serde(default)]
    pub kept: u64,
    /// How many of those were found to by the search itself, and not before it.
    #[serde(default)]
    pub new: u64,
    /// Sites that the compiler put in.
    pub compiled: u64,
    /// Bytes of the program's own code, where accesses to memory are looked at by probes.
    #[serde(default)]
    pub code: u64,
    /// How many of them were decoded.
    #[serde(default)]
    pub covered: u64,
    /// How many instructions had a probe at a time, at most.
    #[serde(default)]
    pub probes: u64,
    /// How many of those probes were jumps; the others are breakpoints, which take a hundred times as long.
    #[serde(default)]
    pub jumps: u64,
}

/// One failure, as often as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bug {
    /// What kind.
    pub kind: FailureKind,
    /// The same for every execution that fails in the same way.
    pub signature: String,
    /// One line for a person.
    pub message: String,
    /// `queue.c:41`, or the best there is.
    pub site: String,
    /// The trace's file; null where it could not be written.
    pub trace: Option<String>,
    /// The number of the first execution that failed so, from 1; 0: it was met in learning alone.
    pub found_at: u64,
    /// Preemptions in that execution.
    pub preemptions: u64,
    /// Changes of the running task in it.
    pub switches: u64,
    /// Steps in it.
    pub steps: u64,
    /// How many executions failed so.
    pub count: u64,
}

/// One of the two accesses of a race.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RaceAccess {
    /// Whose: `T1`.
    pub task: String,
    /// What it did, with the value: `wrote 6, over 5 (4 bytes)`.
    pub what: String,
    /// The steps before it.
    pub step: u64,
    /// The locks that the task had.
    pub locks: Vec<String>,
    /// Functions and places, innermost first: `push (queue.c:41)`.
    pub stack: Vec<String>,
}

/// A race, with both accesses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Race {
    /// One line for a person.
    pub message: String,
    /// The earlier one first.
    pub accesses: Vec<RaceAccess>,
    /// The trace's file; null where it could not be written.
    pub trace: Option<String>,
}

/// The whole object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format: 1.
    pub heddle: u32,
    /// What it came to.
    pub verdict: Verdict,
    /// Always `sc`: what is explored is sequential consistency.
    pub memory_model: String,
    /// As on the command line.
    pub strategy: String,
    /// The strategy that found the first failure; null without one.
    pub found_by: Option<String>,
    /// The largest number of preemptions up to which every schedule was covered; null: all of
    /// them whatever their preemptions; -1: not even those with none.
    pub bound: Option<i64>,
    /// Whether everything asked for was covered.
    pub complete: bool,
    /// Executions of the search alone.
    pub executions: u64,
    /// Executions spent on learning.
    pub learning: u64,
    /// Executions spent on checking resets.
    pub checks: u64,
    /// Distinct schedules among them.
    pub distinct: u64,
    /// Beginnings that executions left each time that they were tried, and what would have followed.
    pub diverged: u64,
    /// Seconds.
    pub elapsed_s: f64,
    /// Executions a second.
    pub executions_per_s: u64,
    /// Processes that searched.
    pub workers: u32,
    /// `memory`, `fork` or `exec`.
    pub reset: String,
    /// Scheduling points seen.
    pub points: Points,
    /// The most tasks in an execution.
    pub threads: u64,
    /// The most steps in an execution.
    pub max_steps: u64,
    /// Races: reported beside the failures.
    pub races: Vec<String>,
    /// The same races with all that is known of them, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub race_details: Vec<Race>,
    /// Reports that were suppressed: by which rule, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<String>,
    /// Conflicts: reported beside the failures.
    pub conflicts: Vec<String>,
    /// What delayed stores could lead to, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub store_buffers: Vec<String>,
    /// Leaks: reported beside the failures.
    pub leaks: Vec<String>,
    /// Threads that ended with a lock held: reported beside the failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_held: Vec<String>,
    /// What failed.
    pub bugs: Vec<Bug>,
    /// What makes this report say less than it seems to, if anything does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why, where the verdict is `unsupported`, `error` or `incomplete`; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
