//! Annotations by `heddle.h` and `heddle.rs`, builds with memory-access instrumentation, and
//! delayed stores.

use std::process::Command;
use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

fn explore(home: &Home, name: &str, options: &[&str]) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--workers", "1", "--max-executions", "500"];
    args.extend(options);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

#[test]
fn an_explicit_point_allows_a_switch_and_an_atomic_region_prevents_it() {
    let home = Home::new();
    for language in ["", "_cpp", "_rust"] {
        let options = ["--points", "api", "--strategy", "dfs"];
        let report = explore(&home, &format!("hint_point{language}"), &options);
        assert_eq!(report.verdict, Verdict::Bug, "{language}: {report:#?}");
        assert_eq!(report.bugs[0].kind, traces::FailureKind::Assertion, "{language}");
        let report = explore(&home, &format!("hint_atomic{language}"), &options);
        assert_eq!(report.bugs, vec![], "{language}");
        let marks = report.notes.iter().any(|note| note.contains("heddle_atomic_begin"));
        assert!(marks, "{language}: {:?}", report.notes);
    }
}

#[test]
fn a_name_is_used_wherever_the_object_is_shown() {
    let home = Home::new();
    for name in ["hint_name", "hint_name_cpp"] {
        let report = explore(&home, name, &[]);
        let trace = report.bugs[0].trace.clone().expect("a trace");
        assert!(report.bugs[0].message.contains("me == 0 || marks[0]"), "{report:#?}");
        let shown = home.heddle(["show", &trace]).stdout;
        assert!(shown.contains("lock the gate"), "{shown}");
    }
}

#[test]
fn the_possible_effect_of_a_delayed_store_is_reported() {
    let home = Home::new();
    let options = ["--store-buffers"];
    let report = explore(&home, "dekker_compiled", &options);
    assert_eq!(report.store_buffers.len(), 1, "{report:#?}");
    let report_line = &report.store_buffers[0];
    for part in ["comes", "the load at dekker.c:24", "the store at dekker.c:20"] {
        assert!(report_line.contains(part), "{part}: {report_line}");
    }
    assert_eq!((report.bugs, report.races), (vec![], vec![]), "no schedule shows it");
    for name in ["dekker_fenced_compiled", "dekker_ordered_compiled"] {
        assert_eq!(explore(&home, name, &options).store_buffers, Vec::<String>::new(), "{name}");
    }
    assert_eq!(explore(&home, "dekker_compiled", &[]).store_buffers, Vec::<String>::new());
    let plain = explore(&home, "increment", &options);
    assert!(
        plain.notes.iter().any(|note| note.contains("--store-buffers")) || plain.bugs.len() == 1
    );
}

#[test]
fn a_build_is_instrumented_and_reports_what_it_compiled() {
    let home = Home::new();
    let directory = home.path();
    let source = tests::targets::sources().join("lost_update.c");
    std::fs::copy(source, directory.join("test.c")).expect("copied");
    let script = "test -e test || { cc -c test.c && cc -o test test.o; }\n";
    std::fs::write(directory.join("make.sh"), script).expect("written");
    let built = home.heddle(["build", "--", "sh", "make.sh"]);
    assert_eq!(built.status, 0, "{built:?}");
    assert!(built.stderr.contains("cc: compiled once"), "{built:?}");
    let run = home.heddle(["explore", "--json", "--keep-going", "--", "./test", "2"]);
    let report = run.report();
    assert!(report.points.compiled > 0 && !report.races.is_empty(), "{report:#?}");
    // An up-to-date build; a failing compiler; a missing command; a missing compiler.
    let again = home.heddle(["build", "--", "sh", "make.sh"]);
    assert!(again.stderr.contains("nothing was compiled"), "{again:?}");
    std::fs::write(directory.join("wrong.c"), "int main(").expect("written");
    let wrong = home.heddle(["build", "--", "gcc", "-c", "wrong.c"]);
    assert_eq!(wrong.status, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("the build failed: gcc ended with"), "{wrong:?}");
    let fixed = home.heddle(["build", "--", "gcc", "-static", "test.c"]);
    assert!(fixed.stderr.contains("gcc was called with -static: "), "{fixed:?}");
    let missing = home.heddle(["build", "--", "no-such-command"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("no-such-command: command not found"), "{missing:?}");
    let mut bare: Command = home.command(["build", "--", "sh", "make.sh"]);
    bare.env("PATH", directory);
    let bare = tests::heddle::run(bare, std::time::Duration::from_secs(60));
    assert_eq!(bare.status, 2);
    assert!(bare.stderr.contains("no compiler: there is no cc"), "{bare:?}");
    // The user's own copy of the header, and a single rustc.
    std::fs::write(
        directory.join("hint.c"),
        "#include \"heddle.h\"\nint main(void) { heddle_point(0); return 0; }\n",
    )
    .expect("written");
    assert_eq!(home.heddle(["build", "--", "gcc", "hint.c"]).status, 0);
    assert!(home.heddle(["header"]).stdout.contains("#define HEDDLE_H"));
    assert!(home.heddle(["header", "--rust"]).stdout.contains("pub fn begin()"));
}

#[test]
fn a_schedule_with_an_atomic_region_is_replayed() {
    let home = Home::new();
    let path = tests::predicates::path("hint_atomic");
    let seeds = ["1", "2", "3", "4"];
    for seed in seeds {
        let out = format!("seed-{seed}");
        let run = home.heddle(["run", "--json", "--seed", seed, "--out", &out, "--", &path]);
        assert_eq!(run.status, 0, "{run:?}");
        let trace = std::fs::read_dir(home.path().join(&out)).expect("a directory");
        let trace = trace.map(|entry| entry.expect("an entry").path());
        let trace =
            trace.into_iter().find(|path| path.extension().is_some_and(|end| end == "heddle"));
        let trace = trace.expect("a trace").to_string_lossy().into_owned();
        let replayed = home.heddle(["replay", &trace]);
        assert!(replayed.stdout.contains("same execution"), "{seed}: {replayed:?}");
    }
}
