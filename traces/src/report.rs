//! The object that `--json` prints. Scripts rely on the names and the order of its fields.

use crate::FailureKind;
use serde::{Deserialize, Serialize};

/// The result of a search or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A failure was found.
    Bug,
    /// A predicate was satisfied, and no failure was found.
    Satisfied,
    /// Every schedule in the requested range was covered, and none failed.
    Clean,
    /// No failure was found, but the limit on time or executions ended the search.
    Incomplete,
    /// The program does something that Heddle does not model.
    Unsupported,
    /// The program could not be run.
    Error,
}

/// The number of scheduling points of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Points {
    /// Call sites of the modelled library functions.
    pub api: u64,
    /// Sites of memory accesses found to conflict.
    pub racy: u64,
    /// How many of those were saved by an earlier search and confirmed by this one.
    #[serde(default)]
    pub kept: u64,
    /// How many of those were found during the search, after the learning phase.
    #[serde(default)]
    pub new: u64,
    /// Sites in instrumented code (compiler instrumentation).
    pub compiled: u64,
    /// Bytes of the program's own code in which probes instrument memory accesses.
    #[serde(default)]
    pub code: u64,
    /// The bytes of that code that were decoded.
    #[serde(default)]
    pub covered: u64,
    /// The largest number of instructions with a probe at one time.
    #[serde(default)]
    pub probes: u64,
    /// The number of those probes that were jumps. The others are breakpoints, which cost about a
    /// hundred times as much.
    #[serde(default)]
    pub jumps: u64,
}

/// One distinct failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bug {
    /// The kind.
    pub kind: FailureKind,
    /// Equal for all executions that fail in the same way.
    pub signature: String,
    /// A message of one line.
    pub message: String,
    /// `queue.c:41`, or the most precise description that is known.
    pub site: String,
    /// The stack of the task that failed, from the innermost frame in the program's own code: functions and
    /// code locations, as `push (queue.c:41)`. Empty if it is not known.
    #[serde(default)]
    pub stack: Vec<String>,
    /// The trace file; null if it could not be written.
    pub trace: Option<String>,
    /// The number of the first execution with this failure, from 1; 0 if only the learning phase of an
    /// earlier search met it.
    pub found_at: u64,
    /// Preemptions in that execution.
    pub preemptions: u64,
    /// Switches between tasks in that execution.
    pub switches: u64,
    /// Steps of that execution.
    pub steps: u64,
    /// How many executions failed in this way.
    pub count: u64,
}

/// One of the two accesses of a race.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RaceAccess {
    /// The task: `T1`.
    pub task: String,
    /// What the access did, with the value: `wrote 6, over 5 (4 bytes)`.
    pub what: String,
    /// The number of steps before it.
    pub step: u64,
    /// The locks that the task held.
    pub locks: Vec<String>,
    /// Functions and code locations, innermost first: `push (queue.c:41)`.
    pub stack: Vec<String>,
}

/// A race, with both accesses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Race {
    /// A message of one line.
    pub message: String,
    /// The two accesses, the earlier first.
    pub accesses: Vec<RaceAccess>,
    /// The trace file; null if it could not be written.
    pub trace: Option<String>,
}

/// The result of a search for a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PredicateResult {
    /// A schedule satisfies it.
    Satisfied,
    /// No schedule in the range that was covered satisfies it.
    Impossible,
    /// No execution satisfied it, and that shows nothing.
    NotFound,
}

/// A predicate of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredicateReport {
    /// The predicate as the user wrote it.
    pub text: String,
    /// The result.
    pub result: PredicateResult,
}

/// The executions of a search that leads them through states (`--through`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThroughReport {
    /// Executions that met a predicate and passed.
    pub met_passing: u64,
    /// Executions that met a predicate and failed.
    pub met_failing: u64,
    /// Executions that met none and passed.
    pub other_passing: u64,
    /// Executions that met none and failed.
    pub other_failing: u64,
}

