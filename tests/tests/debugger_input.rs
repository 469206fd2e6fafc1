//! Debugging sessions with unusual programs, and with missing or failing parts.

use std::net::TcpListener;
use tests::debugging::{built, compiled, compiled_text, endless, expect, failing, gdb, gdb_on};
use tests::heddle::Home;
use tests::rsp::Server;

fn target(file: &str) -> String {
    format!("{}/targets/{file}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_program_without_symbols_is_debugged() {
    let home = Home::new();
    let path = compiled(&home, &target("debugged.c"), "stripped", &["-s"]);
    let run = gdb_on(
        &home,
        &[&path],
        &["sched goto 5", "info threads", "stepi", "reverse-stepi", "continue", "continue"],
    );
    expect(
        &run,
        &[
            "Thread 1.1 \"main\" (blocked: join",
            "Thread 1.2 \"worker-1\" (running",
            "exited normally",
        ],
    );
}

#[test]
fn a_program_at_fixed_addresses_is_debugged() {
    let home = Home::new();
    let path = compiled(&home, &target("debugged.c"), "fixed", &["-no-pie"]);
    let run = gdb_on(
        &home,
        &[&path],
        &[
            "break bump",
            "continue",
            "print tls_id",
            "watch counter",
            "continue",
            "reverse-continue",
        ],
    );
    expect(
        &run,
        &[
            "Breakpoint 1 at 0x40",
            "hit Breakpoint 1, bump (id=1, i=0)",
            "$1 = 1",
            "New value = 1",
            "New value = 0",
        ],
    );
}

#[test]
fn a_library_loaded_at_run_time_is_debugged() {
    let home = Home::new();
    let plug = "int plugged(int x)\n{\n    return x + 1;\n}\n";
    let plug = compiled_text(&home, "libplug.so", plug, &["-shared", "-fPIC"]);
    let main = compiled_text(
        &home,
        "opens",
        "#include <dlfcn.h>\n#include <pthread.h>\nstatic int (*call)(int);\n\
         static void *run(void *to) { *(int *)to = call(4); return 0; }\n\
         int main(int argc, char **argv)\n{\n    void *library = dlopen(argv[argc - 1], RTLD_NOW);\n\
         \x20   if (!library)\n        return 9;\n    call = (int (*)(int))dlsym(library, \"plugged\");\n\
         \x20   pthread_t thread;\n    int to = 0;\n    pthread_create(&thread, 0, run, &to);\n\
         \x20   pthread_join(thread, 0);\n    return to == 5 ? 0 : 1;\n}\n",
        &["-ldl"],
    );
    let run = gdb_on(
        &home,
        &[&main, &plug],
        &[
            "set breakpoint pending on",
            "break plugged",
            "continue",
            "info sharedlibrary",
            "backtrace",
            "delete",
            "continue",
            "reverse-continue",
        ],
    );
    expect(
        &run,
        &[
            "hit Breakpoint 1, plugged (x=4)",
            "libplug.so",
            "#0 *plugged (x=4)",
            "#1 *run (",
            "No more",
        ],
    );
    assert!(!run.stdout.contains("heddle_fiber_start"), "{run:?}");
}

#[test]
fn a_missing_debugger_a_taken_port_and_forbidden_ptrace_are_reported() {
    let home = Home::new();
    let program = built("debugged");
    let missing = home.heddle(["gdb", "--debugger", "/nowhere/gdb", "--", &program]);
    assert_eq!(missing.status, 2);
    for part in ["/nowhere/gdb is not installed", "apt install gdb", "target extended-remote"] {
        assert!(missing.stderr.contains(part), "{part}: {missing:?}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let refused = home.heddle(["gdb", "--server", &port, "--", &program]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("in use") && refused.stderr.contains("port 0"), "{refused:?}");
    // A library that makes ptrace fail in the tracing process, as a system does that forbids it.
    let forbids = "#include <errno.h>\nlong ptrace(int what, ...) { (void)what; errno = EPERM; return -1; }\n";
    let library = compiled_text(&home, "forbids.so", forbids, &["-shared", "-fPIC"]);
    let mut command = home.command(["gdb", "--server", "0", "--", &program]);
    command.env("LD_PRELOAD", library);
    let forbidden = tests::heddle::run(command, tests::debugging::BOUND);
    assert_ne!(forbidden.status, 0);
    assert!(forbidden.stderr.contains("kernel.yama.ptrace_scope"), "{forbidden:?}");
}

#[test]
fn the_second_debugger_waits_until_the_first_disconnects() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let server = Server::start(&home, &trace, &["--at", "main", "--keep"]);
    let mut first = server.connect();
    assert!(first.ask("vCont;s").starts_with("T05"));
    let second = std::thread::scope(|scope| {
        // The greeting is answered when the first client has disconnected.
        let second = scope.spawn(|| server.connect());
        assert!(first.ask("vCont;s").starts_with("T05"));
        let position = first.monitor("position");
        assert_eq!(first.ask("D;1"), "OK");
        let mut second = second.join().expect("connected");
        assert_eq!(second.monitor("position"), position);
        second
    });
    drop(second);
}

#[test]
fn a_diverging_replay_stops_and_reports_the_divergence() {
    let home = Home::new();
    let text = "#include <pthread.h>\n#include <stdio.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *run(void *x)\n{\n    pthread_mutex_lock(&lock);\n\
        \x20   pthread_mutex_unlock(&lock);\n    return x;\n}\n\
        int main(int argc, char **argv)\n{\n    FILE *file = fopen(argv[argc - 1], \"r\");\n\
        \x20   int first = file ? fgetc(file) : 0;\n    pthread_t thread;\n\
        \x20   pthread_create(&thread, 0, run, 0);\n    if (first == 'x')\n        run(0);\n\
        \x20   pthread_join(thread, 0);\n    return 0;\n}\n";
    let program = compiled_text(&home, "reads", text, &[]);
    let input = home.path().join("input");
    let input = input.to_string_lossy();
    std::fs::write(&*input, "a").expect("written");
    let run = home.heddle(["run", "--", &program, &input]);
    assert_eq!(run.status, 0, "{run:?}");
    let trace = home.path().join(run.trace());
    let recorded = std::fs::read(&trace).expect("there");
    std::fs::write(&*input, "x").expect("written");
    let commands = [
        "continue",
        "when",
        "reverse-stepi",
        "stepi",
        "sched goto end",
        "break run",
        "reverse-continue",
    ];
    let debugged = gdb(&home, run.trace(), "main", &commands);
    expect(
        &debugged,
        &[
            "No more reverse-execution history",
            ".end: the execution is over",
            ".end: the execution is over",
            "hit Breakpoint 1*, run (x=0x0)",
        ],
    );
    let said = "end of the schedule: the replay diverged: step ";
    assert!(debugged.stderr.contains(said), "{debugged:?}");
    assert_eq!(std::fs::read(&trace).expect("there"), recorded);
}

#[test]
fn a_debugger_that_disconnects_at_any_time_does_no_harm() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let file = home.path().join(&trace);
    let recorded = std::fs::read(&file).expect("there");
    let mut server = Server::start(&home, &trace, &["--at", "10", "--keep"]);
    let goes = |command: &str| {
        let digits: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("qHeddle:{digits}")
    };
    let (pick, explore) = (goes("now pick T1"), goes("now explore"));
    let commands =
        ["vCont;c", "bc", "bs", "vCont;s:p1.2", "g", "M555555558080,4:01020304", &pick, &explore];
    for command in commands {
        // The debugger disconnects immediately, or after it began to query the threads.
        for first in ["", "qfThreadInfo"] {
            let mut client = server.connect();
            if !first.is_empty() {
                client.ask(first);
            }
            client.packet(command.as_bytes());
            drop(client);
        }
    }
    let mut client = server.connect();
    client.ask("vRun;");
    assert!(client.monitor("when").contains("position 0.+0"));
    assert!(server.is_alive());
    assert_eq!(std::fs::read(&file).expect("there"), recorded);
    assert_eq!(home.heddle(["replay", &trace]).status, 1);
}

#[test]
fn breakpoints_and_steps_do_not_change_the_schedule() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let plain = gdb(&home, &trace, "main", &["continue", "when", "sched output"]);
    let looked = gdb(
        &home,
        &trace,
        "main",
        &[
            "break bump",
            "watch counter",
            "continue",
            "next",
            "continue",
            "stepi",
            "finish",
            "reverse-next",
            "continue",
            "delete",
            "continue",
            "when",
            "sched output",
        ],
    );
    // The runtime compares each step with the recording, and reports a difference.
    for run in [&plain, &looked] {
        expect(run, &["step 32 of 32, position 32.end", "counter 4"]);
        assert!(run.stderr.contains("end of the schedule: exit status 7"), "{run:?}");
    }
}

