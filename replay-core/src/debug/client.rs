//! The debugger front ends: how they are found and started.

use super::session::monitor_commands::python_table;
use crate::Error;
use crate::launch::runtime;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that adds the `sched` commands to a debugger.
#[must_use]
pub fn script(debugger: Debugger) -> String {
    let text = match debugger {
        Debugger::Gdb => include_str!("helper_gdb.py"),
        Debugger::Lldb => include_str!("helper_lldb.py"),
    };
    text.replacen("COMMANDS = ()\n", &python_table(), 1)
}

/// A debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debugger {
    /// gdb 13 or later.
    Gdb,
    /// lldb 19 or later.
    Lldb,
}

impl Debugger {
    /// The debugger's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Debugger::Gdb => "gdb",
            Debugger::Lldb => "lldb",
        }
    }

    /// The arguments that connect the debugger to the server; the user's own arguments follow them.
    #[must_use]
    pub fn arguments(self, program: &Path, address: &str, helper: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        match self {
            Debugger::Gdb => {
                arguments.extend(["-q", "-l", "10000"].map(OsString::from));
                for command in [
                    "set sysroot /".to_owned(),
                    "set non-stop off".to_owned(),
                    "set unwindonsignal on".to_owned(),
                    "set confirm off".to_owned(),
                ] {
                    arguments.extend(["-ex".into(), command.into()]);
                }
                arguments.extend(["-x".into(), helper.into()]);
                let connect = format!("target extended-remote {address}");
                arguments.extend(["-ex".into(), connect.into()]);
                arguments.push(program.into());
            }
            Debugger::Lldb => {
                let url = match address.starts_with('/') {
                    true => format!("unix-connect://{address}"),
                    false => format!("connect://{address}"),
                };
                let connect = format!("process connect --plugin gdb-remote {url}");
                arguments.extend(["-o".into(), connect.into()]);
                let mut import = OsString::from("command script import ");
                import.push(helper);
                arguments.extend(["-o".into(), import, program.into()]);
            }
        }
        arguments
    }

    /// Writes the debugger's script to the runtime's directory and returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn helper(self) -> Result<PathBuf, Error> {
        let text = script(self);
        let directory = runtime::path()?.parent().unwrap_or(Path::new("/tmp")).to_owned();
        let hash = blake3::hash(text.as_bytes()).to_hex();
        // lldb uses the file name as the module name.
        let path = directory.join(format!("heddle_{}_{}.py", self.name(), &hash[..16]));
        let there = std::fs::read(&path).is_ok_and(|old| old == text.as_bytes());
        if !there {
            runtime::write_whole(&path, text.as_bytes(), 0o400).map_err(Error::system(format!(
                "cannot write the debugger's script {}",
                path.display()
            )))?;
        }
        Ok(path)
    }

    /// The command that starts the debugger. `named` is the executable that the user chose, `more`
    /// the user's arguments.
    ///
    /// # Errors
    /// If the debugger is not installed.
    pub fn command(
        self,
        named: Option<&OsStr>,
        program: &Path,
        address: &str,
        more: &[OsString],
    ) -> Result<Command, Error> {
        let name = named.map_or_else(|| self.find(), |name| Some(name.to_owned()));
        let Some(name) = name.filter(|name| is_there(name)) else {
            let name = named.map_or(self.name().into(), OsStr::to_string_lossy);
            return Err(Error::Usage(format!(
                "{name} is not installed (Debian and Ubuntu: `apt install {}`); with `--server \
                 2345` any debugger can connect: in gdb `target extended-remote 127.0.0.1:2345`, \
                 in lldb `gdb-remote 127.0.0.1:2345`",
                self.name()
            )));
        };
        let mut command = Command::new(name);
        command.args(self.arguments(program, address, &self.helper()?)).args(more);
        end_with_this_process(&mut command);
        Ok(command)
    }

    fn find(self) -> Option<OsString> {
        let names: &[&str] = match self {
            Debugger::Gdb => &["gdb"],
            // Distributions append the version; 19 is the first version that supports everything
            // used here.
            Debugger::Lldb => &["lldb-22", "lldb-21", "lldb-20", "lldb-19", "lldb"],
        };
        names.iter().map(OsString::from).find(|name| is_there(name))
    }
}

/// Has the process that a command starts end when this one does, also if this one is killed: it would
/// compete with the shell for the terminal. The signal lets it restore the terminal first.
///
/// The thread that starts it must not end before it.
pub fn end_with_this_process(command: &mut Command) {
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: calls that take numbers.
        let is_late = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            libc::getppid() as u32 != parent
        };
        // This process has ended already.
        if is_late { Err(std::io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    };
    // SAFETY: the closure makes bare calls only.
    unsafe { command.pre_exec(prepare) };
}

/// Whether a command exists in `PATH`, as a shell would find it.
fn is_there(name: &OsStr) -> bool {
    if Path::new(name).components().count() > 1 {
        return Path::new(name).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debugger_connects_with_the_settings_that_sessions_need() {
        let words = |debugger: Debugger, address| {
            let all = debugger.arguments(Path::new("/bin/x"), address, Path::new("/run/heddle.py"));
            all.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            words(Debugger::Gdb, "127.0.0.1:2345"),
            [
                "-q",
                "-l",
                "10000",
                "-ex",
                "set sysroot /",
                "-ex",
                "set non-stop off",
                "-ex",
                "set unwindonsignal on",
                "-ex",
                "set confirm off",
                "-x",
                "/run/heddle.py",
                "-ex",
                "target extended-remote 127.0.0.1:2345",
                "/bin/x",
            ]
        );
        let lldb = |url: &str| {
            [
                "-o".to_owned(),
                format!("process connect --plugin gdb-remote {url}"),
                "-o".to_owned(),
                "command script import /run/heddle.py".to_owned(),
                "/bin/x".to_owned(),
            ]
        };
        assert_eq!(words(Debugger::Lldb, "127.0.0.1:1"), lldb("connect://127.0.0.1:1"));
        assert_eq!(words(Debugger::Lldb, "/run/s"), lldb("unix-connect:///run/s"));
    }
}
