//! For any input Heddle ends within a time limit, with the documented exit status and a helpful
//! message, and leaves no process behind.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_gone, await_some, build};
use traces::FailureKind;
use traces::report::Verdict;

fn heddle(home: &Home, args: &[&str]) -> Run {
    run(home.command(args), BOUND)
}

/// Asserts a refusal: this exit status, empty standard output, and one line that contains all of
/// these parts.
#[track_caller]
fn check_line(run: &Run, status: i32, says: &[&str]) {
    assert_eq!(run.status, status, "{run:?}");
    assert_eq!(run.stdout, "", "{run:?}");
    check_message(run, says);
}

#[track_caller]
fn check_message(run: &Run, says: &[&str]) {
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    assert!(run.stderr.starts_with("heddle: "), "{run:?}");
    for part in says {
        assert!(run.stderr.contains(part), "does not say {part:?}: {run:?}");
    }
}

/// Creates an executable file with these bytes.
fn file(home: &Home, name: &str, bytes: impl AsRef<[u8]>) {
    let path = home.path().join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Replaces a byte sequence that must occur in the program.
fn replaced(program: &Path, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = fs::read(program).unwrap();
    let at = bytes.windows(from.len()).position(|part| part == from).unwrap();
    bytes[at..at + from.len()].fill(0);
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

fn with_header(program: &Path, class: u8, machine: u16) -> Vec<u8> {
    let mut bytes = fs::read(program).unwrap();
    bytes[4] = class;
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes
}

#[test]
fn files_that_are_not_programs_are_refused() {
    let home = Home::new();
    let good = build(&home, "many_bugs", "good", &[]);
    build(&home, "many_bugs", "static", &["-static"]);
    build(&home, "many_bugs", "static-pie", &["-static-pie"]);
    build(&home, "preloaded", "library.so", &["-shared", "-fPIC"]);
    let loader = b"/lib64/ld-linux-x86-64.so.2";
    file(&home, "musl", replaced(&good, loader, b"/lib/ld-musl-x86_64.so.1"));
    file(&home, "narrow", with_header(&good, 1, 3));
    file(&home, "foreign", with_header(&good, 2, 183));
    file(&home, "script", "#!/bin/sh\nexit 0\n");
    file(&home, "empty", "");
    file(&home, "cut", &fs::read(&good).unwrap()[..1000]);
    fs::create_dir(home.path().join("directory")).unwrap();
    file(&home, "setuid", fs::read(&good).unwrap());
    let setuid = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(home.path().join("setuid"), setuid).unwrap();
    file(&home, "note", "\u{ff} Go buildinf:");
    let added = Command::new("objcopy")
        .args(["--add-section", ".go.buildinfo=note", "good", "go"])
        .current_dir(home.path())
        .status();
    assert!(added.unwrap().success());

    // clang links this library in by default.
    build(&home, "many_bugs", "sanitized", &["-Wl,--defsym=__tsan_init=main"]);
    build(&home, "many_bugs", "address", &["-Wl,--defsym=__asan_init=main"]);
    build(&home, "many_bugs", "memory", &["-Wl,--defsym=__msan_init=main"]);

    let cases: [(&str, &[&str]); 16] = [
        ("sanitized", &["clang's ThreadSanitizer", "-fno-sanitize-link-runtime"]),
        ("address", &["built with AddressSanitizer", "build it without"]),
        ("memory", &["built with MemorySanitizer", "build it without"]),
        ("static", &["statically linked", "without -static"]),
        ("static-pie", &["static-pie", "link it dynamically"]),
        ("musl", &["musl", "needs glibc"]),
        ("narrow", &["32-bit", "build it for x86-64"]),
        ("foreign", &["aarch64", "build it for this machine"]),
        ("script", &["script for /bin/sh", "give the native program"]),
        ("missing", &["does not exist", "check the spelling"]),
        ("directory", &["is a directory", "give a program"]),
        ("setuid", &["setuid", "copy without"]),
        ("go", &["a Go program", "race detector"]),
        ("library.so", &["shared library", "give a program"]),
        ("empty", &["is empty", "build the program again"]),
        ("cut", &["truncated", "build or copy it again"]),
    ];
    for (name, says) in cases {
        let program = format!("./{name}");
        for verb in ["explore", "run"] {
            let plain = heddle(&home, &[verb, "--", &program]);
            check_line(&plain, 3, says);
            let json = heddle(&home, &[verb, "--json", "--", &program]);
            assert_eq!(json.status, 3, "{json:?}");
            check_message(&json, says);
            let report = json.report();
            assert_eq!(report.verdict, Verdict::Error, "{name}");
            assert!(says.iter().all(|part| report.reason.contains(part)), "{report:?}");
        }
    }
    assert!(!home.path().join("heddle-out").exists(), "nothing ran, so nothing was recorded");
}

#[test]
fn wrong_usage_is_reported_with_the_correct_usage() {
    let home = Home::new();
    let cases: [(&[&str], &str); 6] = [
        (&[], "Usage: heddle"),
        (&["explore"], "PROGRAM"),
        (&["explore", "--no-such-option", "--", "ls"], "'--no-such-option'"),
        (&["no-such-verb"], "'no-such-verb'"),
        (&["explore", "--strategy", "none", "--", "ls"], "none"),
        (&["replay"], "TRACE"),
    ];
    for (args, says) in cases {
        let run = heddle(&home, args);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{run:?}");
        assert!(run.stderr.contains(says) && run.stderr.contains("--help"), "{run:?}");
        // Without arguments Heddle prints a short help text.
        assert!(args.is_empty() || run.stderr.lines().count() == 1, "{run:?}");
    }
}

#[test]
fn conflicting_search_options_are_reported() {
    let home = Home::new();
    let cases: [(&[&str], &str); 11] = [
        (&["--strategy", "chess"], "the strategies are: auto, icb"),
        (&["--strategy", "pct:0"], "1 or more"),
        (&["--strategy", "icb", "--bound", "-1"], "0 or more"),
        (&["--strategy", "icb", "--bound", "two"], "0 or more"),
        (&["--strategy", "random", "--bound", "2"], "remove --bound"),
        (&["--workers", "0"], "at least 1 worker"),
        (&["--workers", "-1"], "give 1 or more"),
        (&["--workers", "1000"], "use one per core"),
        (&["--max-executions", "-5"], "0 for no limit"),
        (&["--max-steps", "-1"], "not a number above 0"),
        (&["--seed", "-1"], "not a number from 0"),
    ];
    for (options, says) in cases {
        let run = heddle(&home, &[&["explore"], options, &["--", "ls"]].concat());
        check_line(&run, 2, &[says]);
    }
    assert!(!home.path().join("heddle-out").exists(), "nothing ran, so nothing was recorded");
}

/// A failure is reported even if its trace cannot be stored.
#[test]
fn an_unwritable_trace_directory_loses_no_result() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    file(&home, "taken", "a file");
    for out in ["taken", "/proc/heddle"] {
        let args = ["explore", "--json", "--strategy", "dfs", "--out", out, "--", "./program"];
        let run = heddle(&home, &args);
        assert_eq!(run.status, 1, "{run:?}");
        let report = run.report();
        assert!(!report.bugs.is_empty(), "{report:?}");
        // The fallback is next to the user's other state files.
        let instead = home.path().join("state/heddle/traces");
        for bug in &report.bugs {
            let trace = bug.trace.as_deref().map(Path::new).expect("a trace");
            assert!(trace.starts_with(&instead) && trace.exists(), "{report:?}");
        }
        let warnings: Vec<&str> =
            run.stderr.lines().filter(|line| line.contains("cannot write")).collect();
        let [warning] = warnings[..] else { panic!("reported exactly once: {run:?}") };
        assert!(warning.contains(out) && warning.ends_with(" instead"), "{warning}");
    }
    let mut nowhere = home.command(["explore", "--json", "--out", "taken", "--", "./program"]);
    nowhere.env("XDG_STATE_HOME", home.path().join("taken"));
    let run = run(nowhere, BOUND);
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.report().bugs.iter().all(|bug| bug.trace.is_none()), "{run:?}");
    assert!(run.stderr.contains("it is lost: "), "{run:?}");
}

