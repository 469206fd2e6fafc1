//! Prints how many executions each strategy needs until the first failure of real programs with
//! unmodified binaries: `cargo run --release -p tests --example first_failure -- [SEEDS
//! [STRATEGY...]]`. Medians; executions of the learning phase have a separate column. For the first
//! strategy also the maximum when threads are created in other orders.

use tests::rows::{ORDERS, ROWS, Row};

/// A later failure is printed as a dash.
const CAP: &str = "2000";

/// The executions until the first failure, and those of the learning phase before them.
fn found(row: &Row, strategy: &str, seed: u64) -> (u64, u64) {
    let seed = seed.to_string();
    let report = row.explore(&["--strategy", strategy, "--seed", &seed, "--max-executions", CAP]);
    (Row::first(&report).unwrap_or(u64::MAX), report.learning)
}

/// Of an even number the mean of the middle two, as in the published figures.
fn median(mut all: Vec<u64>) -> String {
    all.sort_unstable();
    let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
    match high {
        u64::MAX => "-".to_owned(),
        _ if (low + high) % 2 == 1 => format!("{}.5", (low + high) / 2),
        _ => ((low + high) / 2).to_string(),
    }
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
        "| program | best of others | {names} | {first}, the worst of {ORDERS} orders | learning |"
    );
    println!("| --- | --- |{}", " --- |".repeat(strategies.len() + 2));
    for row in ROWS {
        let mut learning = Vec::new();
        let mut cells = Vec::new();
        for strategy in &strategies {
            // Strategies without a seed always do the same.
            let fixed = ["directed", "dfs", "icb", "delay", "dpor"].contains(&strategy.as_str());
            let seeds = if fixed { 1 } else { seeds };
            let runs: Vec<(u64, u64)> = (0..seeds).map(|seed| found(row, strategy, seed)).collect();
            learning.extend(runs.iter().map(|run| run.1));
            cells.push(median(runs.iter().map(|run| run.0).collect()));
        }
        let ordered = |number: u64| {
            let seed = number.to_string();
            let options = ["--strategy", &first, "--seed", &seed, "--max-executions", CAP];
            Row::first(&row.explore_in_order(number, &options)).unwrap_or(u64::MAX)
        };
        let worst = (0..ORDERS).filter(|_| row.creates_as_written()).map(ordered).max();
        let worst = worst.map_or(String::new(), |worst| median(vec![worst]));
        let (best, learning) = (row.best, median(learning));
        println!("| {} | {best} | {} | {worst} | {learning} |", row.name(), cells.join(" | "));
    }
}
