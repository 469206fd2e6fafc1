//! Writes results to standard output and everything else to standard error.

use crate::report::style::Role;
use crate::report::style::Style;
use crate::report::text::{clean, clean_lines};
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use std::io::{IsTerminal, Write};

/// When to write colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If the stream is a terminal that supports colours.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams and their properties.
#[derive(Debug)]
pub struct Console {
    /// The style of results.
    pub style: Style,
    /// The style of messages.
    pub messages: Style,
    /// The width of a line in cells.
    pub width: usize,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
}

/// The width if no terminal reports one.
const DEFAULT_WIDTH: usize = 100;

impl Console {
    /// Determines the properties of the streams of this process.
    #[must_use]
    pub fn new(color: When) -> Console {
        let choice = match color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        let colored = |auto: ColorChoice| match choice {
            ColorChoice::Auto => auto != ColorChoice::Never,
            chosen => chosen != ColorChoice::Never,
        };
        let style = |color| Style { color, ascii: false };
        Console {
            style: style(colored(AutoStream::choice(&std::io::stdout()))),
            messages: style(colored(AutoStream::choice(&std::io::stderr()))),
            width: width(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Writes a result. Nothing in it can act on a terminal but colours.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, text: &str) -> std::io::Result<()> {
        self.print_bytes(clean_lines(text, self.style.color).as_bytes())
    }

    /// Writes bytes unchanged: the output of the program.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print_bytes(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Writes a line to standard error. Ignores errors: a closed standard error must not fail a command.
    pub fn note(&self, line: &str) {
        let line = clean_lines(line, self.messages.color);
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    /// Writes the error that ends the command.
    pub fn error(&self, message: &str) {
        let name = self.messages.paint(Role::Bad, "heddle:");
        self.note(&format!("{name} {}", clean(message)));
    }

    /// Writes a text of the user below an error, with a mark at the position, in characters.
    pub fn mark(&self, text: &str, at: usize) {
        let before: String = text.chars().take(at).collect();
        let indent = clean(&before).chars().count();
        self.note(&format!("  {}", clean(text)));
        self.note(&format!("  {}{}", " ".repeat(indent), self.messages.paint(Role::Bad, "^")));
    }
}

/// `COLUMNS` if it is a number, else the terminal's width, else the default.
fn width() -> usize {
    let configured =
        std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    configured.filter(|&cells| cells > 0).or_else(measured).unwrap_or(DEFAULT_WIDTH)
}