/// A limit on file size (SIGXFSZ) does not terminate Heddle.
#[test]
fn a_failure_to_create_shared_memory_is_reported_in_one_line() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    // The first run unpacks the runtime, so that the second one fails at the shared memory and not
    // at that file.
    assert_eq!(heddle(&home, &["explore", "--", "./program"]).status, 1);
    let heddle = tests::heddle::binary().display();
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -f 1; exec {heddle} explore -- ./program")]);
    limited.current_dir(home.path()).env("XDG_STATE_HOME", home.path().join("state"));
    limited.env("XDG_CACHE_HOME", home.path().join("cache")).env_remove("XDG_RUNTIME_DIR");
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    check_line(&run(limited, BOUND), 3, &["ulimit -f", "raise it"]);
}

/// From here on no file of Heddle's can grow, as on a full disk.
#[test]
fn a_full_disk_is_reported_once_and_does_not_end_the_search() {
    let home = Home::new();
    let program = build(&home, "many_bugs", "program", &["-DFINE"]);
    let args = ["explore", "--json", "--strategy", "random", "--max-executions", "0"];
    let heddle = home.command([&args[..], &["--workers", "1", "--", "./program"]].concat());
    let mut heddle = { heddle }.spawn().expect("it starts");
    let state = home.path().join("heddle-out/search.heddle-state");
    await_some("the search on disk", || state.exists().then_some(()));
    let written = fs::metadata(&state).and_then(|about| about.modified()).unwrap();
    let pid = heddle.id().to_string();
    let limited = Command::new("prlimit").args(["--fsize=0", "--pid", &pid]).status();
    assert!(limited.expect("prlimit runs").success());
    let mut warning = String::new();
    let mut lines = BufReader::new(heddle.stderr.take().expect("a pipe"));
    lines.read_line(&mut warning).expect("a warning line");
    assert!(warning.starts_with("heddle: cannot save the state of the search"), "{warning}");
    Command::new("kill").args(["-s", "INT", &pid]).status().expect("kill runs");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("to its end");
    let output = heddle.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), rest.as_str()), (Some(4), ""), "reported once");
    let report: traces::report::Report = serde_json::from_slice(&output.stdout).expect("an object");
    assert!(report.executions > 0 && report.reason == "interrupted", "{report:?}");
    assert_eq!(fs::metadata(&state).and_then(|about| about.modified()).unwrap(), written);
    await_gone(&program);
}

