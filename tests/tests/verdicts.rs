//! The verdict above the schedule names the cause of known bugs, on the first screen and without a
//! key, and the ribbon claims the point of no return only where counting proves it.

use tests::heddle::Home;
use tests::terminal::{Terminal, failing};

/// Programs, and what the verdict has to name once it was checked.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("abba", &["T1 holds a (abba.c:12)", "waits for b", "T2 holds b", "waits for a"]),
    ("lost_update", &["the read of counter", "the write", "overlap"]),
    ("increment", &["guard", "increment.c:17", "overlap"]),
    ("twostage", &["T2's critical section of first_guard", "came between T1's"]),
];

/// The rows between the first line and the schedule, as one text.
fn verdict(screen: &str) -> String {
    let rows = screen.lines().skip(1).take_while(|row| !row.starts_with("step "));
    rows.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_cause_of_known_bugs_is_on_the_first_screen() {
    for (name, parts) in PROGRAMS {
        let home = Home::new();
        let trace = failing(&home, name);
        let mut terminal = Terminal::open(home, &["ui", &trace], (120, 40));
        terminal.wait(name, |screen| {
            let verdict = verdict(screen);
            parts.iter().all(|part| verdict.contains(part))
                && (verdict.contains("run") && !verdict.contains("being run"))
        });
        terminal.press("q");
        assert_eq!(terminal.end().0, 0, "{name}");
    }
}

#[test]
fn the_point_of_no_return_agrees_with_counting_by_hand() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let run = home.heddle(["explain", "--json", &trace]);
    assert_eq!(run.status, 0, "{run:?}");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let found = &object["no_return"];
    // The second lock of the two: before it the other task may still take both.
    assert_eq!(found["step"], object["verdict"]["step"], "{object}");
    assert_eq!(found["step"], found["lost_after"], "{object}");
    assert_eq!(found["before"]["complete"], true, "{object}");
    assert!(found["before"]["failing"].as_u64() < found["before"]["executions"].as_u64());
    let mut terminal = Terminal::open(home, &["ui", &trace], (120, 40));
    terminal.wait("the mark", |screen| screen.contains('◆') && screen.contains("on none"));
    terminal.press("g^");
    terminal.wait("the step", |screen| {
        screen.lines().any(|row| row.contains("▶◆") && row.contains("lock"))
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
