//! What can be typed. The texts here are the help.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::{Args, Parser, Subcommand, ValueEnum};
use replay_core::StrategyName;
use std::ffi::OsString;
use std::path::PathBuf;

/// Finds the thread schedules under which a program fails, and runs them again.
#[derive(Debug, Parser)]
#[command(
    name = "heddle",
    version,
    about = "Finds the thread schedules under which a program fails, and runs them again",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit status: 0 nothing found, 1 a bug found or reproduced, 2 wrong usage or a bad \
                  file,\n3 the program cannot be run under control, 4 interrupted with nothing found."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Colours: auto, always or never (NO_COLOR is honoured)
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

/// When to write colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// To a terminal that knows colours.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Search for a schedule under which a program fails
    ///
    /// Stops at the first failure unless --keep-going is given. Each failure is written to a trace
    /// that `heddle replay` runs again. The options may also stand in a file heddle.toml in the
    /// working directory, under the same names; the command line wins.
    Explore(ExploreArgs),
    /// Run a program once under control, and record it
    ///
    /// Without --seed no task is ever preempted: each goes on until it waits or is done.
    Run(RunArgs),
    /// Run a recorded schedule again, every step compared
    ///
    /// A trace that you did not record yourself starts nothing before you agree: with --yes, by
    /// naming the program, or when asked on a terminal.
    Replay(ReplayArgs),
    /// Show a trace as text: a column for each task, a row for each step
    Show(ShowArgs),
    /// Find the smallest schedule that fails in the same way: the fewest preemptions, then switches
    Shrink(ShrinkArgs),
    /// Find the order between events that makes the difference, and the nearest schedule that passes
    ///
    /// Runs schedules that are like the failing one but for a piece of one task that comes earlier or
    /// later, and learns from all of them which orders hold exactly where it fails.
    Bisect(BisectArgs),
    /// Explain a failing trace on one page: what happens, why it fails, what kind of bug it is
    ///
    /// Shrinks the schedule and bisects it first, where the program can be run.
    Explain(ExplainArgs),
    /// Walk through the interleavings of a program, or of a trace, in the terminal
    Ui(UiArgs),
    /// Put gdb or lldb on a schedule: exactly, backwards too
    ///
    /// Every thread of the program is a thread of the debugger, with what it waits for. With a trace
    /// the session begins where the failure shows, else at main, on the schedule that preempts nobody.
    Gdb(GdbArgs),
    /// Print what `heddle gdb` teaches gdb, for editors that start it themselves
    Gdbinit {
        /// What `heddle gdb --lldb` teaches lldb
        #[arg(long)]
        lldb: bool,
    },
    /// Compare two schedules of one program: where they part, and which orders differ
    Diff(DiffArgs),
    /// Write a trace in a form that other programs read
    Export(ExportArgs),
    /// Build a program so that it tells of its accesses to memory: a build command with other compilers
    ///
    /// For make, cmake, cargo and plain compilers: gcc and clang, and rustc on a stable toolchain.
    Build(BuildArgs),
    /// Print what a program may include to tell Heddle something: heddle.h, or heddle.rs
    Header(HeaderArgs),
    /// Say what works on this machine, and what to do about what does not
    Doctor(DoctorArgs),
    /// Say where the files of settings are looked for, and whether they are in order
    ///
    /// heddle.toml in the working directory holds options, ui.toml in the directory for configuration
    /// the explorer's keys and colours. The exit status is 2 where something in them is wrong.
    Config {
        /// Only where the files are, what is kept for the next start and what is cached among them
        #[arg(long)]
        paths: bool,
    },
    /// Print what completes the options in a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the page for man
    Man,
    /// Find, show and replay the bug of a small built-in program
    Demo(DemoArgs),
}

/// How a program is run, and looked at: what `explore`, `run` and `ui` have in common.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramArgs {
    /// The most steps of one execution [100000]
    #[arg(long, value_parser = crate::settings::positive, value_name = "N", allow_negative_numbers = true)]
    pub max_steps: Option<u64>,
    /// The most memory the program may ask for: 512M, 4G; beyond, it gets none [4G, or half of what
    /// the machine has]
    #[arg(long, value_parser = crate::settings::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// How many waits of each thread may come back with nobody waking it, which POSIX allows of every
    /// wait for a condition, and Linux of a futex's [0; without a number 1]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "1", value_name = "N")]
    pub spurious: Option<u32>,
    /// Where the random numbers begin [0]
    #[arg(long, value_parser = crate::settings::seed, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How to get back to the start of the program: auto, memory, fork or exec [auto]; memory:scan
    /// and memory:compare find what changed in other ways
    #[arg(long, value_parser = crate::settings::reset, value_name = "HOW")]
    pub reset: Option<crate::settings::ResetChoice>,
    /// How many processes search at a time; what is found does not depend on it [one for each core]
    #[arg(long, value_parser = crate::settings::workers, value_name = "N", allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// What counts as a failure, by name: deadlock,assertion,...; `+kind` adds to the usual ones,
    /// `-kind` takes away from them
    #[arg(long, value_parser = crate::settings::fail_on, value_name = "LIST", allow_hyphen_values = true)]
    pub fail_on: Option<crate::settings::Kinds>,
    /// Where the scheduler may choose: at calls into the threads library (api), at accesses to memory
    /// that conflict, too (racy), or at every access (all) [racy]; racy:breakpoints and
    /// all:breakpoints put no jumps into the program
    #[arg(long, value_parser = crate::settings::points, value_name = "WHICH")]
    pub points: Option<crate::settings::PointsChoice>,
    /// Where to write traces [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What `explore` and `run` have in common.
