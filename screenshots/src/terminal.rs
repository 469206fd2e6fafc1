//! A program of Heddle in a pseudo-terminal, and its screen.

use anyhow::{Context, Result, bail};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A screen is complete if nothing arrives for this time.
const QUIET: Duration = Duration::from_secs(1);
/// The time limit for a screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Heddle in a pseudo-terminal.
pub(crate) struct Terminal {
    pub(crate) child: Box<dyn Child + Send + Sync>,
    /// Closing it ends the program.
    _terminal: Box<dyn MasterPty + Send>,
    pub(crate) keys: Box<dyn Write + Send>,
    pub(crate) output: Receiver<Vec<u8>>,
    pub(crate) parser: vt100::Parser,
}

impl Terminal {
    /// Starts Heddle with these arguments in a terminal of this size.
    pub(crate) fn open(
        heddle: &Path,
        home: &Path,
        args: &[&str],
        (cols, rows): (u16, u16),
    ) -> Result<Terminal> {
        let pair = native_pty_system().openpty(PtySize { rows, cols, ..PtySize::default() })?;
        let mut command = CommandBuilder::new(heddle);
        command.args(args);
        command.cwd(home);
        for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, home);
        }
        command.env_remove("NO_COLOR");
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LC_ALL", "C.UTF-8");
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let keys = pair.master.take_writer()?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |number: u16| NonZero::new(number).context("a screen has cells");
        let parser = vt100::Parser::new(cells(rows)?, cells(cols)?, 0);
        Ok(Terminal { child, _terminal: pair.master, keys, output, parser })
    }
}

/// Waits for a screen that satisfies a condition.
pub(crate) fn wait(
    parser: &mut vt100::Parser,
    output: &Receiver<Vec<u8>>,
    is: impl Fn(&str) -> bool,
) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is(&parser.screen().contents()) {
        match output.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(bytes) => parser.process(&bytes),
            Err(_) => bail!("the expected screen did not appear:\n{}", parser.screen().contents()),
        }
    }
    Ok(())
}

/// Waits for a screen that satisfies a condition and stays as it is: a screen may arrive in parts,
/// and what runs in the background adds to it.
pub(crate) fn settle(
    parser: &mut vt100::Parser,
    output: &Receiver<Vec<u8>>,
    is: impl Fn(&str) -> bool,
) -> Result<()> {
    loop {
        wait(parser, output, &is)?;
        match output.recv_timeout(QUIET) {
            Ok(bytes) => parser.process(&bytes),
            Err(_) => return Ok(()),
        }
    }
}

/// The screen as text with colours.
pub(crate) fn painted(screen: &vt100::Screen) -> String {
    let (rows, cols) = screen.size();
    let mut text = String::new();
    for row in 0..u16::from(rows) {
        let mut last = anstyle::Style::new();
        for col in 0..u16::from(cols) {
            let Some(cell) = screen.cell(row, col) else { continue };
            if cell.is_wide_continuation() {
                continue;
            }
            let style = style(cell);
            if style != last {
                text.push_str(&format!("{last:#}{style}"));
                last = style;
            }
            let contents = cell.contents();
            text.push_str(if contents.is_empty() { " " } else { contents });
        }
        text.push_str(&format!("{last:#}\n"));
    }
    text
}

fn style(cell: &vt100::Cell) -> anstyle::Style {
    let color = |color| match color {
        vt100::Color::Rgb(r, g, b) => Some(anstyle::RgbColor(r, g, b).into()),
        vt100::Color::Idx(index) => Some(anstyle::Ansi256Color(index).into()),
        vt100::Color::Default => None,
    };
    let mut style =
        anstyle::Style::new().fg_color(color(cell.fgcolor())).bg_color(color(cell.bgcolor()));
    for (has, effect) in [
        (cell.bold(), anstyle::Effects::BOLD),
        (cell.dim(), anstyle::Effects::DIMMED),
        (cell.inverse(), anstyle::Effects::INVERT),
    ] {
        if has {
            style = style.effects(style.get_effects() | effect);
        }
    }
    style
}
