//! The command line, as clap parses it. The doc comments are the help texts.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use crate::console::When;
use clap::{Args, Parser, Subcommand};
use replay_core::StrategyChoice;
use replay_core::budget::Limits;
use std::ffi::OsString;
use std::path::PathBuf;

/// Finds thread schedules under which a program fails, and replays them exactly.
#[derive(Debug, Parser)]
#[command(
    name = "heddle",
    version,
    about = "Finds thread schedules under which a program fails, and replays them exactly",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit status: 0 no failure found, 1 failure found or reproduced, 2 wrong usage or a bad \
                  file,\n3 the program cannot be run under control, 4 interrupted with no failure found."
)]
pub struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
    /// Colours: auto, always or never; auto honours NO_COLOR
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: When,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Search for a schedule under which a program fails
    ///
    /// Stops at the first failure unless --keep-going is given. Writes each failure to a trace
    /// file that `heddle replay` runs again. A file heddle.toml in the working directory can set the
    /// same options under the same names; the command line takes precedence.
    Explore(ExploreArgs),
    /// Search each test of a suite: libtest, GoogleTest, Catch2, doctest, Boost.Test, GLib
    ///
    /// Asks each program for its tests and searches those that create threads, several at a time, each
    /// within a limit of time. The framework is recognised by the program's content. A program without
    /// a known framework is one test. The options after `--` are those of `heddle explore`.
    Test(TestArgs),
    /// Run a Rust test program for cargo: search each of its tests
    ///
    /// Set it as cargo's runner (CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="heddle runner"), for cargo
    /// test and cargo nextest. `--list` is passed to the program. A program without Rust's harness is
    /// searched as it is.
    Runner(RunnerArgs),
    /// Build with cargo and search the tests: the same as `cargo heddle`
    #[command(subcommand)]
    Cargo(CargoVerb),
    /// Run a program once under control, and record it
    ///
    /// Without --seed, no task is preempted: each runs until it blocks or exits.
    Run(RunArgs),
    /// Run a recorded schedule again and compare every step
    ///
    /// A trace that another user recorded runs its program only with your consent: pass --yes, name
    /// the program after `--`, or confirm on the terminal.
    Replay(ReplayArgs),
    /// Print a trace as text: a column for each task, a row for each step
    Show(ShowArgs),
    /// Find the smallest schedule with the same failure: fewest preemptions, then fewest switches
    Shrink(ShrinkArgs),
    /// Find the order of events that causes the failure, and the nearest schedule that passes
    ///
    /// Runs variants of the failing schedule in which some steps of one task run earlier or later. The
    /// reported orders are those that hold in the variants that fail and not in those that pass.
    Bisect(BisectArgs),
    /// Explain a failing trace on one page: what happens, why it fails, what kind of bug it is
    ///
    /// Shrinks and bisects the schedule first, if the program can be run.
    Explain(ExplainArgs),
    /// Explore the interleavings of a program or a trace interactively in the terminal
    Ui(UiArgs),
    /// Debug a schedule with gdb or lldb, with reverse execution
    ///
    /// The debugger shows every thread of the program and what it is blocked on. With a trace, the
    /// session begins at the failure; without one, at main, on the schedule without preemptions.
    Gdb(GdbArgs),
    /// Print the gdb commands that `heddle gdb` defines, for editors
    Gdbinit {
        /// Print the commands for lldb instead
        #[arg(long)]
        lldb: bool,
    },
    /// Compare two schedules of one program: where they diverge, and which orders differ
    Diff(DiffArgs),
    /// Convert a trace to the format of another program
    Export(ExportArgs),
    /// Build a program with memory-access instrumentation
    ///
    /// Runs the given build command with compiler wrappers. Works with make, cmake, cargo and plain
    /// compiler calls; with gcc, clang, and rustc of a stable toolchain.
    Build(BuildArgs),
    /// Print the header for annotations in a program: heddle.h, or heddle.rs
    Header(HeaderArgs),
    /// Check that Heddle works on this machine, and suggest a remedy for each problem
    Doctor(DoctorArgs),
    /// Print the paths of the configuration files, and check the files
    ///
    /// heddle.toml in the working directory sets options; ui.toml in the user's configuration directory
    /// sets the explorer's keys and colours. The exit status is 2 if a file has an error.
    Config {
        /// Print the paths only, including saved sessions and the cached runtime
        #[arg(long)]
        paths: bool,
    },
    /// Print what Heddle keeps in caches and in its state directory, or remove it
    ///
    /// Traces, which --out places elsewhere, are not listed.
    Clean(CleanArgs),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Find, show and replay a bug in a small built-in program
    Demo(DemoArgs),
}

