//! Commands that read traces and run no program: `heddle show`, `heddle diff` and `heddle export`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use replay_core::budget::Limits;
use std::path::PathBuf;

/// `heddle show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// The trace
    pub trace: PathBuf,
    /// Only these steps: 10..20, 10.., ..20 (both ends included; the first step is 1)
    #[arg(long, value_parser = crate::cli::values::steps, value_name = "A..B")]
    pub steps: Option<crate::cli::values::StepRange>,
    /// Print the state before this step, or at the end: enabled tasks, why the others are blocked, held
    /// locks, and the steps that happen before this one
    #[arg(long, value_parser = crate::cli::values::position, value_name = "STEP|end", conflicts_with_all = ["steps", "json"])]
    pub at: Option<usize>,
    /// Print the enabled tasks at each step
    #[arg(long)]
    pub enabled: bool,
    /// Fold library calls, spins, and runs of at least N steps that no other task can observe [4]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "4", value_name = "N")]
    pub fold: Option<usize>,
    /// Print a list, one line for each step, instead of columns
    #[arg(long)]
    pub list: bool,
    /// Also print the output of the program
    #[arg(long)]
    pub output: bool,
    /// Print the recorded environment, and the names of the variables that the trace leaves out
    #[arg(long, conflicts_with_all = ["steps", "at", "list", "json", "output", "enabled", "fold"])]
    pub environment: bool,
    /// Run the schedules that may follow each step, and print which share of them fails; with
    /// --json, also as `prospects` and `no_return`
    #[arg(long, conflicts_with_all = ["at", "environment"])]
    pub prospects: bool,
    /// With --prospects: allow running the program that the trace names, even if another user
    /// recorded the trace
    #[arg(long, requires = "prospects")]
    pub yes: bool,
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
    /// Print the whole trace as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Limits of memory and time for the analysis.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `heddle diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    /// The first trace
    pub first: PathBuf,
    /// The second trace, of the same program
    pub second: PathBuf,
    /// Common steps to show around each difference
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub context: usize,
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
    /// Limits of memory and time for the analysis.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The limits on memory and time of a command that reads files.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArgs {
    /// Maximum memory that Heddle may use for the trace: 512M, 4G [1G]
    #[arg(long, value_parser = crate::cli::values::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// Maximum processor time that Heddle may use for the trace: 500ms, 60s, 5m, 1h [10s]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
}

impl LimitArgs {
    /// The limits.
    #[must_use]
    pub fn limits(self) -> Limits {
        let Limits { memory, time } = Limits::DEFAULT;
        Limits { memory: self.max_memory.unwrap_or(memory), time: self.max_time.unwrap_or(time) }
    }
}

/// `heddle export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The trace
    pub trace: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", required_unless_present = "redact")]
    pub format: Option<crate::export::Format>,
    /// Write a trace to be handed on, without values of the environment and with secrets in
    /// arguments masked
    #[arg(long, conflicts_with = "format")]
    pub redact: bool,
    /// The file to write [standard output; with --redact, the trace's name with .redacted before
    /// .heddle]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Limits of memory and time for the analysis.
    #[command(flatten)]
    pub limits: LimitArgs,
}
