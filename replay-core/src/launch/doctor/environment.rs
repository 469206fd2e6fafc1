//! Checks of limits, files, tools and the terminal.

use super::check::Check;
use super::machine;
use crate::launch::runtime;
use crate::scratch::{self, Scratch};
use crate::store;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};

/// `/proc`, from which the program's modules are read.
pub(super) fn proc() -> Check {
    of_proc(std::fs::read_to_string("/proc/self/maps"))
}

/// The check of `/proc`, from the memory map of this process.
pub(super) fn of_proc(maps: io::Result<String>) -> Check {
    const NAME: &str = "/proc";
    match maps {
        Ok(maps) if maps.contains("[stack]") => Check::good(NAME, "mounted"),
        Ok(_) => Check::bad(
            NAME,
            "present, but it is not the kernel's proc file system",
            "mount -t proc proc /proc",
        ),
        Err(error) => Check::bad(NAME, error.to_string(), "mount -t proc proc /proc"),
    }
}

/// Whether a filter restricts system calls. What it refuses shows in other checks.
pub(super) fn seccomp() -> Check {
    of_seccomp(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// The check of filters, from the status of this process.
pub(super) fn of_seccomp(status: &str) -> Check {
    const NAME: &str = "seccomp";
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    match mode {
        Some("0") => Check::good(NAME, "off"),
        Some("2") => {
            Check::good(NAME, "a filter of system calls (seccomp) is active, as in containers")
        }
        other => Check::warning(
            NAME,
            format!("mode {}", other.unwrap_or("unknown")),
            "see the other checks",
        ),
    }
}

/// The limit that applies now, if the kernel says it.
fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills in the struct.
    (unsafe { libc::getrlimit(resource, &raw mut limit) } == 0).then_some(limit.rlim_cur)
}

/// The limit on the address space, which restricts large mappings at fixed addresses.
pub(super) fn address_space() -> Check {
    of_address_space(limit(libc::RLIMIT_AS))
}

pub(super) fn of_address_space(limit: Option<u64>) -> Check {
    const NAME: &str = "address space limit";
    match limit {
        Some(limit) if limit == libc::RLIM_INFINITY => Check::good(NAME, "none"),
        Some(limit) => Check::warning(
            NAME,
            format!("{} MiB", limit >> 20),
            "mappings may fail although the program runs without Heddle: ulimit -v unlimited",
        ),
        None => Check::warning(NAME, "unknown", "see ulimit -v"),
    }
}

/// The limit on the main stack, which is also the default size of thread stacks.
pub(super) fn stack() -> Check {
    of_stack(limit(libc::RLIMIT_STACK))
}

pub(super) fn of_stack(limit: Option<u64>) -> Check {
    const NAME: &str = "stack limit";
    const LEAST: u64 = 1 << 20;
    match limit {
        Some(limit) if limit == libc::RLIM_INFINITY => Check::warning(
            NAME,
            "none",
            "an infinite recursion in main uses all memory before it is detected as a stack \
             overflow: ulimit -s 8192",
        ),
        Some(limit) if limit < LEAST => Check::warning(
            NAME,
            format!("{} KiB", limit >> 10),
            "programs may overflow their stacks: ulimit -s 8192",
        ),
        Some(limit) => Check::good(NAME, format!("{} KiB", limit >> 10)),
        None => Check::warning(NAME, "unknown", "see ulimit -s"),
    }
}

/// The directory for the runtime: the first one that can be made.
pub(super) fn runtime_directory() -> Check {
    const NAME: &str = "runtime directory";
    let mut unusable = Vec::new();
    for directory in runtime::directories() {
        match runtime::loadable_directory(&directory) {
            Ok(()) if unusable.is_empty() => {
                return Check::good(NAME, directory.display().to_string());
            }
            Ok(()) => {
                return Check::warning(
                    NAME,
                    format!("{}; unusable: {}", directory.display(), unusable.join("; ")),
                    "set XDG_RUNTIME_DIR and XDG_CACHE_HOME to directories that only you can write, \
                     or unset them",
                );
            }
            Err(error) => unusable.push(format!("{}: {error}", directory.display())),
        }
    }
    Check::bad(
        NAME,
        unusable.join("; "),
        "the runtime cannot be loaded into programs: set XDG_CACHE_HOME to a directory that only you \
         can write",
    )
}

/// The directory for permanent state, such as the key that marks the user's own traces.
pub(super) fn state_directory() -> Check {
    let directory = store::state_directory();
    let usable = directory.as_deref().map(store::check_state_directory);
    of_state_directory(directory.as_deref(), usable.and_then(Result::err))
}

/// The check of the directory, from its path and why it is not usable.
pub(super) fn of_state_directory(directory: Option<&Path>, refused: Option<impl Display>) -> Check {
    const NAME: &str = "state directory";
    const ADVICE: &str = "traces are not marked as your own, and a replay asks before it starts a \
                          program: set XDG_STATE_HOME to a directory that you can write";
    let Some(directory) = directory else {
        return Check::warning(NAME, "HOME is not set", ADVICE);
    };
    let shown = directory.display();
    match refused {
        None => Check::good(NAME, shown.to_string()),
        Some(error) => Check::warning(NAME, format!("{shown}: {error}"), ADVICE),
    }
}

/// The directory for temporary files, such as copies of the working directory.
pub(super) fn temporary_directory() -> Check {
    const NAME: &str = "temporary directory";
    let base = scratch::base();
    let shown = base.display();
    match Scratch::in_directory(&base) {
        Ok(_) => Check::good(NAME, shown.to_string()),
        Err(error) => Check::warning(
            NAME,
            format!("{shown}: {error}"),
            "copies of the working directory (--scratch), heddle gdb and heddle ui need it: set \
             TMPDIR to a directory that you can write",
        ),
    }
}

/// External programs that some commands start.
pub(super) fn tools() -> [Check; 3] {
    [
        tool("gdb", "heddle gdb needs it: install gdb, or use lldb (--lldb)", (12, 0)),
        tool("lldb", "heddle gdb --lldb needs it; nothing else does", (14, 0)),
        tool("gcc", "heddle build with gcc needs it; nothing else does", (9, 0)),
    ]
}

fn tool(name: &'static str, advice: &str, least: (u32, u32)) -> Check {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).output();
    let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    of_tool(name, advice, least, printed.ok().as_deref())
}

/// The check of a tool, from what it printed about its version; none if it could not be started.
pub(super) fn of_tool(
    name: &'static str,
    advice: &str,
    least: (u32, u32),
    printed: Option<&str>,
) -> Check {
    let Some(text) = printed else { return Check::warning(name, "not found", advice) };
    let line = text.lines().next().unwrap_or_default().trim();
    // The version is the last word that has the form of one: `gcc (Debian 12.2.0-14) 12.2.0`.
    let found = line.split_whitespace().rev().find_map(machine::version);
    match found {
        Some(version) if version >= least => Check::good(name, line),
        Some(_) => Check::warning(
            name,
            line,
            format!("older than {}.{}, not tested with Heddle", least.0, least.1),
        ),
        None => Check::warning(name, format!("found, but reports {line:?}"), advice),
    }
}

/// Whether standard output is a terminal that the explorer can use.
pub(super) fn terminal() -> Check {
    let stdout = std::io::stdout();
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills in the struct.
    unsafe { libc::ioctl(stdout.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    let term = std::env::var("TERM").unwrap_or_default();
    of_terminal(stdout.is_terminal(), &term, (size.ws_col, size.ws_row))
}

/// The check of a terminal of this type and size.
pub(super) fn of_terminal(is_terminal: bool, term: &str, (columns, rows): (u16, u16)) -> Check {
    const NAME: &str = "terminal";
    const LEAST: (u16, u16) = (80, 24);
    if !is_terminal {
        return Check::warning(
            NAME,
            "standard output is not a terminal",
            "heddle ui needs a terminal",
        );
    }
    if term.is_empty() || term == "dumb" {
        return Check::warning(
            NAME,
            format!("TERM={term}"),
            "heddle ui needs a terminal with cursor control",
        );
    }
    let found = format!("{term}, {columns} x {rows}");
    match columns >= LEAST.0 && rows >= LEAST.1 {
        true => Check::good(NAME, found),
        false => Check::warning(
            NAME,
            found,
            format!("heddle ui needs at least {} x {}", LEAST.0, LEAST.1),
        ),
    }
}
