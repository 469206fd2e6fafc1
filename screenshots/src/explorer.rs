//! The explorer, driven by keys in a pseudo-terminal, and the resulting screens.

use crate::terminal::{Terminal, painted, settle, wait};
use anstyle::AnsiColor;
use anstyle_svg::Term;
use anyhow::Result;
use std::io::Write;
use std::path::Path;

const SIZE: (u16, u16) = (140, 36);
/// The size of the pictures of first screens.
const FIRST: (u16, u16) = (120, 40);
/// The column of the ribbon beside the schedule.
const RIBBON: usize = 7;

/// Pictures of the explorer with their names: a failing trace as it opens, and the result of a
/// search from a preemption.
pub(crate) fn pictures(
    heddle: &Path,
    home: &Path,
    trace: &str,
) -> Result<Vec<(&'static str, String)>> {
    let Terminal { mut child, mut keys, output, mut parser, .. } =
        Terminal::open(heddle, home, &["ui", trace], SIZE)?;
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
    let Terminal { mut child, mut keys, output, mut parser, .. } =
        Terminal::open(heddle, home, &["ui", trace], FIRST)?;
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
