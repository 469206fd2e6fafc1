//! Breakpoints and watchpoints where there is little to stop at, and processes that die: each has a clear
//! answer, and the session continues.

use tests::debugging::{compiled_text, expect, gdb_on};
use tests::heddle::Home;
use tests::rsp::Server;

const PROGRAM: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <time.h>
long shared, ended;
__attribute__((noipa)) static void add(long *to, long n) {
    *to += n;
    shared += n;
    ended = shared & 1;
    shared += 3;
}
static void *run(void *p) {
    long mine = 0;
    add(&mine, 5);
    add(&mine, 6);
    return p;
}
__attribute__((noipa)) static void after(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ended += now.tv_sec != 0;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, run, 0);
    pthread_join(one, 0);
    after();
    pthread_create(&other, 0, run, 0);
    pthread_join(other, 0);
    after();
    return 0;
}
"#;

/// The output of gdb on the program.
fn session(home: &Home, commands: &[&str]) -> tests::heddle::Run {
    let path = compiled_text(home, "places", PROGRAM, &["-O1"]);
    let run = gdb_on(home, &[&path], commands);
    assert!(!run.stderr.contains("internal-error"), "{run:?}");
    run
}

#[test]
fn a_breakpoint_in_the_vdso_does_no_harm() {
    let home = Home::new();
    let run = session(&home, &["break __vdso_clock_gettime", "break after", "c", "c", "c"]);
    expect(&run, &["Breakpoint 2, after", "Breakpoint 2, after", "No more reverse-execution"]);
}

#[test]
fn a_breakpoint_in_a_linkers_entry_is_hit_each_time() {
    let home = Home::new();
    let run = session(&home, &["break 'pthread_create@plt'", "c", "c", "c"]);
    expect(&run, &["Breakpoint 1, ", "Breakpoint 1, ", "No more reverse-execution"]);
}

#[test]
fn breakpoints_on_all_instructions_of_a_function_are_hit_in_order() {
    let home = Home::new();
    // Accesses that are scheduling points are replaced in the program's code, and cover what follows them.
    let listed = session(&home, &["disassemble add"]);
    let addresses: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split("   0x").nth(1)?.split_whitespace().next())
        .filter(|word| word.len() > 12)
        .collect();
    assert!(addresses.len() >= 3, "{listed:?}");
    let breaks = addresses.iter().map(|address| format!("break *0x{address}"));
    // Two threads call the function twice each.
    let passes = 4;
    let continues = (0..passes * addresses.len()).map(|_| "c".to_owned());
    let back = (0..passes * addresses.len()).map(|_| "rc".to_owned());
    let commands: Vec<String> = breaks.chain(continues).chain(back).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let run = session(&home, &commands);
    let number = |line: &str| -> Option<usize> {
        line.split("Breakpoint ").nth(1)?.split(',').next()?.parse().ok()
    };
    let hits: Vec<usize> = run.stdout.lines().filter_map(number).collect();
    let once: Vec<usize> = (1..=addresses.len()).collect();
    let mut expected: Vec<usize> = once.iter().copied().cycle().take(passes * once.len()).collect();
    let back: Vec<usize> = expected.iter().rev().skip(1).copied().collect();
    expected.extend(back);
    assert_eq!(hits, expected, "{run:?}");
}

#[test]
fn a_watch_on_the_stack_of_an_ended_task_stays_harmless() {
    let home = Home::new();
    let run = session(
        &home,
        &[
            "break add",
            "c",
            "watch *to",
            "watch *(long *)to",
            "delete 1",
            "break after",
            "c",
            "c",
            "c",
            "print shared",
            "rc",
            "info threads",
        ],
    );
    expect(&run, &["hit Breakpoint 1", "$1 = ", "main"]);
    assert!(run.stdout.contains("atchpoint"), "{run:?}");
}

#[test]
fn an_expression_that_faults_is_refused() {
    let home = Home::new();
    let run = session(
        &home,
        &[
            "break add",
            "c",
            "print *(int *)0",
            "print ((struct timespec *)8)->tv_sec",
            "x/4x 0xfffffffffffffff0",
            "set var *(int *)0 = 1",
            "watch *(int *)0",
            "print n",
            "c",
            "print n",
        ],
    );
    expect(&run, &["hit Breakpoint 1", "$1 = 5"]);
    for text in ["Cannot access memory at address 0x0", "Cannot access memory at address 0x8"] {
        assert!(run.stderr.contains(text), "{text}: {run:?}");
    }
}

/// The range of a line of a process's memory map.
fn first_bytes_of_code(pid: &str) -> Vec<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("a memory map");
    let code = maps.lines().filter(|line| line.split_whitespace().nth(1) == Some("r-xp"));
    let starts = code.filter_map(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    starts.collect()
}

#[test]
fn breakpoints_in_the_runtimes_own_pages_do_no_harm() {
    let home = Home::new();
    let path = compiled_text(&home, "places", PROGRAM, &["-O1"]);
    let server = Server::start_on(&home, &[&path], &[]);
    let mut client = server.connect();
    let places: Vec<u64> =
        server.children().iter().flat_map(|pid| first_bytes_of_code(pid)).collect();
    assert!(places.len() > 4, "{places:x?}");
    for offset in [0, 0x40, 0x200] {
        for place in &places {
            let answer = client.ask(&format!("Z0,{:x},1", place + offset));
            assert!(answer == "OK" || answer.starts_with('E'), "{answer}");
        }
        let stop = client.ask("vCont;c");
        assert!(stop.starts_with('T') || stop.starts_with('W'), "{stop}");
        for place in &places {
            client.ask(&format!("z0,{:x},1", place + offset));
        }
        client.monitor("now goto start");
    }
    assert!(client.monitor("when").contains("position 0"), "{}", client.said);
    // Not a breakpoint is left.
    let stop = client.ask("vCont;c");
    assert!(!stop.contains("swbreak"), "{stop}");
    let when = client.monitor("when");
    assert!(when.contains("the execution is over"), "{stop} {when} {}", client.said);
}

#[test]
fn a_process_that_dies_is_reported_and_the_session_continues() {
    let home = Home::new();
    let path = compiled_text(&home, "places", PROGRAM, &["-O1"]);
    let server = Server::start_on(&home, &[&path], &[]);
    let mut client = server.connect();
    client.monitor("now goto 4");
    let state = client.ask("g");
    // The newest process is the one at the position; the others are copies from before.
    let pids = server.children().into_iter().map(|pid| pid.parse::<i32>().expect("a number"));
    let newest = pids.max().expect("a process");
    // SAFETY: a signal to a process that the server of this test has started.
    unsafe { libc::kill(newest, libc::SIGKILL) };
    client.ask("vCont;c");
    let answer = client.monitor("now goto 4");
    assert_eq!(client.ask("g"), state, "{answer} {}", client.said);
}