/// A failure remains a failure if the program cannot be run again to record it.
#[test]
fn a_program_that_deletes_itself_is_still_reported_as_failed() {
    let home = Home::new();
    let program = build(&home, "deletes_itself", "program", &[]);
    let args = ["explore", "--json", "--reset", "fork", "--points", "api", "--scratch=never"];
    let run = heddle(&home, &[&args[..], &["--", "./program"]].concat());
    assert_eq!(run.status, 1, "{run:?}");
    let report = run.report();
    assert_eq!(report.bugs[0].kind, FailureKind::Assertion, "{report:?}");
    assert!(report.bugs[0].message.contains("could not be run again"), "{report:?}");
    await_gone(&program);
}

/// If standard output or the report's file is on a full disk, the exit status still reports the
/// failure.
#[test]
fn the_exit_status_reports_a_failure_that_cannot_be_printed() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for args in [&["explore", "--json"][..], &["explore"], &["explore", "--junit", "/dev/full"]] {
        let mut command = home.command([args, &["--", "./program"]].concat());
        if !args.contains(&"--junit") {
            command.stdout(full());
        }
        let run = run(command, BOUND);
        assert_eq!(run.status, 1, "{run:?}");
        check_message(&run, &["No space left"]);
    }
    build(&home, "many_bugs", "fine", &["-DFINE"]);
    let args = ["explore", "--junit", "no/such/report.xml", "--", "./fine"];
    check_line(&heddle(&home, &args), 2, &["no/such/report.xml", "cannot write the report"]);
}

