//! Memory accesses that cannot be observed: the report mentions them, and no search is reported as
//! complete.

use tests::heddle::Home;
use tests::hostile::build;
use traces::report::{Report, Verdict};

/// Searches all schedules of the program without a bug, built with these flags.
fn search(home: &Home, name: &str, flags: &[&str]) -> Report {
    build(home, "out_of_sight", name, flags);
    let program = format!("./{name}");
    let args =
        ["explore", "--json", "--strategy", "dfs", "--max-executions", "2000", "--", &program];
    home.heddle(args).report()
}

#[track_caller]
fn check_incomplete(report: &Report, says: &str) {
    assert!(!report.complete, "{report:?}");
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:?}");
    assert!(report.notes.iter().any(|note| note.contains(says)), "{report:?}");
    assert!(report.reason.contains("not every memory access"), "{report:?}");
}

#[test]
fn a_search_that_observes_all_accesses_is_complete() {
    let home = Home::new();
    let cases: [(&str, &[&str]); 4] =
        [("plain", &[]), ("stripped", &["-s"]), ("fixed", &["-no-pie"]), ("bits", &["-DBITS"])];
    for (name, flags) in cases {
        let report = search(&home, name, flags);
        assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
        assert!(report.points.code > 100, "{report:?}");
        assert_eq!(report.points.code, report.points.covered, "{report:?}");
    }
}

#[test]
fn a_search_that_does_not_observe_all_accesses_is_incomplete() {
    let home = Home::new();
    let cases: [(&str, &[&str], &str); 6] = [
        ("generated", &["-DGENERATED"], "generates code at run time"),
        ("changed", &["-DCHANGED"], "modifies its own code"),
        ("state", &["-DSTATE"], "the instruction `fxsave64`"),
        ("many", &["-DMANY"], "because there were too many"),
        ("untold", &["-fno-asynchronous-unwind-tables"], "could not be decoded"),
        ("unlisted", &["-Wl,--no-eh-frame-hdr"], "no table of its functions"),
    ];
    for (name, flags, says) in cases {
        check_incomplete(&search(&home, name, flags), says);
    }
}

/// A site that runs millions of times is observed some thousand times in each execution; the search
/// needs no execution in which all accesses are observed.
#[test]
fn sites_that_run_millions_of_times_are_sampled_and_the_others_observed() {
    let home = Home::new();
    build(&home, "long_loops", "fixed", &["-O1", "-DFIXED"]);
    let args = ["explore", "--json", "--max-executions", "40", "--", "./fixed"];
    check_incomplete(&home.heddle(args).report(), "because there were too many");

    build(&home, "long_loops", "long_loops", &["-O1"]);
    let report = home.heddle(["explore", "--json", "--", "./long_loops"]).report();
    assert_eq!((report.verdict, report.bugs.len()), (Verdict::Bug, 1), "{report:?}");
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "10", &trace]).status, 1);
}

/// The first execution observes the first accesses of sites that run often, so that it does not take long. The
/// following ones observe all, and a spin loop is recognised in each: the watchdog interrupts no task.
#[test]
fn the_first_execution_observes_fewer_accesses_than_those_that_follow() {
    let home = Home::new();
    build(&home, "computes_then_spins", "spins", &["-O1"]);
    let search = |executions| {
        let args = ["explore", "--json", "--max-executions", executions, "--", "./spins"];
        let report = home.heddle(args).report();
        assert_eq!(report.reset, "memory", "{report:?}");
        let says = |part: &str| report.notes.iter().any(|note| note.contains(part));
        assert!(!says("it was interrupted"), "{report:?}");
        assert!(
            report.conflicts.iter().any(|one| one.contains("computes_then_spins.c:18")),
            "{report:?}"
        );
        says("in 1 execution not every memory access was observed")
    };
    assert!(search("1"));
    assert!(!search("6"));
}

#[test]
fn a_failure_found_only_by_learning_is_reported() {
    let home = Home::new();
    let program = tests::targets::program("lost_update").build().expect("targets compile");
    let program = program.to_string_lossy();
    let args = ["explore", "--json", "--strategy", "dfs", "--max-executions", "6", "--", &program];
    let report = home.heddle(args).report();
    let found_at = report.bugs.first().map(|bug| bug.found_at);
    assert_eq!((report.verdict, found_at), (Verdict::Bug, Some(report.learning)), "{report:?}");
    assert_eq!(report.found_by.as_deref(), Some("learning"), "{report:?}");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "10", &trace]).status, 1);
}

#[test]
fn a_conflict_in_an_uninstrumented_program_is_reported_with_its_object_and_is_no_race() {
    let home = Home::new();
    let program = tests::targets::program("lost_update").build().expect("targets compile");
    let args = ["explore", "--json", "--", &program.to_string_lossy()];
    let report = home.heddle(args).report();
    assert_eq!(report.races, Vec::<String>::new());
    let conflicts: Vec<&str> = report.conflicts.iter().map(String::as_str).collect();
    assert_eq!(conflicts, ["counter: lost_update.c:11 and lost_update.c:11"], "{report:?}");
}

#[test]
fn programs_behave_the_same_with_every_instruction_probed() {
    let home = Home::new();
    let lines: String = (0..40).map(|n| format!("line {}\n", n * 7 % 40)).collect();
    std::fs::write(home.path().join("lines"), lines).unwrap();
    let programs: [&[&str]; 3] = [
        &["sort", "--parallel=2", "lines"],
        &["gzip", "-c", "lines"],
        &["bash", "-c", "for ((i = 0; i < 20; i++)); do echo $((i * i)); done"],
    ];
    for program in programs {
        let native = std::process::Command::new(program[0])
            .args(&program[1..])
            .current_dir(home.path())
            .output()
            .unwrap();
        let args = [&["run", "--points", "all", "--max-steps", "1000000", "--"], program].concat();
        let ours = home.command(args).output().unwrap();
        assert_eq!(ours.stdout, native.stdout, "{program:?}");
        assert!(ours.status.success() && !native.stdout.is_empty(), "{program:?}: {ours:?}");
    }
}

#[test]
fn an_endless_loop_over_private_memory_is_found_despite_probes() {
    let home = Home::new();
    build(&home, "forever", "forever", &[]);
    let report = home.heddle(["explore", "--json", "--", "./forever"]).report();
    assert_eq!(report.bugs[0].kind, traces::FailureKind::Spin, "{report:?}");
    assert!(report.bugs[0].site.starts_with("forever.c:"), "{report:?}");
}
