//! Asks for consent before running the program of a trace that another user recorded.

use super::recorded_environment::loads_code;
use crate::console::Console;
use crate::report::summary;
use crate::report::text::{clean, quote};
use replay_core::Error;
use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use traces::Trace;

/// Asks on the terminal; without a terminal, refuses.
///
/// # Errors
/// [`Error::NotConfirmed`] unless the user consents.
pub(super) fn ask(path: &Path, trace: &Trace, console: &Console) -> Result<(), Error> {
    let shown = quote(&path.display().to_string());
    if !(std::io::stdin().is_terminal() && console.stderr_is_terminal) {
        return Err(Error::NotConfirmed(format!(
            "{shown} was recorded by another user and would run {}: pass --yes to allow it, or name \
             the program after `--`",
            summary::command_line(trace)
        )));
    }
    console.note(&format!("{shown} was recorded by another user."));
    for (name, value) in &trace.header.env {
        if loads_code(OsStr::from_bytes(name)) {
            let line = format!(
                "  it sets {}={}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value)
            );
            console.note(&clean(&line));
        }
    }
    let question =
        format!("run {} in {}? [y/N] ", summary::command_line(trace), clean(&trace.header.cwd));
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(question.as_bytes());
    let _ = err.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && means_yes(&answer) {
        Ok(())
    } else {
        Err(Error::NotConfirmed("the program was not run".into()))
    }
}

fn means_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::means_yes;

    #[test]
    fn only_y_and_yes_mean_yes() {
        assert!(means_yes("y\n") && means_yes(" YES \n"));
        assert!(!means_yes("\n") && !means_yes("") && !means_yes("no\n") && !means_yes("yeah\n"));
    }
}
