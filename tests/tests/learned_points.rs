//! Learned points are stored, and reusing them changes nothing but the time.

use std::fs;
use std::path::PathBuf;
use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Bug, Points, Report};

fn explore(home: &Home, path: &str, strategy: &str) -> Report {
    let args = ["explore", "--json", "--keep-going", "--max-executions", "300", "--workers", "1"];
    let rest = ["--strategy", strategy, "--", path];
    home.heddle(args.into_iter().chain(rest)).report()
}

/// The file of learned points.
fn points_file(home: &Home) -> PathBuf {
    let entries = fs::read_dir(home.path().join("heddle-out")).expect("the directory of traces");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut kept = paths.filter(|path| path.extension().is_some_and(|end| end == "heddle-points"));
    let only = kept.next().expect("what was learned is kept");
    assert_eq!(kept.next(), None, "one program has one file");
    only
}

/// What a report says apart from learning statistics and times. Searches that are not complete have other
/// executions in place of those that learn.
fn essence(report: &Report) -> Report {
    let is_complete = u64::from(report.complete);
    let bug = |bug: &Bug| Bug {
        trace: None,
        found_at: 0,
        count: 0,
        preemptions: is_complete * bug.preemptions,
        switches: is_complete * bug.switches,
        ..bug.clone()
    };
    Report {
        found_by: None,
        executions: 0,
        classes: is_complete * report.classes,
        distinct: is_complete * report.distinct,
        learning: 0,
        checks: 0,
        resumed: 0,
        elapsed_s: 0.0,
        executions_per_s: 0,
        points: Points { kept: 0, ..report.points },
        bugs: report.bugs.iter().map(bug).collect(),
        ..report.clone()
    }
}

#[test]
fn a_search_with_stored_points_has_the_same_result() {
    let targets = [("lost_update", "dpor"), ("unguarded", "random"), ("helper", "dfs")];
    for (name, strategy) in targets {
        let home = Home::new();
        let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
        let first = explore(&home, &path, strategy);
        assert!(first.points.kept == 0 && first.learning > 1, "{name}: {first:?}");
        let second = explore(&home, &path, strategy);
        assert!(second.points.kept > 0 && second.learning < first.learning, "{name}: {second:?}");
        assert_eq!(essence(&first), essence(&second), "{name}");
    }
}

#[test]
fn a_failure_found_only_by_learning_is_reported_again() {
    let home = Home::new();
    let path = program("lost_update").build().expect("targets compile");
    let path = path.to_string_lossy();
    let first = explore(&home, &path, "dfs");
    let args = ["explore", "--json", "--strategy", "dfs", "--max-executions", "1", "--", &path];
    let second = home.heddle(args).report();
    assert!(first.points.kept == 0 && second.points.kept > 0, "{first:?} {second:?}");
    assert_eq!(second.found_by.as_deref(), Some("learning"));
    // It did not run the execution.
    assert_eq!((second.bugs[0].found_at, second.executions), (0, 1), "{second:?}");
    assert_eq!(first.bugs[0].signature, second.bugs[0].signature);
}

#[test]
fn points_of_another_build_or_a_damaged_file_are_learned_again() {
    let home = Home::new();
    let build = |from: &str| {
        let from = program(from).build().expect("targets compile");
        let to = home.path().join("program");
        let _ = fs::remove_file(&to);
        fs::copy(from, &to).expect("it can be copied");
    };
    let say = || {
        let run = home.heddle(["explore", "--json", "--", "./program"]);
        assert!(run.stderr.lines().count() <= 1, "{run:?}");
        (run.report().points.kept > 0, run.stderr)
    };
    // A failure in the learning phase would end it.
    build("lastzero");
    assert_eq!(say(), (false, String::new()));
    assert_eq!(say(), (true, String::new()));
    let file = points_file(&home);
    let whole = fs::read(&file).expect("it is there");
    fs::write(&file, &whole[..whole.len() / 2]).expect("it can be written");
    let (known, said) = say();
    assert!(!known && said.contains("damaged or truncated"), "{said}");
    assert_eq!(say(), (true, String::new()));
    build("readers");
    let (known, said) = say();
    assert!(
        !known && said.contains("the program was rebuilt: the learning phase runs again"),
        "{said}"
    );
    assert_eq!(points_file(&home), file);
    assert_eq!(say(), (true, String::new()));
}

#[test]
fn points_that_depend_on_an_input_are_learned_again() {
    let home = Home::new();
    let source = "#include <pthread.h>\n#include <stdio.h>\nint x, y, more;\n\
        static void *add(void *a) { x++; if (more) y++; return 0; }\n\
        int main(void) { pthread_t t; FILE *f = fopen(\"input\", \"r\"); more = f && fgetc(f) == '1';\n\
        pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0); return 0; }\n";
    let path = tests::debugging::compiled_text(&home, "reads", source, &["-O1", "-pthread"]);
    let search = |input: &str| {
        fs::write(home.path().join("input"), input).expect("it can be written");
        let run = home.heddle(["explore", "--json", "--strategy", "dfs", "--", &path]);
        (run.report().points, run.stderr)
    };
    let (less, _) = search("0");
    let (more, said) = search("1");
    assert!(said.contains("behaves differently"), "{said}");
    assert!(more.kept == 0 && more.racy > less.racy, "{less:?} {more:?}");
}

#[test]
fn a_single_run_uses_the_points_of_an_earlier_learning_phase() {
    let home = Home::new();
    let path = program("lost_update").build().expect("targets compile");
    let path = path.to_string_lossy();
    let steps = |arguments: &[&str]| {
        let run = home.heddle(["run"].iter().chain(arguments).chain(&["--", &path]));
        let shown = home.heddle(["show", run.trace()]).stdout;
        let has_accesses = shown.contains("read") && shown.contains("write");
        (has_accesses, run.stderr.contains("conflict and are not steps of this trace"))
    };
    assert_eq!(steps(&[]), (false, true), "one execution shows the conflicts");
    let report: Report = home.heddle(["run", "--json", "--", &path]).object();
    assert!(report.points.new > 0 && report.executions == 1, "{report:?}");
    assert_eq!(steps(&["--learn"]), (true, false));
    points_file(&home);
    assert_eq!(steps(&[]), (true, false), "the points are stored");
}

#[test]
fn learning_before_a_single_run_respects_its_time_limit() {
    let home = Home::new();
    let path = program("lost_update").build().expect("targets compile");
    let path = path.to_string_lossy();
    let short = home.heddle(["run", "--learn", "--max-time", "0.001ms", "--", &path]);
    let stopped = "the learning phase was stopped after 0.000001 s (";
    let executions = short.stderr.split_once(stopped).and_then(|(_, rest)| rest.split_once(' '));
    // The limit has passed when the first execution begins; it may not even reach its end.
    let executions: Option<u64> = executions.and_then(|(executions, _)| executions.parse().ok());
    assert!(executions.is_some_and(|executions| executions <= 1), "{short:?}");
    let files = fs::read_dir(home.path().join("heddle-out")).expect("there is a trace");
    let ends = files.map(|file| file.expect("an entry").path());
    let ends: Vec<_> = ends.filter(|path| !path.ends_with(".gitignore")).collect();
    // An incomplete set of points is not stored for later runs.
    assert!(
        ends.iter().all(|path| path.extension().is_some_and(|end| end == "heddle")),
        "{ends:?}"
    );
    let long = home.heddle(["run", "--learn", "--max-time", "1h", "--", &path]);
    assert!(!long.stderr.contains("was stopped"), "{long:?}");
    points_file(&home);
}
