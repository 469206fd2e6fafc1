//! Programs that start other programs: these run beside, and the search continues.

use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_some, build};
use traces::report::{Report, Verdict};

const WAYS: [(&str, &str); 5] = [
    ("system", "system"),
    ("popen", "popen"),
    ("posix_spawn", "posix_spawnp"),
    ("filter", "posix_spawnp"),
    ("left", "posix_spawnp"),
];

fn heddle(home: &Home, args: &[&str]) -> Run {
    run(home.command(args), BOUND)
}

fn explore(home: &Home, options: &[&str], program: &[&str]) -> Report {
    let args = ["explore", "--json", "--workers", "1", "--strategy", "dfs"];
    heddle(home, &[&args[..], options, &["--"], program].concat()).report()
}

#[test]
fn a_program_that_starts_others_is_explored_and_the_report_names_the_call() {
    for (way, function) in WAYS {
        let home = Home::new();
        build(&home, "starts_programs", "program", &[]);
        let report = explore(&home, &["--max-executions", "60"], &["./program", way]);
        assert_eq!(report.diverged, 0, "{way}: {report:?}");
        assert!(report.executions >= 6 && report.bugs.is_empty(), "{way}: {report:?}");
        // What the other processes do, and when, was not explored.
        assert_eq!((report.verdict, report.complete), (Verdict::Incomplete, false), "{way}");
        let names = |note: &String| note.contains(&format!("calls of `{function}`"));
        assert!(report.notes.iter().any(names), "{way}: {report:?}");
    }
}

#[test]
fn a_bug_beside_other_programs_is_found_and_replays() {
    for (way, _) in WAYS {
        finds_and_replays_the_bug("starts_programs", way);
    }
}

/// The two threads of the program lose an update while other processes run that were started in a `way`.
fn finds_and_replays_the_bug(program: &str, way: &str) {
    let home = Home::new();
    build(&home, program, "program", &[]);
    let report = explore(&home, &[], &["./program", way, "fails"]);
    assert_eq!(report.verdict, Verdict::Bug, "{way}: {report:?}");
    assert!(report.bugs[0].message.contains("count == 2"), "{way}: {report:?}");
    let trace = report.bugs[0].trace.clone().expect("recorded");
    let replayed = heddle(&home, &["replay", "--times", "5", &trace]);
    assert_eq!(replayed.status, 1, "{way}: {replayed:?}");
}

/// In the ways of `forks.c` that start other processes, and the functions that the report names.
const FORKS: [(&str, &[&str]); 7] = [
    ("works", &["fork"]),
    ("dies", &["fork"]),
    ("signals", &["fork"]),
    ("executes", &["vfork", "fork"]),
    ("calls", &["fork", "clone", "clone3"]),
    ("thread", &["fork"]),
    ("exec", &["execve"]),
];

#[test]
fn a_program_that_forks_is_explored_and_the_report_names_the_call() {
    for (way, functions) in FORKS {
        for reset in ["auto", "fork", "exec"] {
            let home = Home::new();
            build(&home, "forks", "program", &[]);
            let options = ["--max-executions", "30", "--reset", reset];
            let report = explore(&home, &options, &["./program", way]);
            assert_eq!(report.diverged, 0, "{way}, {reset}: {report:?}");
            assert!(report.executions >= 6 && report.bugs.is_empty(), "{way}, {reset}: {report:?}");
            assert_eq!((report.verdict, report.complete), (Verdict::Incomplete, false), "{way}");
            for function in functions {
                let names = |note: &String| note.contains(&format!("calls of `{function}`"));
                assert!(report.notes.iter().any(names), "{way}: {report:?}");
            }
        }
    }
}

#[test]
fn a_bug_beside_a_copy_of_the_process_is_found_and_replays() {
    for (way, _) in FORKS.into_iter().filter(|(way, _)| *way != "exec") {
        finds_and_replays_the_bug("forks", way);
    }
}

#[test]
fn a_program_that_executes_another_ends_with_its_status() {
    let home = Home::new();
    build(&home, "forks", "program", &[]);
    let report = explore(&home, &[], &["./program", "exec-fails"]);
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.bugs[0].message.contains("exit status 9"), "{report:?}");
}

#[test]
fn a_copy_that_shares_writable_memory_is_unsupported() {
    let home = Home::new();
    build(&home, "forks", "program", &[]);
    let report = explore(&home, &[], &["./program", "shared"]);
    assert_eq!(report.verdict, Verdict::Unsupported, "{report:?}");
    assert!(report.reason.contains("clone with writable memory that both share"), "{report:?}");
}

/// The number of processes that have this variable in their environment. (Variables of Heddle's own are not
/// passed on.)
fn processes_with(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("readable").flatten();
    let marked = |entry: &std::fs::DirEntry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    };
    all.filter(marked).count()
}

fn await_none_with(mark: &str) {
    await_some("the processes end", || (processes_with(mark) == 0).then_some(()));
}

#[test]
fn all_processes_end_when_heddle_is_killed() {
    for program in ["starts_programs", "forks"] {
        for reset in ["fork", "exec"] {
            let home = Home::new();
            build(&home, program, "program", &[]);
            let value = home.path().display().to_string();
            let endless = ["--strategy", "random", "--max-executions", "0", "--reset", reset];
            let args = [&["explore"], &endless[..], &["--", "./program", "left"]].concat();
            let mut command = home.command(args);
            command.env("LEFT_BY_TEST", &value).stderr(std::process::Stdio::null());
            let mut heddle = command.spawn().expect("it starts");
            let mark = format!("LEFT_BY_TEST={value}");
            // Heddle and its guard, the worker, and what the program starts.
            await_some("an execution", || (processes_with(&mark) >= 4).then_some(()));
            heddle.kill().expect("it runs");
            heddle.wait().expect("it ends");
            await_none_with(&mark);
        }
    }
}

#[test]
fn processes_that_the_program_leaves_end_with_the_execution() {
    let ways = ["fork", "exec", "memory"]
        .map(|reset| ["starts_programs", "forks"].map(|one| (one, reset)));
    for (program, reset) in ways.into_iter().flatten() {
        let home = Home::new();
        build(&home, program, "program", &[]);
        let mark = format!("LEFT_BY_TEST={}", home.path().display());
        let mut command = home.command([
            "explore",
            "--json",
            "--reset",
            reset,
            "--max-executions",
            "20",
            "--",
            "./program",
            "left",
        ]);
        let (name, value) = mark.split_once('=').expect("a variable");
        command.env(name, value);
        let report = run(command, BOUND).report();
        assert!(report.executions > 1, "{reset}: {report:?}");
        await_none_with(&mark);
    }
}
