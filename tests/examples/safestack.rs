//! Prints after how many executions `auto` finds the failure of SafeStack, which needs seven
//! preemptions: `cargo run --release -p tests --example safestack -- [SEEDS [MOST]]`, over 20 seeds,
//! with at most 2,500,000 executions each.

use tests::figures::markdown::grouped;
use tests::figures::measure::median;
use tests::heddle::Home;
use tests::targets::program;

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(20);
    let most = args.next().unwrap_or_else(|| "2500000".to_owned());
    let path = program("safestack").build().expect("targets compile");
    let path = path.to_string_lossy();
    let first = |seed: u64| {
        let seed = seed.to_string();
        let options = ["--strategy", "auto", "--seed", &seed, "--max-executions", &most];
        let report = Home::new().explore(&options, &[&path, "2"]);
        let found = report.bugs.iter().map(|bug| bug.found_at).min();
        eprintln!("seed {seed}: {found:?}");
        found
    };
    let found: Vec<Option<u64>> = (0..seeds).map(first).collect();
    let end = |value: Option<&Option<u64>>| match value {
        Some(Some(found)) => grouped(*found as f64),
        _ => format!("> {most}"),
    };
    // A seed that finds nothing is later than all others.
    let key = |found: &&Option<u64>| found.unwrap_or(u64::MAX);
    let (least, greatest) = (found.iter().min_by_key(key), found.iter().max_by_key(key));
    println!("| program | seeds | median | least | most |");
    println!("| --- | --: | --: | --: | --: |");
    println!("| safestack | {seeds} | {} | {} | {} |", median(&found), end(least), end(greatest));
}
