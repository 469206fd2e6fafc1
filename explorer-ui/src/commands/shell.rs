//! `heddle completions` and `heddle man`: what a shell and man know of the command line, from the
//! same table as its help.

use crate::cli::Cli;
use crate::console::Console;
use crate::exit::{Problem, Status};
use clap::{Command, CommandFactory};

/// Prints what completes the options in a shell.
///
/// # Errors
/// Where standard output cannot be written.
pub fn completions(shell: clap_complete::Shell, console: &Console) -> Result<Status, Problem> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "heddle", &mut text);
    console.print_bytes(&text)?;
    Ok(Status::Fine)
}

/// Prints the page for man: the verbs, and each with its options.
///
/// # Errors
/// Where standard output cannot be written.
pub fn man(console: &Console) -> Result<Status, Problem> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for verb in command.get_subcommands() {
        section(verb, &mut text)?;
    }
    console.print_bytes(&text)?;
    Ok(Status::Fine)
}

/// A verb with its options, as a part of the one page.
fn section(verb: &Command, text: &mut Vec<u8>) -> Result<(), Problem> {
    let page = clap_mangen::Man::new(verb.clone());
    text.extend(format!(".SH \"heddle {}\"\n", verb.get_name()).bytes());
    if let Some(about) = verb.get_about() {
        // A line that begins with a dot or a quote would be an instruction.
        text.extend(format!("\\&{about}\n").bytes());
    }
    page.render_options_section(text)?;
    Ok(())
}
