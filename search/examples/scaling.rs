//! How searches on several machines scale: the rounds of real searches of abstract programs, run by
//! simulated workers that wait for messages.
//!
//! `cargo run --release -p search --example scaling [LATENCY] [EXECUTION] [SIZE]` prints the speed as a
//! multiple of that of one worker. The times are in microseconds: a message through the server, and one
//! execution. What the collector does is measured while the search runs here: encoding a piece, decoding a
//! result, and merging the results of a round into the next. SIZE: the searches by partial order reduction
//! have 2^SIZE classes.

use search::share::frontier::{self, Frontier};
use search::simulation::{Program, programs, run};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::time::Instant;
use traces::compact;
use traces::wire::Plan;

/// Times in microseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// From one machine through the server to another.
    latency: f64,
    execution: f64,
}

/// After this time a worker returns what it has of a piece, and the rest is given out again.
const SLICE: f64 = 600_000.0;
/// How many pieces a machine holds in addition to the one that it runs.
const AHEAD: usize = 1;

/// One round of a search.
#[derive(Debug, Default)]
struct Round {
    /// The executions of each piece.
    pieces: Vec<u64>,
    /// What the collector does between this round and the next, in microseconds: measured.
    between: f64,
    /// What it does to send one piece and to take one result, in microseconds: measured.
    each: f64,
}

type Rounds = Vec<Round>;

/// How often each measurement is repeated; the least counts, since other programs use the processor, too.
const REPEATS: usize = 3;

/// The least time that `work` takes, in microseconds, and its last result.
fn least<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut once = || {
        let began = Instant::now();
        let result = work();
        (began.elapsed().as_secs_f64() * 1e6, result)
    };
    (1..REPEATS).fold(once(), |(least, _), _| {
        let (time, result) = once();
        (least.min(time), result)
    })
}

/// The rounds of a search of at most `most` executions. `run_piece` runs a piece.
fn rounds(
    plan: Plan,
    most: u64,
    mut run_piece: impl FnMut(frontier::Work) -> frontier::WorkResult,
) -> Rounds {
    let mut frontier = Frontier::new(plan);
    let mut rounds = Rounds::new();
    let mut settling = 0.0;
    while frontier.runs() < most {
        let mut before = vec![frontier.clone(); REPEATS];
        let (taking, (pieces, next)) = least(|| {
            let mut frontier = before.pop().expect("one for each repetition");
            (frontier.round(most - frontier.runs()), frontier)
        });
        frontier = next;
        // Without the check at the end of the search.
        if pieces.first().is_none_or(|piece| !piece.searches) {
            break;
        }
        let (encoding, sent) =
            least(|| pieces.iter().map(compact::encode).collect::<Vec<Vec<u8>>>());
        let results = sent.iter().map(|sent| run_piece(compact::decode(sent).expect("a piece")));
        let returned: Vec<Vec<u8>> = results.map(|result| compact::encode(&result)).collect();
        let (decoding, results) = least(|| {
            let results = returned.iter().map(|it| compact::decode(it).expect("a result"));
            results.collect::<Vec<frontier::WorkResult>>()
        });
        rounds.push(Round {
            pieces: results.iter().map(|result| result.executions).collect(),
            between: settling + taking,
            each: (encoding + decoding) / pieces.len() as f64,
        });
        let mut before = vec![(frontier.clone(), results); REPEATS];
        (settling, frontier) = least(|| {
            let (mut frontier, results) = before.pop().expect("one for each repetition");
            frontier.settle(results);
            frontier
        });
    }
    rounds
}

/// The rounds of a search of ranges of numbers: every piece uses its whole budget.
fn ranges(executions: u64) -> Rounds {
    rounds(Plan::seeded("random", 1), executions, |work| {
        let executions = work.budget;
        let (redundant, exhausted, classes) = (0, false, Vec::new());
        frontier::WorkResult { work, executions, redundant, exhausted, classes }
    })
}

