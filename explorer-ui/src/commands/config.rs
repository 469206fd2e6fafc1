//! `heddle config`: the paths of the configuration files, and their errors.

use crate::cli::config_file;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::text::clean;
use crate::text_file;
use crate::tui::{preferences, session};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Runs the verb.
///
/// # Errors
/// If standard output cannot be written.
pub fn main(paths: bool, console: &Console) -> Result<Status, Problem> {
    let options =
        std::path::absolute(config_file::NAME).unwrap_or_else(|_| config_file::NAME.into());
    let checks: [(&str, Option<PathBuf>, Check); 2] = [
        ("options", Some(options), |text, _| match config_file::parse(text) {
            Ok(_) => Vec::new(),
            Err(problem) => vec![problem.to_string()],
        }),
        ("keys and colours", preferences::path(), |text, path| {
            preferences::read(text, &path.display().to_string()).1
        }),
    ];
    let mut text = String::new();
    let mut valid = true;
    for (what, path, check) in checks {
        let Some(path) = path else {
            text += &format!("{what:<18} no path: HOME is not set\n");
            continue;
        };
        let errors = if paths { Ok(Vec::new()) } else { check_file(&path, check) };
        let state = match &errors {
            _ if paths => "",
            Err(why) => why,
            Ok(errors) if errors.is_empty() => "  valid",
            Ok(_) => "  errors:",
        };
        text += &format!("{what:<18} {}{state}\n", clean(&path.display().to_string()));
        for line in errors.iter().flatten() {
            text += &format!("  {}\n", clean(line));
        }
        valid &= errors.map_or_else(|why| why == ABSENT, |errors| errors.is_empty());
    }
    if paths {
        let caches = [
            ("saved sessions", session::directory()),
            ("runtime", replay_core::runtime::install(super::runtime::embedded()).ok()),
        ];
        for (what, path) in caches {
            let path = path.map_or_else(|| "no path".into(), |path| path.display().to_string());
            text += &format!("{what:<18} {}\n", clean(&path));
        }
    }
    console.print(&text)?;
    Ok(if valid { Status::Fine } else { Status::Usage })
}

/// The errors in the text of a file, one per line.
type Check = fn(&str, &Path) -> Vec<String>;

const ABSENT: &str = "  absent: defaults apply";

/// The errors in a file, or the reason why there is nothing to check.
fn check_file(path: &Path, check: Check) -> Result<Vec<String>, &'static str> {
    match text_file::found(path) {
        Ok(text) => Ok(check(&text, path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(ABSENT),
        Err(error) => Ok(vec![format!("cannot be read: {error}")]),
    }
}
