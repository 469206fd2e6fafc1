//! `heddle gdb`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `heddle gdb`.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["trace", "command"]))]
pub struct GdbArgs {
    /// The trace
    pub trace: Option<PathBuf>,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Start lldb instead of gdb
    #[arg(long, conflicts_with = "server")]
    pub lldb: bool,
    /// The debugger's executable
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    pub debugger: Option<OsString>,
    /// Start no debugger: wait for one at unix:PATH, or at PORT or HOST:PORT of the loopback
    /// interface [a private socket]
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "ADDR")]
    pub server: Option<String>,
    /// Keep serving after the debugger disconnects
    #[arg(long, requires = "server")]
    pub keep: bool,
    /// Where to start: main, failure, end, or a step number [failure]
    #[arg(long, value_parser = crate::cli::values::start, value_name = "PLACE")]
    pub at: Option<replay_core::debug::Start>,
    /// A file of debugger commands to run at the start
    #[arg(short = 'x', long = "commands", value_name = "FILE")]
    pub commands: Vec<PathBuf>,
    /// An argument for the debugger. Can be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub with: Vec<OsString>,
    /// The program and its arguments after `--`; with a trace, they replace those that it names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
