//! `heddle test`, `cargo heddle test` and the runner of cargo on a small suite in Rust.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tests::heddle::{self, Home, Run};
use tests::suites::{assert_no_trace_is_lost, sources, tested, verdicts};
use traces::report::{Report, Verdict};

/// Compiles the Rust suite and returns its test program.
fn rust_suite(home: &Home) -> PathBuf {
    let copied = Command::new("cp")
        .arg("-r")
        .arg(sources().join("rust"))
        .arg(home.path().join("counters"))
        .status();
    assert!(copied.expect("cp runs").success());
    let output = Command::new("cargo")
        .args(["test", "--no-run", "--message-format=json"])
        .current_dir(home.path().join("counters"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", home.path().join("target"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let program = text.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    program.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn rust_tests_are_searched_and_their_harness_is_not() {
    let home = Home::new();
    let program = rust_suite(&home).to_string_lossy().into_owned();
    let run = home.heddle(["test", &program, "--json", "--no-fail-fast", "--max-time", "60s"]);
    let verdicts = verdicts(&run);
    for expected in ["tests::early_read: bug", "tests::off: ignored", "tests::plain: no-threads"] {
        assert!(verdicts.iter().any(|verdict| verdict == expected), "{expected}: {run:?}");
    }
    assert_eq!(run.status, 1, "{run:?}");
    assert_no_trace_is_lost(&home, &run);
    let object: Value = run.object();
    let is_early = |test: &&Value| test["test"] == "tests::early_read";
    let early = object["tests"].as_array().expect("a list").iter().find(is_early);
    let bug = &early.expect("the test")["report"]["bugs"][0];
    assert_eq!(bug["kind"], "panic", "{bug}");
    assert!(
        bug["message"].as_str().is_some_and(|text| text.contains("the thread was first")),
        "{bug}"
    );
    assert!(bug["site"].as_str().is_some_and(|site| site.starts_with("lib.rs:")), "{bug}");
    // The stack that raised the panic, which no longer exists when the process ends.
    let innermost = bug["stack"][0].as_str().expect("a frame");
    assert!(innermost.starts_with("counters::tests::early_read (lib.rs:"), "{bug}");
    let shown = home.heddle(["show", bug["trace"].as_str().expect("a trace")]);
    let panicked = shown.stdout.find("T1 tests::early_re panicked after step ");
    let main = shown.stdout.find("T0 main failed here");
    assert!(panicked.is_some() && panicked < main, "{}", shown.stdout);
    let is_error = |test: &&Value| test["test"] == "tests::lost_update_as_error";
    let error = object["tests"].as_array().expect("a list").iter().find(is_error);
    let bug = &error.expect("the test")["report"]["bugs"][0];
    assert_eq!(bug["kind"], "assertion", "{bug}");
    assert_eq!(bug["message"], "the test returned an error: \"the value is 1\"", "{bug}");
    assert_eq!(bug["site"], "", "{bug}");
    let bug_of = |name: &str| {
        let mut all = object["tests"].as_array().expect("a list").iter();
        let test = all.find(|test| test["test"] == name).expect("the test");
        test["report"]["bugs"][0].clone()
    };
    let bug = bug_of("tests::lost_update_must_panic");
    assert_eq!(bug["kind"], "assertion", "{bug}");
    let message = bug["message"].as_str().expect("a message");
    assert!(message.ends_with(": test did not panic as expected"), "{message}");
    assert!(bug["site"].as_str().is_some_and(|site| site.starts_with("lib.rs:")), "{bug}");
    // The harness's main, T0, always waits for the test: that is no part of the deadlock.
    let bug = bug_of("tests::locks_in_opposite_order");
    assert_eq!(bug["kind"], "deadlock", "{bug}");
    let message = bug["message"].as_str().expect("a message");
    assert!(
        message.starts_with("T1 waits for ") && message.contains("; T2 waits for "),
        "{message}"
    );
    let source = std::fs::read_to_string(sources().join("rust/src/lib.rs")).expect("a source");
    let site = bug["site"].as_str().and_then(|site| site.strip_prefix("lib.rs:"));
    let line: usize = site.and_then(|line| line.parse().ok()).expect("a line");
    let line = source.lines().nth(line - 1).expect("the line exists");
    assert!(line.contains(".lock().unwrap()"), "{bug}: {line}");
    let trace = bug["trace"].as_str().expect("a trace");
    let cause = home.heddle(["bisect", trace]).stdout;
    assert!(cause.contains("T2") && !cause.contains("T0 main: futex wait"), "{cause}");
    // A name that does not exist, and a tool that starts the tests in other processes.
    for verb in ["explore", "run"] {
        let run = home.heddle([verb, "--", &program, "--exact", "tests::no_such"]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains("has no test with the exact name tests::no_such"), "{run:?}");
        let run = home.heddle([verb, "--", "cargo", "test"]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains("run `cargo heddle test`"), "{run:?}");
    }
}

/// Executions of a stress test to their end would be few, and the first round of learning long: a task that
/// waits in a loop must be seen although its reads are frequent.
#[test]
fn a_stress_test_is_searched_in_its_first_rounds() {
    let home = Home::new();
    let test = rust_suite(&home).to_string_lossy().into_owned();
    let name = "tests::lost_update_among_many_rounds";
    let command = ["--", &test, "--ignored", "--exact", name];
    let options = ["--beginnings", "1000", "--max-executions", "300", "--workers", "1"];
    let all = [&["explore", "--json"], &options[..], &command].concat();
    let report = home.heddle(all).report();
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert_eq!(report.bugs[0].kind, traces::FailureKind::Panic, "{report:?}");
    assert!(report.cut > 0, "{report:?}");
    assert!(report.max_steps < 100_000, "{report:?}");
}

/// The harness's main and the thread of the test meet at a channel, locks and counters. None of that is a
/// part of the test.
#[test]
fn the_harness_of_a_test_costs_no_schedules() {
    let home = Home::new();
    let test = rust_suite(&home).to_string_lossy().into_owned();
    let main = home.path().join("counted.rs");
    let text = "#[path = \"counters/src/lib.rs\"]\nmod counters;\nfn main() {\n    counters::count();\n}\n";
    std::fs::write(&main, text).expect("a file");
    let plain = home.path().join("counted");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-g", "-A", "dead_code", "-o"])
        .args([&plain, &main])
        .env_remove("RUSTFLAGS")
        .status();
    assert!(built.expect("rustc runs").success());
    let plain = home.heddle(["explore", "--json", "--", &plain.to_string_lossy()]).report();
    let search = |options: &[&str]| {
        let command = ["--", &test, "--exact", "tests::counted"];
        home.heddle([&["explore", "--json"], options, &command].concat()).report()
    };
    let alone = search(&[]);
    for report in [&plain, &alone] {
        assert!(report.verdict == Verdict::Clean && report.complete, "{report:?}");
    }
    assert_eq!((alone.classes, alone.points.racy), (plain.classes, plain.points.racy));
    let names_harness = |report: &Report| {
        report.notes.iter().any(|note| note.starts_with("main belongs to the test harness"))
    };
    assert!(names_harness(&alone) && !names_harness(&plain), "{alone:?}");
    let everything = search(&["--harness", "none", "--max-executions", "500"]);
    assert!(!names_harness(&everything) && everything.points.racy > alone.points.racy);
    // The trace of a failure is replayed by the same rule.
    let command = ["explore", "--json", "--", &test, "--exact", "tests::lost_update"];
    let report = home.heddle(command).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let replayed = home.heddle(["replay", &trace]);
    assert!(replayed.stdout.starts_with("reproduced: "), "{replayed:?}");
}

/// A cargo command in the copy of the Rust suite, with the binaries of this build in `PATH`.
fn cargo(home: &Home, words: &[&str], runner: bool) -> Run {
    let directory = home.path().join("counters");
    if !directory.exists() {
        rust_suite(home);
    }
    let binaries = heddle::binary().parent().expect("the binary is in a directory");
    let mut path = binaries.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new("cargo");
    command
        .args(words)
        .current_dir(directory)
        .env("PATH", path)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", home.path().join("target"))
        .env("CARGO_TERM_COLOR", "never")
        .env("XDG_STATE_HOME", home.path().join("state"))
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("RUSTFLAGS")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if runner {
        let runner = format!("{} runner --max-time 60s", heddle::binary().display());
        command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    }
    heddle::run(command, Duration::from_secs(600))
}

#[test]
fn the_subcommand_of_cargo_builds_and_searches() {
    let home = Home::new();
    let run = cargo(&home, &["heddle", "test", "--json", "--max-time", "60s", "early"], false);
    assert_eq!(verdicts(&run), ["tests::early_read: bug"], "{run:?}");
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.stderr.contains("tests in documentation are left out"), "{run:?}");
    for filter in [&["no such test"][..], &["--filter", "no such test"]] {
        let run = cargo(&home, &[&["heddle", "test"], filter].concat(), false);
        assert!(run.status == 2 && run.stderr.contains("no test matches the filter"), "{run:?}");
    }
    let run = cargo(&home, &["heddle", "test", "--doc"], false);
    let said = "--doc: tests in documentation are not searched, since rustdoc compiles and runs them itself: write an example that creates threads as a #[test] function, and run the examples with cargo test --doc";
    assert!(run.status == 2 && run.stderr.contains(said), "{run:?}");
    std::fs::write(home.path().join("counters/src/lib.rs"), "fn wrong( {}\n").expect("a file");
    let run = cargo(&home, &["heddle", "test"], false);
    assert!(run.status == 2 && run.stderr.contains("src/lib.rs:1"), "{run:?}");
}

#[test]
fn as_the_runner_of_cargo_the_harness_reports_what_the_search_found() {
    let home = Home::new();
    let listed = cargo(&home, &["test", "--quiet", "--", "--list"], true);
    assert!(listed.status == 0 && listed.stdout.contains("tests::plain: test\n"), "{listed:?}");
    let run = cargo(&home, &["test", "--", "--skip", "lost", "--skip", "locks"], true);
    assert_eq!(run.status, 101, "{run:?}");
    for part in [
        "running 4 tests\n",
        "test tests::early_read ... FAILED\n",
        "test tests::off ... ignored\n",
        "test tests::counted ... ok\n",
        "test tests::plain ... ok\n",
        "the thread was first\n",
        "heddle replay heddle-out/counters/tests.early_read/",
        "test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 5 filtered out;",
    ] {
        assert!(run.stdout.contains(part), "{part}: {run:?}");
    }
    assert_eq!(run.stdout.matches("test result: ").count(), 1, "{run:?}");
    assert!(!run.stdout.contains("running 1 test"), "{run:?}");
    let run = cargo(&home, &["test", "plain"], true);
    assert!(run.status == 0 && run.stdout.contains("test result: ok. 1 passed;"), "{run:?}");
}

/// rustdoc compiles the tests of an edition into one program.
#[test]
fn as_the_runner_of_cargo_tests_in_documentation_are_run_and_not_searched() {
    let home = Home::new();
    let run = cargo(&home, &["test", "--doc"], true);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("1 passed"), "{run:?}");
    let said = "heddle: the tests in documentation are one program here, which takes no test's name: they are run and not searched";
    assert!(run.stderr.contains(said), "{run:?}");
}

/// Asking a program takes a start of it, and more where it is large.
#[test]
fn a_program_is_asked_for_its_tests_once() {
    let home = Home::new();
    let program = rust_suite(&home);
    let script = format!(
        "#!/bin/sh\n# RUST_TEST_THREADS\ncase \"$*\" in *--list*) echo \"$*\" >> asked;; esac\nexec {} \
         \"$@\"\n",
        program.display()
    );
    std::fs::write(home.path().join("wrapper"), script).expect("a file");
    let made = Command::new("chmod").args(["+x"]).arg(home.path().join("wrapper")).status();
    assert!(made.expect("chmod runs").success());
    let options = ["--filter", "counted", "--filter", "plain", "--filter", "early_read"];
    let (run, tests) = tested(&home, "./wrapper", &options);
    assert_eq!(tests.len(), 3, "{run:?}");
    assert!(tests.iter().all(|test| test["verdict"] != "error"), "{run:?}");
    let asked = std::fs::read_to_string(home.path().join("asked")).expect("the calls");
    // All tests, the ignored ones, and none: a line that the program prints itself is in each list.
    assert_eq!(asked.lines().count(), 3, "{asked}");
}
