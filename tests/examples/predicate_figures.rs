//! Prints what the search for predicates costs, as the tables of docs/figures.md: `cargo run
//! --release -p tests --example predicate_figures -- [SEEDS]`. Without seeds (0) only the second table.
//!
//! * In which execution the kinds of bug of `predicate_kinds` are reached once their predicate is
//!   given, and how many executions a random walk needs for the same state.
//! * Nanoseconds for each arrival at a site, for the evaluation of a condition there, and for an
//!   instruction that is no site.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::predicates::{KINDS, found_at, path};
use traces::report::Report;

/// The most executions of a random walk, as a multiple of those with the predicate, and at most.
const TIMES: u64 = 100;
const MOST_WALKS: u64 = 20_000;

fn explore(home: &Home, options: &[&str], program: &[&str]) -> Report {
    let always = ["--workers", "1", "--max-steps", "1000000"];
    home.explore(&[&always[..], options].concat(), program)
}

/// The median of an odd number of values, and the greatest.
fn middle(mut all: Vec<u64>) -> (u64, u64) {
    all.sort_unstable();
    (all[all.len() / 2], all[all.len() - 1])
}

fn first_executions(seeds: u64) {
    let path = path("predicate_kinds");
    println!("| kind | threads | other operations | with the predicate (worst) | random | times |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (kind, when) in KINDS {
        for (threads, noise) in [("2", "1"), ("2", "100"), ("8", "1"), ("8", "100"), ("64", "1")] {
            let when = when.replace("any N", &format!("any {threads}"));
            let program = [path.as_str(), kind, threads, noise];
            let reached = |strategy: &str, seed: u64, most: u64| {
                let (seed, most) = (seed.to_string(), most.to_string());
                let options = [
                    "--when",
                    &when,
                    "--strategy",
                    strategy,
                    "--seed",
                    &seed,
                    "--max-executions",
                    &most,
                ];
                found_at(&explore(&Home::new(), &options, &program)).map(|at| at.max(1))
            };
            let directed = (0..seeds).map(|seed| reached("when", seed, 100).unwrap_or(u64::MAX));
            let (median, worst) = middle(directed.collect());
            let most = MOST_WALKS.min(TIMES.saturating_mul(worst) * 2);
            let walks = (0..seeds).map(|seed| reached("random", seed, most).unwrap_or(u64::MAX));
            let (random, _) = middle(walks.collect());
            let (random, times) = match random {
                u64::MAX => (format!("> {most}"), format!("> {}", most / median)),
                _ => (random.to_string(), (random / median).to_string()),
            };
            println!("| {kind} | {threads} | {noise} | {median} ({worst}) | {random} | {times} |");
        }
    }
}

/// One thread passes a line many times; another one waits for it, at a line that it never leaves, or
/// reaches.
const PROGRAM: &str = r"
#include <pthread.h>
struct queue { struct queue *next; int len; short limit; };
static struct queue queues[2] = {{&queues[1], 1, 2}, {&queues[0], 2, 3}}, *volatile queue = queues;
static volatile int other, never;
static void *work(void *unused) {
    volatile int own[2] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        own[round & 1] = round;
        other++; // here
    }
    return unused;
}
static void *idle(void *unused) {
    if (never)
        other--; // there
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, idle, 0);
    return pthread_join(threads[0], 0) + pthread_join(threads[1], 0);
}
";

const ROUNDS: u64 = 2_000;
const EXECUTIONS: u64 = 1_000;

/// The processor time of all processes that this one waited for so far, in nanoseconds.
fn processor_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it is always there");
    let all = [usage.user_time(), usage.system_time()];
    all.iter().map(|time| time.num_microseconds() as f64 * 1e3).sum()
}

/// The processor time of an execution in nanoseconds, the least of some searches. The time of a short
/// search is subtracted from that of a long one, so that the start and the learning phase count for
/// nothing; processor time depends little on what else the machine does.
fn execution(home: &Home, program: &str, options: &[&str]) -> f64 {
    let search = |executions: u64| {
        let number = executions.to_string();
        let fixed = ["--strategy", "random", "--max-executions", &number];
        let before = processor_time();
        let report = explore(home, &[&fixed[..], options].concat(), &[program]);
        assert_eq!(report.executions, executions, "{report:?}");
        processor_time() - before
    };
    let least = |executions: u64| (0..5).map(|_| search(executions)).fold(f64::MAX, f64::min);
    (least(EXECUTIONS + 10) - least(10)) / EXECUTIONS as f64
}

fn evaluation() {
    let home = Home::new();
    let rounds = format!("-DROUNDS={ROUNDS}");
    let program = compiled_text(&home, "passes", PROGRAM, &["-O1", "-g", &rounds]);
    let here = "work@passes.c:\"// here\"";
    let there = "idle@passes.c:\"// there\"";
    let each = |options: &[&str]| execution(&home, &program, options) / ROUNDS as f64;
    let without = each(&[]);
    let elsewhere = each(&["--when", &format!("{there}: queue->len == 7")]);
    let arrival = each(&["--when", &format!("{here} && {there}")]);
    println!("\n| measured | ns |\n|---|--:|");
    println!("| a turn of the loop without a predicate | {without:.0} |");
    println!("| with a predicate whose site is elsewhere, more | {:.0} |", elsewhere - without);
    println!("| with a site in the loop, two operations more | {:.0} |", arrival - without);
    for condition in [
        "queue == NULL",
        "queue->len == 7",
        "queue->next->len > queue->limit && queue->len == 7",
        "work.round == -1",
        "work.own[0] == -1",
        "work.own[0] > work.own[1] + 1000000 && queue->len > work.round",
        "queue->next->next->next->len * 3 - work.round == sizeof(int) + 1000000",
    ] {
        let with = each(&["--when", &format!("{here}: {condition}")]);
        println!("| evaluating `{condition}` at it, more | {:.0} |", with - arrival);
    }
}

fn main() {
    let seeds = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(5);
    if seeds > 0 {
        first_executions(seeds);
    }
    evaluation();
}
