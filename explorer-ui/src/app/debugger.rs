//! A debugger beside the explorer, in a split of the terminal.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Stays when the command did not work, so that what it said can be read.
const RUN: &str = "\"$@\" || { echo; echo 'enter closes this'; read -r _; }";

/// Runs a command in a new pane of the tmux that this terminal is in.
///
/// # Errors
/// What tmux had against it, or why it could not be asked.
pub(super) fn beside(command: &[OsString]) -> Result<(), String> {
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
