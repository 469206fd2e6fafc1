//! Searches without an end, one under each strategy: does what Heddle and the program's processes use grow?
//! `cargo run --release -p tests --example soak -- [SECONDS] [STRATEGY...]`, 180 seconds without arguments.
//!
//! The table compares what is used after a sixth of the time, when all has begun, with the end. Memory is
//! that of the process alone; the two share a piece of a fixed size, of which they touch more and more.
//! Standard error has a line for each sample, in the form of CSV.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::heddle::Home;
use tests::hostile::{build, processes};
use traces::report::Report;

/// The time between two samples.
const EVERY: Duration = Duration::from_secs(5);

/// Memory in kilobytes, and open descriptors.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    controller: u64,
    /// Of the process of the program that has most.
    program: u64,
    /// What the controller shares with the program.
    shared: u64,
    descriptors: usize,
    /// Descriptors of the process of the program that has most.
    of_program: usize,
    processes: usize,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = args.next().map_or(180, |text| text.parse().expect("a number of seconds"));
    let chosen: Vec<String> = args.collect();
    println!(
        "{:<9} {:>11} {:>9} {:>17} {:>17} {:>17} {:>13} {:>13}",
        "strategy",
        "executions",
        "failures",
        "heddle kB",
        "program kB",
        "shared kB",
        "descriptors",
        "its"
    );
    eprintln!("strategy,second,heddle kB,program kB,shared kB,descriptors,its,processes");
    for strategy in search::strategy::registry::listed().map(|one| one.name) {
        if chosen.is_empty() || chosen.iter().any(|one| one == strategy) {
            soak(strategy, Duration::from_secs(seconds));
        }
    }
}

/// Runs a search for this time, and prints its row.
fn soak(strategy: &str, time: Duration) {
    let home = Home::new();
    let program = build(&home, "many_bugs", "program", &["-DTHREADS=8"]);
    let mut args = vec!["explore", "--json", "--keep-going", "--max-executions", "0"];
    args.extend(["--workers", "1", "--strategy", strategy]);
    if strategy == "when" {
        // No state satisfies it.
        args.extend(["--when", "main@work"]);
    }
    args.extend(["--", "./program"]);
    let mut command = home.command(args);
    // The report of an endless search has every failure.
    let report = home.path().join("report.json");
    command.stdout(std::fs::File::create(&report).expect("writable")).stderr(Stdio::null());
    let mut heddle = command.spawn().expect("it starts");
    let began = Instant::now();
    let (mut first, mut last) = (Sample::default(), Sample::default());
    let mut next = EVERY;
    while began.elapsed() < time && heddle.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(50));
        if began.elapsed() < next {
            continue;
        }
        next += EVERY;
        last = sample(heddle.id() as i32, &program);
        if first.processes == 0 || began.elapsed() <= time / 6 {
            first = last;
        }
        eprintln!(
            "{strategy},{},{},{},{},{},{},{}",
            began.elapsed().as_secs(),
            last.controller,
            last.program,
            last.shared,
            last.descriptors,
            last.of_program,
            last.processes
        );
    }
    let ran = began.elapsed();
    let interrupt = std::process::Command::new("kill")
        .args(["-s", "INT", &heddle.id().to_string()])
        .stderr(Stdio::null())
        .status();
    assert!(interrupt.is_ok(), "kill runs");
    let status = heddle.wait().expect("a child");
    let text = std::fs::read_to_string(&report).expect("there");
    let report: Report = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{strategy}: {status}: {error}: {text}"));
    let pair =
        |before: &dyn std::fmt::Display, after: &dyn std::fmt::Display| format!("{before} {after}");
    println!(
        "{strategy:<9} {:>11} {:>9} {:>17} {:>17} {:>17} {:>13} {:>13}{}",
        report.executions,
        report.bugs.len(),
        pair(&first.controller, &last.controller),
        pair(&first.program, &last.program),
        pair(&first.shared, &last.shared),
        pair(&first.descriptors, &last.descriptors),
        pair(&first.of_program, &last.of_program),
        if ran < time { format!("  ended after {} s", ran.as_secs()) } else { String::new() }
    );
}

fn sample(controller: i32, program: &Path) -> Sample {
    let all = processes(program);
    let most = |of: fn(i32) -> u64| all.iter().map(|&pid| of(pid)).max().unwrap_or(0);
    Sample {
        controller: resident(controller, "RssAnon:"),
        program: most(|pid| resident(pid, "RssAnon:")),
        shared: resident(controller, "RssShmem:"),
        descriptors: descriptors(controller),
        of_program: most(|pid| descriptors(pid) as u64) as usize,
        processes: all.len() + 1,
    }
}

/// The resident memory of this kind of a process in kilobytes; 0 if it has ended.
fn resident(pid: i32, kind: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(kind));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn descriptors(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}
