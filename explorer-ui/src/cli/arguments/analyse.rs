//! Commands that analyse a failing trace: `heddle shrink`, `heddle bisect`, `heddle narrow` and
//! `heddle explain`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use super::show::LimitArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `heddle shrink`.
#[derive(Debug, Clone, Args)]
pub struct ShrinkArgs {
    /// The trace
    pub trace: PathBuf,
    /// The file to write [the trace's name with .min before .heddle]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments after `--`, to run instead of those that the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle bisect`.
#[derive(Debug, Clone, Args)]
pub struct BisectArgs {
    /// The failing trace
    pub trace: PathBuf,
    /// A passing trace of the same program, if you have one
    pub passing: Option<PathBuf>,
    /// The file for the nearest schedule that passes [the trace's name with .pass before .heddle]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments after `--`, to run instead of those that the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle narrow`.
#[derive(Debug, Clone, Args)]
pub struct NarrowArgs {
    /// The failing trace
    pub trace: PathBuf,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments after `--`, to run instead of those that the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// The failing trace
    pub trace: PathBuf,
    /// Allow running the program that the trace names, even if another user recorded the trace
    #[arg(long)]
    pub yes: bool,
    /// Explain the recorded schedule without running the program
    #[arg(long)]
    pub as_is: bool,
    /// Say where the value of an expression at the failure came from: q->len, T2:i
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "as_is")]
    pub origin: Vec<String>,
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Limits of memory and time for the analysis.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The program and its arguments after `--`, to run instead of those that the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
