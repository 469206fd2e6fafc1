//! Prints how many executions each strategy needs until the first failure of real programs with
//! unmodified binaries: `cargo run --release -p tests --example first_failure -- [SEEDS
//! [STRATEGY...]]`. Medians of searches with stored points. For the first strategy also the maximum when
//! threads are created in other orders, and both numbers in searches that learn the points themselves.

use tests::figures::measure::median;
use tests::rows::{ORDERS, ROWS, Row};

/// A later failure is printed as a dash.
const CAP: &str = "2000";

/// The executions until the first failure with stored points.
fn found(row: &Row, strategy: &str, seed: u64) -> Option<u64> {
    let seed = seed.to_string();
    let options = ["--strategy", strategy, "--seed", &seed, "--max-executions", CAP];
    Row::first(&row.explore_again(&options))
}

/// All executions until the first failure, in the order of creation with this number or as written.
fn found_from_nothing(row: &Row, strategy: &str, seed: u64, order: Option<u64>) -> Option<u64> {
    let seed = seed.to_string();
    let options = ["--strategy", strategy, "--seed", &seed, "--max-executions", CAP];
    let report = match order {
        None => row.explore(&options),
        Some(number) => row.explore_in_order_from_nothing(number, &options),
    };
    report.bugs.iter().map(|bug| bug.found_at).min()
}

/// The latest of the first failures.
fn worst(found: impl Iterator<Item = Option<u64>>) -> String {
    // An order in which nothing is found is worse than every other one.
    let worst = found.max_by_key(|found| found.unwrap_or(u64::MAX));
    worst.map_or(String::new(), |worst| median(&[worst]))
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(20);
    let mut strategies: Vec<String> = args.collect();
    if strategies.is_empty() {
        let all = ["auto", "directed", "random", "sticky:2", "pct:3", "pos", "icb", "dpor"];
        strategies = all.map(str::to_owned).to_vec();
    }
    let (names, first) = (strategies.join(" | "), strategies[0].clone());
    println!(
        "| program | best of others | {names} | {first}, the worst of {ORDERS} orders | {first}, with learning | the worst of these |"
    );
    println!("| --- | --- |{}", " --- |".repeat(strategies.len() + 3));
    for row in ROWS {
        let mut cells = Vec::new();
        for strategy in &strategies {
            // Strategies without a seed always do the same.
            let fixed = ["directed", "dfs", "icb", "delay", "dpor"].contains(&strategy.as_str());
            let seeds = if fixed { 1 } else { seeds };
            let runs: Vec<_> = (0..seeds).map(|seed| found(row, strategy, seed)).collect();
            cells.push(median(&runs));
        }
        let ordered = |number: u64| {
            let seed = number.to_string();
            let options = ["--strategy", &first, "--seed", &seed, "--max-executions", CAP];
            Row::first(&row.explore_in_order(number, &options))
        };
        let orders = || (0..ORDERS).filter(|_| row.creates_as_written());
        let known = worst(orders().map(ordered));
        let all: Vec<_> =
            (0..seeds).map(|seed| found_from_nothing(row, &first, seed, None)).collect();
        let (best, learning) = (row.best, median(&all));
        let unknown =
            worst(orders().map(|order| found_from_nothing(row, &first, order, Some(order))));
        let cells = cells.join(" | ");
        println!("| {} | {best} | {cells} | {known} | {learning} | {unknown} |", row.name());
    }
}
