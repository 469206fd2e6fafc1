//! The explorer with misbehaving programs and invalid files: it shows a message, and the screen
//! stays intact.

use std::process::Command;
use tests::heddle::Home;
use tests::terminal::{Terminal, failing, target};

/// Two threads that each take a lock; the second misbehaves if it runs first.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turn;
static void *first(void *p) { pthread_mutex_lock(&m); turn = 1; pthread_mutex_unlock(&m); return p; }
static void *second(void *p)
{
    pthread_mutex_lock(&m);
    int is_second = turn;
    pthread_mutex_unlock(&m);
    if (!is_second)
        WRONG;
    return p;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;

fn compile(home: &Home, wrong: &str) -> String {
    let (source, program) = (home.path().join("program.c"), home.path().join("program"));
    std::fs::write(&source, PROGRAM.replace("WRONG", wrong)).expect("a file");
    let mut cc = Command::new("cc");
    cc.args(["-g", "-pthread", "-o"]).arg(&program).arg(&source);
    assert!(cc.status().expect("cc runs").success());
    program.to_string_lossy().into_owned()
}

/// Lets the second thread run first.
fn preempt(terminal: &mut Terminal) {
    terminal.wait_for("next to run");
    terminal.press("#3\r");
    terminal.wait_for("3 of ");
    terminal.press("3");
}

fn leave(mut terminal: Terminal) -> Home {
    // Asserts that the screen is intact and keys work.
    terminal.press("?");
    terminal.wait_for("commands and keys");
    terminal.press("\x1b");
    terminal.wait("no help", |screen| !screen.contains("commands and keys"));
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    home
}

#[test]
fn a_program_that_kills_itself_is_shown_at_its_last_step() {
    let home = Home::new();
    let program = compile(&home, "kill(getpid(), SIGKILL)");
    let mut terminal = Terminal::open(home, &["ui", "--", &program], (150, 40));
    preempt(&mut terminal);
    terminal.wait_for("this schedule fails: SIGKILL, which it sent itself");
    leave(terminal);
}

#[test]
fn a_hanging_program_is_ended_and_shown() {
    let home = Home::new();
    let program = compile(&home, "for (;;) __asm__ volatile(\"pause\")");
    let mut terminal = Terminal::open(home, &["ui", "--", &program], (150, 40));
    preempt(&mut terminal);
    // Keys work in the meantime.
    terminal.press("?");
    terminal.wait_for("commands and keys");
    terminal.press("\x1b");
    terminal.wait_for("runs without reaching");
    leave(terminal);
}

#[test]
fn escape_sequences_of_a_program_have_no_effect() {
    let home = Home::new();
    let wrong = r#"printf("\033[2J\033[?1049l\033]0;mine\007gotcha\n"),
        pthread_setname_np(pthread_self(), "\033[31mred")"#;
    let program = compile(&home, wrong);
    let mut terminal = Terminal::open(home, &["ui", "--", &program], (150, 40));
    preempt(&mut terminal);
    terminal.wait_for("this schedule passes");
    terminal.wait_for("T2 \\u{1b}[31mred");
    terminal.wait_for("[source]");
    // Switches to the pane with the program's output.
    while !terminal.screen().contains("[output]") {
        let before = terminal.screen();
        terminal.press("\t");
        terminal.wait("the next pane", |screen| *screen != before);
    }
    terminal.wait_for("gotcha");
    assert!(terminal.parser.screen().alternate_screen(), "{}", terminal.screen());
    leave(terminal);
}

#[test]
fn a_trace_of_another_build_is_shown_and_nothing_is_run() {
    let home = Home::new();
    let program = home.path().join("program");
    std::fs::copy(target("abba"), &program).expect("a copy");
    let path = program.to_string_lossy().into_owned();
    let report = home.heddle(["explore", "--strategy", "random", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    std::fs::copy(target("abba_main"), home.path().join("next")).expect("a copy");
    std::fs::rename(home.path().join("next"), &program).expect("it takes the other's place");
    let mut terminal = Terminal::open(home, &["ui", &trace], (220, 40));
    terminal.wait_for("deadlock:");
    terminal.press("s");
    terminal.wait_for("this schedule can only be read: ");
    terminal.wait_for("is not the recorded build");
    let home = leave(terminal);
    // A damaged trace is reported before the explorer takes over the screen.
    let mut bytes = std::fs::read(home.path().join(&trace)).expect("the trace");
    bytes.truncate(bytes.len() / 2);
    std::fs::write(home.path().join("half.heddle"), bytes).expect("a file");
    let mut terminal = Terminal::open(home, &["ui", "half.heddle"], (100, 30));
    terminal.wait_for("half.heddle");
    assert!(!terminal.parser.screen().alternate_screen());
    assert_eq!(terminal.end().0, 2);
}

/// Opens the explorer with this file of keys and colours.
fn with_preferences(text: &str) -> Terminal {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let config = home.path().join("config/heddle");
    std::fs::create_dir_all(&config).expect("a directory");
    std::fs::write(config.join("ui.toml"), text).expect("a file");
    Terminal::open(home, &["ui", &trace], (150, 30))
}

#[test]
fn an_error_in_a_key_file_is_reported_with_its_position() {
    let mut terminal = with_preferences("theme = \"pink\"\n[keys]\nquit = [\"Q\"]\n");
    terminal.wait_for("ui.toml:1:9: there is no theme `pink`");
    // The rest of the file is used.
    terminal.press("q");
    terminal.wait_for("q has no function here");
    terminal.press("Q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn all_errors_in_a_key_file_are_reported() {
    let text =
        "[keys]\nforward = [\"j\", \"s\"]\nshrink = [\"s\"]\nfly = [\"f\"]\nback = [\"hyper-k\"]\n";
    let mut terminal = with_preferences(text);
    terminal.wait_for("ui.toml:3:11: `s` is bound to `forward` already");
    terminal.wait_for("ui.toml:4:1: there is no action `fly`");
    terminal.wait_for("ui.toml:5:9: no key is called `hyper-k`");
    leave_by_escape(&mut terminal);
    // `s` is bound to shrinking elsewhere; here it goes forward.
    terminal.press("gs");
    terminal.wait_for("2 of ");
    leave(terminal);
}

fn leave_by_escape(terminal: &mut Terminal) {
    // Waits until the window is drawn completely; a key directly after an escape would be combined
    // with it.
    terminal.wait_for("esc closes");
    terminal.press("\x1b");
    terminal.wait("no window", |screen| !screen.contains("esc closes"));
}

#[test]
fn a_terminal_that_is_too_small_is_reported_until_it_grows() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (28, 6));
    terminal.wait_for("the terminal is too small");
    terminal.resize(100, 30);
    terminal.wait_for("next to run");
    leave(terminal);
}
