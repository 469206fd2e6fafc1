//! The command line, as clap parses it. The doc comments are the help texts. The files below have the
//! options of the commands.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

mod analyse;
mod cargo;
mod cluster;
mod explore;
mod gdb;
mod program;
mod replay;
mod setup;
mod show;
mod suite;
mod ui;

use crate::console::When;
use clap::{Parser, Subcommand};

pub use analyse::{BisectArgs, ExplainArgs, NarrowArgs, ShrinkArgs};
pub use cargo::{CargoBuildArgs, CargoRunArgs, CargoTestArgs, CargoVerb, CargoWords};
pub use cluster::{
    ClusterArgs, ClusterSearchArgs, ClusterStatusArgs, ClusterTracesArgs, ClusterVerb,
    ConnectionArgs, WorkerArgs,
};
pub use explore::{ExploreArgs, RunArgs, SearchArgs};
pub use gdb::GdbArgs;
pub use program::ProgramArgs;
pub use replay::ReplayArgs;
pub use setup::{BuildArgs, CleanArgs, DemoArgs, DoctorArgs, HeaderArgs};
pub use show::{DiffArgs, ExportArgs, LimitArgs, ShowArgs};
pub use suite::{RunnerArgs, SuiteArgs, TestArgs};
pub use ui::UiArgs;

/// Finds thread schedules under which a program fails, and replays them exactly.
#[derive(Debug, Parser)]
#[command(
    name = "heddle",
    version,
    about = "Finds thread schedules under which a program fails, and replays them exactly",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    help_template = "{about}\n{usage-heading} {usage}\n\n{all-args}{after-help}",
    after_help = "Exit status: 0 no failure, 1 failure, 2 wrong usage, 3 not runnable, 4 interrupted, 5 satisfied"
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
    Explore(Box<ExploreArgs>),
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
    /// Run pieces of the searches at a NATS server, for `heddle explore --cluster`
    ///
    /// Runs only programs that were signed with a key given by --trust. A worker may be started and
    /// ended at any time. Needs the program `heddle-cluster`.
    Worker(WorkerArgs),
    /// Searches on several machines: status, cancel, traces, key
    #[command(subcommand)]
    Cluster(ClusterVerb),
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
    /// Find the schedule with the same failure and the fewest preemptions
    Shrink(ShrinkArgs),
    /// Find the order of events that causes a failure
    ///
    /// Runs variants of the failing schedule in which some steps of one task run earlier or later. The
    /// reported orders are those that hold in the variants that fail and not in those that pass.
    Bisect(BisectArgs),
    /// Find the state that causes a failure: threads at sites and a condition over variables
    ///
    /// Proposes predicates and checks them by running the program: every execution that reaches the
    /// printed state fails, and none fails without it. The predicate can be given to `heddle explore
    /// --through`, or written into the source.
    Narrow(NarrowArgs),
    /// Explain a failing trace on one page: what happens, why, the kind of bug
    ///
    /// Shrinks and bisects the schedule first, if the program can be run.
    Explain(ExplainArgs),
    /// Explore the interleavings of a program or a trace interactively in the terminal
    Ui(UiArgs),
    /// Serve programs and agents on standard input and output: JSON-RPC 2.0, MCP
    ///
    /// A client opens a trace or a program, searches, walks through schedules, and asks why they fail.
    /// --schema prints the methods.
    Serve(crate::cli::serve::ServeArgs),
    /// Serve an editor: a debug adapter on standard input and output
    ///
    /// The editor starts it. Stepping goes along the schedule, forwards and backwards, and a program is
    /// searched for a failure first.
    Dap(crate::cli::dap::DapArgs),
    /// Debug a schedule with gdb or lldb, with reverse execution
    ///
    /// The debugger shows every thread of the program and what it is blocked on. With a trace, the
    /// session begins at the failure; without one, at main, on the schedule without preemptions.
    Gdb(GdbArgs),
    /// Print the definitions of `heddle gdb`'s commands, for editors that start gdb
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