/// The trace of the first failure that a search of `many_bugs` finds.
fn trace(home: &Home) -> (PathBuf, String) {
    let program = build(home, "many_bugs", "program", &[]);
    let found = heddle(home, &["explore", "--json", "--", "./program"]);
    assert_eq!(found.status, 1, "{found:?}");
    let path = found.report().bugs[0].trace.clone().expect("a trace");
    (program, path)
}

#[test]
fn damaged_traces_are_refused() {
    let home = Home::new();
    let (_, path) = trace(&home);
    let whole = fs::read(home.path().join(path)).unwrap();
    let magic = 8;
    let mut cases: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "empty"),
        (b"text\n".to_vec(), "not a Heddle trace"),
        ([&whole[..magic], &99u32.to_le_bytes(), &whole[magic + 4..]].concat(), "version 99"),
        ([&whole[..], b"more"].concat(), ""),
    ];
    let step = whole.len() / 24 + 1;
    for at in (1..whole.len()).step_by(step) {
        cases.push((whole[..at].to_vec(), ""));
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        cases.push((flipped, ""));
    }
    // The last 32 bytes are the author mark: a trace with another mark can be read, but Heddle does
    // not run its program.
    let sound = &whole[..whole.len() - 32];
    for (bytes, says) in cases {
        file(&home, "bad.heddle", &bytes);
        for verb in ["show", "replay"] {
            let readable = bytes.len() == whole.len() && bytes.starts_with(sound);
            if verb == "replay" || !readable {
                check_line(&heddle(&home, &[verb, "bad.heddle"]), 2, &["bad.heddle", says]);
            }
        }
    }
    for (name, says) in [("missing.heddle", "no such file"), (".", "directory")] {
        check_line(&heddle(&home, &["replay", name]), 2, &[says]);
    }
}

#[test]
fn a_trace_of_a_changed_program_is_not_replayed() {
    let home = Home::new();
    let (program, path) = trace(&home);
    build(&home, "many_bugs", "program", &["-DVALUE=2"]);
    for rest in [&[][..], &["--", "./program"]] {
        let run = heddle(&home, &[&["replay", &path], rest].concat());
        check_line(&run, 2, &["is not the recorded build", "build the recorded version"]);
    }
    build(&home, "many_bugs", "program", &[]);
    assert_eq!(heddle(&home, &["replay", &path]).status, 1, "the same again");
    await_gone(&program);
}

#[test]
fn a_trace_by_another_author_runs_nothing_without_consent() {
    let home = Home::new();
    let (program, path) = trace(&home);
    let replay = |rest: &[&str]| {
        let mut command = home.command([&["replay", &path], rest].concat());
        command.env("XDG_STATE_HOME", home.path().join("another-user"));
        run(command, BOUND)
    };
    check_line(&replay(&[]), 2, &["recorded by another user", "--yes", "`--`"]);
    check_line(&replay(&["--json"]), 2, &["recorded by another user"]);
    assert_eq!(replay(&["--yes"]).status, 1);
    assert_eq!(replay(&["--", "./program"]).status, 1);
    await_gone(&program);
}

/// The expected result of a search of a program that misbehaves.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    args: &'static [&'static str],
    status: i32,
    verdict: Verdict,
    kind: Option<FailureKind>,
    /// Part of the bug's message, or of the line on standard error.
    says: &'static str,
}

const QUIET: Case = Case {
    name: "",
    flags: &[],
    args: &[],
    status: 0,
    verdict: Verdict::Clean,
    kind: None,
    says: "",
};

const REFUSED: Case = Case { status: 3, verdict: Verdict::Error, ..QUIET };

const CRASH: Case =
    Case { status: 1, verdict: Verdict::Bug, kind: Some(FailureKind::Crash), ..QUIET };

const WRONG_FREE: Case = Case {
    name: "frees_wrong",
    kind: Some(FailureKind::DoubleFree),
    says: "was freed that is not a heap block",
    ..CRASH
};

/// The program writes one byte over all shared memory. Some values of the byte are meaningful where
/// they land.
const OVERWRITTEN: Case =
    Case { name: "scribbles", says: "overwrote the memory that it shares", ..REFUSED };

