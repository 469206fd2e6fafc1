//! Breakpoints that are hit many thousand times before their condition holds: the process counts
//! the hits without the debugger, with the same results.

use std::fs;
use std::time::Instant;
use tests::debugging::{BOUND, address, compiled_text, expect, gdb_on};
use tests::heddle::Home;
use tests::rsp::Server;

/// A thread calls `come_by` as often as its argument says, with -1 forever, and crashes afterwards
/// on request.
const FAR: &str = "\
#include <pthread.h>
#include <stdlib.h>
volatile long total;
volatile int *nowhere = 0;
__attribute__((noinline)) void come_by(long i)
{
    total += i;
}
static void *worker(void *often)
{
    long n = (long)often;
    for (long i = 0; n < 0 || i < n; i++)
        come_by(i);
    if (n % 2)
        *nowhere = 1;
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, 0, worker, (void *)atol(argv[argc - 1]));
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn conditions_and_reverse_steps_work_over_many_hits() {
    let home = Home::new();
    let path = compiled_text(&home, "far", FAR, &[]);
    let commands = [
        "break come_by if i == 19999",
        "continue",
        "print total",
        "delete",
        "reverse-stepi",
        "stepi",
        "print i",
        "break come_by if i == 5",
        "reverse-continue",
        "print total",
        "delete",
        "tbreak far.c:14",
        "continue",
        "print $rip",
        "print $eflags",
        "reverse-stepi",
        "reverse-stepi",
        "stepi",
        "stepi",
        "print $rip == $4 && $eflags == $5",
        "print total",
        // The process counts without the debugger when it crashes.
        "break come_by if i < 0",
        "run",
        "continue",
        "print nowhere",
        "reverse-continue",
    ];
    let run = gdb_on(&home, &[&path, "20001"], &commands);
    expect(
        &run,
        &[
            "hit Breakpoint 1, come_by (i=19999)",
            "$1 = 199970001",
            "$2 = 19999",
            "hit Breakpoint 2, come_by (i=5)",
            "$3 = 10",
            "worker (often=",
            "$6 = 1",
            "$7 = 200010000",
            "received signal SIGSEGV",
            "$8 = (volatile int *) 0x0",
            "No more reverse-execution history",
        ],
    );
}

/// A field of `/proc/PID/status`.
fn status(pid: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

/// Whether a process has used processor time: then it is beyond the place at which it was detached.
fn has_run(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    // The time in user mode is the twelfth field after the name.
    fields.split_whitespace().nth(11).is_some_and(|ticks| ticks != "0")
}

/// Waits until the server has detached from a process and that has run, and returns its number.
fn loose(server: &Server) -> String {
    let since = Instant::now();
    while since.elapsed() < BOUND {
        let mut children = server.children().into_iter();
        let is_loose = |pid: &String| {
            status(pid, "TracerPid:").is_some_and(|tracer| tracer == "0")
                && status(pid, "State:").is_some_and(|state| !state.starts_with('Z'))
                && has_run(pid)
        };
        if let Some(pid) = children.find(is_loose) {
            return pid;
        }
        std::thread::yield_now();
    }
    panic!("the server detached from no process: {:?}", server.children());
}

#[test]
fn a_detached_process_is_interrupted_and_ends_with_its_server() {
    let home = Home::new();
    let path = compiled_text(&home, "far", FAR, &["-no-pie"]);
    let place = address(&home, &path, "&come_by");
    let mut server = Server::start_on(&home, &[&path, "-1"], &["--at", "main"]);
    let mut client = server.connect();
    // The condition: (rdi == 0) == 2, which never holds, since a comparison is 0 or 1.
    assert_eq!(client.ask(&format!("Z0,{place:x},1;Xa,26000522001322021327")), "OK");
    for _ in 0..4 {
        client.packet(b"vCont;c");
        loose(&server);
        client.send(&[3]);
        let stop = client.answer().expect("an answer");
        assert!(stop.starts_with("T02"), "{stop}");
        let before = client.ask("g");
        assert!(client.ask("vCont;s").starts_with("T05"));
        assert!(client.ask("bs").starts_with("T05"));
        assert_eq!(client.ask("g"), before);
    }
    client.packet(b"vCont;c");
    let counts = loose(&server);
    server.kill();
    let since = Instant::now();
    // A zombie counts as ended: its new parent may not have waited for it yet.
    while status(&counts, "State:").is_some_and(|state| !state.starts_with('Z')) {
        assert!(since.elapsed() < BOUND, "the process {counts} is left over");
        std::thread::yield_now();
    }
}
