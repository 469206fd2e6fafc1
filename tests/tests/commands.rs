//! How the target differs from the command that names it: a program that the command starts, and
//! what OpenMP's threads do while they wait.

use std::os::unix::fs::PermissionsExt;
use tests::heddle::Home;
use tests::hostile::build;
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
fn follow_child_chooses_among_the_programs_that_a_command_starts() {
    let home = Home::new();
    let program = |name: &str| {
        let path = tests::targets::program(name).build().expect("targets compile");
        path.to_string_lossy().into_owned()
    };
    let script = format!("{}; {}", program("big_stack"), program("lost_update"));
    let explore = |wanted: &str| {
        home.heddle(["explore", "--json", "--follow-child", wanted, "--", "sh", "-c", &script])
    };
    assert_eq!(explore("1").report().verdict, Verdict::Clean);
    for wanted in ["2", "lost_update"] {
        let report = explore(wanted).report();
        assert_eq!(report.verdict, Verdict::Bug, "{wanted}: {report:?}");
    }
    let none = explore("third");
    assert_eq!(none.status, 3, "{none:?}");
    for name in ["big_stack", "lost_update"] {
        assert!(none.stderr.contains(name), "{none:?}");
    }
}

#[test]
fn a_command_that_starts_no_program_with_threads_is_the_target_itself() {
    let home = Home::new();
    let run = home.heddle(["explore", "--json", "--", "env", "true"]);
    assert!(!run.stderr.contains("starts the program with threads"), "{}", run.stderr);
    let report = run.report();
    // `env` executes `true`, which runs beside.
    assert_eq!(report.verdict, Verdict::Incomplete, "{}", run.stderr);
    assert!(report.notes.iter().any(|note| note.contains("calls of `execve`")), "{report:?}");
}

#[test]
fn idle_threads_of_openmp_wait_passively_unless_the_user_chose() {
    let home = Home::new();
    build(&home, "openmp_sum", "openmp_sum", &["-fopenmp"]);
    let args = ["explore", "--json", "--", "./openmp_sum"];
    let passive = home.heddle(args);
    assert!(passive.stderr.contains("OMP_WAIT_POLICY=passive is set"), "{}", passive.stderr);
    let report = passive.report();
    assert_eq!((report.verdict, report.bugs.len()), (Verdict::Bug, 1), "{report:?}");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "5", &trace]).status, 1);

    // Threads that wait actively take as many steps as they may; each costs a comparison of states.
    let short = [&["explore", "--json", "--max-steps", "500"], &args[2..]].concat();
    let mut chosen = home.command(short);
    chosen.env("OMP_WAIT_POLICY", "active");
    let chosen = tests::heddle::run(chosen, std::time::Duration::from_secs(120));
    assert!(!chosen.stderr.contains("is set for the program"), "{}", chosen.stderr);
    assert!(report.max_steps < chosen.report().max_steps, "{report:?}");
}