const CASES: &[Case] = &[
    Case { name: "exits_early", says: "ended before main", ..REFUSED },
    Case { name: "early_thread", says: "in a constructor", ..REFUSED },
    Case { name: "early_thread", flags: &["-DSTAYS"], says: "in a constructor", ..REFUSED },
    Case { name: "closes_descriptors", ..QUIET },
    Case { name: "prints_much", ..QUIET },
    Case { name: "allocates_much", ..QUIET },
    Case { name: "allocates_often", ..QUIET },
    // Too many accesses to record each one: the search does not claim completeness.
    Case { name: "eats_memory", verdict: Verdict::Incomplete, ..QUIET },
    Case { name: "maps_and_unmaps", ..QUIET },
    Case { name: "gigabytes", ..QUIET },
    Case { name: "gigabytes", flags: &["-DFILLED=64"], ..QUIET },
    Case { name: "gigabytes", flags: &["-DFILLED=400"], ..QUIET },
    Case { args: &["variable"], ..WRONG_FREE },
    Case { args: &["stack"], ..WRONG_FREE },
    Case { args: &["inside"], ..WRONG_FREE },
    Case { args: &["misaligned"], ..WRONG_FREE },
    Case { args: &["beyond"], ..WRONG_FREE },
    Case { args: &["number"], ..WRONG_FREE },
    Case { args: &["resized"], says: "was resized that is not a heap block", ..WRONG_FREE },
    Case { name: "kills_itself", says: "SIGKILL, which it sent itself", ..CRASH },
    Case { name: "scribbles", args: &["heap"], says: "SIGSEGV", ..CRASH },
    Case {
        name: "scribbles",
        flags: &["-no-pie", "-Wl,-z,norelro"],
        args: &["got"],
        says: "SIGSEGV",
        ..CRASH
    },
    Case { args: &["0"], ..OVERWRITTEN },
    Case { args: &["1"], ..OVERWRITTEN },
    Case { args: &["2"], ..OVERWRITTEN },
    Case { args: &["3"], ..OVERWRITTEN },
    Case { args: &["4"], ..OVERWRITTEN },
    Case { args: &["5"], ..OVERWRITTEN },
    Case { args: &["90"], ..OVERWRITTEN },
    Case { args: &["255"], ..OVERWRITTEN },
];

fn check(case: &Case, reset: &str) {
    let home = Home::new();
    let program = build(&home, case.name, case.name, case.flags);
    let what = format!("{} {:?} {:?} --reset {reset}", case.name, case.flags, case.args);
    let mut args = vec!["explore", "--json", "--keep-going", "--strategy", "dfs"];
    args.extend(["--reset", reset, "--max-memory", "256M", "--"]);
    let path = program.to_string_lossy();
    args.push(&path);
    args.extend(case.args);
    let run = heddle(&home, &args);
    let report = run.report();
    assert_eq!((report.verdict, run.status), (case.verdict, case.status), "{what}: {run:?}");
    if case.status == 3 {
        check_message(&run, &[case.says]);
        assert!(report.reason.contains(case.says), "{what}: {run:?}");
    }
    assert_eq!(report.bugs.first().map(|bug| bug.kind), case.kind, "{what}: {run:?}");
    if let Some(bug) = report.bugs.first() {
        assert!(bug.message.contains(case.says), "{what}: {run:?}");
        assert!(report.executions > bug.found_at, "{what}: the search continued: {run:?}");
        let trace = bug.trace.as_deref().unwrap_or_else(|| panic!("{what}: no trace: {run:?}"));
        let shown = heddle(&home, &["show", trace]);
        assert!(shown.status == 0 && shown.stdout.contains(case.says), "{what}: {shown:?}");
    }
    await_gone(&program);
}

#[test]
fn a_task_that_prints_forever_is_a_spin_loop_at_its_line() {
    let home = Home::new();
    let program = build(&home, "prints_for_ever", "prints_for_ever", &[]);
    for reset in ["memory", "fork", "exec"] {
        let run =
            heddle(&home, &["explore", "--json", "--reset", reset, "--", "./prints_for_ever"]);
        let report = run.report();
        let bug = report.bugs.first().unwrap_or_else(|| panic!("{reset}: {run:?}"));
        assert_eq!((bug.kind, run.status), (FailureKind::Spin, 1), "{reset}: {run:?}");
        assert!(bug.site.starts_with("prints_for_ever.c:"), "{reset}: {run:?}");
        await_gone(&program);
    }
}

