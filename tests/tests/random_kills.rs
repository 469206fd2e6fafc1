//! `kill -9` at random moments, of Heddle and of the processes that it started, under every verb and kind
//! of reset: what was found stays readable, no process and no directory is left behind, and no kill is a
//! verdict.
//!
//! `HEDDLE_KILLS=500` sets the number, `HEDDLE_SEED` the seed.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use search::rng::Rng;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, await_gone, await_some, build, processes};
use tests::terminal::Terminal;
use traces::report::{Report, Verdict};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Explore { fine: bool, reset: &'static str },
    Replay,
    Shrink,
    Gdb,
    Ui,
}

const VERBS: [Verb; 10] = [
    Verb::Explore { fine: false, reset: "memory" },
    Verb::Explore { fine: true, reset: "memory" },
    Verb::Explore { fine: false, reset: "fork" },
    Verb::Explore { fine: true, reset: "fork" },
    Verb::Explore { fine: false, reset: "exec" },
    Verb::Explore { fine: true, reset: "exec" },
    Verb::Replay,
    Verb::Shrink,
    Verb::Gdb,
    Verb::Ui,
];

/// A directory with a program that fails, one that does not, and a trace.
struct Workshop {
    home: Home,
    buggy: PathBuf,
    fine: PathBuf,
    trace: String,
    bytes: Vec<u8>,
}

/// How many kills met a process, and how many had no effect because it had ended.
#[derive(Debug, Default)]
struct Counts {
    controllers: u64,
    programs: u64,
    none: u64,
}

impl Workshop {
    fn new() -> Workshop {
        let home = Home::new();
        let buggy = build(&home, "many_bugs", "buggy", &[]);
        let fine = build(&home, "many_bugs", "fine", &["-DFINE"]);
        std::fs::create_dir(home.path().join("tmp")).expect("writable");
        let report =
            run(home.command(["explore", "--json", "--out", "kept", "--", "./buggy"]), BOUND)
                .report();
        let trace = report.bugs[0].trace.clone().expect("a trace");
        let bytes = std::fs::read(home.path().join(&trace)).expect("there");
        Workshop { home, buggy, fine, trace, bytes }
    }

    fn command(&self, verb: Verb) -> Command {
        let limits = ["--strategy", "random", "--max-executions", "400", "--workers", "2"];
        let args: Vec<&str> = match verb {
            Verb::Explore { fine, reset } => {
                let program = if fine { "./fine" } else { "./buggy" };
                let first = ["explore", "--json", "--keep-going", "--reset", reset];
                [&first[..], &limits, &["--", program]].concat()
            }
            Verb::Replay => vec!["replay", "--json", "--times", "300", &self.trace],
            Verb::Shrink => vec!["shrink", "--json", "-o", "small.heddle", &self.trace],
            Verb::Gdb => vec!["gdb", "--server", "--keep", &self.trace],
            Verb::Ui => unreachable!("it needs a terminal"),
        };
        let mut command = self.home.command(args);
        command.env("TMPDIR", self.home.path().join("tmp")).stderr(Stdio::null());
        command
    }

    /// The processes that run one of the programs.
    fn programs(&self) -> Vec<i32> {
        [processes(&self.buggy), processes(&self.fine)].concat()
    }

    /// Kills Heddle, or one of its processes, and says which of them.
    fn kill(&self, heddle: i32, rng: &mut Rng, counts: &mut Counts) -> bool {
        let programs = self.programs();
        let controller = rng.below(3) == 0;
        let victim = match controller {
            true => Some(heddle),
            false if programs.is_empty() => None,
            false => Some(programs[rng.below(programs.len() as u32) as usize]),
        };
        let killed =
            victim.is_some_and(|victim| kill(Pid::from_raw(victim), Signal::SIGKILL).is_ok());
        match (killed, controller) {
            (false, _) => counts.none += 1,
            (true, true) => counts.controllers += 1,
            (true, false) => counts.programs += 1,
        }
        killed && controller
    }

    /// One run of a verb, with one kill.
    fn disturb(&self, verb: Verb, rng: &mut Rng, counts: &mut Counts) {
        // The moment is part of the choice: any is right, and how far the run is by then depends on the
        // machine.
        let moment = Duration::from_millis(rng.below(250).into());
        let _ = std::fs::remove_dir_all(self.home.path().join("heddle-out"));
        let _ = std::fs::remove_file(self.home.path().join("small.heddle"));
        if verb == Verb::Ui {
            self.disturb_explorer(moment, rng, counts);
        } else {
            let mut heddle = self.command(verb).spawn().expect("it starts");
            std::thread::sleep(moment);
            let pid = heddle.id() as i32;
            let controller = self.kill(pid, rng, counts);
            if verb == Verb::Gdb && !controller {
                // It waits for a debugger.
                let _ = heddle.kill();
            }
            let (status, text) = end(heddle);
            if !controller && verb != Verb::Gdb {
                self.check_report(verb, status, &text);
            }
        }
        await_gone(&self.buggy);
        await_gone(&self.fine);
        self.check_files(verb);
    }

