//! The walk through the explorer from docs/guide/explorer.md, key by key.

use std::process::Command;
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::terminal::{Terminal, target};

#[test]
fn the_bug_of_the_demo_is_found_understood_and_fixed() {
    let home = Home::new();
    let shown = home.heddle(["demo"]);
    assert_eq!(shown.status, 0, "{shown:?}");
    let line = shown.stdout.lines().find(|line| line.ends_with("demo.c")).expect("where it is");
    let source = std::path::PathBuf::from(line.trim());
    let program = source.with_extension("");
    let path = program.to_string_lossy().into_owned();
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("passes");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest 1‼"));
    terminal.press("N");
    terminal.wait_for("this schedule fails: demo.c:27");
    terminal.press("[");
    terminal.wait("the preemption", |screen| !screen.contains("at the end"));
    terminal.wait_for("26     pthread_mutex_lock(&queue_lock);");
    terminal.press("2");
    terminal.wait_for("this schedule passes");
    terminal.press("u");
    terminal.wait_for("assertion: demo.c:27");
    terminal.press("w");
    terminal.wait_for("written to heddle-out/assertion-");
    let text = std::fs::read_to_string(&source).expect("the demo");
    let asserted = text.lines().find(|line| line.contains("assert(queued")).expect("the line");
    let asked = "    if (queued == 0) { pthread_mutex_unlock(&queue_lock); return 0; }";
    std::fs::write(&source, text.replace(asserted, asked)).expect("a file");
    let directory = source.parent().expect("a directory");
    let built = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o", "demo", "demo.c"])
        .current_dir(directory)
        .status();
    assert!(built.expect("cc runs").success());
    terminal.wait_for("rebuilt: the schedule fits the new build, and passes");
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let explored = home.heddle(["explore", "--", &path]);
    assert_eq!(explored.status, 0, "{explored:?}");
    assert!(explored.stdout.contains("no failure, search complete"), "{explored:?}");
}

#[test]
fn tasks_are_brought_to_chosen_lines() {
    let home = Home::new();
    let mut terminal = Terminal::open(home, &["ui", "--", &target("lost_update")], (150, 40));
    terminal.wait_for("passes");
    // The line of the selected step is offered; another task is to be there too.
    terminal.press("/t:1 lost_update.c:11\r");
    terminal.wait_for("match 1 of");
    terminal.press("@");
    terminal.wait_for("T1@lost_update.c:11");
    terminal.press(" && T2@lost_update.c:11\r");
    // The schedule that satisfies it continues from there: both are enabled.
    terminal.wait("both tasks at the line", |screen| {
        let row = |row: &str| screen.lines().any(|line| line.contains(row));
        screen.contains("holds at this step")
            && row("T1 add   read counter")
            && row("T2 add   read counter")
    });
    // Typing errors point into the text.
    terminal.press("@\x15T1@nowhere.c:1\r");
    terminal.wait_for("nowhere.c");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Two withdrawals check the balance and write it, each in a separate critical section.
const WITHDRAWALS: &str = r"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100, paid;
static int read_balance(void) {
    pthread_mutex_lock(&lock);
    int now = balance;
    pthread_mutex_unlock(&lock);
    return now;
}
static void write_balance(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    paid += 60;
    pthread_mutex_unlock(&lock);
}
static void *withdraw(void *unused) {
    int now = read_balance();
    if (now >= 60) write_balance(now - 60);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, withdraw, 0);
    pthread_create(&b, 0, withdraw, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance + paid == 100);
    return 0;
}";

#[test]
fn the_order_of_two_steps_is_reversed() {
    let home = Home::new();
    let path = compiled_text(&home, "withdrawals", WITHDRAWALS, &["-g", "-O1", "-pthread"]);
    let report = home.heddle(["explore", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let mut terminal = Terminal::open(home, &["ui", &trace], (160, 50));
    terminal.wait_for("next to run");
    // The write of one task is marked, then the check of the other: with that order it passes.
    let order = |terminal: &mut Terminal, rows: [&str; 2]| {
        for row in rows {
            terminal.press(&format!("g/{row}\r"));
            terminal.wait_for("match 1 of");
            terminal.press("r");
        }
    };
    order(&mut terminal, ["t:1 lock :13", "t:2 lock :7"]);
    terminal.wait_for("in this order it passes");
    terminal.wait_for("edited (0 returns)");
    // The join comes before the check of the task that is not joined yet, and the first order is kept.
    order(&mut terminal, ["t:2 lock :7", "t:0 join"]);
    terminal.wait_for("in this order it passes (2 orders are pinned)");
    // Creation cannot come after what the created task does.
    order(&mut terminal, ["t:0 create :26", "t:2 lock :7"]);
    terminal.wait_for("which does not show that it is impossible");
    // Of an invalid predicate nothing is said but what is wrong in it.
    terminal.press("@\x15T1@nowhere\r");
    terminal.wait_for("--when: the program has no function nowhere");
    assert!(!terminal.screen().contains("not reached in 0"), "{}", terminal.screen());
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
