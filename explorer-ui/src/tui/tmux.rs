//! Opens a debugger in a new tmux pane.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Keeps the pane open if the command fails, so that its output can be read.
const RUN: &str = "\"$@\" || { echo; echo 'press enter to close'; read -r _; }";

/// Runs a command in a new pane of the surrounding tmux.
///
/// # Errors
/// Why tmux refused, or could not be run.
pub(super) fn split(command: &[OsString]) -> Result<(), String> {
    let split = Command::new("tmux")
        .args(["split-window", "-v", "-l", "50%", "sh", "-c", RUN, "sh"])
        .args(command)
        .stdin(Stdio::null())
        .output();
    match split {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("tmux did not split the terminal: {}", said.trim()))
        }
        Err(error) => Err(format!("tmux cannot be run: {error}")),
    }
}
