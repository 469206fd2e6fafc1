//! The result of a search does not depend on the number of workers, and a search that was stopped
//! or killed can be resumed.

use search::rng::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_gone, await_some, build, children};
use tests::targets::program;
use traces::report::{Bug, Report, Verdict};

fn explore(home: &Home, name: &str, options: &[&str]) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json"];
    args.extend(options);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

/// The part of a report that must not depend on the number of workers.
fn essence(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let bugs: Vec<Bug> = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let found_by = report.found_by.clone();
    (report.verdict, report.executions, report.distinct, report.bound, found_by, bugs)
}

#[test]
fn orders_of_thousands_of_steps_are_shared_among_workers() {
    let home = Home::new();
    build(&home, "long_orders", "long_orders", &[]);
    let options = ["--strategy", "dpor", "--workers", "2", "--max-executions", "600"];
    let args = [&["explore", "--json"], &options[..], &["--", "./long_orders"]].concat();
    let report = home.heddle(args).report();
    assert_eq!((report.verdict, report.executions), (Verdict::Incomplete, 600), "{report:?}");
    assert!(report.max_steps > 5_000, "{report:?}");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_workers() {
    let home = Home::new();
    let cases: [(&str, &[&str]); 18] = [
        // Stopped at the first failure, which is found late.
        ("twostage", &["--strategy", "random", "--seed", "3"]),
        ("bank", &["--strategy", "dfs", "--keep-going", "--max-executions", "9000"]),
        ("buffer_if", &["--strategy", "pct:3", "--keep-going", "--max-executions", "20000"]),
        ("philosophers", &["--strategy", "sticky:2", "--max-executions", "12000"]),
        // Complete.
        ("increment_locked", &["--strategy", "dpor"]),
        ("account_fixed", &["--strategy", "dpor"]),
        ("account_fixed", &["--strategy", "dpor", "--bound", "1"]),
        ("increment_locked", &["--strategy", "icb"]),
        ("increment_locked", &["--strategy", "dfs"]),
        ("increment_locked", &["--strategy", "delay"]),
        ("account_fixed", &["--strategy", "auto"]),
        // The other strategies, each for more than one round.
        ("buffer_if", &["--strategy", "pos", "--keep-going", "--max-executions", "9000"]),
        ("buffer_if", &["--strategy", "rapos", "--keep-going", "--max-executions", "9000"]),
        ("buffer_if", &["--strategy", "surw", "--keep-going", "--max-executions", "9000"]),
        ("buffer_if", &["--strategy", "feedback", "--keep-going", "--max-executions", "9000"]),
        ("buffer_if", &["--strategy", "directed", "--keep-going"]),
        ("account_fixed", &["--strategy", "hapset"]),
        ("bank", &["--strategy", "auto", "--keep-going", "--max-executions", "9000"]),
    ];
    for (name, options) in cases {
        let alone = explore(&home, name, &[options, &["--workers", "1"]].concat());
        for workers in ["2", "5"] {
            let together = explore(&home, name, &[options, &["--workers", workers]].concat());
            let what = format!("{name} {options:?} by {workers}");
            assert_eq!(essence(&together), essence(&alone), "{what}");
        }
    }
}

/// A program under an endless search.
struct Endless {
    home: Home,
    program: PathBuf,
}

impl Endless {
    fn new() -> Endless {
        let home = Home::new();
        let program = build(&home, "many_bugs", "program", &["-DFINE"]);
        Endless { home, program }
    }

    fn start(&self, options: &[&str]) -> Child {
        let args = ["explore", "--json", "--max-executions", "0"];
        let mut command = self.home.command([&args, options, &["--", "./program"]].concat());
        command.stderr(Stdio::null());
        command.spawn().expect("it starts")
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("heddle-out/search.heddle-state")
    }

    fn await_state(&self) {
        await_some("the search on disk", || self.state().exists().then_some(()));
    }

    fn resume(&self, options: &[&str]) -> Run {
        let args = ["explore", "--json", "--resume", "heddle-out"];
        run(self.home.command([&args, options, &["--", "./program"]].concat()), BOUND)
    }
}

#[test]
fn a_killed_search_is_resumed_with_another_number_of_workers() {
    let search = Endless::new();
    let options = ["--strategy", "random", "--seed", "5", "--workers", "2"];
    let mut heddle = search.start(&options);
    search.await_state();
    heddle.kill().expect("it runs");
    heddle.wait().expect("it ran");
    await_gone(&search.program);
    let options = ["--strategy", "random", "--seed", "5", "--workers", "3"];
    let looked = search.resume(&[&options[..], &["--max-executions", "1"]].concat()).report();
    assert!(looked.executions > 1, "what was done before counts: {looked:?}");
    let most = (looked.executions + 5_000).to_string();
    let gone_on = search.resume(&[&options[..], &["--max-executions", &most]].concat()).report();
    assert_eq!(gone_on.executions.to_string(), most);
    // The result is that of an uninterrupted search.
    let whole = ["explore", "--json", "--out", "other", "--max-executions", &most];
    let whole = [&whole, &options[..], &["--", "./program"]].concat();
    let whole = run(search.home.command(whole), BOUND).report();
    assert_eq!(essence(&gone_on), essence(&whole));
}

/// However short it was.
#[test]
fn a_search_that_reached_its_limit_can_be_resumed_under_every_strategy() {
    let search = Endless::new();
    let state = search.state();
    let mut limited = 0;
    for strategy in search::strategy::registry::listed().map(|one| one.name) {
        let mut options = vec!["--strategy", strategy, "--keep-going", "--workers", "1"];
        if strategy == "when" {
            // In no state.
            options.extend(["--when", "main@work"]);
        }
        let explore = |most: &str, more: &[&str]| {
            let args = [&["explore", "--json", "--max-executions", most], &options[..], more];
            let args = [&args.concat()[..], &["--", "./program"]].concat();
            run(search.home.command(args), BOUND)
        };
        let _ = fs::remove_dir_all(search.home.path().join("heddle-out"));
        let first = explore("40", &[]).report();
        if !first.reason.starts_with("the limit on executions was reached") {
            assert!(!state.exists(), "{strategy}: {first:?}");
            continue;
        }
        limited += 1;
        assert!(state.exists(), "{strategy}: there is nothing to resume: {first:?}");
        let more = explore("90", &["--resume", "heddle-out"]).report();
        assert!(more.executions > first.executions, "{strategy}: {more:?}");
        // Which part a bounded search covers before its limit may differ.
        if !["icb", "delay"].contains(&strategy) {
            let whole = explore("90", &["--out", "other"]).report();
            assert_eq!(essence(&more), essence(&whole), "{strategy}");
        }
    }
    assert!(limited > 9, "{limited} strategies");
}

#[test]
fn an_interrupted_search_ends_soon_and_can_be_resumed_to_its_end() {
    let home = Home::new();
    let program = build(&home, "many_bugs", "program", &["-DFINE"]);
    let start = ["explore", "--json", "--strategy", "dpor", "--workers", "2"];
    let whole = run(home.command([&start[..], &["--", "./program"]].concat()), BOUND).report();
    assert_eq!(whole.verdict, Verdict::Clean, "{whole:?}");
    // Stopped after every few executions, with alternating numbers of workers.
    let mut last = 0;
    let mut rounds = 0;
    loop {
        let most = (last + whole.executions / 5 + 1).to_string();
        let workers = if rounds % 2 == 0 { "1" } else { "3" };
        let mut args = vec!["explore", "--json", "--strategy", "dpor", "--workers", workers];
        args.extend(["--max-executions", &most]);
        args.extend(if rounds > 0 { ["--resume", "stopped"] } else { ["--out", "stopped"] });
        args.extend(["--max-time", "1h", "--", "./program"]);
        if rounds == 0 {
            // The first one is interrupted as soon as it runs.
            args.retain(|arg| *arg != most && *arg != "--max-executions");
            let mut command = home.command(&args);
            let child = command.spawn().expect("it starts");
            await_some("a worker", || children(child.id(), &program).first().copied());
            let pid = child.id().to_string();
            std::process::Command::new("kill").args(["-s", "INT", &pid]).status().expect("kill");
            let output = child.wait_with_output().expect("it ends");
            let report: Report = serde_json::from_slice(&output.stdout).expect("an object");
            assert!(matches!(report.verdict, Verdict::Incomplete | Verdict::Clean));
            if report.verdict == Verdict::Clean {
                return;
            }
            last = report.executions;
            rounds += 1;
            continue;
        }
        let report = run(home.command(&args), BOUND).report();
        rounds += 1;
        if report.verdict == Verdict::Clean {
            assert_eq!(report.executions, whole.executions);
            break;
        }
        assert!(report.executions >= last && rounds < 100, "{report:?}");
        last = report.executions.max(last + 1);
    }
    assert!(!home.path().join("stopped/search.heddle-state").exists(), "there is nothing left");
}

#[test]
fn the_state_of_a_different_search_is_refused() {
    let search = Endless::new();
    let options = ["--strategy", "random"];
    let refused = |options: &[&str], says: &str| {
        let run = search.resume(options);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{run:?}");
        assert!(run.stderr.lines().count() == 1 && run.stderr.contains(says), "{says}: {run:?}");
    };
    refused(&options, "there is no search to resume here");
    let mut heddle = search.start(&options);
    search.await_state();
    heddle.kill().expect("it runs");
    heddle.wait().expect("it ran");
    await_gone(&search.program);
    refused(&["--strategy", "dfs"], "another strategy");
    refused(&["--strategy", "random", "--seed", "1"], "another strategy, bound or seed");
    refused(&["--strategy", "random", "--max-steps", "7"], "--max-steps");
    let args = ["explore", "--resume", "heddle-out", "--strategy", "random", "--", "./program"];
    let more = run(search.home.command([&args[..], &["1"]].concat()), BOUND);
    assert!(more.status == 2 && more.stderr.contains("other arguments"), "{more:?}");
    let whole = fs::read(search.state()).expect("it is there");
    build(&search.home, "many_bugs", "program", &["-DFINE", "-DVALUE=2"]);
    refused(&options, "was rebuilt");
    build(&search.home, "many_bugs", "program", &["-DFINE"]);
    for (bytes, says) in [
        (&whole[..whole.len() / 2], "damaged or truncated"),
        (&whole[..20], "damaged or truncated"),
        (&whole[..0], "not a saved search"),
        (&b"something else"[..], "not a saved search"),
    ] {
        fs::write(search.state(), bytes).expect("written");
        refused(&options, says);
    }
    // Damage of every sort, and files with a right digest that someone else made.
    let mut rng = Rng::new(1, 0);
    for number in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.below(8) {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(3) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, rng.below(256) as u8),
            }
        }
        // Magic number, digest, mark, body.
        if number % 2 == 0 && bytes.len() > 72 && bytes[..8] == whole[..8] {
            let digest = *blake3::hash(&bytes[72..]).as_bytes();
            bytes[8..40].copy_from_slice(&digest);
        }
        if bytes != whole {
            fs::write(search.state(), &bytes).expect("written");
            refused(&options, "search");
        }
    }
    fs::write(search.state(), &whole).expect("written");
    // The key of another user.
    let key = search.home.path().join("state/heddle/author-key");
    let ours = fs::read(&key).expect("a key");
    fs::write(&key, [9; 32]).expect("written");
    refused(&options, "does not have the mark of this user's key");
    fs::write(&key, ours).expect("written");
    // Reading a pipe would wait for its writer.
    fs::remove_file(search.state()).expect("it is there");
    nix::unistd::mkfifo(&search.state(), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    refused(&options, "not a regular file");
    assert!(!Path::new("heddle-out").exists());
}

