//! Whether a program that a trace names may be started.

use super::environment::loads_code;
use crate::console::Console;
use crate::views::summary;
use crate::views::text::{clean, quote};
use replay_core::Error;
use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use traces::Trace;

/// Asks on a terminal; refuses where there is nobody to ask.
///
/// # Errors
/// [`Error::NotConfirmed`] unless somebody said yes.
pub(super) fn ask(path: &Path, trace: &Trace, console: &Console) -> Result<(), Error> {
    let shown = quote(&path.display().to_string());
    if !(std::io::stdin().is_terminal() && console.watched) {
        return Err(Error::NotConfirmed(format!(
            "{shown} was not recorded by you and would start {}: pass --yes to allow it, or name \
             the program after `--`",
            summary::command_line(trace)
        )));
    }
    console.note(&format!("{shown} was not recorded by you."));
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
        Err(Error::NotConfirmed("nothing was started".into()))
    }
}

fn means_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::means_yes;

    #[test]
    fn only_a_yes_is_one() {
        assert!(means_yes("y\n") && means_yes(" YES \n"));
        assert!(!means_yes("\n") && !means_yes("") && !means_yes("no\n") && !means_yes("yeah\n"));
    }
}
