//! `heddle man`: the manual page, generated from the command-line definitions.

use crate::cli::arguments::Cli;
use crate::console::Console;
use crate::exit::{Problem, Status};
use clap::{Command, CommandFactory};

/// Prints the manual page: the verbs, each with its options.
///
/// # Errors
/// If standard output cannot be written.
pub fn main(console: &Console) -> Result<Status, Problem> {
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

/// The section of a verb with its options.
fn section(verb: &Command, text: &mut Vec<u8>) -> Result<(), Problem> {
    let page = clap_mangen::Man::new(verb.clone());
    text.extend(format!(".SH \"heddle {}\"\n", verb.get_name()).bytes());
    if let Some(about) = verb.get_about() {
        // `\&` keeps a leading dot or quote from being a roff request.
        text.extend(format!("\\&{about}\n").bytes());
    }
    page.render_options_section(text)?;
    Ok(())
}
