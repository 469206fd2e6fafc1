//! Signal handlers that interrupt a function that is not async-signal-safe, and call another one on the same hidden
//! state: the report names both functions, the state, and both places. Which programs fail is in `tests/claims`.

use tests::heddle::Home;
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn search(home: &Home, name: &str, options: &[&str]) -> Report {
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let usual = ["explore", "--json", "--workers", "1", "--max-executions", "1000"];
    home.heddle([&usual[..], options, &["--", &path]].concat()).report()
}

#[test]
fn a_report_names_functions_state_and_places() {
    let home = Home::new();
    let names = [
        ("handler_prints_too", "`printf` while `puts` is interrupted", "stdout", 7, 5),
        ("handler_allocates_too", "`malloc` while `malloc` is interrupted", "the heap", 11, 7),
    ];
    for (name, calls, state, interrupted, handler) in names {
        let report = search(&home, name, &[]);
        let [bug] = &report.bugs[..] else { panic!("{name}: {report:#?}") };
        assert_eq!(bug.kind, FailureKind::SignalUnsafe, "{name}: {report:#?}");
        let file = name.replace('_', "-");
        let message = format!(
            "the handler of SIGUSR1 calls {calls}: both use {state}, and neither is async-signal-safe"
        );
        assert!(bug.message.starts_with(&message), "{name}: {}", bug.message);
        assert!(
            bug.message.ends_with(&format!(" was called at {file}.c:{interrupted}")),
            "{bug:#?}"
        );
        let trace = bug.trace.clone().expect("a trace");
        let shown = home.heddle(["show", &trace]).stdout;
        assert!(shown.contains(&format!("  at {file}.c:{handler}\n")), "{shown}");
        let replayed = home.heddle(["replay", "--times", "20", &trace]);
        assert_eq!(replayed.status, 1, "{replayed:?}");
    }
}

#[test]
fn the_kind_can_be_left_out() {
    let home = Home::new();
    let report = search(&home, "handler_prints_too", &["--fail-on", "crash,abort"]);
    assert_eq!((report.verdict, report.bugs.len()), (Verdict::Clean, 0), "{report:#?}");
}

/// The words by which a search notices such calls are known to replays: a schedule in which a handler changes what
/// the interrupted thread continues with fails again. (`strtok` then continues in the text of the handler, and finds
/// another part than the thread expects.)
#[test]
fn a_failure_that_a_handler_causes_is_repeated() {
    let home = Home::new();
    let report = search(&home, "handler_divides_text", &["--fail-on", "abort,crash"]);
    let kinds: Vec<FailureKind> = report.bugs.iter().map(|bug| bug.kind).collect();
    assert_eq!((kinds, report.unconfirmed.len()), (vec![FailureKind::Abort], 0), "{report:#?}");
}
