//! `heddle explore` and `heddle run`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use super::cluster::ClusterArgs;
use super::program::ProgramArgs;
use clap::Args;
use replay_core::StrategyChoice;
use std::ffi::OsString;
use std::path::PathBuf;

/// The options that `explore` and `run` share.
#[derive(Debug, Clone, Default, Args)]
pub struct SearchArgs {
    /// The search strategy.
    #[arg(long, help = crate::cli::values::strategy_help(), value_parser = crate::cli::values::StrategyParser, hide_possible_values = true, value_name = "NAME")]
    pub strategy: Option<StrategyChoice>,
    /// Stop after this time: 500ms, 60s, 5m, 1h [no limit]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
    /// Search for a schedule in which threads are at sites at the same time and a condition holds:
    /// 'THREAD@SITE && THREAD@SITE: CONDITION'. A thread is T1, a name, a start function, * or any N; a
    /// site is file:line, file:"text of the line" or a function; /write behind a line means its first write
    /// to memory. @FILE reads predicates from a file, one a
    /// line, as do the next three options. Can be repeated
    #[arg(long, value_name = "PREDICATE")]
    pub when: Vec<String>,
    /// Watch a condition in every state of every execution; a state in which it is false is a failure.
    /// 'A until B' watches A until B is true; 'THREAD@SITE: A' watches A while threads are at sites, as
    /// in --when. Can be repeated
    #[arg(long, value_name = "CONDITION")]
    pub always: Vec<String>,
    /// The same, where a state in which the condition is true is a failure. Can be repeated
    #[arg(long, value_name = "CONDITION")]
    pub never: Vec<String>,
    /// Lead executions through states that satisfy a predicate (as in --when) and continue them, to test
    /// that such an interleaving is harmless. Can be repeated
    #[arg(long, value_name = "PREDICATE")]
    pub through: Vec<String>,
    /// How the program is run.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print the result as one JSON object on standard output
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub json: Option<bool>,
}

/// `heddle explore`.
#[derive(Debug, Clone, Default, Args)]
pub struct ExploreArgs {
    /// The options shared with `run`.
    #[command(flatten)]
    pub search: SearchArgs,
    /// Maximum preemptions of a schedule (dfs, icb, dpor, hapset), or delays (delay) [no limit]
    #[arg(long, value_parser = crate::cli::values::bound, value_name = "N", allow_negative_numbers = true)]
    pub bound: Option<u32>,
    /// Stop after N executions; 0 means no limit [100000]
    #[arg(long, value_parser = crate::cli::values::executions, value_name = "N", allow_negative_numbers = true)]
    pub max_executions: Option<u64>,
    /// If executions are long (ten times N steps in the learning phase), end most of them after N steps,
    /// so that there are many; 0 runs each to its end [0; for `heddle test` 2000]
    #[arg(long, value_parser = crate::cli::values::step_limit, value_name = "N", allow_negative_numbers = true)]
    pub beginnings: Option<u64>,
    /// Continue after the first failure, and report each distinct failure
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub keep_going: Option<bool>,
    /// Run the commands of --client in each execution, all at once, instead of repeating what they did when
    /// they were recorded: slower, and finds what they do after other answers
    #[arg(long, requires = "clients", conflicts_with = "cluster")]
    pub live_clients: bool,
    /// Resume the stopped or killed search whose traces are in this directory; the program and the
    /// strategy must be the same
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Warm-up runs before the search, in which the program creates its caches and files [0]
    #[arg(long, value_parser = crate::cli::values::priming, value_name = "N", allow_negative_numbers = true)]
    pub prime: Option<u32>,
    /// Preempt no thread inside this module, source file or function; * matches any text. Can be
    /// repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,
    /// Preempt threads only inside this module, source file or function. Can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub focus: Vec<String>,
    /// Preempt these threads nowhere, since they do not matter: T4, T4..T9, a thread's name or its start
    /// function. Can be repeated
    #[arg(long, value_name = "THREADS")]
    pub serial: Vec<String>,
    /// The thread of a test harness, which runs only when no other thread can: main, none, or auto for
    /// main where it creates the thread of the test that the command selects [auto]
    #[arg(long, value_parser = crate::cli::values::harness, value_name = "THREAD")]
    pub harness: Option<crate::cli::values::HarnessChoice>,
    /// Report loads that x86-TSO store buffers let overtake an earlier store, with an outcome that no
    /// interleaving produces; needs a program built by `heddle build`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub store_buffers: Option<bool>,
    /// Suppress the reports that this file lists, in ThreadSanitizer's format: race:PATTERN, deadlock:,
    /// mutex:, called_from_lib:
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Search again whenever the program file changes; rerun the failing schedules first
    #[arg(long, conflicts_with_all = ["json", "resume"])]
    pub watch: bool,
    /// Also write the report to FILE as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// The machines that search, if not this one.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The program and its arguments after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// The options shared with `explore`.
    #[command(flatten)]
    pub search: SearchArgs,
    /// How long a thread may run without a scheduling point, for the first run of a suite's test
    #[arg(long, hide = true, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub spin_after: Option<std::time::Duration>,
    /// Run the learning phase first, so that conflicting memory accesses are steps
    ///
    /// Without it the program runs once. Its steps are calls, and also accesses if an earlier search has learned
    /// which of them conflict.
    #[arg(long)]
    pub learn: bool,
    /// The program and its arguments after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
