//! One fault at one system call of the controller: nothing that was found is lost, and there is no
//! hang, no process left behind, no false failure and no false claim of completeness.
//!
//! `HEDDLE_FAULTS=1000` injects at least as many faults; the default takes less than a minute.
//! `HEDDLE_FAULT_VERBS=gdb,ui` injects them into these alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::heddle::{Home, Run, run};
use tests::hostile::{await_gone, await_some, build};
use tests::terminal::Terminal;
use traces::report::{Report, Verdict};

/// The kinds of fault of `fails_calls.c`.
const KINDS: [(u32, &str); 7] = [
    (1, "short read or write"),
    (2, "full disk"),
    (4, "interrupted call"),
    (8, "no memory"),
    (16, "too many open files"),
    (32, "no process"),
    (64, "killed process"),
];

/// How the language's library ends the process if it has no memory for a new thread's signal stack, the
/// first one's included.
const NO_THREAD: &str = "alternative stack";

/// The same, if the panic's own message goes elsewhere: nothing catches a panic before a thread begins.
const NO_PANIC: &str = "failed to initiate panic";

/// The longest a command may take; without a fault each takes less than a second.
const BOUND: Duration = Duration::from_secs(180);

const LIMITS: [&str; 6] = ["--max-executions", "150", "--strategy", "dfs", "--workers", "1"];

struct Workshop {
    home: Home,
    library: PathBuf,
    /// A trace that was recorded without a fault, and its bytes.
    trace: String,
    bytes: Vec<u8>,
}

impl Workshop {
    fn new() -> Workshop {
        let home = Home::new();
        build(&home, "many_bugs", "buggy", &[]);
        build(&home, "many_bugs", "fine", &["-DFINE"]);
        let library = build(&home, "fails_calls", "fails.so", &["-shared", "-fPIC", "-ldl"]);
        let args = [&["explore", "--json", "--out", "kept"], &LIMITS[..], &["--", "./buggy"]];
        let report = run(home.command(args.concat()), BOUND).report();
        let trace = report.bugs[0].trace.clone().expect("a trace");
        let bytes = std::fs::read(home.path().join(&trace)).expect("there");
        Workshop { home, library, trace, bytes }
    }

    fn args(&self, verb: &str) -> Vec<String> {
        let words: Vec<&str> = match verb {
            "buggy" => [&["explore", "--json"], &LIMITS[..], &["--", "./buggy"]].concat(),
            "fine" => [&["explore", "--json"], &LIMITS[..], &["--", "./fine"]].concat(),
            "replay" => vec!["replay", "--json", "--times", "5", &self.trace],
            "shrink" => vec!["shrink", "--json", "-o", "small.heddle", &self.trace],
            _ => vec!["gdb", "--server", "127.0.0.1:0", &self.trace],
        };
        words.into_iter().map(str::to_owned).collect()
    }

    fn command(&self, verb: &str, kind: u32, at: u64) -> Command {
        let mut command = self.home.command(self.args(verb));
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAULT_KIND", kind.to_string())
            .env("FAULT_AT", at.to_string())
            .env("FAULT_COUNT", self.home.path().join("count"));
        command
    }

    /// How many calls of the verb can fail in this way.
    fn count(&self, verb: &str, kind: u32) -> u64 {
        let _ = std::fs::remove_file(self.home.path().join("count"));
        if verb == "gdb" {
            // The server ends by a signal and counts nothing; it makes some hundred calls.
            return 150;
        }
        if verb == "ui" {
            self.explore_by_keys(kind, u64::MAX >> 1, "without a fault");
        } else {
            let _ = run(self.command(verb, kind, u64::MAX >> 1), BOUND);
        }
        let text = std::fs::read_to_string(self.home.path().join("count")).unwrap_or_default();
        text.parse().unwrap_or(0)
    }

    /// Runs a verb with one fault.
    fn inject(&self, verb: &str, kind: (u32, &str), at: u64) {
        let what = format!("{verb}: {} at call {at}", kind.1);
        let _ = std::fs::remove_file(self.home.path().join("small.heddle"));
        if verb == "gdb" {
            self.serve(kind.0, at, &what);
        } else if verb == "ui" {
            self.explore_by_keys(kind.0, at, &what);
        } else {
            let done = run(self.command(verb, kind.0, at), BOUND);
            self.check(verb, &done, &what);
        }
        for program in ["buggy", "fine"] {
            await_gone(&self.home.path().join(program));
        }
        let kept = std::fs::read(self.home.path().join(&self.trace)).expect("there");
        assert!(kept == self.bytes, "{what}: the trace was changed");
    }

    fn check(&self, verb: &str, done: &Run, what: &str) {
        let said = format!("{what}: {done:?}");
        if done.status == -1 && done.stdout.is_empty() && done.stderr.contains(NO_THREAD) {
            // No code of Heddle's runs in such a thread. Traces that were found are on disk.
            return;
        }
        assert!((0..=4).contains(&done.status), "{said}");
        let report = serde_json::from_str::<Report>(&done.stdout).ok();
        match verb {
            "fine" => {
                assert_ne!(done.status, 1, "a false failure: {said}");
                let bugs = report.map_or(0, |report| report.bugs.len());
                assert_eq!(bugs, 0, "a false failure: {said}");
            }
            "buggy" => {
                // 150 executions do not cover every schedule.
                let verdict = report.as_ref().map(|report| report.verdict);
                assert_ne!(verdict, Some(Verdict::Clean), "a false claim: {said}");
                for bug in report.iter().flat_map(|report| &report.bugs) {
                    match &bug.trace {
                        Some(trace) => self.check_loads(trace, &said),
                        None => assert!(
                            done.stderr.contains("saved") || bug.message.contains("("),
                            "a lost failure: {said}"
                        ),
                    }
                }
                if verdict == Some(Verdict::Bug) {
                    assert_eq!(done.status, 1, "{said}");
                }
            }
            "replay" => assert_ne!(done.status, 0, "a failing trace passed: {said}"),
            _ => {
                if self.home.path().join("small.heddle").exists() {
                    self.check_loads("small.heddle", &said);
                }
            }
        }
    }

