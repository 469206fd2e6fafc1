//! `heddle replay`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `heddle replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The trace
    pub trace: PathBuf,
    /// Number of runs
    #[arg(long, default_value = "1", value_parser = crate::cli::values::positive, value_name = "N")]
    pub times: u64,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Replay again whenever the program file or the trace changes; adapt the schedule to a rebuilt
    /// program
    #[arg(long, conflicts_with_all = ["json", "gdb"])]
    pub watch: bool,
    /// Do not repeat the schedule: search the program, which may have been rebuilt, for the predicates and
    /// conditions that the trace was found with, and say whether they can still be satisfied or broken
    #[arg(long, conflicts_with_all = ["times", "watch", "gdb"])]
    pub predicates: bool,
    /// Serve the replay to a debugger at unix:PATH, PORT or HOST:PORT, like `heddle gdb --server`
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["times", "json"])]
    pub gdb: Option<String>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments after `--`, to run instead of those that the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
