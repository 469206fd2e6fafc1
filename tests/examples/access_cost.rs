//! Prints the cost of monitoring memory accesses: `cargo run --release -p tests --example
//! access_cost`. Nanoseconds per access, measured by the program with the processor's time-stamp
//! counter, each the minimum of many; without monitoring (`--points api`) and with all accesses
//! monitored; and the duration of learning.

use std::arch::x86_64::_rdtsc;
use std::process::Command;
use std::time::{Duration, Instant};
use tests::debugging::compiled_text;
use tests::heddle::{Home, binary};
use traces::report::Report;

/// Two tasks that alternate. Each accesses private words and shared words, once and eight times;
/// halves and bytes of words; makes points without a switch; and executes an instruction that needs
/// a breakpoint probe.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
enum { LEN = 2048, TURNS = 60, KINDS = 7 };
static sem_t turn[2];
static long own[2][LEN], common[LEN];
static volatile long hot;
static int halves[2][LEN];
static char bytes[2][LEN];
static unsigned long best[KINDS];
#define APART __attribute__((noinline, no_sanitize("thread")))
APART static unsigned long now(void) { return __builtin_ia32_rdtsc(); }
APART static void note(int kind, unsigned long since) {
    unsigned long took = now() - since;
    if (!best[kind] || took < best[kind])
        best[kind] = took;
}
#define PASS(words) for (int at = 0; at < LEN; at++) words[at] += at
static void *work(void *number) {
    long me = (long)number;
    for (int again = 0; again < TURNS; again++) {
        sem_wait(&turn[me]);
        unsigned long since = now();
        PASS(own[me]);
        note(0, since);
        since = now();
        PASS(common);
        note(1, since);
        since = now();
        for (int times = 0; times < 8; times++)
            PASS(own[me]);
        note(2, since);
        since = now();
        PASS(halves[me]);
        note(3, since);
        since = now();
        PASS(bytes[me]);
        note(4, since);
        sem_post(&turn[!me]);
        since = now();
        for (int at = 0; at < 10; at++)
            hot++;
        note(5, since);
#if BREAKPOINT
        long left = 2000, *word = own[me];
        since = now();
        // A jump to the second instruction prevents a jump probe over the first.
        __asm__ volatile("jmp 2f\n1: mov (%1), %%eax\n2: dec %0\njnz 1b" : "+r"(left) : "r"(word) : "eax");
        note(6, since);
#endif
    }
    return 0;
}
APART int main(int count, char **args) {
    pthread_t other;
    sem_init(&turn[0], 0, 1);
    pthread_create(&other, 0, work, (void *)1L);
    work((void *)0L);
    pthread_join(other, 0);
    static const double accesses[KINDS] = { 2 * LEN, 2 * LEN, 16 * LEN, 2 * LEN, 2 * LEN, 20, 1999 };
    int file = open(args[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
    char line[400];
    int len = 0;
    for (int kind = 0; kind < KINDS; kind++)
        len += sprintf(line + len, "%.3f ", best[kind] / accesses[kind]);
    line[len++] = '\n';
    write(file, line, len);
    return 0;
}
"#;

const KINDS: [&str; 7] = [
    "words of one task, once in a stretch",
    "words that tasks hand on, once in a stretch",
    "words of one task, eight times",
    "halves of words of one task",
    "bytes of one task",
    "points, without a switch",
    "at a breakpoint",
];

/// Cycles of the counter in a nanosecond.
fn rate() -> f64 {
    // SAFETY: every processor of this kind has the counter.
    let counter = || unsafe { _rdtsc() } as f64;
    let (from, began) = (counter(), Instant::now());
    std::thread::sleep(Duration::from_millis(200));
    (counter() - from) / began.elapsed().as_nanos() as f64
}

/// Explores a program and returns the report.
fn explore(home: &Home, options: &[&str], program: &[&str]) -> Report {
    let always = ["--keep-going", "--workers", "1", "--max-steps", "10000000"];
    home.explore(&[&always[..], options].concat(), program)
}

/// The minimum cost of each kind of access in an execution of a search, in cycles.
fn cycles(home: &Home, program: &str, points: &str) -> Vec<f64> {
    let file = home.path().join(format!("figures-{points}"));
    let file = file.to_string_lossy();
    // A search of all schedules monitors all accesses, and its first execution has no preemption.
    // The program's figures are to stay: its working directory is not copied.
    let options = ["--points", points, "--strategy", "dfs", "--max-executions", "3"];
    explore(home, &[&options[..], &["--scratch=never"]].concat(), &[program, &file]);
    let text = std::fs::read_to_string(&*file).expect("the program wrote its figures");
    // The executions before belong to the learning phase.
    let last = text.lines().last().expect("a line for each execution");
    let cycles = last.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    std::fs::remove_file(&*file).expect("it was there");
    cycles
}

/// 10,000 sites with 1,000,000 accesses in total, and one word with a race between two tasks.
fn many_places() -> String {
    let mut text = String::from(
        "#include <pthread.h>\nstatic volatile long words[2][5000], shared;\n\
         static void pass(volatile long *own) {\n",
    );
    for at in 0..5000 {
        text += &format!("own[{at}] += {at};\n");
    }
    text + "}\nstatic void *work(void *number) {\n\
            for (int again = 0; again < 50; again++) pass(words[(long)number]);\n\
            shared++;\nreturn 0;\n}\nint main(void) {\npthread_t other;\n\
            pthread_create(&other, 0, work, (void *)1L);\nwork((void *)0L);\n\
            return pthread_join(other, 0);\n}\n"
}

fn learning(home: &Home, what: &str, program: &[&str]) {
    // Stored points are not to be reused.
    let _ = std::fs::remove_dir_all(home.path().join("heddle-out"));
    let began = Instant::now();
    let report = explore(home, &["--strategy", "random", "--max-executions", "1"], program);
    let took = began.elapsed().as_secs_f64();
    let executions = report.executions + report.checks;
    println!(
        "{what}: {took:.2} s, {executions} executions, {:.2} s each",
        took / executions as f64
    );
}

fn main() {
    let home = Home::new();
    println!("{}", binary().display());
    let version = Command::new("cc").arg("--version").output().expect("a compiler").stdout;
    println!("{}", String::from_utf8_lossy(&version).lines().next().unwrap_or_default());
    let rate = rate();
    for (how, flags) in [
        ("by compiled code", &["-O1", "-fsanitize=thread", "-DBREAKPOINT=0"][..]),
        ("by probes", &["-O1", "-fno-tree-vectorize", "-DBREAKPOINT=1"]),
    ] {
        let program = compiled_text(&home, "cost", PROGRAM, flags);
        let off = cycles(&home, &program, "api");
        let on = cycles(&home, &program, "racy");
        println!("\n| accesses | not monitored, ns | monitored {how}, ns | ratio |");
        println!("| --- | --- | --- | --- |");
        for ((what, off), on) in KINDS.iter().zip(off).zip(on).filter(|((_, off), _)| *off > 0.0) {
            println!("| {what} | {:.1} | {:.1} | {:.1} |", off / rate, on / rate, on / off);
        }
    }
    println!();
    for flags in [&["-O1"][..], &["-O1", "-fsanitize=thread"]] {
        let program = compiled_text(&home, "places", &many_places(), flags);
        learning(&home, &format!("10,000 places, {}", flags.join(" ")), &[&program]);
    }
    let text: String = (0..).map(|n| format!("line {} of {n}\n", n * n % 977)).take(3500).collect();
    std::fs::write(home.path().join("text"), &text[..50_000]).expect("it can be written");
    learning(&home, "xz -T2 of 50 kB", &["xz", "-T2", "-kfc", "text"]);
}