#[test]
fn a_run_stops_at_preemptions_and_leaves_functions_backwards() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "complete sched stop-on p",
            "sched stop-on preempt",
            "continue",
            "sched stop-on off",
            "break debugged.c:16 if id == 1 && i == 0",
            "continue",
            "delete",
            "reverse-finish",
            "continue",
            "continue",
        ],
    );
    expect(
        &run,
        &[
            "sched stop-on preempt",
            "Thread * stopped.",
            "hit Breakpoint 1, bump (id=1, i=0)",
            "worker (arg=",
            "exited with code 07",
        ],
    );
    assert!(run.stderr.contains("[sched] preemption at step"), "{run:?}");
    // Also backwards out of a function during which another thread began.
    let commands = [
        "tbreak debugged.c:16 if id == 1 && i == 2",
        "continue",
        "finish",
        "reverse-finish",
        "when",
        "delete",
        "continue",
        "continue",
    ];
    let out = gdb(&home, &trace, "main", &commands);
    expect(
        &out,
        &["Value returned", "worker (arg=", "about to do: T1 * start T1", "exited with code 07"],
    );
    let after = run.stdout.split("exited with code 07").nth(1);
    assert!(!after.unwrap_or_default().contains("New Thread"), "{run:?}");
}

#[test]
fn gdb_detaches_and_reattaches_twenty_times() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let mut server = Server::start(&home, &trace, &["--at", "main", "--keep"]);
    let begun = server.gdb(&["break bump", "continue", "delete", "next", "detach"]);
    expect(&begun, &["hit Breakpoint 1, bump (id=1, i=0)", "13", "detached"]);
    let mut client = server.connect();
    let (position, processes) = (client.monitor("position"), server.children().len());
    drop(client);
    let again = format!("target extended-remote {}", server.address());
    let commands = [again.as_str(), "info threads", "detach"].repeat(20);
    let output = server.gdb(&[&["detach"], commands.as_slice()].concat());
    let mut client = server.connect();
    assert_eq!(client.monitor("position"), position);
    drop(client);
    let stands = output.stdout.lines().filter(|line| line.contains("debugged.c:13"));
    assert!(stands.count() >= 20, "{output:?}");
    // A debugger that is killed while the program runs, and one that is not.
    let dies = "python import os; gdb.events.cont.connect(lambda event: os.kill(os.getpid(), 9))";
    let killed = server.gdb(&[dies, "continue"]);
    assert_eq!(killed.status, -1, "{killed:?}");
    let _ = server.gdb(&["python import os; os.kill(os.getpid(), 9)"]);
    let mut client = server.connect();
    client.ask("vRun;");
    assert_eq!(client.monitor("position"), "0.+0\n");
    assert!(server.is_alive());
    assert!(server.children().len() <= processes + 1, "{:?}", server.children());
}

