//! Prints the speed of a complete search of real programs with unmodified binaries and one worker:
//! `cargo run --release -p tests --example complete_searches -- [RUNS]`. The best of RUNS (3), with
//! the time of a nearly empty search subtracted. The last table is the speed of the machine, to
//! which docs/figures.md refers the rates.

use std::time::Instant;
use tests::figures::calibration;
use tests::heddle::Home;
use tests::targets::program;

/// Target, arguments, classes, and the rate of GenMC 0.11 on one core of a 2.8 GHz Xeon.
const ROWS: &[(&str, &str, u64, Option<u32>)] = &[
    ("readers", "13", 8_192, Some(23_457)),
    ("lastzero", "10", 3_328, Some(6_659)),
    ("lastzero", "15", 147_456, Some(4_096)),
    ("indexer", "15", 4_096, Some(1_450)),
    ("filesystem", "19", 64, None),
    ("locks", "7", 5_040, Some(7_723)),
];

/// Executions, and the best time of the whole command in seconds.
fn search(target: &str, arg: &str, runs: u32) -> (u64, f64) {
    let home = Home::new();
    let path = program(target).build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    let mut best = f64::MAX;
    let mut executions = 0;
    for _ in 0..runs {
        let began = Instant::now();
        let options = ["--json", "--strategy", "dpor", "--workers", "1", "--max-executions", "0"];
        let args = [&["explore"][..], &options, &["--", &path, arg]].concat();
        let report = home.heddle(args).report();
        best = best.min(began.elapsed().as_secs_f64());
        assert!(report.complete, "{target} {arg} is not complete");
        executions = report.classes;
    }
    (executions, best)
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(3);
    println!("| complete dpor | classes | executions | seconds | executions a second | GenMC's |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let (_, start) = search("locks", "1", runs);
    let before = calibration::walk();
    for &(target, arg, classes, others) in ROWS {
        let (executions, seconds) = search(target, arg, runs);
        let rate = executions as f64 / (seconds - start).max(0.001);
        let others = others.map_or("-".to_owned(), |rate| rate.to_string());
        println!(
            "| {target} {arg} | {classes} | {executions} | {seconds:.2} | {rate:.0} | {others} |"
        );
    }
    println!("\nA search of one execution takes {start:.2} s, which the rates leave out.");
    // The least, as of the searches.
    print!("\n{}", calibration::table(before.min(calibration::walk())));
}
