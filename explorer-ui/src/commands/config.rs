//! `heddle config`: the files that hold settings, and whether they are in order.

use crate::app::{preferences, session};
use crate::config;
use crate::console::Console;
use crate::exit::{Problem, Status};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Runs the verb.
///
/// # Errors
/// Where standard output cannot be written.
pub fn main(paths: bool, console: &Console) -> Result<Status, Problem> {
    let options = std::path::absolute(config::NAME).unwrap_or_else(|_| config::NAME.into());
    let checks: [(&str, Option<PathBuf>, Check); 2] = [
        ("options", Some(options), |text, _| match config::parse(text) {
            Ok(_) => Vec::new(),
            Err(problem) => vec![problem.to_string()],
        }),
        ("keys and colours", preferences::path(), |text, path| {
            preferences::read(text, &path.display().to_string()).1
        }),
    ];
    let mut text = String::new();
    let mut right = true;
    for (what, path, check) in checks {
        let Some(path) = path else {
            text += &format!("{what:<18} nowhere: HOME is not set\n");
            continue;
        };
        let wrong = if paths { Ok(Vec::new()) } else { checked(&path, check) };
        let state = match &wrong {
            _ if paths => "",
            Err(why) => why,
            Ok(wrong) if wrong.is_empty() => "  in order",
            Ok(_) => "  wrong:",
        };
        text += &format!("{what:<18} {}{state}\n", path.display());
        for line in wrong.iter().flatten() {
            text += &format!("  {line}\n");
        }
        right &= wrong.map_or_else(|why| why == ABSENT, |wrong| wrong.is_empty());
    }
    if paths {
        let kept = [
            ("left off at", session::directory()),
            ("runtime", replay_core::runtime::install(super::RUNTIME).ok()),
        ];
        for (what, path) in kept {
            let path = path.map_or_else(|| "nowhere".into(), |path| path.display().to_string());
            text += &format!("{what:<18} {path}\n");
        }
    }
    console.print(&text)?;
    Ok(if right { Status::Fine } else { Status::Usage })
}

/// What is wrong with a text from a file, a line for each.
type Check = fn(&str, &Path) -> Vec<String>;

const ABSENT: &str = "  not there: all is as usual";

/// What is wrong with a file; or that there is nothing to check, and why.
fn checked(path: &Path, check: Check) -> Result<Vec<String>, &'static str> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(check(&text, path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(ABSENT),
        Err(error) => Ok(vec![format!("cannot be read: {error}")]),
    }
}