#[test]
fn misbehaving_programs_do_no_harm_with_fork_reset() {
    CASES.iter().for_each(|case| check(case, "fork"));
}

#[test]
fn misbehaving_programs_do_no_harm_with_memory_reset() {
    CASES.iter().for_each(|case| check(case, "memory"));
}

#[test]
fn misbehaving_programs_do_no_harm_with_exec_reset() {
    CASES.iter().for_each(|case| check(case, "exec"));
}

#[test]
fn the_program_sees_the_environment_of_the_user() {
    let home = Home::new();
    let program = build(&home, "shows_environment", "program", &[]);
    let library = build(&home, "preloaded", "library.so", &["-shared", "-fPIC"]);
    let own = |mut command: Command| {
        command.env("LD_PRELOAD", &library).env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1");
        // Heddle changes this variable for itself.
        command.env("RUST_BACKTRACE", "0");
        run(command, BOUND)
    };
    let mut native = Command::new(&program);
    native.current_dir(home.path()).stdout(std::process::Stdio::piped());
    // The same variables with and without Heddle.
    for (name, value) in home.command([""]).get_envs() {
        match value {
            Some(value) => native.env(name, value),
            None => native.env_remove(name),
        };
    }
    let native = own(native);
    assert!(native.stdout.starts_with("preloaded: 42\n"), "{native:?}");
    let path = program.to_string_lossy();
    let controlled = own(home.command(["run", "--", &path]));
    assert_eq!(controlled.status, 0, "{controlled:?}");
    // The order is not compared.
    let sorted = |run: &Run| {
        let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&controlled), sorted(&native));
}

#[test]
fn an_execution_with_too_many_steps_for_the_search_is_reported() {
    let home = Home::new();
    build(&home, "many_steps", "steps", &[]);
    for strategy in ["dfs", "auto"] {
        let all = ["--points", "all", "--max-steps", "60000000", "--workers", "1"];
        let run = heddle(
            &home,
            &[&["explore", "--strategy", strategy], &all[..], &["--", "./steps"]].concat(),
        );
        let parts = ["cannot be controlled", "the runtime's own memory", "is exhausted"];
        check_line(&run, 3, &[&parts[..], &["--strategy random"]].concat());
    }
}

/// Runs `heddle run` on a program after a script of the shell, in new namespaces; none where the system does
/// not let this user make them.
fn in_namespaces(home: &Home, options: &[&str], script: &str) -> Option<Run> {
    let mut tried = Command::new("unshare");
    tried.args(options).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    if !tried.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: {script}: needs the right to make namespaces");
        return None;
    }
    let heddle = home.command([""; 0]);
    let mut command = Command::new("unshare");
    command.args(options).args(["sh", "-c", script, "sh"]).arg(heddle.get_program());
    for (name, value) in heddle.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(home.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(run(command, BOUND))
}

#[test]
fn programs_that_the_user_may_not_read_or_run_are_refused() {
    let home = Home::new();
    let good = fs::read(build(&home, "many_bugs", "good", &[])).expect("it was built");
    file(&home, "unread", &good);
    let path = home.path().join("unread");
    fs::set_permissions(path, fs::Permissions::from_mode(0o111)).expect("it is there");
    // In a namespace without its user, root has no rights beside those of the file's mode.
    let unread = in_namespaces(&home, &["--user"], "exec \"$1\" run -- ./unread");
    let says = "may be executed but not read, so it cannot be checked: make it readable (chmod +r)";
    unread.iter().for_each(|run| check_line(run, 3, &[says]));
    fs::create_dir(home.path().join("mounted")).expect("a directory");
    let mounted = in_namespaces(
        &home,
        &["--map-root-user", "--mount"],
        "mount -t tmpfs -o noexec none mounted && cp good mounted && exec \"$1\" run -- mounted/good",
    );
    let says = "mounted/good lies on a file system mounted noexec: copy it to another one";
    mounted.iter().for_each(|run| check_line(run, 3, &[says]));
}
