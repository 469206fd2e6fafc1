//! Measures the strategies on the abstract programs: `cargo run --release -p search --example
//! abstract_programs`. Prints executions to the first failure (the median of 20 seeds for randomised
//! strategies), complete searches, and the cost of a strategy per step. `-- first`, `-- complete`,
//! `-- overhead` print one of these tables; a number after that limits the executions of a search.

use search::simulation::{Ending, Program, programs, runs};
use search::strategy::auto::Auto;
use search::strategy::dfs::Measure;
use search::strategy::directed::Directed;
use search::strategy::dpor::Dpor;
use search::strategy::feedback::Feedback;
use search::strategy::follow::NonPreemptive;
use search::strategy::hapset::Hapset;
use search::strategy::iterative::Iterative;
use search::strategy::pct::Pct;
use search::strategy::pos::Pos;
use search::strategy::random::Random;
use search::strategy::rapos::Rapos;
use search::strategy::sticky::Sticky;
use search::strategy::surw::Surw;
use search::{AnyStrategy, Strategy};
use std::time::Instant;
use traces::wire::Plan;

/// A search that needs more executions than this counts as "not found" and is printed as a dash.
const CAP: usize = 1_000;

fn first(program: &Program, mut strategy: impl Strategy) -> Option<usize> {
    let fails = |run: search::simulation::Run| {
        matches!(run.ending, Ok(Ending::Assertion | Ending::Deadlock))
    };
    runs(program, &mut strategy).take(CAP).position(fails).map(|at| at + 1)
}

fn median<S: Strategy>(program: &Program, seeds: u64, make: impl Fn(u64) -> S) -> String {
    middle((0..seeds).map(|seed| first(program, make(seed))).collect())
}

/// Like `median`, but each seed also creates the tasks in a different random order.
fn median_of_orders<S: Strategy>(program: &Program, seeds: u64, make: impl Fn(u64) -> S) -> String {
    let ordered = |seed| programs::created(program, &programs::shuffled(program, seed));
    middle((0..seeds).map(|seed| first(&ordered(seed), make(seed))).collect())
}

/// The median; of an even number of values the mean of the two in the middle, as in published
/// tables.
fn middle(found: Vec<Option<usize>>) -> String {
    let mut found: Vec<usize> = found.into_iter().map(|at| at.unwrap_or(usize::MAX)).collect();
    found.sort_unstable();
    let (low, high) = (found[(found.len() - 1) / 2], found[found.len() / 2]);
    match high {
        usize::MAX => "-".to_owned(),
        _ if (low + high) % 2 == 1 => format!("{}.5", (low + high) / 2),
        _ => ((low + high) / 2).to_string(),
    }
}

/// Programs, each with the executions that the best of other tools needed until the first failure,
/// where that was published or measured: a systematic tester that rebuilds programs (medians of
/// 20), and random and bounded searches of libraries for which tests must be written specially.
fn programs() -> Vec<(&'static str, Program, Option<f64>)> {
    let twostage = |k| programs::twostage(k);
    vec![
        ("account", programs::account(), Some(10.0)),
        ("opposite locks", programs::opposite(), Some(2.0)),
        ("lazy", programs::lazy(), Some(8.0)),
        ("twostage", twostage(1), Some(4.0)),
        ("twostage, 20 writers", twostage(20), Some(76.0)),
        ("twostage, 50 writers", twostage(50), Some(286.0)),
        ("twostage, 100 writers", twostage(100), Some(690.0)),
        ("reorder, 2 setters", programs::reorder(2), Some(6.0)),
        ("reorder, 3 setters", programs::reorder(3), Some(23.0)),
        ("reorder, 4 setters", programs::reorder(4), Some(12.0)),
        ("reorder, 9 setters", programs::reorder(9), Some(27.0)),
        ("wronglock, 1 writer", programs::wronglock(1), Some(2.0)),
        ("wronglock, 3 writers", programs::wronglock(3), Some(2.0)),
        ("lost update, 2", programs::lost_update(2), Some(2.0)),
        ("pipe release", programs::pipe_release(true), Some(2.0)),
        ("pipe release, order reversed", programs::pipe_release(false), Some(2.0)),
        ("work stealing, 2 thieves", programs::work_stealing(2, 4), Some(4.5)),
        ("thread pool, 2 workers", programs::thread_pool(2, 5), Some(14.0)),
        ("thread pool, 3 workers", programs::thread_pool(3, 5), Some(18.0)),
        ("thread pool, 4 workers", programs::thread_pool(4, 5), Some(22.0)),
        ("thread pool, 5 workers", programs::thread_pool(5, 5), Some(25.0)),
        ("downloader, 2 workers", programs::downloader(2), Some(3.0)),
        ("downloader, 5 workers", programs::downloader(5), Some(14.0)),
        ("downloader, 10 workers", programs::downloader(10), Some(24.0)),
        ("compressor", programs::compressor(false), Some(2.0)),
        ("compressor that joins", programs::compressor(true), Some(8.0)),
        ("scanner", programs::scanner(2), Some(28.0)),
    ]
}