#[derive(Debug, Clone, Default, Args)]
pub struct SearchArgs {
    /// How to search: auto, directed, random, sticky[:W], pct[:D], pos, surw, feedback, dfs,
    /// icb, delay, dpor, hapset[:N] [auto]
    #[arg(long, value_parser = crate::settings::strategy, value_name = "NAME")]
    pub strategy: Option<StrategyName>,
    /// Stop after so long: 500ms, 60s, 5m, 1h [no limit]
    #[arg(long, value_parser = crate::settings::duration, value_name = "TIME")]
    pub max_time: Option<std::time::Duration>,
    /// How the program is run.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub json: Option<bool>,
}

/// `heddle explore`.
#[derive(Debug, Clone, Default, Args)]
pub struct ExploreArgs {
    /// What it has in common with `run`.
    #[command(flatten)]
    pub search: SearchArgs,
    /// The most preemptions of a schedule (dfs, icb, dpor, hapset), or delays (delay) [no limit]
    #[arg(long, value_parser = crate::settings::bound, value_name = "N", allow_negative_numbers = true)]
    pub bound: Option<u32>,
    /// Stop after so many executions; 0: no limit [100000]
    #[arg(long, value_parser = crate::settings::executions, value_name = "N", allow_negative_numbers = true)]
    pub max_executions: Option<u64>,
    /// Go on after the first failure, and report each different one
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub keep_going: Option<bool>,
    /// Go on with the search that was stopped or killed and whose traces are in this directory; the
    /// program and the strategy have to be the same
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Run the program so often before the search, as often as it takes until it finds all that it sets up
    /// once: files, caches, what others serve [0]
    #[arg(long, value_parser = crate::settings::priming, value_name = "N", allow_negative_numbers = true)]
    pub prime: Option<u32>,
    /// Preempt no task in this module, source file or function; * stands for anything. May be given
    /// more than once
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,
    /// Preempt tasks only in this module, source file or function
    #[arg(long, value_name = "PATTERN")]
    pub focus: Vec<String>,
    /// Look for loads that a processor may do while an earlier store is delayed (x86-TSO), in a way that
    /// no schedule shows; for programs that tell of their accesses
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub store_buffers: Option<bool>,
    /// Leave out what this file says is known, in the sanitizer's form: race:PATTERN, deadlock:,
    /// mutex:, called_from_lib:
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Search again whenever the program changes on disk: the failing schedules first
    #[arg(long, conflicts_with_all = ["json", "resume"])]
    pub watch: bool,
    /// Write the report to FILE in the JUnit form, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// What it has in common with `explore`.
    #[command(flatten)]
    pub search: SearchArgs,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The trace
    pub trace: PathBuf,
    /// How often
    #[arg(long, default_value = "1", value_parser = crate::settings::positive, value_name = "N")]
    pub times: u64,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// Run it again whenever the program or the trace changes on disk; a rebuilt program gets the
    /// schedule fitted to it
    #[arg(long, conflicts_with_all = ["json", "gdb"])]
    pub watch: bool,
    /// Serve the replay to a debugger at PORT, HOST:PORT or unix:PATH, as `heddle gdb --server`
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["times", "json"])]
    pub gdb: Option<String>,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
    /// The program to run instead of the one that the trace names, with its arguments, after `--`
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// The trace
    pub trace: PathBuf,
    /// Only these steps: 10..20, 10.., ..20 (both ends included; the first step is 1)
    #[arg(long, value_parser = crate::settings::steps, value_name = "A..B")]
    pub steps: Option<crate::settings::StepRange>,
    /// What stands before this step, or at the end: who may move, why the others may not, who holds
    /// which lock, and what the step follows from
    #[arg(long, value_parser = crate::settings::position, value_name = "STEP|end", conflicts_with_all = ["steps", "json"])]
    pub at: Option<usize>,
    /// Say at each step who could have moved
    #[arg(long)]
    pub enabled: bool,
    /// Fold runs of at least N steps that no other task can notice [4]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "4", value_name = "N")]
    pub fold: Option<usize>,
    /// A line for each step, whatever the number of tasks
    #[arg(long)]
    pub list: bool,
    /// What the program printed, too
    #[arg(long)]
    pub output: bool,
    /// No signs but those of ASCII
    #[arg(long)]
    pub ascii: bool,
    /// Print the whole trace as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `heddle shrink`.
