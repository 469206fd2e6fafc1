//! How a program is run: the options that several commands share.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How the target is run and instrumented: the options that `explore`, `run` and `ui` share.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramArgs {
    /// Maximum steps of one execution [100000, and up to 10000000 while it makes progress]
    #[arg(long, value_parser = crate::cli::values::positive, value_name = "N", allow_negative_numbers = true)]
    pub max_steps: Option<u64>,
    /// Maximum memory of the program: 512M, 4G; allocations beyond it fail [4G, or half of the
    /// machine's memory]
    #[arg(long, value_parser = crate::cli::values::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// Maximum spurious wake-ups of each thread, which POSIX allows for every wait on a condition
    /// variable, and Linux for futexes [0; without a number 1]
    #[arg(long, value_parser = crate::cli::values::wakeups, num_args = 0..=1, require_equals = true, default_missing_value = "1", value_name = "N")]
    pub spurious: Option<u32>,
    /// How many freed blocks may come back at their old addresses in one execution, where addresses of
    /// freed blocks are compared: failures by ABA [1]
    #[arg(long, value_parser = crate::cli::values::blocks, value_name = "N", allow_negative_numbers = true)]
    pub reuse: Option<u32>,
    /// How many transfers of each thread over network connections may be shorter than the data or the room
    /// that is there, as the kernel permits [0; without a number 1]
    #[arg(long, value_parser = crate::cli::values::transfers, num_args = 0..=1, require_equals = true, default_missing_value = "1", value_name = "N")]
    pub short_counts: Option<u32>,
    /// How late a step may be by its thread's clock (500ms, 1s, 5m; inf for any delay): sleeps, time
    /// limits and timers expire in the order of their deadlines, but for that much [1s; for `heddle test`
    /// 5ms]
    #[arg(long, value_parser = crate::cli::values::slack, value_name = "TIME", allow_negative_numbers = true)]
    pub slack: Option<crate::cli::values::SlackChoice>,
    /// How long to wait for another process if no thread can run otherwise, in real time (500ms, 10s,
    /// 5m); then the execution ends as `unsupported` [10s]
    #[arg(long = "patience", value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub outside_limit: Option<Duration>,
    /// A command that is a client of the program (repeatable): it runs once, when the program waits; what it
    /// sends is recorded and repeated in each execution
    #[arg(long = "client", value_name = "COMMAND")]
    pub clients: Vec<String>,
    /// Where the search begins: where the program first only waits (idle), or at a function or FILE:LINE;
    /// before that there is one schedule [at the start of the program]
    #[arg(long, value_name = "WHERE")]
    pub begin_at: Option<String>,
    /// Seed of the random number generator [0]
    #[arg(long, value_parser = crate::cli::values::seed, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How to reset the program between executions: auto, memory, fork or exec [auto]
    #[arg(long, value_parser = crate::cli::values::reset, value_name = "HOW")]
    pub reset: Option<crate::cli::values::ResetChoice>,
    /// Number of processes that search in parallel; the result does not depend on it [one per core]
    #[arg(long, value_parser = crate::cli::values::workers, value_name = "N", allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// Kinds of failure to report: deadlock,assertion,...; `+kind` adds one to the default set,
    /// `-kind` removes one
    #[arg(long, value_parser = crate::cli::values::fail_on, value_name = "LIST", allow_hyphen_values = true)]
    pub fail_on: Option<crate::cli::values::Kinds>,
    /// Where the scheduler may switch threads: at synchronisation calls only (api), also at
    /// conflicting memory accesses (racy), or at every memory access (all) [racy]
    #[arg(long, value_parser = crate::cli::values::points, value_name = "WHICH")]
    pub points: Option<crate::cli::values::PointsChoice>,
    /// When each execution gets its own copy of the working directory: auto (as soon as an execution
    /// is about to change a file there), always, never [auto; for `run` never]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "always", value_parser = crate::cli::values::scratch, value_name = "WHEN")]
    pub scratch: Option<crate::cli::values::ScratchChoice>,
    /// If the command starts several programs with threads: the one to run under control, by name or by
    /// number, from 1 [the first]
    #[arg(long, value_parser = crate::cli::values::followed_child, value_name = "NAME|NUMBER")]
    pub follow_child: Option<replay_core::FollowedChild>,
    /// Store the names of environment variables without their values; a replay takes the values
    /// from its own environment
    #[arg(long)]
    pub no_env: bool,
    /// The command selects a test that the program listed: it is not asked for its tests again
    #[arg(long, hide = true)]
    pub is_listed: bool,
    /// Directory for traces [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
