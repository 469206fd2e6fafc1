//! The first screen on a failing trace of benchmark programs, dark and light. They are made for
//! people: the search for the failure may find another trace on another machine.

use crate::{explorer, pixels, run};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The programs: name, source in `tests/targets`, arguments.
const PROGRAMS: [(&str, &str, &[&str]); 10] = [
    ("account", "account.c", &[]),
    ("abba", "abba.c", &[]),
    ("order", "order.c", &[]),
    ("twostage", "twostage.c", &[]),
    ("pipe_release", "pipe_release.c", &[]),
    ("publication_rs", "patterns.rs", &["publication"]),
    ("aba_rs", "patterns.rs", &["aba"]),
    ("wakeup_rs", "patterns.rs", &["wakeup"]),
    ("locks_rs", "patterns.rs", &["locks"]),
    ("tellers_rs", "tellers.rs", &[]),
];

pub(crate) fn draw(heddle: &Path, root: &Path) -> Result<()> {
    let sources = root.join("tests/targets").canonicalize()?;
    let pictures = root.join("screenshots/causes");
    std::fs::create_dir_all(&pictures)?;
    for (name, source, args) in PROGRAMS {
        let home = tempfile::tempdir().context("a temporary directory")?;
        compile(&sources.join(source), home.path())?;
        let mut search = vec!["explore", "--", "./program"];
        search.extend(args);
        run(heddle, home.path(), &search)?;
        let trace = std::fs::read_dir(home.path().join("heddle-out"))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|end| end == "heddle"))
            .with_context(|| format!("{name} has no failure"))?;
        for theme in ["dark", "light"] {
            // The one before left a session, which would be restored.
            let sessions = home.path().join("heddle/ui");
            if sessions.exists() {
                std::fs::remove_dir_all(sessions)?;
            }
            let settings = home.path().join("heddle");
            std::fs::create_dir_all(&settings)?;
            std::fs::write(settings.join("ui.toml"), format!("theme = \"{theme}\"\n"))?;
            let picture =
                explorer::first_screen(heddle, home.path(), &trace.to_string_lossy(), theme)?;
            std::fs::write(pictures.join(format!("{name}-{theme}.png")), pixels::png(&picture)?)?;
        }
    }
    Ok(())
}

fn compile(source: &Path, home: &Path) -> Result<()> {
    let rust = source.extension().is_some_and(|end| end == "rs");
    let mut compiler = Command::new(if rust { "rustc" } else { "gcc" });
    match rust {
        true => compiler.args(["-O", "-g", "--edition", "2021"]),
        false => compiler.args(["-std=gnu11", "-O1", "-g", "-pthread"]),
    };
    let compiled = compiler.arg(source).args(["-o", "program"]).current_dir(home).status();
    ensure!(compiled.context("no compiler")?.success(), "{} does not compile", source.display());
    Ok(())
}
