//! Prints what an execution costs that fails, in multiples of the same execution that passes: `cargo
//! run --release -p tests --example failing_cost -- [TIMES [EXECUTIONS]]`, the least of so many
//! measurements (5) of so many executions (200,000), with `--keep-going`.

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
}
