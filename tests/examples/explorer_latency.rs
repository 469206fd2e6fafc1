//! Measures how soon the explorer shows the verdict on a failing trace, and how soon it answers keys
//! while it works in the background, with the real binary in a terminal of 120x40: `cargo run --release
//! -p tests --example explorer_latency -- [ROUNDS...]`.

use std::time::{Duration, Instant};
use tests::debugging::compiled_text;
use tests::figures::markdown::grouped;
use tests::heddle::Home;
use tests::terminal::Terminal;

const SIZE: (u16, u16) = (120, 40);
/// How many keys are pressed one after another: the position stays below 1,000.
const KEYS: usize = 900;

/// Two threads take a lock in each round, and lose an update after the last one.
const ROUNDS: &str = r"
    #include <assert.h>
    #include <pthread.h>
    #include <stdlib.h>
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_barrier_t end;
    static long rounds, done;
    static volatile long updates;
    static void *work(void *unused) {
        for (long round = 0; round < rounds; round++) {
            pthread_mutex_lock(&lock);
            done++;
            pthread_mutex_unlock(&lock);
        }
        pthread_barrier_wait(&end);
        updates = updates + 1;
        return unused;
    }
    int main(int argc, char **argv) {
        rounds = argc > 1 ? atol(argv[1]) : 1;
        pthread_barrier_init(&end, 0, 2);
        pthread_t one;
        pthread_create(&one, 0, work, 0);
        work(0);
        pthread_join(one, 0);
        assert(updates == 2);
        return 0;
    }";

fn percentile(times: &mut [Duration], share: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * share / 100).min(times.len() - 1)]
}

fn main() {
    let mut chosen: Vec<String> = std::env::args().skip(1).collect();
    if chosen.is_empty() {
        chosen = ["25", "2490", "249000"].map(str::to_owned).to_vec();
    }
    println!(
        "| steps | opened | first verdict | checked verdict | a key: median | 99th percentile | longest |\n\
         | --: | --: | --: | --: | --: | --: | --: |"
    );
    for rounds in &chosen {
        let home = Home::new();
        let path = compiled_text(&home, "rounds", ROUNDS, &["-O1", "-pthread"]);
        let options = ["--strategy", "random", "--max-steps", "2000000", "--json"];
        let words = [&["explore"], &options[..], &["--", &path, rounds.as_str()]].concat();
        let report = home.heddle(words).report();
        let steps = report.max_steps;
        let trace = report.bugs[0].trace.clone().expect("a trace");
        let began = Instant::now();
        let mut terminal = Terminal::open(home, &["ui", &trace], SIZE);
        terminal.wait_for("next to run");
        let opened = began.elapsed();
        terminal.wait("the verdict", |screen| {
            screen.lines().nth(1).is_some_and(|line| line.contains("updates"))
        });
        let verdict = began.elapsed();
        // Keys are measured while the verdict is checked and possible continuations are counted.
        terminal.press("g");
        terminal.wait_for(" 1 of ");
        let mut times = Vec::new();
        for key in 0..KEYS {
            // Not the same two screens all the time.
            let (press, at) = ("j", key + 2);
            let wanted = format!(" {at} of ");
            let before = Instant::now();
            terminal.press(press);
            terminal.wait_for(&wanted);
            times.push(before.elapsed());
            if at as u64 + 1 >= steps {
                break;
            }
        }
        let keys = [50, 99, 100].map(|share| percentile(&mut times, share));
        terminal.press("q");
        let home = terminal.end().1;
        let began = Instant::now();
        let mut terminal = Terminal::open(home, &["ui", &trace], SIZE);
        let end = Duration::from_secs(120);
        let mut checked = None;
        while checked.is_none() && began.elapsed() < end {
            terminal.drain();
            let screen = terminal.screen();
            let top: String = screen.lines().take(4).collect();
            checked = top.contains(" runs)").then(|| began.elapsed());
        }
        let checked = checked.map_or("-".to_owned(), |time: Duration| format!("{time:.1?}"));
        println!(
            "| {} | {opened:.0?} | {verdict:.0?} | {checked} | {:.1?} | {:.1?} | {:.1?} |",
            grouped(steps as f64),
            keys[0],
            keys[1],
            keys[2]
        );
        terminal.press("q");
        terminal.end();
    }
}
