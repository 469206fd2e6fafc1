//! The explorer, driven by keys in a pseudo-terminal, and the resulting screens.

use anstyle::AnsiColor;
use anstyle_svg::Term;
use anyhow::{Context, Result, bail};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SIZE: (u16, u16) = (140, 36);
/// The size of the pictures of first screens.
const FIRST: (u16, u16) = (120, 40);
/// The column of the ribbon beside the schedule.
const RIBBON: usize = 7;
/// A screen is complete if nothing arrives for this time.
const QUIET: Duration = Duration::from_secs(1);
/// The time limit for a screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pictures of the explorer with their names: a failing trace as it opens, and the result of a
/// search from a preemption.
pub(crate) fn pictures(
    heddle: &Path,
    home: &Path,
    trace: &str,
) -> Result<Vec<(&'static str, String)>> {
    let Explorer { mut child, mut keys, output, mut parser, .. } =
        Explorer::open(heddle, home, trace, SIZE)?;
    // The ribbon beside the schedule is complete when its first step has a sign.
    wait(&mut parser, &output, |screen| {
        let first = screen.lines().find(|row| row.starts_with("   1 "));
        let ribbon = first.and_then(|row| row.chars().nth(RIBBON));
        ribbon.is_some_and(|sign| sign != ' ')
            && screen.contains("runs)")
            && screen.contains("fail")
            && !screen.contains("looking ahead")
    })?;
    // Any key removes the message of the first start.
    keys.write_all(b"kj")?;
    settle(&mut parser, &output, |screen| {
        screen.contains("fail")
            && !screen.contains("looking ahead")
            && !screen.contains("new here?")
    })?;
    let picture = |parser: &vt100::Parser| Term::new().render_svg(&painted(parser.screen()));
    let mut pictures = vec![("ui", picture(&parser))];
    // A search of all schedules with at most one preemption, and then its tree: neither shows
    // times.
    keys.write_all(b"ghj1\r")?;
    wait(&mut parser, &output, |screen| {
        screen.contains("everything within the bound was run") && screen.contains("● ")
    })?;
    keys.write_all(b"\t]j")?;
    settle(&mut parser, &output, |screen| {
        screen.contains("explored by the search")
            && screen.contains("over bound")
            && screen.contains("fail,")
            && !screen.contains("looking ahead")
    })?;
    pictures.push(("tree", picture(&parser)));
    keys.write_all(b"q")?;
    child.wait()?;
    Ok(pictures)
}

/// The first screen on a failing trace, when the verdict has been checked.
pub(crate) fn first_screen(heddle: &Path, home: &Path, trace: &str, theme: &str) -> Result<String> {
    let Explorer { mut child, mut keys, output, mut parser, .. } =
        Explorer::open(heddle, home, trace, FIRST)?;
    settle(&mut parser, &output, |screen| {
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("next to run")
            && !words.contains("schedules are being run")
            && !words.contains("looking ahead")
    })?;
    let paper = match theme {
        "light" => {
            Term::new().fg_color(AnsiColor::Black.into()).bg_color(AnsiColor::BrightWhite.into())
        }
        _ => Term::new(),
    };
    let picture = paper.render_svg(&painted(parser.screen()));
    keys.write_all(b"q")?;
    child.wait()?;
    Ok(picture)
}

/// The explorer in a pseudo-terminal.
struct Explorer {
    child: Box<dyn Child + Send + Sync>,
    /// Closing it ends the explorer.
    _terminal: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

impl Explorer {
    fn open(heddle: &Path, home: &Path, trace: &str, (cols, rows): (u16, u16)) -> Result<Explorer> {
        let pair = native_pty_system().openpty(PtySize { rows, cols, ..PtySize::default() })?;
        let mut command = CommandBuilder::new(heddle);
        command.args(["ui", trace]);
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
        Ok(Explorer { child, _terminal: pair.master, keys, output, parser })
    }
}

fn wait(
    parser: &mut vt100::Parser,
    output: &Receiver<Vec<u8>>,
    is: impl Fn(&str) -> bool,
) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is(&parser.screen().contents()) {
        match output.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(bytes) => parser.process(&bytes),
            Err(_) => bail!(
                "the explorer did not show the expected screen:\n{}",
                parser.screen().contents()
            ),
        }
    }
    Ok(())
}

/// Waits for a screen that satisfies a condition and stays as it is: a screen may arrive in parts,
/// and what runs in the background adds to it.
fn settle(
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
fn painted(screen: &vt100::Screen) -> String {
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
