//! A search of a test suite in Rust: a moment of its progress, and the table at its end. The pictures show times, so
//! they differ from run to run.

use crate::put;
use crate::terminal::{Terminal, painted, settle, wait};
use anstyle_svg::Term;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

const SIZE: (u16, u16) = (130, 64);

pub(crate) fn draw(heddle: &Path, root: &Path) -> Result<()> {
    let home = tempfile::tempdir().context("a temporary directory")?;
    std::fs::copy(root.join("tests/suites/rust/src/lib.rs"), home.path().join("bank.rs"))?;
    let compiled = Command::new("rustc")
        .args(["--test", "-g", "--edition", "2021", "-o", "bank", "bank.rs"])
        .current_dir(home.path())
        .status();
    ensure!(compiled.context("rustc does not run")?.success(), "the suite does not compile");
    let pictures = root.join("screenshots/suites");
    std::fs::create_dir_all(&pictures)?;
    let args = ["test", "./bank", "--no-fail-fast", "--max-time", "3s", "-j", "2"];
    let Terminal { mut child, output, mut parser, .. } =
        Terminal::open(heddle, home.path(), &args, SIZE)?;
    wait(&mut parser, &output, |screen| screen.contains("4 of 7 tests"))?;
    let progress = lines(&parser, |line| !line.trim().is_empty(), |_| false);
    settle(&mut parser, &output, |screen| screen.contains("ignored: "))?;
    let table = lines(&parser, |line| line.contains("verdict"), |line| line.contains("ignored: "));
    for (name, text) in [("progress", progress), ("table", table)] {
        put(&pictures.join(format!("{name}.svg")), &Term::new().render_svg(&text))?;
    }
    child.wait()?;
    Ok(())
}

/// The lines of a screen from the first that satisfies `first` to the first then that satisfies `last`, or to the end,
/// without empty ones there.
fn lines(
    parser: &vt100::Parser,
    first: impl Fn(&str) -> bool,
    last: impl Fn(&str) -> bool,
) -> String {
    let (_, cols) = parser.screen().size();
    let mut plain: Vec<String> = parser.screen().rows(0, cols.get()).collect();
    plain.truncate(plain.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1));
    let from = plain.iter().position(|line| first(line)).unwrap_or(0);
    let to =
        plain[from..].iter().position(|line| last(line)).map_or(plain.len(), |at| from + at + 1);
    let text = painted(parser.screen());
    text.lines().skip(from).take(to - from).map(|line| format!("{line}\n")).collect()
}
