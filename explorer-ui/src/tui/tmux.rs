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
    split_with("tmux", command)
}

fn split_with(tmux: &str, command: &[OsString]) -> Result<(), String> {
    let split = Command::new(tmux)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_runs_the_command_or_the_reason_is_given() {
        let missing = split_with("/nowhere", &[]).expect_err("no program");
        assert!(missing.starts_with("tmux cannot be run: "), "{missing}");
        let refused = split_with("/bin/false", &[]).expect_err("it fails");
        assert_eq!(refused, "tmux did not split the terminal: ");
        // The pane's shell runs the command that follows.
        let shell = |command: &str| {
            let mut run = Command::new("sh");
            run.args(["-c", RUN, "sh", command]).stdin(Stdio::null());
            String::from_utf8_lossy(&run.output().expect("it runs").stdout).into_owned()
        };
        assert_eq!(shell("true"), "");
        assert_eq!(shell("false"), "\npress enter to close\n");
    }
}
