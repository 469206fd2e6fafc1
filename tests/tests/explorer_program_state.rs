//! The state of the program that the explorer shows at each step: watched expressions and stacks.

use tests::heddle::Home;
use tests::terminal::{Terminal, target};

#[test]
fn expressions_are_watched_through_a_schedule() {
    let home = Home::new();
    let path = target("bank");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for("next to run");
    terminal.press("Ebalance[\r");
    terminal.wait_for("cannot be parsed: expected a number at the end");
    terminal.press("Ebalance\r");
    terminal.wait_for("[values]");
    terminal.wait_for("balance = ");
    terminal.wait("where it changes", |screen| screen.contains(" → "));
    // To the step that changes it, and past it.
    terminal.press(")");
    terminal.wait("the step before the change", |screen| !screen.contains("1 of "));
    terminal.press("j");
    terminal.wait_for(" * balance = ");
    // A watched expression is restored at the next start.
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for(" * balance = ");
    terminal.press("Ebalance\r");
    terminal.wait_for("stopped watching balance");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_origin_of_a_watched_value_is_shown() {
    let home = Home::new();
    let path = target("bank");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for("next to run");
    terminal.press("I");
    terminal.wait_for("no expression is watched: E watches one");
    terminal.press("Ebalance\r");
    terminal.wait_for("balance = ");
    terminal.press("I");
    terminal.wait_for("in this memory from the program's beginning on");
    // At the end, its value was computed by a thread.
    terminal.go_to_end();
    terminal.wait("no origin of another step", |screen| !screen.contains("program's beginning on"));
    terminal.press("I");
    terminal.wait("the line that computed it", |screen| {
        screen.lines().any(|line| line.contains("computed by") && line.contains("bank.c:"))
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_stack_of_every_task_is_shown_at_any_step() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for("next to run");
    // Tab cycles through the panes: source, locks, causes, graph, values, stacks.
    terminal.press("\t\t\t\t\t");
    terminal.wait_for("[stacks]");
    terminal.wait_for("T0 enabled");
    terminal.wait_for("    main  abba.c:");
    terminal.press("#5\r");
    terminal.wait_for("5 of ");
    terminal.wait("a stack of T1", |screen| screen.contains(" T1 enabled"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Two tasks that lock two mutexes of the standard library in opposite orders.
const OPPOSITE: &str = r#"
use std::sync::Mutex;
static FIRST: Mutex<i32> = Mutex::new(0);
static SECOND: Mutex<i32> = Mutex::new(0);
fn main() {
    let forwards = std::thread::spawn(|| {
        let first = FIRST.lock().unwrap();
        *SECOND.lock().unwrap() += *first;
    });
    let backwards = std::thread::spawn(|| {
        let second = SECOND.lock().unwrap();
        *FIRST.lock().unwrap() += *second;
    });
    forwards.join().unwrap();
    backwards.join().unwrap();
}
"#;

#[test]
fn mutexes_of_rust_have_holders_and_waiting_tasks() {
    let home = Home::new();
    let (source, path) = (home.path().join("opposite.rs"), home.path().join("opposite"));
    std::fs::write(&source, OPPOSITE).expect("a file");
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["-g", "--edition", "2021", "-o"]).arg(&path).arg(&source);
    assert!(rustc.status().expect("rustc runs").success());
    let path = path.to_string_lossy().into_owned();
    let report = home.heddle(["explore", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let shown = home.heddle(["show", "--at", "end", &trace]).stdout;
    for expected in ["opposite::FIRST", "opposite::SECOND"] {
        let held = format!("{expected} is held by T");
        assert!(shown.contains(&held), "{held}: {shown}");
    }
    let mut terminal = Terminal::open(home, &["ui", &trace], (160, 50));
    terminal.wait_for("next to run");
    terminal.go_to_end();
    terminal.wait("both holders", |screen| {
        let held = screen.lines().filter(|line| line.contains(" since step "));
        held.filter(|line| line.contains("opposite::") && line.contains(" waits")).count() == 2
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
