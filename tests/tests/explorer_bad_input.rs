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
    terminal.wait_for("problems in ui.toml; everything else in it is applied");
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

#[test]
fn files_of_notes_that_cannot_be_read_are_left_unchanged() {
    let mut home = Home::new();
    let trace = failing(&home, "abba");
    for (text, says) in [
        (&b"\xff"[..], "the notes cannot be read: stream did not contain valid UTF-8"),
        (b"[[note]]\nstep = \"x\"\n", "line 2: invalid type: string \"x\", expected usize"),
    ] {
        let notes = home.path().join(format!("{trace}.notes.toml"));
        std::fs::write(&notes, text).expect("a file");
        let mut terminal = Terminal::open(home, &["ui", &trace], (220, 30));
        terminal.wait_for(&format!(".heddle.notes.toml: {says}; the file is left unchanged"));
        terminal.press("m");
        home = leave(terminal);
        assert_eq!(std::fs::read(&notes).expect("it is there"), text);
    }
}

#[test]
fn notes_without_a_directory_are_reported() {
    let home = Home::new();
    let trace = home.path().join(failing(&home, "abba"));
    let directory = home.path().join("moved");
    std::fs::create_dir(&directory).expect("a directory");
    std::fs::copy(&trace, directory.join("t.heddle")).expect("a copy");
    let mut terminal = Terminal::open(home, &["ui", "moved/t.heddle"], (150, 30));
    terminal.wait_for("new here? T starts a tour, ? lists the keys");
    std::fs::remove_dir_all(&directory).expect("it is removed");
    terminal.press("m");
    terminal.wait_for("the notes cannot be written: No such file or directory (os error 2)");
    leave(terminal);
}

/// Makes a program of a shell script.
fn script(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn a_debugger_beside_the_explorer_needs_tmux_and_gdb() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 30));
    terminal.wait_for("next to run");
    terminal.press("V");
    let needs = "splitting the terminal needs tmux around the explorer (D uses the whole screen)";
    terminal.wait_for(needs);
    let home = leave(terminal);

    // A tmux that notes its arguments, and a gdb that fails.
    let tools = home.path().join("tools");
    std::fs::create_dir(&tools).expect("a directory");
    script(&tools.join("tmux"), "printf '%s\\n' \"$@\" > arguments");
    script(&tools.join("gdb"), "exit 1");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("a path"));
    let variables = [("TMUX", "/tmp/socket,1,0"), ("PATH", path.as_str())];
    let mut terminal = Terminal::open_with(home, &["ui", &trace], (150, 30), &variables);
    terminal.wait_for("next to run");
    terminal.press("V");
    terminal.wait_for("gdb runs in the other half of the terminal");
    let arguments =
        std::fs::read_to_string(terminal.home.path().join("arguments")).expect("it ran");
    let arguments: Vec<&str> = arguments.lines().collect();
    let run = r#""$@" || { echo; echo 'press enter to close'; read -r _; }"#;
    assert_eq!(arguments[..7], ["split-window", "-v", "-l", "50%", "sh", "-c", run]);
    assert_eq!((arguments[7], arguments[9], arguments[10]), ("sh", "gdb", "--at"), "{arguments:?}");
    terminal.press("D");
    terminal.wait_for("the debugger failed: `heddle gdb` says why");
    leave(terminal);
}
