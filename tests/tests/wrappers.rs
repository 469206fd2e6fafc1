//! Commands that start the program with threads: the program is explored, and its trace needs no
//! wrapper.

use std::os::unix::fs::PermissionsExt;
use tests::heddle::Home;
use tests::targets::program;
use traces::report::Verdict;

#[test]
fn the_program_that_a_command_starts_is_explored() {
    let home = Home::new();
    let path = program("lost_update").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    let script = home.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\ntrue\nexport COLOUR=red\nexec {path}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let commands: [&[&str]; 4] = [
        &["env", "COLOUR=red", &path],
        &["sh", "-c", "true; COLOUR=red $0; true", &path],
        &["timeout", "60", "env", "COLOUR=red", &path],
        &["./script"],
    ];
    for command in commands {
        let run = home.heddle([&["explore", "--json", "--"], command].concat());
        let report = run.report();
        assert_eq!((report.verdict, report.bugs.len()), (Verdict::Bug, 1), "{command:?}");
        assert!(run.stderr.contains("starts the program with threads"), "{}", run.stderr);
        let trace = report.bugs[0].trace.clone().expect("a trace");
        let replay = home.heddle(["replay", "--times", "5", &trace]);
        assert_eq!(replay.status, 1, "{command:?}: {}", replay.stderr);
        let environment = home.heddle(["show", "--environment", &trace]);
        assert!(environment.stdout.contains("COLOUR"), "{command:?}: {}", environment.stdout);
    }
}

#[test]
fn a_command_that_starts_no_program_with_threads_is_the_target_itself() {
    let home = Home::new();
    let run = home.heddle(["explore", "--json", "--", "env", "true"]);
    assert!(!run.stderr.contains("starts the program with threads"), "{}", run.stderr);
    assert_eq!(run.report().verdict, Verdict::Unsupported, "{}", run.stderr);
}
