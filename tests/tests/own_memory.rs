//! The runtime's own memory does not grow with the executions, however they end: a search may have no end.

use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::process::{Child, Stdio};
use tests::heddle::Home;
use tests::hostile::{BOUND, await_some, build, children};
use traces::wire::{CHANNEL_ADDRESS, Header};

/// A search without an end, and the memory that its worker shares with it.
struct Endless {
    _home: Home,
    heddle: Child,
    memory: File,
}

impl Endless {
    fn start(name: &str, flags: &[&str], options: &[&str]) -> Endless {
        let home = Home::new();
        let program = build(&home, name, "program", flags);
        let args = ["explore", "--json", "--keep-going", "--max-executions", "0", "--workers", "1"];
        let mut command = home.command(
            [
                &args[..],
                &["--strategy", "random", "--reset", "memory"],
                options,
                &["--", "./program"],
            ]
            .concat(),
        );
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let heddle = command.spawn().expect("it starts");
        let memory = await_some("the worker's memory", || {
            let worker = *children(heddle.id(), &program).first()?;
            File::open(format!("/proc/{worker}/mem")).ok()
        });
        Endless { _home: home, heddle, memory }
    }

    /// A counter in the header of the shared memory.
    fn count(&self, offset: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let place = CHANNEL_ADDRESS as u64 + offset as u64;
        self.memory.read_exact_at(&mut bytes, place).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// The bytes of the runtime's heap that were ever used, after this many executions.
    fn used_after(&self, executions: u64) -> u64 {
        let ran = || self.count(offset_of!(Header, executions)).filter(|&ran| ran >= executions);
        await_some(&format!("{executions} executions within {BOUND:?}"), ran);
        self.count(offset_of!(Header, heap_used)).expect("it runs")
    }
}

impl Endless {
    /// The pages that the controller has touched of the memory that it shares with the worker, in kilobytes,
    /// after this many executions.
    fn shared_after(&self, executions: u64) -> u64 {
        self.used_after(executions);
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.heddle.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:"));
        let number = line.expect("a line").trim().trim_end_matches(" kB");
        number.parse().expect("a number")
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.heddle.kill();
        let _ = self.heddle.wait();
    }
}

#[test]
fn no_kind_of_end_of_an_execution_leaves_memory_behind() {
    // What every execution leaves would be 16 bytes at least.
    const FIRST: u64 = 3_000;
    const MORE: u64 = 6_000;
    for end in [
        "PASSES",
        "ASSERTS",
        "ABORTS",
        "CRASHES",
        "EXITS",
        "EXITS_AT_ONCE",
        "DEADLOCKS",
        "WAITS",
        "SPINS",
        "MISUSES",
        "JOINS_TWICE",
        "OVERFLOWS",
        "FREES_TWICE",
        "LEAVES_HELD",
        "POLLS",
    ] {
        let search = Endless::start("ends_otherwise", &[&format!("-DEND={end}")], &[]);
        let before = search.used_after(FIRST);
        let after = search.used_after(FIRST + MORE);
        println!("{end}: {before} and {after} bytes");
        assert!(after - before < 16 * MORE / 2, "{end}: {before} bytes, then {after}");
    }
}

/// After as many executions, each page of the ring that is used again was used.
const MESSAGES: u64 = 1_000_000;

/// Each piece of the search reports each failure again.
#[test]
fn messages_use_the_pages_of_earlier_messages_again() {
    let search = Endless::start("many_bugs", &["-DTHREADS=3"], &[]);
    let before = search.shared_after(MESSAGES);
    let after = search.shared_after(2 * MESSAGES);
    println!("{before} and {after} kB");
    // The messages have some megabytes.
    assert!(after - before < 512, "{before} kB, then {after}");
}
