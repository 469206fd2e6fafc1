//! The contents of a race report, and which reports are suppressed.

use tests::heddle::{Home, Run};
use tests::targets::program;

fn explore(home: &Home, name: &str, options: &[&str]) -> Run {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--workers", "1", "--max-executions", "300"];
    args.extend(options);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args)
}

#[test]
fn both_accesses_of_a_race_are_reported_with_value_locks_and_stack() {
    let home = Home::new();
    let run = explore(&home, "wronglock_compiled", &["--json", "--keep-going"]);
    let report = run.report();
    assert_eq!(report.races.len(), report.race_details.len());
    let race = report
        .race_details
        .iter()
        .find(|race| race.message.contains("writes at wronglock.c:25; T1 read at wronglock.c:16"))
        .unwrap_or_else(|| panic!("{report:#?}"));
    let [earlier, later] = &race.accesses[..] else { panic!("{race:?}") };
    assert_eq!((&*earlier.task, &*earlier.what), ("T1", "read 1 (4 bytes)"));
    assert_eq!((&*later.task, &*later.what), ("T2", "writes over 1 (4 bytes)"));
    assert_eq!((&earlier.locks[..], &later.locks[..]), (&["a".into()][..], &["b".into()][..]));
    assert_eq!(earlier.stack, ["check (wronglock.c:16)"]);
    assert_eq!(later.stack, ["change (wronglock.c:25)"]);
    // The explanation of the trace says the same.
    let trace = race.trace.clone().expect("a trace");
    let page = home.heddle(["explain", "--as-is", &trace]).stdout;
    for part in ["The two accesses", "read 1 (4 bytes), holding a,", "number++;"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains("T2 change writes over 1 (4 bytes), holding b,"), "{shown}");
}

#[test]
fn a_suppressed_report_is_counted_but_not_shown() {
    let home = Home::new();
    let file = home.path().join("known.txt");
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    write("# known\nrace:^change$\n");
    let options = ["--json", "--keep-going", "--suppressions", "known.txt"];
    let report = explore(&home, "wronglock_compiled", &options).report();
    assert_eq!((report.races, report.suppressed), (vec![], vec!["race:^change$ (3)".to_owned()]));
    assert_eq!(report.bugs.len(), 1, "the assertion fails all the same");

    // The search continues after a suppressed failure, and the remaining ones are not bugs either.
    write("deadlock:abba.c\n");
    let options = ["--json", "--suppressions", "known.txt"];
    let report = explore(&home, "abba", &options).report();
    assert_eq!((report.bugs, report.suppressed.len()), (vec![], 1));
    assert!(report.executions > 1);
    assert!(explore(&home, "abba", &["--json"]).report().bugs[0].kind.is_deadlock());

    write("race:a\n  rac:b\n");
    let run = explore(&home, "abba", &["--suppressions", "known.txt"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("known.txt:2:3: `rac` is not a kind of report"), "{run:?}");
    let run = explore(&home, "abba", &["--suppressions", "missing.txt"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("missing.txt: cannot read the suppressions"), "{run:?}");
}
