//! The explorer in a pseudo-terminal: keys in, screens out.

use portable_pty::PtySize;
use tests::heddle::Home;
use tests::terminal::{Terminal, failing, target};

#[test]
fn a_failing_trace_is_walked_branched_and_undone() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("waits for b");
    assert!(terminal.screen().contains("deadlock:"), "{}", terminal.screen());
    // At the start only main is enabled; the outcome of its choice is known after a while.
    terminal.press("g");
    terminal.wait_for("1 of ");
    terminal.wait("what lies ahead", |screen| screen.contains("fail"));
    // Another task than in the recording is chosen, until the schedule passes.
    terminal.press("jj");
    terminal.wait_for("3 of ");
    terminal.press("2");
    terminal.wait_for("this schedule ");
    terminal.press("u");
    terminal.wait_for("deadlock:");
    terminal.press("?");
    terminal.wait_for("commands and keys");
    terminal.press("\x1b");
    terminal.wait("no help", |screen| !screen.contains("commands and keys"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_program_is_led_to_its_failure_and_the_schedule_is_saved() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("passes");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest"));
    terminal.press("N");
    terminal.wait_for("this schedule fails");
    terminal.press("s");
    terminal.wait_for("proved minimal");
    terminal.press("w");
    terminal.wait_for("written to heddle-out/deadlock-");
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let kept = std::fs::read_dir(home.path().join("heddle-out")).expect("the directory of traces");
    let kept = kept.map(|entry| entry.expect("an entry").path()).next().expect("a trace");
    let replayed = home.heddle(["replay", &kept.to_string_lossy()]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    assert!(replayed.stdout.contains("reproduced"), "{replayed:?}");
}

#[test]
fn a_cut_schedule_is_not_reported_as_passing() {
    let home = Home::new();
    let args = ["ui", "--max-steps", "5", "--", &target("abba")];
    let mut terminal = Terminal::open(home, &args, (140, 30));
    terminal.wait_for("abba  stopped after 5 steps (--max-steps)");
    terminal.wait_for("its end is unknown");
    // The other branch has the same limit of steps.
    terminal.press("#3\r2");
    terminal.wait_for("this schedule is stopped after 5 steps");
    assert!(!terminal.screen().contains("passes"), "{}", terminal.screen());
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn every_size_is_drawn_and_resizes_are_followed() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("next to run");
    for (cols, rows) in [(1, 1), (20, 5), (80, 24), (300, 100), (60, 12), (120, 30)] {
        terminal.resize(cols, rows);
        let expected = if cols < 30 { "" } else { "next to run" };
        terminal.wait_for(expected);
    }
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_key_pressed_during_a_resize_is_not_lost() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("next to run");
    for round in 0..50 {
        let size = PtySize { rows: 30, cols: 120 + round % 2, ..PtySize::default() };
        terminal.master.resize(size).expect("it resizes");
        terminal.press("?");
        terminal.wait_for("commands and keys");
        terminal.press("\x1b");
        terminal.wait("no help", |screen| !screen.contains("commands and keys"));
    }
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn output_of_other_programs_on_the_screen_is_removed_by_a_redraw() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("next to run");
    terminal.parser.process(b"\x1b[5;5Hanother program wrote this");
    terminal.press("\x0c");
    terminal.wait("only its own text", |screen| {
        !screen.contains("another program") && screen.contains("next to run")
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_termination_signal_restores_the_terminal() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (100, 30));
    terminal.wait_for("next to run");
    terminal.signal("TERM");
    assert_eq!(terminal.end().0, 143, "the status names the signal");
}

#[test]
fn without_a_terminal_alternatives_are_named() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let run = home.heddle(["ui", &trace]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("needs a terminal"), "{run:?}");
    assert!(run.stderr.contains("heddle show"), "{run:?}");
    let keys = home.heddle(["ui", "--keys"]);
    assert_eq!(keys.status, 0, "{keys:?}");
    assert!(keys.stdout.contains("forward = [\"j\", \"down\""), "{keys:?}");
    let none = home.heddle(["ui"]);
    assert_eq!(none.status, 2, "{none:?}");
}

#[test]
fn a_search_is_started_watched_stopped_and_resumed() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("passes");
    // The second strategy in the list, with at most one preemption.
    terminal.press("h");
    terminal.wait_for("search from this step");
    terminal.press("j1\r");
    terminal.wait_for("everything within the bound was run");
    terminal.wait_for("1 different failure");
    terminal.wait("what was explored", |screen| screen.contains("● "));
    terminal.press("f");
    terminal.wait_for("failure 1 of 1: deadlock");
    terminal.press("\t");
    terminal.wait_for("explored by the search");
    terminal.press("h");
    terminal.wait_for("no choices are left at the end");
    // A search without an end is stopped by the user. (The choice begins at the previous one.)
    terminal.press("gh");
    terminal.wait_for("search from this step");
    // The strategy is chosen by its name, wherever the list has it.
    terminal.click("  random    ");
    terminal.press("\r");
    terminal.wait_for("random from step");
    terminal.wait("that it runs", |screen| screen.contains("/s  "));
    terminal.press("S");
    terminal.wait_for("the search ended");
    terminal.press("K");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
