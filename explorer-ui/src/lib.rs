//! What a person sees of Heddle: the command line and its reports.
//!
//! * [`cli`] says what can be typed, [`config`] what may stand in `heddle.toml`, [`settings`] what
//!   the two come to.
//! * [`commands`] has one module for each verb: it calls `replay_core` and prints.
//! * [`views`] turns traces and reports into text. Pure.
//! * [`console`] is where the text goes, [`progress`] the line that is rewritten in place.
#![forbid(unsafe_code)]

pub mod app;
mod changes;
pub mod cli;
pub mod commands;
pub mod config;
pub mod console;
pub mod exit;
pub mod interrupt;
pub mod progress;
pub mod settings;
mod usage;
pub mod views;

use clap::Parser;
use cli::{Cli, Verb};
use console::Console;
use exit::Problem;
use std::process::ExitCode;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    interrupt::outlive_full_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::refuse(&error),
    };
    let console = Console::new(cli.color);
    match dispatch(cli.verb, &console) {
        Ok(status) => status.into(),
        Err(Problem::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            // Whoever read the output has seen enough (`heddle show trace | head`).
            ExitCode::SUCCESS
        }
        Err(problem) => {
            console.error(&problem.to_string());
            problem.status().into()
        }
    }
}

fn dispatch(verb: Verb, console: &Console) -> Result<exit::Status, Problem> {
    match verb {
        Verb::Explore(args) => commands::explore::main(args, console),
        Verb::Run(args) => commands::run::main(args, console),
        Verb::Replay(args) => commands::replay::main(&args, console),
        Verb::Show(args) => commands::show::main(&args, console),
        Verb::Shrink(args) => commands::shrink::main(&args, console),
        Verb::Bisect(args) => commands::bisect::main(&args, console),
        Verb::Explain(args) => commands::explain::main(&args, console),
        Verb::Ui(args) => commands::ui::main(&args, console),
        Verb::Gdb(args) => commands::gdb::main(&args, console),
        Verb::Gdbinit { lldb } => commands::gdb::print_helper(lldb, console),
        Verb::Diff(args) => commands::diff::main(&args, console),
        Verb::Export(args) => commands::export::main(&args, console),
        Verb::Build(args) => commands::build::main(&args, console),
        Verb::Header(args) => commands::build::header(&args, console),
        Verb::Doctor(args) => commands::doctor::main(&args, console),
        Verb::Config { paths } => commands::config::main(paths, console),
        Verb::Completions { shell } => commands::shell::completions(shell, console),
        Verb::Man => commands::shell::man(console),
        Verb::Demo(args) => commands::demo::main(&args, console),
    }
}
