//! External events in the explorer: signals, the mouse, invalid files, a rebuilt program; and the
//! state it saves for the next start.

use std::path::Path;
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::terminal::{Terminal, failing, target};

/// A click of the left button.
fn click(x: u16, y: u16) -> String {
    format!("\x1b[<0;{};{}M\x1b[<0;{};{}m", x + 1, y + 1, x + 1, y + 1)
}

#[test]
fn a_stop_signal_restores_the_terminal_and_continuing_takes_it_again() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("next to run");
    terminal.signal("TSTP");
    terminal.waits_until_stopped();
    terminal.wait_with("screen of the shell, with its cursor", |parser| {
        !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
    });
    terminal.signal("CONT");
    terminal.wait_for("next to run");
    assert!(terminal.parser.screen().alternate_screen());
    terminal.press("?");
    terminal.wait_for("commands and keys");
    terminal.press("\x1bq");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_lost_connection_ends_it() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (100, 30));
    terminal.wait_for("next to run");
    terminal.signal("HUP");
    assert_eq!(terminal.end().0, 129);
}

#[test]
fn a_failure_is_explained_and_compared_by_keys() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("passes");
    terminal.press("c");
    terminal.wait_for("nothing to compare with");
    terminal.press("x");
    terminal.wait_for("this schedule passes: N");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest 1‼"));
    terminal.press("N");
    terminal.wait_for("this schedule fails");
    terminal.press("x");
    terminal.wait_for("why it fails");
    terminal.press("\x1b");
    terminal.wait("the page is closed", |screen| !screen.contains("why it fails"));
    terminal.press("c");
    terminal.wait_for("A fails, B is the nearest schedule that passes");
    terminal.press("\x1b");
    terminal.wait("the page is closed", |screen| !screen.contains("B is the nearest"));
    terminal.press("s");
    terminal.wait_for("proved minimal");
    terminal.press("B");
    terminal.wait_for("A is the schedule before shrinking, B after");
    terminal.press("\x1b");
    terminal.wait("the page is closed", |screen| !screen.contains("before shrinking"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_mouse_selects_chooses_and_switches_panes() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    let (_, first) = terminal.place("+ create T1").expect("the first step");
    terminal.press(&click(10, first));
    terminal.wait_for("1 of ");
    // The wheel scrolls three rows down.
    terminal.press("\x1b[<65;10;10M");
    terminal.wait_for("4 of ");
    // A click on a pane's heading: on a name, that pane; behind the names, the next pane.
    let (_, heading) = terminal.place("[source]").expect("the pane of source");
    terminal.click("causes");
    terminal.wait_for("[causes]");
    terminal.press(&click(149, heading));
    terminal.wait_for("[graph]");
    // Dragging the separator resizes both sides.
    let (line, _) = terminal.place("│─ next to run").expect("the list beside");
    terminal.press(&format!("\x1b[<0;{};20M\x1b[<32;71;20M\x1b[<0;71;20m", line + 1));
    terminal.wait("the line where it was dragged to", |screen| {
        let who = screen.lines().find_map(|row| row.find("│─ next to run").map(|at| &row[..at]));
        who.is_some_and(|before| before.chars().count() == 70)
    });
    // The mouse can be left to the terminal.
    terminal.press("v");
    terminal.wait_for("the mouse is left to the terminal");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn notes_and_the_position_are_restored_at_the_next_start() {
    let home = Home::new();
    let trace = home.path().join(failing(&home, "abba")).to_string_lossy().into_owned();
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("T starts a tour");
    terminal.press("#2\r");
    terminal.wait_for("2 of ");
    terminal.press("Mhere it \x1b[200~begins\x1b[201~\r");
    terminal.wait_for("note: here it begins");
    terminal.press("\tq");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let notes = std::fs::read_to_string(format!("{trace}.notes.toml")).expect("notes");
    assert!(notes.contains("step = 2") && notes.contains("here it begins"), "{notes}");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("2 of ");
    terminal.wait_for("at step 2, where the last session left it");
    terminal.press("kj");
    terminal.wait_for("note: here it begins");
    terminal.wait_for("[locks]");
    terminal.press("q");
    let (_, home) = terminal.end();
    // If the file was damaged by hand, it is reported and left unchanged.
    std::fs::write(format!("{trace}.notes.toml"), "[[note]]\nstep = \"x\"\n").expect("a file");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.wait_for("notes.toml: line 2:");
    terminal.press("mq");
    let (_, _home) = terminal.end();
    let notes = std::fs::read_to_string(format!("{trace}.notes.toml")).expect("notes");
    assert_eq!(notes, "[[note]]\nstep = \"x\"\n");
}

#[test]
fn a_rebuilt_program_is_run_again() {
    let home = Home::new();
    let program = home.path().join("program");
    std::fs::copy(target("abba"), &program).expect("a copy");
    let path = program.to_string_lossy().into_owned();
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait("what lies ahead", |screen| screen.contains("nearest 1‼"));
    let next = terminal.home.path().join("next");
    std::fs::copy(target("abba_main"), &next).expect("a copy");
    std::fs::rename(&next, &program).expect("it takes the other's place");
    terminal.wait_for("rebuilt: ");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_file_that_is_not_a_trace_is_reported_before_the_screen_is_taken() {
    let home = Home::new();
    std::fs::write(home.path().join("bad.heddle"), "nothing of ours").expect("a file");
    let mut terminal = Terminal::open(home, &["ui", "bad.heddle"], (100, 30));
    terminal.wait_for("bad.heddle");
    assert!(!terminal.parser.screen().alternate_screen());
    assert_eq!(terminal.end().0, 2);
}

#[test]
fn the_source_of_the_demo_is_not_reported_as_changed() {
    let home = Home::new();
    let mut terminal = Terminal::open(home, &["ui"], (140, 40));
    terminal.wait_for("next to run");
    // Until the source pane shows the file.
    terminal.wait("the source", |screen| screen.contains("demo.c  "));
    assert!(!terminal.screen().contains("changed since"), "{}", terminal.screen());
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn without_arguments_a_tour_begins_with_the_demo() {
    let home = Home::new();
    let mut terminal = Terminal::open(home, &["ui"], (150, 40));
    terminal.wait_for("tour 1 of 7");
    terminal.press("j");
    terminal.wait_for("tour 2 of 7");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest 1‼"));
    terminal.press("N");
    terminal.wait_for("tour 3 of 7");
    terminal.wait_for("this schedule fails");
    terminal.press("[");
    terminal.wait_for("tour 4 of 7");
    terminal.press("\x1b");
    terminal.wait("no tour", |screen| !screen.contains("tour 4"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_debugger_opens_beside_the_explorer_if_the_terminal_can_be_split() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    // Without tmux the explorer reports that.
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    terminal.press("V");
    terminal.wait_for("needs tmux");
    terminal.press("q");
    let (_, home) = terminal.end();
    // A fake tmux that only records its arguments.
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    std::fs::write(bin.join("tmux"), "#!/bin/sh\nprintf '%s\\n' \"$@\" > asked\n").expect("a file");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("tmux"), executable).expect("it can be run");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let variables = [("TMUX", "/tmp/none,1,0"), ("PATH", path.as_str())];
    let mut terminal = Terminal::open_with(home, &["ui", &trace], (150, 40), &variables);
    terminal.go_to_end();
    terminal.press("#3\r");
    terminal.wait_for("3 of ");
    terminal.press("V");
    terminal.wait_for("gdb runs in the other half");
    let asked = std::fs::read_to_string(terminal.home.path().join("asked")).expect("it was asked");
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked[0], "split-window", "{asked:?}");
    let at = asked.iter().position(|word| *word == "gdb").expect("the verb");
    assert_eq!(asked[at..at + 3], ["gdb", "--at", "3"], "{asked:?}");
    assert!(std::path::Path::new(asked[at + 3]).is_file(), "the schedule stays: {asked:?}");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_debugger_takes_the_screen_and_returns_it() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    terminal.press("#3\r");
    terminal.wait_for("3 of ");
    terminal.press("D");
    terminal.wait_for("(gdb)");
    assert!(!terminal.parser.screen().alternate_screen());
    terminal.press("sched when\n");
    terminal.wait_for("step 3");
    terminal.press("quit\n");
    terminal.wait_for("back from the debugger");
    assert!(terminal.parser.screen().alternate_screen());
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn lldb_is_started_at_the_same_position() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    // A fake lldb that records its arguments.
    let script = "#!/bin/sh\ncase $1 in --version) echo lldb version 19.1.7;; *) printf '%s\\n' \"$@\" >> asked;; esac\n";
    // Under the name that is tried first.
    let lldb = bin.join("lldb-22");
    std::fs::write(&lldb, script).expect("a file");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&lldb, executable).expect("it can be run");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let mut terminal =
        Terminal::open_with(home, &["ui", &trace], (150, 40), &[("PATH", path.as_str())]);
    terminal.go_to_end();
    terminal.press("#3\r");
    terminal.wait_for("3 of ");
    terminal.press("L");
    terminal.wait_for("back from the debugger");
    assert!(terminal.parser.screen().alternate_screen());
    let asked = std::fs::read_to_string(terminal.home.path().join("asked")).expect("it was asked");
    assert!(asked.contains("gdb-remote") || asked.contains("connect"), "{asked}");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Fails if the program reads another priority than its argument.
const PRIORITY: &str = r"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(int argc, char **argv) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t times[3]; } attr;
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(!syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0));
    assert(attr.nice == getpriority(PRIO_PROCESS, 0));
    assert(getpriority(PRIO_PROCESS, 0) == atoi(argv[1]));
    return 0;
}";

/// The nice value of a thread.
fn nice(stat: &Path) -> i32 {
    let stat = std::fs::read_to_string(stat).expect("the thread runs");
    let after_name = stat.rsplit(')').next().expect("fields");
    after_name.split_whitespace().nth(16).and_then(|field| field.parse().ok()).expect("a number")
}

#[test]
fn programs_do_not_see_the_lower_priority_of_background_work() {
    let home = Home::new();
    let path = compiled_text(&home, "priority", PRIORITY, &["-O1", "-pthread"]);
    let own = nice(Path::new("/proc/self/stat"));
    let mut terminal = Terminal::open(home, &["ui", "--", &path, &own.to_string()], (150, 40));
    terminal.wait_for("passes");
    terminal.press("j");
    terminal.wait_for("safe: all ");
    let pid = terminal.child.process_id().expect("it runs");
    assert_eq!(nice(Path::new(&format!("/proc/{pid}/stat"))), own, "the thread that draws");
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    let lower = threads
        .filter(|thread| nice(&thread.as_ref().expect("a thread").path().join("stat")) > own)
        .count();
    assert!(own == 19 || lower >= 2, "{lower} threads for requests and inspections");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