/// The result of a search for a condition that it watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionResult {
    /// A schedule breaks it: a failure.
    Broken,
    /// No schedule in the range that was covered breaks it.
    NeverBroken,
    /// No execution broke it, and that shows nothing.
    NotBroken,
}

/// A condition that a search watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionReport {
    /// The condition as the user wrote it, behind `always` or `never`.
    pub text: String,
    /// The result.
    pub result: ConditionResult,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The whole object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format: 1.
    pub heddle: u32,
    /// The result.
    pub verdict: Verdict,
    /// Always `sc`: Heddle explores sequentially consistent executions.
    pub memory_model: String,
    /// The strategy, as on the command line.
    pub strategy: String,
    /// The strategy that found the first failure; null without one.
    pub found_by: Option<String>,
    /// Every schedule with at most this many preemptions was covered; null: every schedule; -1: not
    /// even all schedules without preemptions.
    pub bound: Option<i64>,
    /// Whether every schedule in the requested range was covered.
    pub complete: bool,
    /// All executions that ran to their end: those of the learning phase, and those of the search with
    /// any scheduling points.
    pub executions: u64,
    /// The executions under the final scheduling points, of which a complete search consists.
    #[serde(default)]
    pub classes: u64,
    /// Executions of the search that were given up in the middle, because they would have repeated others.
    /// They are not among `executions`, but count towards the limit on executions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_up: u64,
    /// How many of `executions` are those of the learning phase, before the search.
    pub learning: u64,
    /// Executions that checked resets.
    pub checks: u64,
    /// Executions, those of the learning phase included, that continued from the state before the program
    /// creates its first thread, instead of beginning at main.
    #[serde(default)]
    pub resumed: u64,
    /// Distinct schedules among `classes`.
    pub distinct: u64,
    /// Prefixes that were pruned, because executions diverged from them at every attempt.
    pub diverged: u64,
    /// The duration in seconds.
    pub elapsed_s: f64,
    /// Executions per second.
    pub executions_per_s: u64,
    /// The number of worker processes.
    pub workers: u32,
    /// The reset: `memory`, `fork` or `exec`.
    pub reset: String,
    /// Scheduling points that were found.
    pub points: Points,
    /// The most tasks in an execution.
    pub threads: u64,
    /// The most steps in an execution.
    pub max_steps: u64,
    /// Executions that ended because they reached their limit on steps.
    #[serde(default)]
    pub cut: u64,
    /// Executions that ended because the program sent something else to a client than in the recording.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outside: u64,
    /// The largest limit on steps that an execution had.
    #[serde(default)]
    pub step_limit: u64,
    /// Races, which are reported besides failures.
    pub races: Vec<String>,
    /// The same races in the same order, with all details.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub race_details: Vec<Race>,
    /// Suppressed reports: the rule, and how many it suppressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<String>,
    /// Conflicts, which are reported besides failures.
    pub conflicts: Vec<String>,
    /// What delayed stores could lead to, if `--store-buffers` asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub store_buffers: Vec<String>,
    /// Leaks, which are reported besides failures.
    pub leaks: Vec<String>,
    /// Threads that ended while they held a lock, which are reported besides failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_held: Vec<String>,
    /// The distinct failures.
    pub bugs: Vec<Bug>,
    /// The predicates of the search (`--when`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<PredicateReport>,
    /// The conditions that the search watched (`--always`, `--never`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionReport>,
    /// How the executions ended that met a predicate of `--through`, and the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<ThroughReport>,
    /// The executions that satisfied a predicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub satisfied: Vec<Bug>,
    /// Failures that occurred once and not again when their schedules were run again. They count as
    /// no failures, because something outside of the schedule decides about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<Bug>,
    /// How many processes of the program were ended from outside. Their executions were repeated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed: u64,
    /// Limitations of this result: code that was not instrumented, executions that were cut, and
    /// the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The reason, if the verdict is `unsupported`, `error` or `incomplete`; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