/// The rounds of a complete search by partial order reduction, with shared state or without.
fn orders(strategy: &str, program: &Program) -> Rounds {
    rounds(Plan::bounded(strategy, None), u64::MAX, |piece| {
        frontier::work(piece, |strategy| run(program, strategy).ending.is_ok())
    })
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
fn simulate_round(round: &Round, machines: usize, times: Times, begin: f64) -> f64 {
    let begin = begin + round.between;
    // What is left to run of each piece, and when the server has it.
    let mut queue: BinaryHeap<(Reverse<u64>, Reverse<usize>)> = BinaryHeap::new();
    let nanos = |time: f64| (time * 1000.0) as u64;
    let mut left: Vec<f64> =
        round.pieces.iter().map(|&runs| runs as f64 * times.execution).collect();
    for piece in 0..left.len() {
        // The collector sends one after another.
        let sent = begin + (piece + 1) as f64 * round.each / 2.0;
        queue.push((Reverse(nanos(sent + times.latency)), Reverse(piece)));
    }
    // When each machine can begin another piece. A request for one is always at the server, as long as
    // the machine holds no more than it may.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> =
        (0..machines).map(|machine| Reverse((nanos(begin), machine))).collect();
    let mut merged = begin;
    while let (Some((Reverse(ready), Reverse(piece))), Some(Reverse((idle, machine)))) =
        (queue.pop(), free.pop())
    {
        // A piece that waited on the machine begins at once; another has to travel.
        let waited = AHEAD > 0 && idle > ready + nanos(times.latency);
        let start = if waited { idle } else { idle.max(ready) + nanos(times.latency) };
        let ran = left[piece].min(SLICE);
        left[piece] -= ran;
        let end = start + nanos(ran);
        free.push(Reverse((end, machine)));
        let returned = end as f64 / 1000.0 + 2.0 * times.latency;
        merged = f64::max(merged, returned) + round.each / 2.0;
        if left[piece] > 0.0 {
            queue.push((Reverse(nanos(returned + times.latency)), Reverse(piece)));
        }
    }
    merged
}

fn main() {
    let given: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let at = |index: usize, default: f64| given.get(index).copied().unwrap_or(default);
    let times = Times { latency: at(0, 150.0), execution: at(1, 50.0) };
    let size = at(2, 20.0) as usize;
    println!("{times:?}, in microseconds\n");
    const MACHINES: [usize; 10] = [2, 4, 8, 16, 32, 64, 100, 200, 500, 1000];
    println!("| search | {} |", MACHINES.map(|machines| machines.to_string()).join(" | "));
    println!("| --- |{}", " --- |".repeat(MACHINES.len()));
    let mut remarks = String::new();
    let classes = |strategy: &str| {
        let name = format!("{strategy}, {} classes", 1_u64 << size);
        (name, orders(strategy, &programs::readers(size)))
    };
    let searches = [
        ("random, 1,000,000 executions".to_owned(), ranges(1_000_000)),
        ("random, 100,000,000 executions".to_owned(), ranges(100_000_000)),
        classes("dpor"),
        classes("stateless"),
    ];
    for (name, rounds) in searches {
        let executions: u64 = rounds.iter().flat_map(|round| &round.pieces).sum();
        let pieces: usize = rounds.iter().map(|round| round.pieces.len()).sum();
        let between: f64 = rounds.iter().map(|round| round.between).sum();
        let each: f64 = rounds.iter().map(|round| round.each * round.pieces.len() as f64).sum();
        let _ = writeln!(
            remarks,
            "{name}: {} rounds, {pieces} pieces, {executions} executions; the collector needs {:.0} µs \
             for a piece and {:.0} µs between two rounds",
            rounds.len(),
            each / pieces as f64,
            between / rounds.len() as f64
        );
        let alone = simulate(&rounds, 1, times);
        let speed = |machines| format!("{:.1}", alone / simulate(&rounds, machines, times));
        println!("| {name} | {} |", MACHINES.map(speed).join(" | "));
    }
    print!("\n{remarks}");
}