/// How the target is run and instrumented: the options that `explore`, `run` and `ui` share.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramArgs {
    /// Maximum steps of one execution [100000]
    #[arg(long, value_parser = crate::cli::values::positive, value_name = "N", allow_negative_numbers = true)]
    pub max_steps: Option<u64>,
    /// Maximum memory of the program: 512M, 4G; allocations beyond it fail [4G, or half of the
    /// machine's memory]
    #[arg(long, value_parser = crate::cli::values::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// Maximum spurious wake-ups of each thread, which POSIX allows for every wait on a condition
    /// variable, and Linux for futexes [0; without a number 1]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "1", value_name = "N")]
    pub spurious: Option<u32>,
    /// How late a step may be by its thread's clock (500ms, 1s, 5m; inf for any delay): sleeps, time
    /// limits and timers expire in the order of their deadlines, but for that much [1s]
    #[arg(long, value_parser = crate::cli::values::slack, value_name = "TIME", allow_negative_numbers = true)]
    pub slack: Option<crate::cli::values::SlackChoice>,
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
    /// Store the names of environment variables without their values; a replay takes the values
    /// from its own environment
    #[arg(long)]
    pub no_env: bool,
    /// Directory for traces [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The options that `explore` and `run` share.
#[derive(Debug, Clone, Default, Args)]
pub struct SearchArgs {
    /// The search strategy.
    #[arg(long, help = crate::cli::values::strategy_help(), value_parser = crate::cli::values::StrategyParser, hide_possible_values = true, value_name = "NAME")]
    pub strategy: Option<StrategyChoice>,
    /// Stop after this time: 500ms, 60s, 5m, 1h [no limit]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
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
    /// Continue after the first failure, and report each distinct failure
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub keep_going: Option<bool>,
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
    /// The program and its arguments after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

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

/// `cargo heddle`, which is also `heddle cargo`.
#[derive(Debug, Subcommand)]
pub enum CargoVerb {
    /// Build the tests of a package or workspace with cargo, and search each
    Test(CargoTestArgs),
    /// Build with cargo, with memory-access instrumentation: `heddle build -- cargo build`
    Build(CargoWords),
    /// Build a program of the package with cargo, and run it once under control
    Run(CargoRunArgs),
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

/// `heddle run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// The options shared with `explore`.
    #[command(flatten)]
    pub search: SearchArgs,
    /// The program and its arguments after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

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
    /// Fold runs of at least N steps that no other task can observe [4]
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

/// The limits on memory and time of a command that reads files.
#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArgs {
    /// Maximum memory of Heddle for this file: 512M, 4G [1G]
    #[arg(long, value_parser = crate::cli::values::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// Maximum processor time of Heddle for this file: 500ms, 60s, 5m, 1h [10s]
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_accepts_the_definitions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_program_follows_two_dashes() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' '));
        assert!(parse("heddle explore --seed 0x10 -- ./prog --json -x").is_ok());
        for wrong in ["heddle explore", "heddle explore ./prog", "heddle explore --", "heddle fly"]
        {
            assert_eq!(parse(wrong).expect_err(wrong).exit_code(), 2, "{wrong}");
        }
        for wrong in [
            "heddle explore --workers 0 -- p",
            "heddle explore --strategy pct:0 -- p",
            "heddle explore --max-time 5 parsecs -- p",
            "heddle explore --fail-on conflict -- p",
            "heddle explore --fail-on flood -- p",
            "heddle replay --times 0 t",
            "heddle show --steps 9..3 t",
        ] {
            assert_eq!(parse(wrong).expect_err(wrong).exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn flags_can_be_set_to_false() {
        let cli = Cli::try_parse_from(["heddle", "explore", "--keep-going=false", "--", "p"]);
        let Verb::Explore(args) = cli.expect("valid").verb else { panic!("not explore") };
        assert_eq!(args.keep_going, Some(false));
        let cli = Cli::try_parse_from(["heddle", "explore", "--keep-going", "--json", "--", "p"]);
        let Verb::Explore(args) = cli.expect("valid").verb else { panic!("not explore") };
        assert_eq!((args.keep_going, args.search.json), (Some(true), Some(true)));
    }
}
