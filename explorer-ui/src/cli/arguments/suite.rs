//! `heddle test` and `heddle runner`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `heddle test`.
#[derive(Debug, Clone, Default, Args)]
pub struct TestArgs {
    /// Test programs, and build directories of CMake or Meson, whose tests are those that `ctest`
    /// and `meson test` run
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,
    /// A file with a test command on each line
    #[arg(long, value_name = "FILE")]
    pub commands: Option<PathBuf>,
    /// Only tests whose name contains this text; the name is as in reports, `PROGRAM TEST`. Can be
    /// repeated
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Which tests are searched, and how.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Where the searches run.
    #[command(flatten)]
    pub cluster: super::ClusterArgs,
    /// Options of `heddle explore` for each search, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

/// Which tests of a suite are searched, and how: the options that `heddle test` and `cargo heddle
/// test` share.
#[derive(Debug, Clone, Default, Args)]
pub struct SuiteArgs {
    /// No tests whose name contains this text. Can be repeated
    #[arg(long, value_name = "TEXT")]
    pub skip: Vec<String>,
    /// The texts of --filter and --skip are whole names
    #[arg(long)]
    pub exact: bool,
    /// Only tests that the framework runs on request only
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,
    /// Also tests that the framework runs on request only
    #[arg(long)]
    pub include_ignored: bool,
    /// Only a part of the tests, for several machines: count:M/N or hash:M/N
    #[arg(long, value_parser = crate::suites::partition::Partition::parse, value_name = "PART")]
    pub partition: Option<crate::suites::partition::Partition>,
    /// Print the names of the tests and run none
    #[arg(long)]
    pub list: bool,
    /// Number of tests at a time [one per core]
    #[arg(short, long, value_parser = crate::cli::values::workers, value_name = "N", allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Time for the search of each test: 500ms, 60s, 5m, 1h [10s]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
    /// Time for all tests together; each gets an equal share of what remains [no limit]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub total_time: Option<std::time::Duration>,
    /// Continue after the first test that fails
    #[arg(long)]
    pub no_fail_fast: bool,
    /// Failures of an earlier run, as --json printed it, do not count
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Also write the results to FILE as JUnit XML, a case for each test
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print the results as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Directory for traces, with a directory for each test [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Search again whenever a program changes, or a source file of the packages that cargo builds; tests
    /// that failed come first
    #[arg(long, conflicts_with_all = ["json", "list"])]
    pub watch: bool,
}

/// `heddle runner`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunnerArgs {
    /// Time for the search of each test: 500ms, 60s, 5m, 1h [10s]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
    /// Directory for traces, with a directory for each test [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The test program and the harness's arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}
