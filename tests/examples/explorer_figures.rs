//! Measures response times of the explorer with the real binary in a terminal of 200x60: `cargo run
//! --release -p tests --example explorer_figures`. (Drawing alone, with up to a million steps:
//! `cargo run --release -p explorer-ui --example explorer_speed`.)

use std::time::{Duration, Instant};
use tests::figures::markdown::grouped;
use tests::heddle::Home;
use tests::targets::program;
use tests::terminal::Terminal;

const SIZE: (u16, u16) = (200, 60);

/// The processor time of a process so far, in ticks of the kernel: 100 per second.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    fields[12..14].iter().map(|field| field.parse::<u64>().expect("a number")).sum()
}

fn median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let path = program("increment").build().expect("it compiles");
    let path = path.to_string_lossy().into_owned();
    // Two tasks that take a lock twice in each round: four steps.
    for rounds in [1, 25, 12_400] {
        let rounds_text = rounds.to_string();
        let args = ["ui", "--", path.as_str(), "2", rounds_text.as_str()];
        let (mut pictured, mut opened) = (Vec::new(), Vec::new());
        let mut home = Home::new();
        for _ in 0..5 {
            let began = Instant::now();
            let mut terminal = Terminal::open(home, &args, SIZE);
            terminal.wait_for("heddle increment");
            pictured.push(began.elapsed());
            terminal.wait_for("next to run");
            opened.push(began.elapsed());
            terminal.press("q");
            home = terminal.end().1;
        }
        let mut terminal = Terminal::open(home, &args, SIZE);
        terminal.wait_for("next to run");
        terminal.press("g");
        terminal.wait_for(" 1 of ");
        let steps: u64 = {
            let screen = terminal.screen();
            let (_, after) = screen.rsplit_once(" 1 of ").expect("it says how many steps");
            let digits: String = after.chars().filter(char::is_ascii_digit).collect();
            digits.parse().expect("a number")
        };
        let mut went = Vec::new();
        for turn in 1..=20_u64 {
            let to = turn * 7919 * 104_729 % steps + 1;
            let began = Instant::now();
            terminal.press(&format!("#{to}\r"));
            let wanted = format!(" {} of ", grouped(to as f64));
            terminal.wait_for(&wanted);
            went.push(began.elapsed());
        }
        let mut other = Vec::new();
        for turn in 1..=5_u64 {
            let to = turn * 7919 * 104_729 % steps + 1;
            terminal.press(&format!("#{to}\r"));
            terminal.wait_for(&format!(" {} of ", grouped(to as f64)));
            // Only the background execution is active; the schedule is run again from the start.
            let began = Instant::now();
            terminal.press("3");
            terminal.wait("the answer", |screen| {
                ["this schedule ", "is not enabled", "no task is"]
                    .iter()
                    .any(|it| screen.contains(it))
                    || !screen.contains(&format!(" {} of ", grouped(to as f64)))
            });
            other.push(began.elapsed());
            terminal.press("0");
        }
        terminal.press("#1\r");
        terminal.wait_for(" 1 of ");
        terminal.wait("the end of the background execution", |screen| {
            !screen.contains("looking ahead")
        });
        let pid = terminal.child.process_id().expect("it runs");
        std::thread::sleep(Duration::from_secs(1));
        let before = ticks(pid);
        const IDLE: u64 = 5;
        std::thread::sleep(Duration::from_secs(IDLE));
        let idle = (ticks(pid) - before) as f64 / IDLE as f64;
        let [pictured, opened, went, other] = [pictured, opened, went, other].map(median);
        println!(
            "{steps} steps: first picture {:.0?} (longest {:.0?}), the schedule {:.0?} ({:.0?}); to \
             any step {:.1?} ({:.1?}); another task moves {:.1?} ({:.1?}); idle {idle:.1} % of a \
             processor",
            pictured.0, pictured.1, opened.0, opened.1, went.0, went.1, other.0, other.1
        );
        terminal.press("q");
        terminal.end();
    }
}
