//! Processes are killed in the middle of a search: results are preserved, and no process is left
//! behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, await_gone, await_some, build, children};
use traces::report::{Report, Verdict};

/// An endless search, whose processes are killed.
struct Search {
    home: Home,
    program: PathBuf,
    heddle: Child,
}

impl Search {
    fn start(flags: &[&str], options: &[&str]) -> Search {
        let home = Home::new();
        let program = build(&home, "many_bugs", "program", flags);
        // A strategy that does not terminate.
        let endless = ["--strategy", "random", "--max-executions", "0"];
        let args = [&["explore", "--json", "--keep-going"], &endless[..]].concat();
        let mut command = home.command([&args[..], options, &["--", "./program"]].concat());
        // The messages about each failure are not read.
        command.stderr(Stdio::null());
        let heddle = command.spawn().unwrap();
        Search { home, program, heddle }
    }

    fn traces(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.path().join("heddle-out"));
        let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|name| name == "heddle")).collect()
    }

    fn await_traces(&self, count: usize) {
        await_some("traces on disk", || (self.traces().len() >= count).then_some(()));
    }

    /// The worker process that Heddle started.
    fn worker(&self) -> i32 {
        let look = || children(self.heddle.id(), &self.program).first().copied();
        await_some("the worker", look)
    }

    /// The process in which the worker runs an execution.
    fn execution(&self) -> i32 {
        await_some("an execution", || {
            // The worker ends, too, if an execution was killed.
            let worker = *children(self.heddle.id(), &self.program).first()?;
            children(worker as u32, &self.program).first().copied()
        })
    }

    fn signal(&self, name: &str, pid: i32) {
        // The process may have just ended on its own; that is not a failure of the test.
        let _ = Command::new("kill")
            .args(["-s", name, "--", &pid.to_string()])
            .stderr(Stdio::null())
            .status();
    }

    fn interrupt(&self) {
        self.signal("INT", self.heddle.id() as i32);
    }

    /// Waits for its end, and returns its exit status and report.
    fn end(&mut self) -> (Option<i32>, Report) {
        let status = await_some("the end of heddle", || self.heddle.try_wait().unwrap());
        await_gone(&self.program);
        let report = serde_json::from_reader(self.heddle.stdout.take().unwrap());
        (status.code(), report.unwrap_or_else(|error| panic!("one object: {error}")))
    }

    /// Asserts that each stored trace replays.
    fn check_traces(&self) {
        for path in self.traces() {
            let replayed = heddle(&self.home, "replay", &path);
            assert_eq!(replayed.status, 1, "{}: {replayed:?}", path.display());
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        // After a test that failed half-way.
        let _ = self.heddle.kill();
        let _ = self.heddle.wait();
    }
}

fn heddle(home: &Home, verb: &str, trace: &Path) -> tests::heddle::Run {
    run(home.command([verb.as_ref(), trace.as_os_str()]), BOUND)
}

#[test]
fn a_killed_controller_leaves_usable_traces() {
    // At different times: after the first traces, and while more are written.
    for (count, reset) in [(1, "auto"), (1, "fork"), (2, "exec"), (3, "fork"), (5, "auto")] {
        let mut search = Search::start(&[], &["--reset", reset]);
        search.await_traces(count);
        search.heddle.kill().unwrap();
        search.heddle.wait().unwrap();
        await_gone(&search.program);
        search.check_traces();
    }
}

#[test]
fn a_killed_worker_is_replaced() {
    for reset in ["auto", "fork", "exec"] {
        let mut search = Search::start(&[], &["--reset", reset]);
        search.await_traces(2);
        let worker = search.worker();
        search.signal("KILL", worker);
        // The search continues with another worker.
        await_some("another worker", || {
            let now = children(search.heddle.id(), &search.program);
            now.iter().any(|&pid| pid != worker).then_some(())
        });
        search.interrupt();
        let (status, report) = search.end();
        assert_eq!((status, report.verdict), (Some(1), Verdict::Bug), "{reset}: {report:?}");
        for bug in &report.bugs {
            let Some(trace) = bug.trace.as_deref() else {
                // The failure was found immediately before.
                assert!(bug.message.contains("interrupted before it was recorded"), "{bug:?}");
                continue;
            };
            let shown = heddle(&search.home, "show", Path::new(trace));
            assert_eq!(shown.status, 0, "{shown:?}");
        }
    }
}

#[test]
fn killed_executions_are_replaced() {
    let mut search = Search::start(&[], &["--reset", "fork"]);
    search.await_traces(1);
    let mut killed = Vec::new();
    // A piece of the search is given up after five attempts, and quick kills all hit the same piece.
    for _ in 0..4 {
        let execution = search.execution();
        search.signal("KILL", execution);
        killed.push(execution);
    }
    // The worker continues with other executions.
    await_some("another execution", || (!killed.contains(&search.execution())).then_some(()));
    search.interrupt();
    let (status, report) = search.end();
    assert_eq!((status, report.verdict), (Some(1), Verdict::Bug), "{report:?}");
    for path in search.traces() {
        let shown = heddle(&search.home, "show", &path);
        assert_eq!(shown.status, 0, "{shown:?}");
    }
}

