//! Reports errors in the command line, each on one line.

use crate::console::Console;
use crate::exit::Status;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// Prints the error on one line, or the requested help or version, and returns the exit status.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    if asks_for_help(error.kind()) {
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    // The command line was not parsed, so --color is unknown.
    let console = Console::new(crate::console::When::Auto);
    let has_dashes = std::env::args_os().any(|word| word == "--");
    console.error(&message(error, has_dashes));
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

/// The error on one line. Where a program was given as for other tools, without two dashes before it
/// (`has_dashes`: the command line has some), the message has the end of the right command line in place
/// of the general usage.
fn message(error: &clap::Error, has_dashes: bool) -> String {
    let text = in_one_line(&error.to_string());
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return text };
    match text.split_once("; usage: ") {
        Some((what, usage))
            if !has_dashes
                && error.kind() == ErrorKind::UnknownArgument
                && !word.starts_with('-')
                && usage.contains("-- <PROGRAM>") =>
        {
            format!(
                "{what}; a program and its arguments come after two dashes: -- {word}; see --help"
            )
        }
        _ => text,
    }
}

/// Joins clap's error message, which has several paragraphs, into one line.
fn in_one_line(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let line = match line.strip_prefix("Usage: ") {
            Some(usage) => format!("usage: {usage}"),
            None => line.strip_prefix("tip: ").unwrap_or(line).to_owned(),
        };
        match parts.last_mut() {
            _ if line.starts_with("For more information") => parts.push("see --help".into()),
            // The following line is the first element of a list.
            Some(last) if last.ends_with(':') => *last += &format!(" {line}"),
            _ => parts.push(line),
        }
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Cli;
    use clap::Parser;

    fn error_message(args: &[&str]) -> String {
        let error = Cli::try_parse_from([&["heddle"], args].concat())
            .expect_err("the command line is invalid");
        assert!(!asks_for_help(error.kind()), "{error:?}");
        message(&error, args.contains(&"--"))
    }

    #[test]
    fn errors_are_one_line() {
        assert_eq!(
            error_message(&["explore", "--workers", "0", "--", "ls"]),
            "invalid value '0' for '--workers <N>': a search needs at least 1 worker; see --help"
        );
        let missing = error_message(&["explore"]);
        assert!(missing.starts_with("the following required arguments were not provided: "));
        assert!(missing.ends_with("; see --help"), "{missing}");
        let unknown = error_message(&["explore", "--no-such-option", "--", "ls"]);
        assert!(unknown.starts_with("unexpected argument '--no-such-option' found; "), "{unknown}");
        assert_eq!(
            error_message(&["explore", "--strategy", "dpor", "./prog"]),
            "unexpected argument './prog' found; a program and its arguments come after two dashes: -- \
             ./prog; see --help"
        );
        let no_value = error_message(&["explore", "--scratch", "perhaps", "--", "ls"]);
        assert!(no_value.starts_with("unexpected argument 'perhaps' found; usage: "), "{no_value}");
        for text in [missing, unknown] {
            assert!(!text.contains('\n') && !text.contains("  "), "{text}");
        }
    }
}