#[test]
fn gdb_is_interrupted_in_a_loop_without_end() {
    let home = Home::new();
    let trace = endless(&home);
    let server = Server::start(&home, &trace, &["--at", "main", "--keep"]);
    // The interrupt may be late: the loop runs until it arrives.
    let interrupts = "python import os, signal, threading; gdb.events.cont.connect(lambda event: \
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start())";
    // Also when running backwards; the beginning may be reached before the interrupt.
    let commands = [
        interrupts,
        "continue",
        "backtrace",
        "info threads",
        "reverse-continue",
        "info threads",
        "kill",
    ];
    let run = server.gdb(&commands);
    expect(
        &run,
        &["received signal SIGINT", "#0 ", "(running)", "Id *Target Id", "Thread 1.1", "killed"],
    );
}

/// Regression test: the first interrupt was ignored except during recording, and the second ended
/// the server in the middle of a session.
#[test]
fn a_server_on_a_program_ends_at_the_first_interrupt() {
    use nix::sys::signal::{Signal, kill};
    let home = Home::new();
    let program = built("debugged");
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut server = Server::start_on(&home, &[&program], &["--keep"]);
        let pid = nix::unistd::Pid::from_raw(server.pid() as i32);
        kill(pid, signal).expect("it is there");
        tests::hostile::await_some("the end of the server", || (!server.is_alive()).then_some(()));
    }
}

#[test]
fn programs_that_cannot_be_debugged_are_refused_with_a_reason() {
    let home = Home::new();
    let text = "int main(void)\n{\n    return 0;\n}\n";
    let fixed = compiled_text(&home, "fixed", text, &["-static"]);
    let script = home.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("written");
    let script = script.to_string_lossy().into_owned();
    for (program, why) in [
        (fixed.as_str(), "is statically linked: nothing can be preloaded"),
        (script.as_str(), "has no permission to be executed"),
        ("./nowhere", "does not exist"),
    ] {
        let refused = home.heddle(["gdb", "--", program]);
        assert_eq!(refused.status, 3, "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
}