/// A signal from outside says nothing about the program.
#[test]
fn a_kill_from_outside_is_no_bug() {
    for reset in ["fork", "exec", "auto"] {
        for signal in ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT"] {
            let mut search = Search::start(&["-DFINE"], &["--reset", reset]);
            let worker = search.worker();
            // Before main, a fault cannot be distinguished from one of the program.
            std::thread::sleep(Duration::from_millis(500));
            // With fork reset, an execution may end before the signal arrives, so another is killed if
            // no other worker appears. Otherwise the worker receives it. A piece is given up after five
            // attempts, so only three workers are killed, and none when it has just been started.
            let mut killed = Vec::new();
            let mut last: Option<Instant> = None;
            await_some("another worker", || {
                let ended = search.heddle.try_wait().unwrap();
                assert!(ended.is_none(), "{reset} {signal}: the search ended with {ended:?}");
                let waits = last.is_some_and(|at| at.elapsed() < Duration::from_secs(5));
                let target = match reset {
                    _ if waits => None,
                    "fork" => Some(search.execution()),
                    _ if killed.len() < 3 => {
                        Some(search.worker()).filter(|pid| !killed.contains(pid))
                    }
                    _ => None,
                };
                if let Some(target) = target {
                    last = Some(Instant::now());
                    killed.push(target);
                    let _ = nix::sys::signal::kill(
                        nix::unistd::Pid::from_raw(target),
                        signal.parse::<nix::sys::signal::Signal>().unwrap(),
                    );
                }
                let now = children(search.heddle.id(), &search.program);
                let is_another = now.iter().any(|pid| *pid != worker && !killed.contains(pid));
                is_another.then_some(())
            });
            std::thread::sleep(Duration::from_millis(300));
            search.interrupt();
            let (status, report) = search.end();
            let what = format!("{reset} {signal}: {report:?}");
            assert_eq!((status, report.verdict), (Some(4), Verdict::Incomplete), "{what}");
            assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{what}");
            assert!(search.traces().is_empty(), "{what}");
        }
    }
}

/// What ends every process from outside is an error with the reason.
#[test]
fn a_search_whose_processes_are_always_killed_is_an_error() {
    for reset in ["fork", "exec", "auto"] {
        let mut search = Search::start(&["-DFINE"], &["--reset", reset]);
        let worker = search.worker();
        let ended = await_some("the end of heddle", || {
            for pid in children(search.heddle.id(), &search.program) {
                search.signal("KILL", pid);
            }
            search.heddle.try_wait().unwrap()
        });
        assert_eq!(ended.code(), Some(3), "{reset}, {worker}");
        await_gone(&search.program);
        let report: Report = serde_json::from_reader(search.heddle.stdout.take().unwrap()).unwrap();
        assert_eq!(report.verdict, Verdict::Error, "{report:?}");
        let says = "ended from outside at each of 5 attempts: SIGKILL from outside of the program";
        assert!(report.reason.contains(says), "{report:?}");
    }
}

/// Before main, a fault of the program cannot be distinguished from a signal that another process sent: it is
/// one if it is there at each start.
#[test]
fn a_signal_before_main_is_the_programs_if_it_comes_at_each_start() {
    for (flags, verdict, says) in [
        (&[][..], Verdict::Clean, "signal 11 (SIGSEGV) before main; its executions were run again"),
        (&["-DALWAYS"], Verdict::Error, "ended before main: it was killed by signal 11 (SIGSEGV)"),
    ] {
        let home = Home::new();
        build(&home, "killed_before_main", "program", flags);
        let run = home.heddle(["explore", "--json", "--", "./program"]);
        assert_eq!(run.report().verdict, verdict, "{}", run.stdout);
        assert!(run.stdout.contains(says), "{}", run.stdout);
    }
}

#[test]
fn an_interrupt_ends_the_search() {
    for (flags, status, verdict) in
        [(&[][..], 1, Verdict::Bug), (&["-DFINE"], 4, Verdict::Incomplete)]
    {
        for signal in ["INT", "TERM"] {
            let mut search = Search::start(flags, &[]);
            match verdict {
                Verdict::Bug => search.await_traces(1),
                _ => drop(search.worker()),
            }
            search.signal(signal, search.heddle.id() as i32);
            let (code, report) = search.end();
            assert_eq!((code, report.verdict), (Some(status), verdict), "{report:?}");
            search.check_traces();
        }
    }
}

/// Ctrl-C does not wait until a failure is recorded in full; the failure is reported, stored, and
/// recorded by the resumed search.
#[test]
fn an_interrupt_does_not_wait_for_the_recording_of_a_failure() {
    for options in [&[][..], &["--keep-going", "--strategy", "dpor"]] {
        let home = Home::new();
        let program = build(&home, "waits_at_start", "program", &[]);
        let held = home.path().join("held");
        std::fs::write(&held, "").unwrap();
        let args = [&["explore", "--json"], options, &["--workers", "1"]].concat();
        let mut command = home.command([&args[..], &["--", "./program"]].concat());
        command.stderr(Stdio::null());
        let heddle = command.spawn().unwrap();
        let waits = home.path().join("waits");
        await_some("the process that records", || waits.exists().then_some(()));
        let mut search = Search { home, program, heddle };
        search.interrupt();
        let (status, report) = search.end();
        assert_eq!((status, report.verdict), (Some(1), Verdict::Bug), "{report:?}");
        let [bug] = &report.bugs[..] else { panic!("one failure: {report:?}") };
        let says = "interrupted before it was recorded: `--resume heddle-out` records it";
        assert!(bug.message.contains(says) && bug.trace.is_none(), "{bug:?}");
        assert!(search.traces().is_empty());

        std::fs::remove_file(&held).unwrap();
        let args = [&args[..], &["--resume", "heddle-out", "--", "./program"]].concat();
        let gone_on = run(search.home.command(args), BOUND);
        assert_eq!(gone_on.status, 1, "{gone_on:?}");
        let report = gone_on.report();
        let [recorded] = &report.bugs[..] else { panic!("one failure: {report:?}") };
        assert_eq!(recorded.found_at, bug.found_at, "{recorded:?}");
        assert!(recorded.message.contains("get() == 2"), "{recorded:?}");
        assert_eq!(search.traces().len(), 1);
        search.check_traces();
    }
}
