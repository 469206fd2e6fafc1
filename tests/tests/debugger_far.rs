//! What is many thousand passes away: the process counts them by itself, and nobody sees a difference.

use std::fs;
use std::time::Instant;
use tests::debugging::{BOUND, address, compiled_text, expect, gdb_on};
use tests::heddle::Home;
use tests::rsp::Server;

/// A thread comes by `come_by` as often as it is told, by -1 for ever, and crashes then if it is told to.
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
fn conditions_and_steps_backwards_over_many_passes() {
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
        // It counts by itself when it crashes.
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

/// What the system says of a process under this name.
fn status(pid: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

/// Waits until the server has let go of a process: its number.
fn loose(server: &Server) -> String {
    let since = Instant::now();
    while since.elapsed() < BOUND {
        let mut children = server.children().into_iter();
        let is_loose = |pid: &String| {
            status(pid, "TracerPid:").is_some_and(|tracer| tracer == "0")
                && status(pid, "State:").is_some_and(|state| !state.starts_with('Z'))
        };
        if let Some(pid) = children.find(is_loose) {
            return pid;
        }
        std::thread::yield_now();
    }
    panic!("the server lets go of no process: {:?}", server.children());
}

#[test]
fn a_process_that_counts_by_itself_is_interrupted_and_ends_with_its_server() {
    let home = Home::new();
    let path = compiled_text(&home, "far", FAR, &["-no-pie"]);
    let place = address(&home, &path, "&come_by");
    let mut server = Server::start_on(&home, &[&path, "-1"], &["--at", "main"]);
    let mut client = server.connect();
    // Whether rdi equals 0, which is 0 or 1, equals 2.
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
    // Whoever inherits it may not have asked yet how it ended.
    while status(&counts, "State:").is_some_and(|state| !state.starts_with('Z')) {
        assert!(since.elapsed() < BOUND, "the process {counts} is left over");
        std::thread::yield_now();
    }
}
