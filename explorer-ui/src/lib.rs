//! The user interface of Heddle: the command line, its reports, and the explorer.
//!
//! * [`cli`] parses the command line and `heddle.toml` into settings.
//! * [`commands`] has one module for each verb: it calls `replay_core` and prints.
//! * [`report`] formats traces and reports as text for people, [`export`] as files for other
//!   programs. Both are pure.
//! * [`suites`] knows test frameworks: how they list tests and run one.
//! * [`console`] writes to the standard streams, [`progress`] rewrites the progress line in place.
//! * [`serve`] offers the same to programs and agents: JSON-RPC and MCP.
//! * [`dap`] is a debug adapter for editors.
//! * [`tui`] is the explorer, the interactive terminal program.
//! * [`walk`] is what it has in common with the servers: the engine, executions, moves.
#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod console;
pub mod dap;
pub mod exit;
pub mod export;
mod file_watch;
pub mod interrupt;
pub mod processors;
pub mod progress;
pub mod report;
pub mod serve;
mod source_watch;
pub mod suites;
mod text_file;
pub mod tui;
pub mod walk;

use clap::Parser;
use cli::arguments::{Cli, Verb};
use cli::usage_error;
use console::{Console, When};
use exit::Problem;
use std::process::ExitCode;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    main_with(None)
}

/// Runs the command line of this process. `cluster` has the verbs for several machines; without it,
/// `heddle-cluster` is started for them.
#[must_use]
pub fn main_with(cluster: Option<&dyn commands::cluster::Verbs>) -> ExitCode {
    interrupt::handle_file_size_limit();
    // First, as reading the arguments may need more.
    if let Err(error) = replay_core::launch::check_stack_limit() {
        Console::new(When::Auto).error(&error.to_string());
        return exit::Status::Target.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage_error::report(&error),
    };
    let console = Console::new(cli.color);
    match dispatch(cli.verb, &console, cluster) {
        Ok(status) => status.into(),
        Err(Problem::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            // The reader closed the pipe (`heddle show trace | head`).
            ExitCode::SUCCESS
        }
        Err(problem) => {
            console.error(&problem.to_string());
            if let Problem::Core(replay_core::Error::Predicate { text, at, .. }) = &problem {
                console.mark(text, *at);
            }
            problem.status().into()
        }
    }
}

fn dispatch(
    verb: Verb,
    console: &Console,
    cluster: Option<&dyn commands::cluster::Verbs>,
) -> Result<exit::Status, Problem> {
    if commands::cluster::is_for_cluster(&verb) {
        return match cluster {
            Some(cluster) => commands::cluster::run(verb, cluster, console),
            None => Err(commands::cluster::start_heddle_cluster()),
        };
    }
    match verb {
        // Handled above.
        Verb::Worker(_) | Verb::Cluster(_) => Ok(exit::Status::Fine),
        Verb::Explore(args) => commands::explore::main(*args, console),
        Verb::Test(args) => commands::test::main(args, console),
        Verb::Runner(args) => commands::runner::main(args, console),
        Verb::Cargo(verb) => commands::cargo::main(verb, console),
        Verb::Run(args) => commands::run::main(args, console),
        Verb::Replay(args) => commands::replay::main(&args, console),
        Verb::Show(args) => commands::show::main(&args, console),
        Verb::Shrink(args) => commands::shrink::main(&args, console),
        Verb::Bisect(args) => commands::bisect::main(&args, console),
        Verb::Narrow(args) => commands::narrow::main(&args, console),
        Verb::Explain(args) => commands::explain::main(&args, console),
        Verb::Ui(args) => commands::ui::main(&args, console),
        Verb::Serve(args) => commands::serve::main(&args, console),
        Verb::Dap(args) => commands::dap::main(&args, console),
        Verb::Gdb(args) => commands::gdb::main(&args, console),
        Verb::Gdbinit { lldb } => commands::gdb::print_helper(lldb, console),
        Verb::Diff(args) => commands::diff::main(&args, console),
        Verb::Export(args) => commands::export::main(&args, console),
        Verb::Build(args) => commands::build::main(&args, console),
        Verb::Header(args) => commands::header::main(&args, console),
        Verb::Doctor(args) => commands::doctor::main(&args, console),
        Verb::Config { paths } => commands::config::main(paths, console),
        Verb::Clean(args) => commands::clean::main(&args, console),
        Verb::Completions { shell } => commands::completions::main(shell, console),
        Verb::Man => commands::man::main(console),
        Verb::Demo(args) => commands::demo::main(&args, console),
    }
}
