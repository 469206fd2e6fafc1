//! Prints how many executions a second searches make whose executions begin at checkpoints, and the
//! same searches with every execution from main (`--reset memory:whole`): `cargo run --release -p
//! tests --example checkpoint_figures -- [TIMES]`, the least time of so many measurements (3).

use tests::debugging::compiled_text;
use tests::figures::markdown::grouped;
use tests::figures::measure::Search;
use tests::heddle::Home;
use tests::targets::program;

/// Two threads that compute for `WORK` rounds each and take `STEPS` steps between them before they
/// meet at a barrier. Then each takes a lock ten times: in more orders than are run, so that all
/// executions have the same beginning.
const MEET: &str = r#"
#include <pthread.h>
#include <string.h>
static pthread_barrier_t barrier;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, shared = PTHREAD_MUTEX_INITIALIZER;
static char order[32];
static volatile unsigned long kept[2];
static void *work(void *argument) {
    long me = (long)argument;
    unsigned long mixed = me + 1;
    for (long i = 0; i < WORK; i++)
        mixed = mixed * 6364136223846793005u + 1442695040888963407u;
    kept[me] = mixed;
    for (int i = 0; me == 0 && i < STEPS / 2; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&shared);
        order[strlen(order)] = 'a' + me;
        pthread_mutex_unlock(&shared);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return strlen(order) != 20;
}
"#;

/// The searches of real programs: those of the complete searches by `dpor`.
const PROGRAMS: [(&str, &str); 4] =
    [("readers", "13"), ("lastzero", "10"), ("indexer", "15"), ("locks", "7")];

struct Row<'a> {
    name: String,
    strategy: &'a str,
    command: Vec<&'a str>,
    /// Executions measured from main, and from checkpoints.
    executions: [u64; 2],
}

fn print(home: &Home, row: &Row<'_>, times: u32) {
    let rate = |reset: &str, executions: u64| {
        let options = ["--keep-going", "--strategy", row.strategy];
        let options = [&options[..], &["--reset", reset]].concat();
        let search = Search { home, options: &options, command: &row.command };
        search.seconds_each(executions, times).map(|seconds| 1.0 / seconds)
    };
    let (main, resumed) =
        (rate("memory:whole", row.executions[0]), rate("memory", row.executions[1]));
    let shown = |rate: Option<f64>| match rate {
        Some(rate) if rate < 100.0 => format!("{rate:.1}"),
        Some(rate) => grouped(rate),
        None => "-".to_owned(),
    };
    let more = main
        .zip(resumed)
        .map_or("-".to_owned(), |(main, resumed)| format!("{:.1}", resumed / main));
    println!("| {} | {} | {} | {more} |", row.name, shown(main), shown(resumed));
}

/// Rounds of the loop that take so many milliseconds.
fn rounds(milliseconds: u64) -> u64 {
    let mut mixed = 1_u64;
    let began = std::time::Instant::now();
    const MEASURED: u64 = 200_000_000;
    for _ in 0..MEASURED {
        mixed = std::hint::black_box(mixed.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
    }
    std::hint::black_box(mixed);
    (MEASURED as f64 * milliseconds as f64 / 1000.0 / began.elapsed().as_secs_f64()) as u64
}

fn main() {
    let times = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let home = Home::new();
    let meet = |name: &str, work: u64, steps: u64| {
        let flags = [format!("-DWORK={work}L"), format!("-DSTEPS={steps}")];
        compiled_text(&home, name, MEET, &["-O1", &flags[0], &flags[1]])
    };
    let long = meet("long", rounds(100), 0);
    let steps = meet("steps", 0, 2000);
    println!("| search | from main, executions a second | from checkpoints | times |");
    println!("| --- | --: | --: | --: |");
    let row = |name: &str, command, executions| Row {
        name: name.to_owned(),
        strategy: "dfs",
        command,
        executions,
    };
    print(&home, &row("200 ms of common work", vec![&long], [20, 5_000]), times.min(1));
    print(&home, &row("2,000 steps, the last 20 differ", vec![&steps], [1_000, 10_000]), times);
    for strategy in ["dfs", "dpor"] {
        for (name, argument) in PROGRAMS {
            let path = program(name).build().expect("targets compile");
            let path = path.to_string_lossy();
            let row = Row {
                name: format!("{strategy}, {name} {argument}"),
                strategy,
                command: vec![&path, argument],
                executions: [3_000, 3_000],
            };
            print(&home, &row, times);
        }
    }
}
