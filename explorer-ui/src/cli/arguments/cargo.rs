//! `cargo heddle`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use super::suite::SuiteArgs;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// `cargo heddle`, which is also `heddle cargo`.
#[derive(Debug, Subcommand)]
pub enum CargoVerb {
    /// Build the tests of a package or workspace with cargo, and search each
    Test(Box<CargoTestArgs>),
    /// Build with cargo, with memory-access instrumentation: `heddle build -- cargo build`
    Build(CargoWords),
    /// Build a program of the package with cargo, and run it once under control
    Run(Box<CargoRunArgs>),
    /// Explain a failing trace: `heddle explain`
    Explain(CargoWords),
    /// Explore a trace in the terminal: `heddle ui`
    Ui(CargoWords),
}

/// Words that are passed on.
#[derive(Debug, Clone, Args)]
pub struct CargoWords {
    /// The arguments
    #[arg(num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub words: Vec<OsString>,
}

/// What cargo builds, by cargo's own names.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of cargo")]
pub struct CargoBuildArgs {
    /// Test only this package. Can be repeated
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// Test all packages of the workspace
    #[arg(long)]
    pub workspace: bool,
    /// Leave out this package. Can be repeated
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,
    /// Test only the library
    #[arg(long)]
    pub lib: bool,
    /// Test only this program. Can be repeated
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// Test only the programs
    #[arg(long)]
    pub bins: bool,
    /// Test only this integration test. Can be repeated
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// Test only the targets that cargo tests by default
    #[arg(long)]
    pub tests: bool,
    /// Test only this example. Can be repeated
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// Test only the examples
    #[arg(long)]
    pub examples: bool,
    /// Test all targets
    #[arg(long)]
    pub all_targets: bool,
    /// Activate these features. Can be repeated
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all features
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the `default` feature
    #[arg(long)]
    pub no_default_features: bool,
    /// Build with the profile release
    #[arg(short, long)]
    pub release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Build in this directory
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,
    /// Use this Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Fail if Cargo.lock is not up to date
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network
    #[arg(long)]
    pub offline: bool,
}

/// `cargo heddle test`.
#[derive(Debug, Clone, Default, Args)]
pub struct CargoTestArgs {
    /// Only tests whose name contains one of these texts
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// The same, as for `heddle test`
    #[arg(long = "filter", value_name = "TEXT", hide = true)]
    pub named_filter: Vec<String>,
    /// Tests in documentation, which are not searched
    #[arg(long, hide = true)]
    pub doc: bool,
    /// What cargo builds.
    #[command(flatten)]
    pub cargo: CargoBuildArgs,
    /// Which tests are searched, and how.
    #[command(flatten, next_help_heading = "Options of heddle test")]
    pub suite: SuiteArgs,
    /// Options of `heddle explore` for each search, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

/// `cargo heddle run`.
#[derive(Debug, Clone, Default, Args)]
pub struct CargoRunArgs {
    /// What cargo builds.
    #[command(flatten)]
    pub cargo: CargoBuildArgs,
    /// The arguments of the program, after `--`
    #[arg(last = true, value_name = "ARGS")]
    pub words: Vec<OsString>,
}
