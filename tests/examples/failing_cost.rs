//! Prints what an execution costs that fails, in multiples of the same execution that passes: `cargo
//! run --release -p tests --example failing_cost -- [TIMES [EXECUTIONS]]`, the least of so many
//! measurements (5) of so many executions (200,000), with `--keep-going`.

use std::process::Command;
use tests::debugging::compiled_text;
use tests::figures::measure::Search;
use tests::heddle::Home;

/// Two threads that increment a counter five times each, by a locked read and a locked write: nearly
/// every execution loses an update, and ends in the way of `FAIL` then.
const PROGRAM: &str = r"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static int *volatile nothing;
static volatile int sink;
static void *add(void *unused) {
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&guard);
        int seen = counter;
        pthread_mutex_unlock(&guard);
        pthread_mutex_lock(&guard);
        counter = seen + 1;
        pthread_mutex_unlock(&guard);
    }
    return unused;
}
int main(void) {
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    if (counter != 10)
        FAIL;
    return 0;
}
";

/// A program whose handler of a fault continues, on its alternative stack, in code that faults again. It prints
/// the nanoseconds of each fault: what the kernel alone takes, which no runtime can avoid.
const FAULTS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { TIMES = 500000 };
static char alternative[65536];
static int *volatile nothing;
static volatile int sink;
static long faults;
static struct timespec began;
static void fault(void) {
    sink = *nothing;
}
static void handle(int signal, siginfo_t *info, void *context) {
    if (++faults < TIMES) {
        // The handler is left without a system call, as Heddle leaves it.
        __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" ::"r"(alternative + 60000 - 8), "r"(fault));
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%f\n", ((now.tv_sec - began.tv_sec) * 1e9 + now.tv_nsec - began.tv_nsec) / TIMES);
    exit(0);
}
int main(void) {
    stack_t stack = { .ss_sp = alternative, .ss_size = sizeof alternative };
    struct sigaction action = { .sa_sigaction = handle,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigaltstack(&stack, 0);
    sigaction(SIGSEGV, &action, 0);
    clock_gettime(CLOCK_MONOTONIC, &began);
    fault();
    return 1;
}
"#;

const WAYS: [(&str, &str); 3] = [
    ("an exit status", "-DFAIL=return 3"),
    ("an assertion", "-DFAIL=assert(!\"lost\")"),
    ("a crash", "-DFAIL=sink = *nothing"),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let times: u32 = args.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let executions: u64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let home = Home::new();
    let microseconds = |name: &str, flag: &str| {
        let program = compiled_text(&home, name, PROGRAM, &["-O2", flag]);
        let options = ["--keep-going", "--points", "api", "--strategy", "random"];
        let search = Search { home: &home, options: &options, command: &[&program] };
        let failed: u64 = search.run(1000).bugs.iter().map(|bug| bug.count).sum();
        assert!(failed > 900 || name == "passes", "{name}: only {failed} of 1000 fail");
        search.seconds_each(executions, times).map_or(f64::NAN, |seconds| seconds * 1e6)
    };
    println!("| it ends by | passing, µs | failing, µs | ratio |");
    println!("| --- | --: | --: | --: |");
    for (number, (way, flag)) in WAYS.into_iter().enumerate() {
        // Before each, so that other load of the machine meets both.
        let passing = microseconds("passes", "-DFAIL=sink = 1");
        let failing = microseconds(&format!("fails{number}"), flag);
        println!("| {way} | {passing:.2} | {failing:.2} | {:.2} |", failing / passing);
    }
    let faults = compiled_text(&home, "faults", FAULTS, &["-O2", "-fno-stack-protector"]);
    let output = Command::new(faults).output().expect("the program was just built");
    let text = String::from_utf8_lossy(&output.stdout);
    let each: f64 = text.trim().parse().expect("the program prints nanoseconds");
    println!("\nThe kernel alone delivers a fault to a handler in {:.2} µs.", each / 1000.0);
}
