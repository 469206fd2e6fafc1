//! Prints the time of debugger commands on a schedule, with gdb and with the protocol alone: `cargo
//! run --release -p tests --example debugger_figures [ROWS]`, where ROWS is a part of the names of
//! the wanted rows. Each is the best of several runs, to exclude other load of the machine.

use std::time::{Duration, Instant};
use tests::debugging::{compiled_text, failing, gdb, gdb_on};
use tests::heddle::{Home, Run};
use tests::rsp::{Client, Server};

/// A thread that executes about `N` instructions of the kind `KIND` between two operations, with
/// code before and after.
const PROGRAM: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sum;
static unsigned char *text;
__attribute__((noinline)) static void add(unsigned long i) { sum += i; }
/* One loop, with a call. */
static void counts(long n) { for (long i = 0; i < n / 16; i++) add(i); }
/* Loops in loops, the inner ones of all lengths. */
static void nests(long n) {
    for (long i = 0; i < n / 1024; i++)
        for (long j = 0; j < 128; j++)
            sum ^= i * j;
}
/* A long loop inside the last pass of another. */
static void late(long n) {
    for (int i = 0; i < 3; i++)
        for (long j = 0; j < (i == 2 ? n / 8 : 2); j++)
            sum ^= j;
}
/* Calls in calls. */
static unsigned long tree(long depth) { return depth < 2 ? 1 : tree(depth - 1) + tree(depth - 2); }
static void recurses(long n) { long depth = 3; for (long all = 40; all < n; all += all * 6 / 10) depth++; sum += tree(depth); }
/* Branches by data, and jumps back from many places. */
static void decides(long n) {
    unsigned long x = 12345;
    for (long i = 0; i < n / 20; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        switch (x >> 61) {
        case 0: sum += x; continue;
        case 1: sum ^= x; if (x & 4096) continue; break;
        case 2: while (x & 3) x += 1; break;
        case 3: add(x); continue;
        default: sum -= 1;
        }
        if (x >> 40 & 1) continue;
        sum += 3;
    }
}
static int order(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }
/* A library's function that calls back. */
static void sorts(long n) { qsort(text, n / 300, 1, order); }
static void (*const kinds[])(long) = {counts, nests, late, recurses, decides, sorts};
static void *worker(void *argv) {
    long kind = atol(((char **)argv)[1]), n = atol(((char **)argv)[2]);
    text = malloc(n + 1);
    for (long i = 0; i < n / 300; i++) text[i] = i * 7919;
    pthread_mutex_lock(&lock);
    kinds[kind](n);
    sum += 1;                                               /* HERE */
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(int argc, char **argv) {
    pthread_t thread;
    (void)argc;
    pthread_create(&thread, 0, worker, argv);
    pthread_join(thread, 0);
    return 0;
}
";
const KINDS: [&str; 6] = [
    "a loop with a call",
    "loops in loops",
    "a long loop late",
    "recursion",
    "branches by data",
    "qsort",
];

/// Two threads, one after the other, that write to variables and pass a function many times.
const HOT: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long one, several, called, both, sum;
static long turns;
__attribute__((noipa)) void call(long i) { called = i; sum += i; }
__attribute__((noipa)) long down(long n) { return n == 0 ? sum : down(n - 1) + 1; }
static void *run(void *x) {
    pthread_mutex_lock(&lock);
    for (long i = 0; i < turns; i++) one = i;
    sum += 1;                                               /* LINE */
    for (long i = 0; i < turns; i++) {
        several = i;
        several += 3;
    }
    sum += 1;                                               /* LINES */
    for (long i = 0; i < turns; i++) call(i);
    for (long i = 0; i < turns / 2; i++) both++;
    sum += down(turns / 100);                               /* DEEP */
    pthread_mutex_unlock(&lock);
    return x;
}
int main(int argc, char **argv) {
    pthread_t threads[2];
    turns = argc > 1 ? atol(argv[1]) : 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

/// The rows to run, by a part of their names.
struct Rows(Option<String>);

impl Rows {
    fn wants(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }

    fn row(&self, name: &str, wanted: &str, measure: impl FnOnce() -> String) {
        if self.wants(name) {
            println!("| {name} | {} | {wanted} |", measure());
        }
    }
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}

fn best(times: u32, mut measure: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| measure()).min().unwrap_or_default()
}

fn timed(what: impl FnOnce()) -> Duration {
    let since = Instant::now();
    what();
    since.elapsed()
}

/// The command, between two readings of the clock.
fn clocked(command: &str) -> [String; 3] {
    [
        "python import time; since = time.perf_counter()".to_owned(),
        command.to_owned(),
        "python print('took', time.perf_counter() - since)".to_owned(),
    ]
}

/// The times that gdb printed for the clocked commands.
fn took(run: &Run) -> Vec<Duration> {
    let seconds = run.stdout.lines().filter_map(|line| line.strip_prefix("took "));
    let all: Vec<Duration> =
        seconds.filter_map(|text| text.parse().ok()).map(Duration::from_secs_f64).collect();
    assert!(!all.is_empty(), "{run:?}");
    all
}

fn with_gdb(home: &Home, program: &[&str], before: &[&str], clock: &str, times: usize) -> Duration {
    let mut commands: Vec<String> = before.iter().map(|&it| it.to_owned()).collect();
    commands.extend((0..times).flat_map(|_| clocked(clock)));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    *took(&gdb_on(home, program, &commands)).iter().min().expect("some")
}

/// Sends a packet that resumes the program, and waits for the stop.
fn resumed(client: &mut Client, packet: &str) -> Duration {
    timed(|| assert!(client.ask(packet).starts_with('T'), "{packet}"))
}

/// Backwards through code that is executed many times.
fn hot_code(rows: &Rows, home: &Home) {
    let program = compiled_text(home, "hot", HOT, &["-Wno-unused-result"]);
    let line = |mark: &str| {
        let at = HOT.lines().position(|line| line.contains(mark)).expect("it is there");
        format!("tbreak hot.c:{}", at + 1)
    };
    for (turns, name) in [("10000", "10,000"), ("1000000", "1,000,000")] {
        let words = [program.as_str(), turns];
        for (variable, what) in [
            ("one", "one instruction"),
            ("several", "several instructions"),
            ("called", "calls"),
            ("both", "two threads"),
        ] {
            rows.row(
                &format!("reverse-continue to the last of {name} writes by {what}"),
                "< 1 s",
                || {
                    let watch = format!("watch {variable}");
                    ms(with_gdb(home, &words, &["continue", &watch], "reverse-continue", 1))
                },
            );
            rows.row(&format!("the same again, {name} writes by {what}"), "", || {
                let watch = format!("watch {variable}");
                let before = ["continue", watch.as_str(), "reverse-continue"];
                ms(with_gdb(home, &words, &before, "reverse-continue", 1))
            });
        }
        rows.row(&format!("reverse-continue to the last of {name} passes"), "< 1 s", || {
            ms(with_gdb(home, &words, &["continue", "break call"], "reverse-continue", 1))
        });
        rows.row(&format!("the same again, {name} passes"), "", || {
            let before = ["continue", "break call", "reverse-continue"];
            ms(with_gdb(home, &words, &before, "reverse-continue", 1))
        });
        rows.row(&format!("the nearest of {name} writes (sched history)"), "< 1 s", || {
            ms(with_gdb(home, &words, &["continue"], "sched history one", 1))
        });
        for command in ["reverse-next", "reverse-step", "reverse-stepi"] {
            rows.row(&format!("{command} over a loop of {name} turns, lines"), "< 1 s", || {
                ms(with_gdb(home, &words, &[&line("/* LINES */"), "continue"], command, 1))
            });
        }
        rows.row(&format!("reverse-next over a loop of {name} turns, a line"), "< 1 s", || {
            ms(with_gdb(home, &words, &[&line("/* LINE */"), "continue"], "reverse-next", 1))
        });
        rows.row(&format!("reverse-finish at depth {name} / 100"), "< 200 ms", || {
            let before = ["break down if n == 0", "continue"];
            ms(with_gdb(home, &words, &before, "reverse-finish", 1))
        });
    }
}

fn main() {
    let rows = Rows(std::env::args().nth(1));
    println!("| command | time, ratio or passes | asked |\n| --- | --: | --: |");
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let empty = Home::new();
    rows.row("attach: `heddle gdb TRACE` until gdb has its prompt", "< 1 s", || {
        let all = best(3, || timed(|| drop(gdb(&home, &trace, "failure", &[]))));
        ms(all)
    });
    let program = compiled_text(&empty, "far", PROGRAM, &["-no-pie", "-Wno-unused-result"]);
    for command in ["stepi", "step", "next", "reverse-stepi", "reverse-step", "reverse-next"] {
        rows.row(&format!("{command} in gdb"), "< 50 ms", || {
            let commands = ["break add if i == 5", "continue", "delete"];
            ms(with_gdb(&empty, &[&program, "0", "1600"], &commands, command, 3))
        });
    }
    for (n, wanted, name) in [(10_000u64, "< 100 ms", "10,000"), (1_000_000, "< 1 s", "1,000,000")]
    {
        for (kind, what) in KINDS.iter().enumerate() {
            for command in ["reverse-stepi", "reverse-step", "reverse-next"] {
                rows.row(&format!("{command} over {name} instructions: {what}"), wanted, || {
                    let line =
                        1 + PROGRAM.lines().position(|line| line.contains("HERE")).expect("it");
                    let place = format!("tbreak far.c:{line}");
                    let arguments = [kind.to_string(), n.to_string()];
                    let words = [program.as_str(), &arguments[0], &arguments[1]];
                    ms(with_gdb(&empty, &words, &[&place, "continue"], command, 1))
                });
            }
        }
    }
    hot_code(&rows, &empty);
    // A client that only speaks the protocol, to measure the server's share of the time.
    let server =
        Server::start_on(&empty, &[&program, "0", "16000000"], &["--at", "main", "--keep"]);
    rows.row("reverse-continue, to the run forwards", "< 2", || {
        let mut client = server.connect();
        let forwards = resumed(&mut client, "vCont;c");
        let back = best(3, || {
            client.ask("vRun;");
            resumed(&mut client, "vCont;c");
            resumed(&mut client, "bc")
        });
        format!("{:.2}", back.as_secs_f64() / forwards.as_secs_f64())
    });
    rows.row("conditional breakpoint, passes a second", "> 50,000", || {
        let commands = ["break add if i == 999999"];
        let time = with_gdb(&empty, &[&program, "0", "16000000"], &commands, "continue", 1);
        format!("{:.0}", 1e6 / time.as_secs_f64())
    });
    rows.row("two conditions at one place, passes a second", "> 50,000", || {
        let commands = ["break add if i == 1999999", "break add if sum == 1 && i > 5"];
        let time = with_gdb(&empty, &[&program, "0", "16000000"], &commands, "continue", 1);
        format!("{:.0}", 1e6 / time.as_secs_f64())
    });
    rows.row("the same backwards (reverse-continue)", "> 50,000", || {
        let commands = ["continue", "break add if i == 3"];
        let time = with_gdb(&empty, &[&program, "0", "16000000"], &commands, "reverse-continue", 1);
        format!("{:.0}", 1e6 / time.as_secs_f64())
    });
    rows.row("breakpoint with `ignore`, passes a second", "", || {
        let commands = ["break add", "ignore 1 2000"];
        let time = with_gdb(&empty, &[&program, "0", "320000"], &commands, "continue", 1);
        format!("{:.0}", 2000.0 / time.as_secs_f64())
    });
}
