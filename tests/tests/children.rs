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
        let home = Home::new();
        build(&home, "starts_programs", "program", &[]);
        let report = explore(&home, &[], &["./program", way, "fails"]);
        assert_eq!(report.verdict, Verdict::Bug, "{way}: {report:?}");
        assert!(report.bugs[0].message.contains("count == 2"), "{way}: {report:?}");
        let trace = report.bugs[0].trace.clone().expect("recorded");
        let replayed = heddle(&home, &["replay", "--times", "5", &trace]);
        assert_eq!(replayed.status, 1, "{way}: {replayed:?}");
    }
}

#[test]
fn processes_that_the_program_leaves_end_with_the_execution() {
    let home = Home::new();
    build(&home, "starts_programs", "program", &[]);
    let mark = format!("HEDDLE_TEST_MARK={}", home.path().display());
    for reset in ["fork", "exec", "memory"] {
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
        await_some("the processes end", || {
            let all = std::fs::read_dir("/proc").expect("readable").flatten();
            let marked = |entry: &std::fs::DirEntry| {
                let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
            };
            (all.filter(marked).count() == 0).then_some(())
        });
    }
}
