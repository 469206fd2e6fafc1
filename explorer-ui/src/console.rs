//! Where text goes: results to standard output, everything else to standard error.

use crate::cli::When;
use crate::views::Style;
use crate::views::style::Role;
use crate::views::text::clean;
use anstream::{AutoStream, ColorChoice};
use std::io::{IsTerminal, Write};

/// The two streams and what is known of them.
#[derive(Debug)]
pub struct Console {
    /// How results look.
    pub style: Style,
    /// How messages look.
    pub messages: Style,
    /// How many cells a line has.
    pub width: usize,
    /// Whether somebody watches standard error.
    pub watched: bool,
}

/// Where no terminal says how wide it is: reports are read in windows of about this width.
const USUAL_WIDTH: usize = 100;

impl Console {
    /// Looks at the streams of this process.
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
            watched: std::io::stderr().is_terminal(),
        }
    }

    /// Writes a result.
    ///
    /// # Errors
    /// Where standard output cannot be written.
    pub fn print(&self, text: &str) -> std::io::Result<()> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes bytes as they are: what the program printed.
    ///
    /// # Errors
    /// Where standard output cannot be written.
    pub fn print_bytes(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// A line beside the result. That nobody reads standard error is no reason to fail.
    pub fn note(&self, line: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    /// Why the command ends.
    pub fn error(&self, message: &str) {
        let name = self.messages.paint(Role::Bad, "heddle:");
        self.note(&format!("{name} {}", clean(message)));
    }
}

/// `COLUMNS` if it says a number, else the terminal's width, else the usual one.
fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    said.filter(|&cells| cells > 0).or_else(seen).unwrap_or(USUAL_WIDTH)
}
