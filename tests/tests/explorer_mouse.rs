//! The explorer with the mouse only: the actions in the last line can be clicked, and one of them
//! opens the list of all actions.

use explorer_ui::tui::keys::actions::ACTIONS;
use tests::heddle::Home;
use tests::terminal::{Terminal, failing, target};

/// The wheel, one notch down.
const DOWN: &str = "\x1b[<65;60;20M";

/// Performs an action: click on the last line, scroll to its entry in the list, click the entry.
fn choose(terminal: &mut Terminal, name: &str) {
    // A click removes the last message.
    terminal.click_at(0, 0);
    terminal.click(": commands");
    terminal.wait_for("enter runs it");
    let place = ACTIONS.iter().position(|one| one.name == name).expect("an action");
    terminal.press(&DOWN.repeat(place));
    let entry = format!("│ {name:<20}");
    terminal.wait_for(&entry);
    let (x, y) = terminal.place(&entry).expect("it is there");
    terminal.click_at(x + 3, y);
}

fn close(terminal: &mut Terminal) {
    terminal.click_at(0, 0);
    terminal.wait("no window", |screen| !screen.contains("esc closes"));
}

#[test]
fn a_failure_is_found_shrunk_compared_and_explained_by_clicks() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (160, 44));
    terminal.wait("what lies ahead", |screen| screen.contains("nearest"));
    terminal.click_at(0, 0);
    terminal.click("to a failure");
    terminal.wait_for(" 2 of ");
    terminal.click("k back");
    terminal.wait_for(" 1 of ");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest"));
    choose(&mut terminal, "show-me");
    terminal.wait_for("this schedule fails");
    choose(&mut terminal, "shrink");
    terminal.wait_for("proved minimal");
    choose(&mut terminal, "compare-before");
    terminal.wait_for("A is the schedule before shrinking");
    close(&mut terminal);
    choose(&mut terminal, "explain");
    terminal.wait_for("why it fails (c compares it");
    // The text is longer than the window: the wheel scrolls it.
    let before = terminal.screen();
    terminal.press(DOWN);
    terminal.wait("more of the page", |screen| screen != before);
    close(&mut terminal);
    choose(&mut terminal, "compare");
    terminal.wait_for("B is the nearest schedule that passes");
    close(&mut terminal);
    choose(&mut terminal, "save");
    terminal.wait_for("written to heddle-out/deadlock-");
    choose(&mut terminal, "first");
    terminal.wait_for(" 1 of ");
    choose(&mut terminal, "hand-over");
    terminal.wait_for("search from this step");
    terminal.press(DOWN);
    terminal.click("all schedules with no preemption");
    terminal.wait_for("every schedule from there was run");
    choose(&mut terminal, "next-found");
    // The last line may arrive in two parts, of which the second one replaces the hints.
    terminal.wait("the whole message", |screen| {
        screen.contains("failure 1 of 1: deadlock") && !screen.contains(": commands")
    });
    choose(&mut terminal, "quit");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_debugger_and_the_help_are_one_click_away() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (160, 44));
    terminal.go_to_end();
    terminal.click_at(0, 0);
    terminal.click("? help");
    terminal.wait_for("commands and keys");
    close(&mut terminal);
    choose(&mut terminal, "debugger");
    terminal.wait_for("(gdb)");
    terminal.press("quit\n");
    terminal.wait_for("back from the debugger");
    terminal.click_at(0, 0);
    terminal.click("q quit");
    assert_eq!(terminal.end().0, 0);
}
