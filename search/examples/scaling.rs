//! How searches on several machines scale: the rounds of real searches of abstract programs, run by
//! simulated workers that wait for messages.
//!
//! `cargo run --release -p search --example scaling [LATENCY] [MERGE] [EXECUTION]` prints the speed as a
//! multiple of that of one worker. The three times are in microseconds: a message through the server, the
//! merging of one result, and one execution.

use search::share::frontier::{self, Frontier};
use search::simulation::{Program, programs, run};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use traces::wire::Plan;

/// Times in microseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// From one machine through the server to another.
    latency: f64,
    /// What the collector does for one result, one result after another.
    merge: f64,
    execution: f64,
}

/// After this time a worker returns what it has of a piece, and the rest is given out again.
const SLICE: f64 = 600_000.0;
/// How many pieces a machine holds in addition to the one that it runs.
const AHEAD: usize = 1;

/// The executions of each piece, by rounds.
type Rounds = Vec<Vec<u64>>;

/// The rounds of a search of ranges of numbers: every piece uses its whole budget.
fn ranges(executions: u64) -> Rounds {
    let mut frontier = Frontier::new(Plan::seeded("random", 1));
    let mut rounds = Vec::new();
    while frontier.runs() < executions {
        let round = frontier.round(executions - frontier.runs());
        rounds.push(round.iter().map(|work| work.budget).collect());
        let result = |work: frontier::Work| {
            let executions = work.budget;
            let (redundant, exhausted, classes) = (0, false, Vec::new());
            frontier::WorkResult { work, executions, redundant, exhausted, classes }
        };
        frontier.settle(round.into_iter().map(result).collect());
    }
    rounds
}

/// The rounds of a complete search by partial order reduction, without the check at its end.
fn orders(program: &Program) -> Rounds {
    let mut frontier = Frontier::new(Plan::bounded("dpor", None));
    let mut rounds = Vec::new();
    loop {
        let round = frontier.round(u64::MAX);
        if round.first().is_none_or(|work| !work.searches) {
            return rounds;
        }
        let results: Vec<_> = round
            .into_iter()
            .map(|piece| frontier::work(piece, |strategy| run(program, strategy).ending.is_ok()))
            .collect();
        rounds.push(results.iter().map(|result| result.executions).collect());
        frontier.settle(results);
    }
}

/// The time of a search on this many machines with one worker each.
fn simulate(rounds: &Rounds, machines: usize, times: Times) -> f64 {
    let mut now = 0.0;
    for round in rounds {
        now = simulate_round(round, machines, times, now);
    }
    now
}

/// The time at which the last result of a round is merged.
fn simulate_round(round: &[u64], machines: usize, times: Times, begin: f64) -> f64 {
    // What is left to run of each piece, and when the server has it.
    let mut queue: BinaryHeap<(Reverse<u64>, Reverse<usize>)> = BinaryHeap::new();
    let micros = |time: f64| (time * 1000.0) as u64;
    let mut left: Vec<f64> = round.iter().map(|&runs| runs as f64 * times.execution).collect();
    for piece in 0..round.len() {
        queue.push((Reverse(micros(begin + times.latency)), Reverse(piece)));
    }
    // When each machine can begin another piece. A request for one is always at the server, as long as
    // the machine holds no more than it may.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> =
        (0..machines).map(|machine| Reverse((micros(begin), machine))).collect();
    let mut merged = begin;
    while let (Some((Reverse(ready), Reverse(piece))), Some(Reverse((idle, machine)))) =
        (queue.pop(), free.pop())
    {
        // A piece that waited on the machine begins at once; another has to travel.
        let waited = AHEAD > 0 && idle > ready + micros(times.latency);
        let start = if waited { idle } else { idle.max(ready) + micros(times.latency) };
        let ran = left[piece].min(SLICE);
        left[piece] -= ran;
        let end = start + micros(ran);
        free.push(Reverse((end, machine)));
        let returned = end as f64 / 1000.0 + 2.0 * times.latency;
        merged = f64::max(merged, returned) + times.merge;
        if left[piece] > 0.0 {
            queue.push((Reverse(micros(returned + times.latency)), Reverse(piece)));
        }
    }
    merged
}

fn main() {
    let given: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let at = |index: usize, default: f64| given.get(index).copied().unwrap_or(default);
    let times = Times { latency: at(0, 150.0), merge: at(1, 100.0), execution: at(2, 50.0) };
    println!("{times:?}, in microseconds");
    let searches = [
        ("random, 1,000,000 executions", ranges(1_000_000)),
        ("random, 100,000,000 executions", ranges(100_000_000)),
        ("dpor, 1,048,576 classes", orders(&programs::readers(20))),
    ];
    for (name, rounds) in searches {
        let executions: u64 = rounds.iter().flatten().sum();
        println!("{name}: {} rounds, {executions} executions", rounds.len());
        let alone = simulate(&rounds, 1, times);
        for machines in [2, 4, 8, 16, 32, 64, 100, 1000] {
            println!("{machines:>6} machines: {:6.1}", alone / simulate(&rounds, machines, times));
        }
    }
}