    fn disturb_explorer(&self, moment: Duration, rng: &mut Rng, counts: &mut Counts) {
        // Another home, which the terminal takes.
        let home = Home::new();
        let temporary = self.home.path().join("tmp").display().to_string();
        let program = self.buggy.display().to_string();
        let mut terminal = Terminal::open_with(
            home,
            &["ui", "--", &program],
            (100, 30),
            &[("TMPDIR", &temporary)],
        );
        terminal.wait_for("next to run");
        // An endless search.
        terminal.press("gh");
        terminal.wait_for("search from this step");
        terminal.press("jjjjj\r");
        let end = std::time::Instant::now() + moment;
        while std::time::Instant::now() < end {
            terminal.drain();
        }
        let pid = terminal.child.process_id().expect("it runs") as i32;
        let controller = self.kill(pid, rng, counts);
        if !controller {
            // It still answers. The output is read meanwhile: it would wait for the reader.
            terminal.press("\x03");
        }
        await_some("the end of the explorer", || {
            terminal.drain();
            terminal.child.try_wait().expect("a child")
        });
    }

    fn check_report(&self, verb: Verb, status: Option<i32>, text: &str) {
        let said = format!("{verb:?}: {status:?}: {text}");
        let report = serde_json::from_str::<Report>(text).ok();
        match verb {
            Verb::Explore { fine, .. } => {
                let report = report.unwrap_or_else(|| panic!("no report: {said}"));
                // 400 random walks cover no schedule space.
                assert_ne!(report.verdict, Verdict::Clean, "{said}");
                if fine {
                    assert_ne!(report.verdict, Verdict::Bug, "a false failure: {said}");
                    assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{said}");
                } else {
                    assert_eq!((status, report.verdict), (Some(1), Verdict::Bug), "lost: {said}");
                    assert!(report.bugs.iter().all(|bug| bug.trace.is_some()), "lost: {said}");
                }
            }
            // The failure, or the reason why there is no verdict.
            Verb::Replay => assert!(matches!(status, Some(1 | 3)), "{said}"),
            Verb::Shrink => assert!(matches!(status, Some(0 | 1 | 3)), "{said}"),
            Verb::Gdb | Verb::Ui => {}
        }
    }

    /// What is on disk can be read, and nothing of it is a failure that does not exist.
    fn check_files(&self, verb: Verb) {
        let kept = std::fs::read(self.home.path().join(&self.trace)).expect("there");
        assert!(kept == self.bytes, "{verb:?}: the trace was changed");
        let found = std::fs::read_dir(self.home.path().join("heddle-out")).into_iter().flatten();
        let paths = found.map(|entry| entry.expect("an entry").path());
        let mut traces: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|name| name == "heddle")).collect();
        if matches!(verb, Verb::Explore { fine: true, .. }) {
            assert_eq!(traces, Vec::<PathBuf>::new(), "{verb:?}");
        }
        traces.extend(Some(self.home.path().join("small.heddle")).filter(|path| path.exists()));
        for path in traces {
            let shown = run(self.home.command([Path::new("show"), &path]), BOUND);
            assert_eq!(shown.status, 0, "{verb:?}: {shown:?}");
        }
    }

    /// The directories in the temporary one.
    fn temporary(&self) -> Vec<String> {
        let mut left = Vec::new();
        let tops = std::fs::read_dir(self.home.path().join("tmp")).expect("there").flatten();
        for top in tops {
            let entries = std::fs::read_dir(top.path()).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        left.retain(|path| path.contains("scratch-"));
        left
    }
}

fn end(mut heddle: Child) -> (Option<i32>, String) {
    use std::io::Read;
    let mut pipe = heddle.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.read_to_string(&mut text);
        text
    });
    let status = await_some("the end of heddle", || heddle.try_wait().expect("a child"));
    (status.code(), reader.join().expect("text"))
}

#[test]
fn kills_at_random_moments_lose_nothing_and_leave_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let wanted = number("HEDDLE_KILLS").unwrap_or(20);
    let mut rng = Rng::new(number("HEDDLE_SEED").unwrap_or(1), 0);
    let workshop = Workshop::new();
    let mut counts = Counts::default();
    for at in 0..wanted {
        workshop.disturb(VERBS[(at % VERBS.len() as u64) as usize], &mut rng, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.controllers + counts.programs >= wanted / 3, "{counts:?}");
    // The next process that needs a temporary directory removes those of the killed ones.
    let mut server = workshop.command(Verb::Gdb).spawn().expect("it starts");
    await_some("a clean directory for temporary files", || {
        let left = workshop.temporary();
        (left.len() == 1 && left[0].contains(&format!("scratch-{}-", server.id()))).then_some(())
    });
    server.kill().expect("it runs");
    server.wait().expect("a child");
    await_gone(&workshop.buggy);
}

/// A machine that is suspended stops every process at once. The search continues when they do.
#[test]
fn suspended_processes_are_no_failure() {
    let workshop = Workshop::new();
    for reset in ["memory", "fork", "exec"] {
        let mut command = workshop.command(Verb::Explore { fine: true, reset });
        let heddle = command.spawn().expect("it starts");
        await_some("a process of the program", || (!workshop.programs().is_empty()).then_some(()));
        let group = [workshop.programs(), vec![heddle.id() as i32]].concat();
        let signal = |signal| {
            for &pid in &group {
                // It may have ended already.
                let _ = kill(Pid::from_raw(pid), signal);
            }
        };
        signal(Signal::SIGSTOP);
        // Longer than the limit after which a task counts as spinning.
        std::thread::sleep(Duration::from_millis(2_500));
        signal(Signal::SIGCONT);
        let (status, text) = end(heddle);
        workshop.check_report(Verb::Explore { fine: true, reset }, status, &text);
        await_gone(&workshop.fine);
    }
}