fn first_failures(_: usize) {
    println!(
        "\n| program | best of others | auto | auto, other orders | directed | random | sticky:2 | pct:3 | pos | rapos | surw | feedback | icb | dpor | hapset |"
    );
    println!(
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    );
    for (name, program, best) in programs() {
        // Random walks of programs with fifty tasks are slow and find no failure, so one seed is
        // enough.
        let seeds = if program.tasks.len() > 40 { 1 } else { 20 };
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            best.map_or("-".to_owned(), |best| best.to_string()),
            median(&program, 20, Auto::new),
            median_of_orders(&program, 20, Auto::new),
            median(&program, 1, |_| Directed::new()),
            median(&program, seeds, Random::new),
            median(&program, seeds, |seed| Sticky::new(seed, 2)),
            median(&program, seeds, |seed| Pct::new(seed, 3)),
            median(&program, seeds, Pos::new),
            median(&program, seeds, Rapos::new),
            median(&program, seeds, Surw::new),
            median(&program, seeds, Feedback::new),
            median(&program, 1, |_| Iterative::new(Measure::Preemptions, None)),
            median(&program, 1, |_| Dpor::new()),
            median(&program, 1, |_| Hapset::new(0, 0, None)),
        );
    }
}

fn complete(most: usize) {
    let rows = [
        ("readers 13", programs::readers(13), 8_192, Some(23_457)),
        ("lastzero 10", programs::lastzero(10), 3_328, Some(6_659)),
        ("lastzero 15", programs::lastzero(15), 147_456, Some(4_096)),
        ("indexer 15", programs::indexer(15), 4_096, Some(1_450)),
        ("filesystem 19", programs::filesystem(19), 64, None),
        ("one lock, 7", programs::locked(7, 1), 5_040, Some(7_723)),
        ("2 tasks, 6 locked increments", programs::locked(2, 6), 924, Some(2_875)),
    ];
    // The rate of GenMC for comparison: 0.11 on one core of a 2.8 GHz Xeon.
    println!("| complete dpor | classes | executions | seconds | executions a second | GenMC's |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, program, classes, others) in rows {
        let began = Instant::now();
        let executions = runs(&program, &mut Dpor::new()).take(most).count();
        let seconds = began.elapsed().as_secs_f64();
        let rate = executions as f64 / seconds;
        let others: Option<u32> = others;
        let others = others.map_or("-".to_owned(), |rate| rate.to_string());
        println!("| {name} | {classes} | {executions} | {seconds:.2} | {rate:.0} | {others} |");
    }
}

/// The time of one step of the simulator with this strategy, in nanoseconds.
fn step<S: Strategy>(program: &Program, make: impl Fn() -> S) -> f64 {
    let once = || {
        let mut strategy = make();
        let began = Instant::now();
        let ran = runs(program, &mut strategy).take(5_000);
        let steps: usize = ran.map(|run| run.choices.len()).sum();
        began.elapsed().as_nanos() as f64 / steps.max(1) as f64
    };
    // The minimum, since other load on the machine can only increase the time.
    (0..7).map(|_| once()).fold(f64::MAX, f64::min)
}

fn overhead(_: usize) {
    // Three tasks, about a hundred steps.
    let program = programs::locked(3, 8);
    let bare = step(&program, || NonPreemptive);
    println!(
        "\n| strategy | ns a step beyond the default schedule ({bare:.0} with the simulator) |"
    );
    println!("| --- | --- |");
    let plans = [
        ("random", Plan::seeded("random", 0)),
        ("sticky", Plan::seeded("sticky", 0)),
        ("pct", Plan::seeded("pct", 0)),
        ("pos", Plan::seeded("pos", 0)),
        ("rapos", Plan::seeded("rapos", 0)),
        ("icb", Plan::bounded("icb", None)),
        ("surw", Plan::seeded("surw", 0)),
        ("feedback", Plan::seeded("feedback", 0)),
        ("dpor", Plan::bounded("dpor", None)),
        ("dpor within 2", Plan::bounded("dpor", Some(2))),
        ("hapset", Plan::seeded("hapset", 0)),
        ("directed", Plan::seeded("directed", 0)),
        ("auto", Plan::seeded("auto", 0)),
    ];
    for (name, plan) in plans {
        println!("| {name} | {:.0} |", step(&program, || AnyStrategy::new(plan.clone())) - bare);
    }
}

/// A table by its name, and what prints it within a number of executions.
type Table = (&'static str, fn(usize));

fn main() {
    // With an argument, only the table of that name is printed.
    let one = std::env::args().nth(1);
    let most = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let tables: [Table; 3] =
        [("complete", complete), ("overhead", overhead), ("first", first_failures)];
    for (_, print) in
        tables.iter().filter(|(name, _)| one.as_deref().is_none_or(|one| one == *name))
    {
        print(most);
    }
}
