//! What is said of a command line that makes no sense: one line.

use crate::console::Console;
use crate::exit::Status;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Says what is wrong with the command line, and where to look; or prints the help that it asks for.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    if asks_for_help(error.kind()) {
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    // What colours are wanted was not understood, either.
    let console = Console::new(crate::cli::When::Auto);
    console.error(&in_one_line(&error.to_string()));
    Status::Usage.into()
}

fn asks_for_help(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The parser's words, which are a paragraph for each thought, as one line.
fn in_one_line(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let line = match line.strip_prefix("Usage: ") {
            Some(usage) => format!("usage: {usage}"),
            None => line.strip_prefix("tip: ").unwrap_or(line).to_owned(),
        };
        match words.last_mut() {
            _ if line.starts_with("For more information") => words.push("see --help".into()),
            // A list begins: what follows is its first element.
            Some(before) if before.ends_with(':') => *before += &format!(" {line}"),
            _ => words.push(line),
        }
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn refused(args: &[&str]) -> String {
        let error = Cli::try_parse_from([&["heddle"], args].concat()).expect_err("it is wrong");
        assert!(!asks_for_help(error.kind()), "{error:?}");
        in_one_line(&error.to_string())
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        assert_eq!(
            refused(&["explore", "--workers", "0", "--", "ls"]),
            "invalid value '0' for '--workers <N>': nothing is searched by no worker: give 1 or more, \
             or leave it out; see --help"
        );
        let missing = refused(&["explore"]);
        assert!(missing.starts_with("the following required arguments were not provided: "));
        assert!(missing.ends_with("; see --help"), "{missing}");
        let unknown = refused(&["explore", "--no-such-option", "--", "ls"]);
        assert!(unknown.starts_with("unexpected argument '--no-such-option' found; "), "{unknown}");
        for text in [missing, unknown] {
            assert!(!text.contains('\n') && !text.contains("  "), "{text}");
        }
    }
}
