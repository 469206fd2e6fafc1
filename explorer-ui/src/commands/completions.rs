//! `heddle completions`: generated from the command-line definitions.

use crate::cli::arguments::Cli;
use crate::console::Console;
use crate::exit::{Problem, Status};
use clap::CommandFactory;

/// Prints the completion script of a shell.
///
/// # Errors
/// If standard output cannot be written.
pub fn main(shell: clap_complete::Shell, console: &Console) -> Result<Status, Problem> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "heddle", &mut text);
    console.print_bytes(&text)?;
    Ok(Status::Fine)
}
