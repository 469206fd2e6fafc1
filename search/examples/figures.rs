//! Prints what the strategies come to on the abstract programs: `cargo run --release -p search
//! --example figures`. Executions to the first failure (median of 20 seeds where a strategy has one),
//! complete searches, and what a strategy costs a step.

use search::auto::Auto;
use search::dfs::Measure;
use search::directed::Directed;
use search::dpor::Dpor;
use search::follow::NonPreemptive;
use search::iterated::Iterated;
use search::pct::Pct;
use search::pos::Pos;
use search::random::Random;
use search::simulate::{Ending, Program, programs, runs};
use search::sticky::Sticky;
use search::{Any, Strategy};
use std::time::Instant;
use traces::wire::Plan;

/// Later than this is as good as never: a dash.
const CAP: usize = 1_000;

fn first(program: &Program, mut strategy: impl Strategy) -> Option<usize> {
    let fails =
        |run: search::simulate::Run| matches!(run.ending, Ok(Ending::Assertion | Ending::Deadlock));
    runs(program, &mut strategy).take(CAP).position(fails).map(|at| at + 1)
}

fn median<S: Strategy>(program: &Program, seeds: u64, make: impl Fn(u64) -> S) -> String {
    let mut found: Vec<usize> =
        (0..seeds).map(|seed| first(program, make(seed)).unwrap_or(usize::MAX)).collect();
    found.sort_unstable();
    match found[found.len() / 2] {
        usize::MAX => "-".to_owned(),
        found => found.to_string(),
    }
}

fn first_failures() {
    let rows = [
        ("account", programs::account()),
        ("opposite locks", programs::opposite()),
        ("lazy", programs::lazy()),
        ("twostage", programs::twostage(1)),
        ("twostage, 20 writers", programs::twostage(20)),
        ("reorder, 2 setters", programs::reorder(2)),
        ("reorder, 4 setters", programs::reorder(4)),
        ("reorder, 9 setters", programs::reorder(9)),
        ("wronglock, 3", programs::wronglock(3)),
        ("lost update, 2", programs::lost_update(2)),
        ("pipe release", programs::pipe_release(true)),
    ];
    println!("\n| program | auto | directed | random | sticky:2 | pct:3 | pos | icb | dpor |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, program) in rows {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            median(&program, 20, Auto::new),
            median(&program, 1, |_| Directed::new()),
            median(&program, 20, Random::new),
            median(&program, 20, |seed| Sticky::new(seed, 2)),
            median(&program, 20, |seed| Pct::new(seed, 3)),
            median(&program, 20, Pos::new),
            median(&program, 1, |_| Iterated::new(Measure::Preemptions, None)),
            median(&program, 1, |_| Dpor::new()),
        );
    }
}

fn complete() {
    let rows = [
        ("readers 13", programs::readers(13)),
        ("lastzero 10", programs::lastzero(10)),
        ("lastzero 15", programs::lastzero(15)),
        ("indexer 15", programs::indexer(15)),
        ("filesystem 19", programs::filesystem(19)),
        ("one lock, 7", programs::locked(7, 1)),
        ("2 tasks, 6 locked increments", programs::locked(2, 6)),
    ];
    println!("| complete dpor | executions | seconds | executions a second |");
    println!("| --- | --- | --- | --- |");
    for (name, program) in rows {
        let began = Instant::now();
        let executions = runs(&program, &mut Dpor::new()).count();
        let seconds = began.elapsed().as_secs_f64();
        let rate = executions as f64 / seconds;
        println!("| {name} | {executions} | {seconds:.2} | {rate:.0} |");
    }
}

/// Nanoseconds a step of the simulator with this strategy.
fn step(program: &Program, mut strategy: impl Strategy) -> f64 {
    let began = Instant::now();
    let steps: usize = runs(program, &mut strategy).take(5_000).map(|run| run.choices.len()).sum();
    began.elapsed().as_nanos() as f64 / steps.max(1) as f64
}

fn overhead() {
    // Three tasks, about a hundred steps.
    let program = programs::locked(3, 8);
    let bare = step(&program, NonPreemptive);
    println!(
        "\n| strategy | ns a step beyond the default schedule ({bare:.0} with the simulator) |"
    );
    println!("| --- | --- |");
    let plans = [
        ("random", Plan::Random { seed: 0 }),
        ("sticky", Plan::Sticky { seed: 0, weight: 2 }),
        ("pct", Plan::Pct { seed: 0, depth: 3 }),
        ("pos", Plan::Pos { seed: 0 }),
        ("icb", Plan::Icb { bound: None }),
        ("dpor", Plan::Dpor),
        ("directed", Plan::Directed),
        ("auto", Plan::Auto { seed: 0 }),
    ];
    for (name, plan) in plans {
        println!("| {name} | {:.0} |", step(&program, Any::new(plan)) - bare);
    }
}

fn main() {
    complete();
    overhead();
    first_failures();
}
