//! Prints what looking at accesses to memory costs a program that was built to tell of them:
//! `cargo run --release -p tests --example race_cost`. Nanoseconds an access, each the best of some runs, with
//! nobody looking (`--points api`) and with races looked for; and how many times slower the program is.

use std::process::Command;
use tests::debugging::compiled_text;
use tests::heddle::{Home, binary};
use traces::report::Report;

/// Two tasks, each with `LEN` words of its own and as many in common, which they take turns with under a lock:
/// a stretch is what one does between two releases. In `TURNS` of them each access is made `TIMES` times.
const PROGRAM: &str = r"
#include <pthread.h>
enum { LEN = 2048, TURNS = 200 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long common[LEN], own[2][LEN], hot;
static void sweep(long *words, int times) {
    for (int again = 0; again < times; again++)
        for (int at = 0; at < LEN; at++)
            words[at] += at;
}
static void *work(void *number) {
    for (int turn = 0; turn < TURNS; turn++) {
        pthread_mutex_lock(&lock);
        if (KIND == 0)
            sweep(own[(long)number], TIMES);
        else if (KIND == 1)
            sweep(common, TIMES);
        else
            for (int at = 0; at < TIMES; at++)
                hot++;
        pthread_mutex_unlock(&lock);
        if (KIND == 2)
            for (int at = 0; at < TIMES; at++)
                hot++;
    }
    return 0;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, work, (void *)1L);
    work((void *)0L);
    pthread_join(other, 0);
    return 0;
}
";

/// A kind of access: what it is called, its number, how often each is made in a stretch, how many a turn makes.
const KINDS: [(&str, u32, u32, u64); 5] = [
    ("words of one task, once in a stretch", 0, 1, 2 * 2048),
    ("words that tasks hand on, once in a stretch", 1, 1, 2 * 2048),
    ("words of one task, eight times", 0, 8, 16 * 2048),
    ("words that tasks hand on, eight times", 1, 8, 16 * 2048),
    ("points, without a switch", 2, 40, 4 * 40),
];
const TURNS: u64 = 2 * 200;
const RUNS: u32 = 5;

/// Seconds of an execution: those of a search, without what it takes to begin.
fn seconds(home: &Home, program: &str, points: &str) -> f64 {
    let time = |executions: &str| {
        let args = ["explore", "--json", "--keep-going", "--strategy", "sticky:1000000"];
        let limits = ["--workers", "1", "--max-steps", "1000000", "--max-executions", executions];
        let rest = ["--points", points, "--", program];
        let mut command = home.command(args.iter().chain(&limits).chain(&rest));
        let output = command.output().expect("the binary runs");
        let report: Report = serde_json::from_slice(&output.stdout).expect("a report");
        report.elapsed_s
    };
    // What was learned is there from the first time on.
    time("1");
    let best = |executions: &str| (0..RUNS).map(|_| time(executions)).fold(f64::MAX, f64::min);
    (best("31") - best("1")) / 30.0
}

fn main() {
    let home = Home::new();
    println!("{}", binary().display());
    let version = Command::new("cc").arg("--version").output().expect("a compiler").stdout;
    println!("{}", String::from_utf8_lossy(&version).lines().next().unwrap_or_default());
    println!("| accesses | nobody looks, ns | looked at, ns | ratio |");
    println!("| --- | --- | --- | --- |");
    for (what, kind, times, accesses) in KINDS {
        let (kind, times) = (format!("-DKIND={kind}"), format!("-DTIMES={times}"));
        let flags = ["-O1", "-fsanitize=thread", &kind, &times];
        let program = compiled_text(&home, "cost", PROGRAM, &flags);
        let (off, on) = (seconds(&home, &program, "api"), seconds(&home, &program, "racy"));
        let each = |seconds: f64| seconds * 1e9 / (accesses * TURNS) as f64;
        println!("| {what} | {:.1} | {:.1} | {:.1} |", each(off), each(on), on / off);
    }
}