#[test]
fn killed_workers_are_replaced_and_their_work_is_repeated() {
    let search = Endless::new();
    let mut heddle = search.start(&["--strategy", "random", "--workers", "2", "--seed", "2"]);
    for _ in 0..3 {
        let pids = await_some("two workers", || {
            let pids = children(heddle.id(), &search.program);
            (pids.len() >= 2).then_some(pids)
        });
        let killed = pids[0];
        let _ =
            std::process::Command::new("kill").args(["-s", "KILL", &killed.to_string()]).status();
        await_some("its end", || {
            let now = children(heddle.id(), &search.program);
            (!now.contains(&killed)).then_some(())
        });
    }
    let pid = heddle.id().to_string();
    std::process::Command::new("kill").args(["-s", "INT", &pid]).status().expect("kill runs");
    let status = await_some("the end of heddle", || heddle.try_wait().expect("it runs"));
    assert_eq!(status.code(), Some(4));
    await_gone(&search.program);
    let options = ["--strategy", "random", "--seed", "2", "--workers", "2"];
    let looked = search.resume(&[&options[..], &["--max-executions", "1"]].concat()).report();
    let most = (looked.executions + 1_000).to_string();
    let gone_on = search.resume(&[&options[..], &["--max-executions", &most]].concat()).report();
    let whole = ["explore", "--json", "--out", "other", "--max-executions", &most];
    let whole =
        run(search.home.command([&whole, &options[..], &["--", "./program"]].concat()), BOUND);
    assert_eq!(essence(&gone_on), essence(&whole.report()));
}