#[derive(Debug, Clone, Args)]
pub struct ShrinkArgs {
    /// The trace
    pub trace: PathBuf,
    /// The file to write [the trace's name with .min before .heddle]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
    /// The program to run instead of the one that the trace names, with its arguments, after `--`
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle bisect`.
#[derive(Debug, Clone, Args)]
pub struct BisectArgs {
    /// The failing trace
    pub trace: PathBuf,
    /// A trace of the same program that passes, if one is known
    pub passing: Option<PathBuf>,
    /// The file for the nearest schedule that passes [the trace's name with .pass before .heddle]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// No signs but those of ASCII
    #[arg(long)]
    pub ascii: bool,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
    /// The program to run instead of the one that the trace names, with its arguments, after `--`
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// The failing trace
    pub trace: PathBuf,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// Run nothing: explain the schedule as it was recorded
    #[arg(long)]
    pub as_is: bool,
    /// No signs but those of ASCII
    #[arg(long)]
    pub ascii: bool,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
    /// The program to run instead of the one that the trace names, with its arguments, after `--`
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle ui`.
#[derive(Debug, Clone, Args)]
pub struct UiArgs {
    /// The trace; without one, and without a program, a tour on a small built-in program
    pub trace: Option<PathBuf>,
    /// Print the file of keys and colours as it would be with nothing chosen, and where it is looked for
    #[arg(long)]
    pub keys: bool,
    /// How the program is run; a trace says itself how it was.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// The program and its arguments, after `--`; with a trace, the one to run instead of the one that
    /// the trace names
    #[arg(last = true, num_args = 1.., value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `heddle gdb`.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["trace", "command"]))]
pub struct GdbArgs {
    /// The trace
    pub trace: Option<PathBuf>,
    /// Run the program that the trace names, whoever made the trace
    #[arg(long)]
    pub yes: bool,
    /// Start lldb instead of gdb
    #[arg(long, conflicts_with = "server")]
    pub lldb: bool,
    /// The debugger's executable
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    pub debugger: Option<OsString>,
    /// Start no debugger: wait for one at PORT, HOST:PORT or unix:PATH [any free port]
    #[arg(long, num_args = 0..=1, default_missing_value = "0", value_name = "ADDR")]
    pub server: Option<String>,
    /// Go on serving when the debugger has gone
    #[arg(long, requires = "server")]
    pub keep: bool,
    /// Where to begin: main, failure, end, or the number of a step [failure]
    #[arg(long, value_parser = crate::settings::place, value_name = "PLACE")]
    pub at: Option<replay_core::debug::Start>,
    /// A file of commands for the debugger to begin with
    #[arg(short = 'x', long = "commands", value_name = "FILE")]
    pub commands: Vec<PathBuf>,
    /// An argument for the debugger; may be given several times
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub with: Vec<OsString>,
    /// The program and its arguments, after `--`; with a trace, the one to run instead of the one that
    /// the trace names
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
    /// How many steps that both have are shown around those that differ
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub context: usize,
    /// No signs but those of ASCII
    #[arg(long)]
    pub ascii: bool,
}

/// `heddle export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The trace
    pub trace: PathBuf,
    /// The form
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: crate::views::export::Format,
    /// The file to write; without it, standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
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
    /// The module for Rust
    #[arg(long)]
    pub rust: bool,
}

/// `heddle doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// `heddle demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// No signs but those of ASCII
    #[arg(long)]
    pub ascii: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_program_stands_after_two_dashes() {
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
    fn switches_can_be_taken_back() {
        let cli = Cli::try_parse_from(["heddle", "explore", "--keep-going=false", "--", "p"]);
        let Verb::Explore(args) = cli.expect("valid").verb else { panic!("not explore") };
        assert_eq!(args.keep_going, Some(false));
        let cli = Cli::try_parse_from(["heddle", "explore", "--keep-going", "--json", "--", "p"]);
        let Verb::Explore(args) = cli.expect("valid").verb else { panic!("not explore") };
        assert_eq!((args.keep_going, args.search.json), (Some(true), Some(true)));
    }
}
