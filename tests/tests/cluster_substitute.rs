//! A search on several machines continues while the process that started it is away.

use serde_json::Value;
use std::process::Stdio;
use tests::cluster::{Guarded, Server, has_server, worker};
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, await_some, build};
use traces::report::{Bug, Report};

/// The part of a report that must not depend on who merged the results.
fn essence(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let bugs: Vec<Bug> = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let counts = (report.executions, report.distinct, report.diverged, report.disturbed);
    let warnings = (report.conflicts.clone(), report.unconfirmed.len());
    (report.verdict, report.complete, counts, report.found_by.clone(), bugs, warnings)
}

fn status(home: &Home, server: &Server) -> Value {
    run(home.command(["cluster", "status", "--json", &server.url()]), BOUND).object()
}

/// Kills the collector of a search of `program` as soon as its state is at the server, waits until the
/// machines have ended the search without it, and returns the report of the same command.
fn report_without_collector(options: &[&str]) -> (Report, Report) {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let words = |more: &[&str]| {
        [&["explore", "--json"], options, more, &["--", "./program"]].concat().join(" ")
    };
    let command = |more: &[&str]| home.command(words(more).split(' '));
    let alone = run(command(&["--workers", "2", "--out", "alone"]), BOUND).report();
    let server = Server::start();
    let url = server.url();
    let mut first = command(&["--cluster", &url]);
    first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = Guarded(first.spawn().expect("it starts"));
    // Without a machine, the search cannot have ended when its collector is killed.
    await_some("the search at the server", || {
        (status(&home, &server)["searches"][0]["state"] == "running").then_some(())
    });
    first.kill();
    let _machines = [worker(&home, &url), worker(&home, &url)];
    await_some("the end of the search without its collector", || {
        (status(&home, &server)["searches"][0]["state"] == "waiting").then_some(())
    });
    let ran = run(command(&["--cluster", &url]), BOUND);
    assert!(ran.stderr.contains("the search program continues"), "{ran:?}");
    assert_eq!(status(&home, &server)["searches"][0]["state"], "over");
    (ran.report(), alone)
}

#[test]
fn machines_end_a_search_whose_collector_went_away() {
    if !has_server("machines_end_a_search_whose_collector_went_away") {
        return;
    }
    let options = ["--strategy", "random", "--keep-going", "--max-executions", "60000"];
    let (together, alone) = report_without_collector(&options);
    assert!(alone.bugs.len() > 1, "{alone:?}");
    assert_eq!(essence(&together), essence(&alone));
    assert!(together.bugs.iter().all(|bug| bug.trace.is_some()), "{together:?}");
}

#[test]
fn a_failure_ends_a_search_whose_collector_went_away() {
    if !has_server("a_failure_ends_a_search_whose_collector_went_away") {
        return;
    }
    let (together, alone) = report_without_collector(&["--strategy", "dpor"]);
    assert!(alone.executions < 100 && !alone.bugs.is_empty(), "{alone:?}");
    assert_eq!(essence(&together), essence(&alone));
}

#[test]
fn the_returning_collector_takes_the_search_from_a_machine() {
    if !has_server("the_returning_collector_takes_the_search_from_a_machine") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let server = Server::start();
    let url = server.url();
    let _machine = worker(&home, &url);
    let words = ["explore", "--json", "--strategy", "random", "--cluster", &url];
    let start = |most: &str| {
        home.command([&words[..], &["--max-executions", most, "--", "./program"]].concat())
    };
    let mut first = start("0");
    first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = Guarded(first.spawn().expect("it starts"));
    await_some("a saved state", || {
        home.path().join("heddle-out/search.heddle-state").exists().then_some(())
    });
    // Interrupted, as by Ctrl-C: it gives up its claim.
    let pid = nix::unistd::Pid::from_raw(first.0.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a child");
    await_some("the end of the collector", || first.0.try_wait().expect("a child"));
    let shown = await_some("a substitute", || {
        let shown = status(&home, &server);
        let collector = shown["searches"][0]["collector"].as_str()?;
        collector.starts_with("a substitute, process ").then(|| shown.clone())
    });
    assert_eq!(shown["searches"][0]["state"], "running", "{shown}");
    let ran = run(start("1"), BOUND);
    assert!(ran.stderr.contains("the search program continues"), "{ran:?}");
    assert!(ran.report().executions > 1, "{ran:?}");
    assert_eq!(status(&home, &server)["searches"][0]["state"], "over");
}
