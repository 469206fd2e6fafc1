//! Searches of programs that use the channels of Rust's standard library. A receiver waits for what a sender is
//! about to do in loops that count their iterations.

use tests::heddle::{Home, Run};
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// With and without optimisation.
const BUILDS: [&str; 2] = ["channel_once", "channel_once_unoptimised"];

fn run(home: &Home, name: &str, args: &[&str], strategy: &str) -> Run {
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let options = ["explore", "--json", "--strategy", strategy, "--max-executions", "20000", "--"];
    home.heddle([&options[..], &[&path], args].concat())
}

/// The sender stores the message on the receiver's stack. With fork reset, each restart of the search is another
/// process, which has to know that the receiver's accesses to its stack are observed.
#[test]
fn a_search_in_forks_observes_stacks_from_its_first_execution_on() {
    for name in BUILDS {
        let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
        for reset in ["memory", "fork"] {
            let options =
                ["explore", "--json", "--strategy", "dpor", "--reset", reset, "--", &path];
            let report =
                Home::new().heddle([&options[..], &["rendezvous", "wait"]].concat()).report();
            assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
            assert_eq!(report.reset, reset, "{report:?}");
        }
    }
}

fn search(name: &str, args: &[&str], strategy: &str) -> Report {
    run(&Home::new(), name, args, strategy).report()
}

#[test]
fn searches_of_programs_with_a_channel_are_complete() {
    let ways = [["unbounded", "wait"], ["unbounded", "limit"], ["unbounded", "poll"]];
    let others = [["bounded", "wait"], ["bounded", "limit"], ["rendezvous", "wait"]];
    for name in BUILDS {
        for args in ways.iter().chain(&others) {
            for (strategy, most) in [("dpor", 200), ("auto", 1000)] {
                let report = search(name, args, strategy);
                let verdict = (report.verdict, report.complete);
                assert_eq!(verdict, (Verdict::Clean, true), "{name} {args:?}: {report:?}");
                assert!(report.classes <= most, "{name} {args:?}: {report:?}");
            }
        }
    }
}

#[test]
fn a_message_that_is_not_there_yet_is_found_and_replayed() {
    for name in BUILDS {
        for kind in ["unbounded", "bounded", "rendezvous"] {
            let home = Home::new();
            let report = run(&home, name, &[kind, "once"], "auto").report();
            let bug = report.bugs.first().unwrap_or_else(|| panic!("{name} {kind}: {report:?}"));
            assert_eq!(bug.kind, FailureKind::Panic, "{name} {kind}: {report:?}");
            let trace = bug.trace.as_deref().expect("it is recorded");
            let replayed = home.heddle(["replay", "--times", "20", trace]);
            assert_eq!(replayed.status, 1, "{name} {kind}: {replayed:?}");
        }
    }
}
