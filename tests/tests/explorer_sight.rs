//! What the explorer sees in the program at each step: watched expressions and stacks.

use tests::heddle::Home;
use tests::terminal::{Terminal, target};

#[test]
fn expressions_are_watched_through_a_schedule() {
    let home = Home::new();
    let path = target("bank");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for("who may move");
    terminal.press("Ebalance[\r");
    terminal.wait_for("cannot be read: expected a number at the end");
    terminal.press("Ebalance\r");
    terminal.wait_for("─ values");
    terminal.wait_for("balance = ");
    terminal.wait("where it changes", |screen| screen.contains(" → "));
    // To the step that changes it, and over that.
    terminal.press(")");
    terminal.wait("the step before the change", |screen| !screen.contains("1 of "));
    terminal.press("j");
    terminal.wait_for(" * balance = ");
    // What is watched is watched again at the next start.
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for(" * balance = ");
    terminal.press("Ebalance\r");
    terminal.wait_for("balance is not watched any more");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_stack_of_every_task_is_there_at_any_step() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 40));
    terminal.wait_for("who may move");
    // The panes go round: source, locks, causes, graph, values, stacks.
    terminal.press("\t\t\t\t\t");
    terminal.wait_for("─ stacks");
    terminal.wait_for("T0 could move");
    terminal.wait_for("    main  abba.c:");
    terminal.press("#5\r");
    terminal.wait_for("5 of ");
    terminal.wait("a stack of T1", |screen| screen.contains(" T1 could move"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
