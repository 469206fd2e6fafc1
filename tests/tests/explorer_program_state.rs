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
