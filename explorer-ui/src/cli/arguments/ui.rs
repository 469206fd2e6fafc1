//! `heddle ui`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use super::program::ProgramArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `heddle ui`.
#[derive(Debug, Clone, Args)]
pub struct UiArgs {
    /// The trace; without a trace and a program, a tour of a small built-in program
    pub trace: Option<PathBuf>,
    /// Print the default file of keys and colours, and the path at which Heddle looks for it
    #[arg(long)]
    pub keys: bool,
    /// How the program is run. A trace fixes these options itself.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// The program and its arguments after `--`; with a trace, they replace those that it names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
