//! Misbehaving programs (`tests/hostile`), and the processes that they leave behind.

use crate::heddle::Home;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The time limit for anything a test waits for, on a busy machine.
pub const BOUND: Duration = Duration::from_secs(180);

/// Compiles `tests/hostile/NAME.c` into the home as `to`, with these flags in addition to the usual
/// ones.
///
/// # Panics
/// If the compiler refuses it.
pub fn build(home: &Home, name: &str, to: &str, flags: &[&str]) -> PathBuf {
    let path = home.path().join(to);
    let built = Command::new("gcc")
        .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-pthread"])
        .arg(format!("{name}.c"))
        .args(flags)
        .arg("-o")
        .arg(&path)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile"))
        .output()
        .expect("gcc runs");
    assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
    path
}

/// Waits until `look` returns a value, and returns it.
///
/// # Panics
/// If it is not there after [`BOUND`]; `what` says what was waited for.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + BOUND;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "after {BOUND:?} still waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until no process of a program remains.
///
/// # Panics
/// If there still is one after [`BOUND`].
pub fn await_gone(program: &Path) {
    await_some(&format!("the end of every process of {}", program.display()), || {
        processes(program).is_empty().then_some(())
    });
}

/// The processes that run this executable, except zombies.
#[must_use]
pub fn processes(program: &Path) -> Vec<i32> {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let runs =
        |pid: &i32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
    all().filter(runs).collect()
}

/// The children of a process that run this executable.
#[must_use]
pub fn children(parent: u32, program: &Path) -> Vec<i32> {
    let of_parent = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in parentheses may contain anything; the state and the parent follow it.
        let after = stat.rsplit(')').next().unwrap_or_default();
        after.split_ascii_whitespace().nth(1) == Some(&parent.to_string())
    };
    processes(program).into_iter().filter(of_parent).collect()
}

fn all() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be read");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
