//! Measures the speedup of a search by more workers: `cargo run --release -p tests --example
//! workers -- [EXECUTIONS]`.
//!
//! Processor time used by other processes of the machine is measured separately: a worker computes,
//! or is runnable and waits for a processor (the kernel counts both), or is idle. The speed of N
//! workers on N free cores follows from the processor time of an execution and the share of time in
//! which they had work.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tests::figures::markdown::grouped;
use tests::heddle::Home;
use tests::hostile::children;
use tests::targets::program;
use traces::report::Report;

/// A strategy, and a program with an argument for which it has more executions than are run.
const SEARCHES: [(&[&str], &str, &str); 5] = [
    (&["random"], "locks", "5"),
    (&["pct:3"], "locks", "5"),
    (&["dfs"], "locks", "9"),
    (&["icb"], "locks", "9"),
    (&["dpor"], "locks", "10"),
];

/// The result of one search.
struct Measurement {
    executions: u64,
    wall: f64,
    /// Processor time of the workers.
    cpu: f64,
    /// The share of their time in which they neither computed nor waited for a processor.
    idle: f64,
}

fn main() {
    let executions = std::env::args().nth(1).unwrap_or_else(|| "2000000".into());
    println!(
        "| search, workers | executions | s | processor s | µs each | idle | times |\n\
         | --- | --: | --: | --: | --: | --: | --: |"
    );
    for (strategy, name, argument) in SEARCHES {
        let mut alone = None;
        for workers in [1, 2, 4] {
            let measured = search(strategy, name, argument, &executions, workers);
            let each = measured.cpu / measured.executions as f64;
            let rate = f64::from(workers) * (1.0 - measured.idle) / each;
            let first = *alone.get_or_insert(rate);
            println!(
                "| {}, {workers} | {} | {:.2} | {:.2} | {:.2} | {:.1} % | {:.2} |",
                strategy[0],
                grouped(measured.executions as f64),
                measured.wall,
                measured.cpu,
                each * 1e6,
                measured.idle * 100.0,
                rate / first
            );
        }
    }
}

fn search(
    strategy: &[&str],
    name: &str,
    argument: &str,
    executions: &str,
    workers: u32,
) -> Measurement {
    let home = Home::new();
    let path = program(name).build().expect("targets compile");
    let workers = workers.to_string();
    let args = ["explore", "--json", "--points", "api", "--max-executions", executions];
    let args = [&args[..], &["--workers", &workers, "--strategy"], strategy, &["--"]].concat();
    let mut command = home.command(args);
    command.arg(&path).arg(argument);
    let began = Instant::now();
    let mut heddle = command.spawn().expect("it starts");
    let mut seen: BTreeMap<i32, Worker> = BTreeMap::new();
    while heddle.try_wait().expect("it is there").is_none() {
        for pid in children(heddle.id(), &path) {
            if let Some((ran, kept)) = times(pid) {
                let now = began.elapsed();
                let worker = seen.entry(pid).or_insert(Worker { first: now, ..Worker::default() });
                (worker.last, worker.ran, worker.kept) = (now, ran, kept);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let wall = began.elapsed().as_secs_f64();
    let output = heddle.wait_with_output().expect("it ended");
    let report: Report = serde_json::from_slice(&output.stdout).expect("an object");
    let is_limited = report.reason.starts_with("the limit on executions was reached");
    assert!(is_limited || report.complete, "{report:?}");
    let cpu: f64 = seen.values().map(|worker| worker.ran.as_secs_f64()).sum();
    let busy: f64 = seen.values().map(|worker| (worker.ran + worker.kept).as_secs_f64()).sum();
    let there: f64 = seen.values().map(|worker| (worker.last - worker.first).as_secs_f64()).sum();
    Measurement { executions: report.executions, wall, cpu, idle: (1.0 - busy / there).max(0.0) }
}

/// The last measurement of a process.
#[derive(Default)]
struct Worker {
    first: Duration,
    last: Duration,
    ran: Duration,
    kept: Duration,
}

/// The time a process computed, and the time it was runnable and waited for a processor.
fn times(pid: i32) -> Option<(Duration, Duration)> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("schedstat"));
    let text = text.ok()?;
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok());
    Some((Duration::from_nanos(fields.next()??), Duration::from_nanos(fields.next()??)))
}
