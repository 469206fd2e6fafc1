//! Commands that prepare a program or the machine: `heddle build`, `heddle header`, `heddle doctor`,
//! `heddle clean` and `heddle demo`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use std::ffi::OsString;

/// `heddle clean`.
#[derive(Debug, Clone, Copy, Args)]
pub struct CleanArgs {
    /// Remove what can be made again: the runtime, saved sessions, what killed processes left behind
    #[arg(long)]
    pub remove: bool,
    /// Also remove the key for signing and the traces in the state directory
    #[arg(long, requires = "remove")]
    pub all: bool,
}

/// `heddle build`.
#[derive(Debug, Clone, Args)]
pub struct BuildArgs {
    /// The build command, after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `heddle header`.
#[derive(Debug, Clone, Args)]
pub struct HeaderArgs {
    /// Print the Rust module heddle.rs
    #[arg(long)]
    pub rust: bool,
}

/// `heddle doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// `heddle demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Use only ASCII characters
    #[arg(long)]
    pub ascii: bool,
}