    fn check_loads(&self, trace: &str, said: &str) {
        let shown = run(self.home.command(["show", trace]), BOUND);
        assert_eq!(shown.status, 0, "{trace} is unreadable: {said}");
    }

    /// Opens the explorer with one fault, starts a search, and quits. It may end on its own, with its
    /// terminal restored and a reason.
    fn explore_by_keys(&self, kind: u32, at: u64, what: &str) {
        let text = |path: PathBuf| path.display().to_string();
        let program = text(self.home.path().join("buggy"));
        let (library, count) = (text(self.library.clone()), text(self.home.path().join("count")));
        let variables = [
            ("LD_PRELOAD", library.as_str()),
            ("FAULT_KIND", &kind.to_string()),
            ("FAULT_AT", &at.to_string()),
            ("FAULT_COUNT", &count),
        ];
        let args = ["ui", "--", &program];
        let mut terminal = Terminal::open_with(Home::new(), &args, (100, 30), &variables);
        // An error may be shown instead.
        look_for(&mut terminal, "next to run", Duration::from_secs(5));
        let _ = terminal.try_press("gh");
        let _ = terminal.try_press("j1\r");
        look_for(&mut terminal, "different failure", Duration::from_secs(2));
        let _ = terminal.try_press("\x03");
        let mut last = String::new();
        let ended = await_some(&format!("the end of the explorer: {what}"), || {
            terminal.drain();
            last = terminal.screen();
            terminal.child.try_wait().expect("a child")
        });
        terminal.drain();
        let (code, signal) = (ended.exit_code(), ended.signal().map(str::to_owned));
        let screen = terminal.screen();
        let is_out_of_threads = screen.contains(NO_THREAD) || screen.contains(NO_PANIC);
        assert!(
            is_out_of_threads || (signal.is_none() && code <= 4),
            "{what}: {code} {signal:?}:\n{last}\n{screen}"
        );
    }

    /// Starts the debugger's server with one fault. It ends, or waits for a debugger.
    fn serve(&self, kind: u32, at: u64, what: &str) {
        let mut command = self.command("gdb", kind, at);
        let mut server =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let end = Instant::now() + Duration::from_millis(700);
        let ended = loop {
            match server.try_wait().expect("a child") {
                None if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                ended => break ended,
            }
        };
        if let Some(status) = ended {
            use std::io::Read;
            let mut stderr = String::new();
            let _ = server.stderr.take().expect("a pipe").read_to_string(&mut stderr);
            let is_out_of_threads = status.code().is_none() && stderr.contains(NO_THREAD);
            assert!(
                is_out_of_threads || status.code().is_some_and(|code| (2..=3).contains(&code)),
                "{what}: {status}: {stderr}"
            );
        }
        let _ = server.kill();
        let _ = server.wait();
    }
}

/// Waits a while for a text on the screen, or for the explorer's end.
fn look_for(terminal: &mut Terminal, text: &str, most: Duration) {
    let end = Instant::now() + most;
    while Instant::now() < end && !terminal.screen().contains(text) {
        if terminal.child.try_wait().expect("a child").is_some() {
            return;
        }
        terminal.drain();
    }
}

/// The number of faults that `HEDDLE_FAULTS` asks for.
fn wanted() -> u64 {
    std::env::var("HEDDLE_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn one_fault_of_the_system_loses_nothing_and_claims_nothing() {
    let workshop = Workshop::new();
    let verbs = ["buggy", "fine", "replay", "shrink", "gdb", "ui"];
    let only = std::env::var("HEDDLE_FAULT_VERBS").ok();
    let is_chosen =
        |verb: &&str| only.as_ref().is_none_or(|only| only.split(',').any(|one| one == *verb));
    let mut targets: Vec<(&str, (u32, &str), u64)> = Vec::new();
    for verb in verbs.into_iter().filter(is_chosen) {
        // The library by which the explorer watches files aborts if its thread cannot be started.
        for kind in KINDS.into_iter().filter(|kind| verb != "ui" || kind.0 != 32) {
            targets.push((verb, kind, workshop.count(verb, kind.0)));
        }
    }
    // As many of each, where there are as many calls, so that they are enough together.
    let injected = |each: u64| targets.iter().map(|&(.., calls)| each.min(calls)).sum::<u64>();
    let all = injected(u64::MAX);
    let each = (1..).find(|&each| injected(each) >= wanted().min(all)).unwrap_or(1);
    for &(verb, kind, calls) in &targets {
        let most = each.min(calls);
        for number in 0..most {
            // Evenly over the calls, and not always the first.
            let at = (number * calls + calls / 2) / most % calls;
            workshop.inject(verb, kind, at);
        }
        println!("{verb}: {}: {most} of {calls} calls", kind.1);
    }
    println!("{} faults", injected(each));
    assert!(only.is_some() || injected(each) >= wanted(), "{} faults", injected(each));
}
