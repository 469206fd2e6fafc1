//! Measures executions per second of Heddle, shuttle and loom on the same programs, alternating in
//! one run on one processor, and prints the table of docs/figures.md.
//!
//! Each round measures everything once, so that noise of the machine affects all tools; a figure is
//! the median of the rounds. Heddle's time includes starting the program and comparing the resets;
//! the other two run inside this process.

mod heddle;
mod loom;
mod shuttle;
mod size;
mod table;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use size::SIZES;
use std::collections::BTreeSet;
use std::time::Duration;
use table::{Row, median};

/// Measures Heddle against shuttle and loom on one processor.
#[derive(Parser)]
struct Arguments {
    /// How often everything is measured.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Divides the number of executions of each measurement, for a quick test.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    divide: u64,
    /// The time limit of loom's search.
    #[arg(long, default_value_t = 2000)]
    loom_milliseconds: u64,
    /// Fail unless Heddle makes twice shuttle's executions a second and ten times loom's.
    #[arg(long)]
    check: bool,
}

/// Pins this process and its children to the last processor that it may use.
fn pin() -> Result<()> {
    let me = Pid::from_raw(0);
    let allowed = sched_getaffinity(me).context("the processors cannot be asked for")?;
    let last = (0..CpuSet::count()).rev().find(|&cpu| allowed.is_set(cpu).unwrap_or(false));
    let mut one = CpuSet::new();
    one.set(last.context("no processor is allowed")?)?;
    sched_setaffinity(me, &one).context("the process cannot be kept on one processor")
}

fn rate(executions: u64, elapsed: Duration) -> f64 {
    executions as f64 / elapsed.as_secs_f64()
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let heddle = heddle::Heddle::build()?;
    pin()?;
    let mut rows = Vec::new();
    let mut not_in_memory = BTreeSet::new();
    for mut size in SIZES {
        size.executions = (size.executions / arguments.divide).max(1000);
        let mut rates: [Vec<f64>; 5] = Default::default();
        let mut lost = [0.0_f64; 2];
        for round in 0..arguments.rounds {
            for (language, rates) in rates.iter_mut().take(3).enumerate() {
                let figures = heddle.random(language, size, round)?;
                ensure!(figures.executions == size.executions, "Heddle ran all of them");
                ensure!(figures.steps > size.threads, "Heddle saw the threads meet");
                rates.push(rate(figures.executions, figures.elapsed));
                if figures.reset != "memory" {
                    not_in_memory.insert((heddle::LANGUAGES[language], figures.reset));
                }
                if language == 0 {
                    lost[0] += figures.lost as f64 / size.executions as f64;
                }
            }
            let (elapsed, failed) = shuttle::random(size, size.executions, round);
            rates[3].push(rate(size.executions, elapsed));
            lost[1] += failed as f64 / size.executions as f64;
            let most = Duration::from_millis(arguments.loom_milliseconds);
            let (elapsed, executions) = loom::bounded(size, most);
            rates[4].push(rate(executions, elapsed));
            eprintln!("{size}: round {} of {}", round + 1, arguments.rounds);
        }
        let lost = lost.map(|share| share / arguments.rounds as f64);
        rows.push(Row { size, rates: rates.map(|mut rates| median(&mut rates)), lost });
    }
    print!("{}", table::markdown(&rows));
    for (language, reset) in &not_in_memory {
        eprintln!("the program in {language} went back by {reset}, not in memory");
    }
    ensure!(!arguments.check || not_in_memory.is_empty(), "a program did not go back in memory");
    for row in rows.iter().filter(|_| arguments.check) {
        let [ours, _, _, shuttle, loom] = row.rates;
        ensure!(ours >= 2.0 * shuttle, "{}: less than twice shuttle's speed", row.size);
        ensure!(ours >= 10.0 * loom, "{}: less than ten times loom's speed", row.size);
    }
    Ok(())
}
