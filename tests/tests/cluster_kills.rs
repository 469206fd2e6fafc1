//! Machines and the server of a search are killed at random, and some results are forged: the result is
//! that of one machine.
//!
//! `HEDDLE_CLUSTER_KILLS=200` sets the number of kills, `HEDDLE_SEED` the seed.

use search::rng::Rng;
use std::time::{Duration, Instant};
use tests::cluster::{Guarded, Server, has_server, worker};
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::report::{Bug, Report, Verdict};

/// Executions of the search for each kill, so that it takes about as long as the kills.
const EACH: u64 = 100_000;

/// The part of a report that must not depend on what was killed.
fn essence(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let bugs: Vec<Bug> = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let counts = (report.executions, report.distinct, report.diverged);
    (report.verdict, counts, report.found_by.clone(), bugs, report.disturbed)
}

fn words<'a>(executions: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let options = ["explore", "--json", "--strategy", "random", "--keep-going"];
    [&options[..], &["--max-executions", executions], more, &["--", "./program"]].concat()
}

#[test]
fn machines_and_the_server_are_killed_at_random_and_the_result_is_the_same() {
    if !has_server("machines_and_the_server_are_killed_at_random") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let wanted = number("HEDDLE_CLUSTER_KILLS").unwrap_or(10);
    let mut rng = Rng::new(number("HEDDLE_SEED").unwrap_or(1), 0);
    let bound = BOUND + Duration::from_secs(15) * wanted as u32;
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let executions = (EACH * wanted).to_string();
    let alone = run(home.command(words(&executions, &["--workers", "2", "--out", "alone"])), bound);
    let mut server = Server::start();
    let url = server.url();
    let mut machines: Vec<Guarded> = (0..2).map(|_| worker(&home, &url)).collect();
    let mut command = home.command(words(&executions, &["--cluster", &url, "--out", "together"]));
    let out = std::fs::File::create(home.path().join("report.json")).expect("writable");
    command.stdout(out).stderr(std::process::Stdio::null());
    let mut search = Guarded(command.spawn().expect("it starts"));
    let began = Instant::now();
    let (mut of_machines, mut of_server) = (0, 0);
    let mut next = Duration::from_millis(500);
    loop {
        if search.0.try_wait().expect("a child").is_some() {
            break;
        }
        assert!(began.elapsed() < bound, "after {bound:?}: {of_machines} and {of_server} kills");
        std::thread::sleep(Duration::from_millis(5));
        if began.elapsed() < next || of_machines + of_server == wanted {
            continue;
        }
        next = began.elapsed() + Duration::from_millis(100 + u64::from(rng.below(900)));
        if rng.below(3) == 0 {
            server.kill();
            std::thread::sleep(Duration::from_millis(rng.below(300).into()));
            server.start_again();
            of_server += 1;
        } else {
            let machine = rng.below(2) as usize;
            machines[machine].kill();
            machines[machine] = worker(&home, &url);
            of_machines += 1;
        }
    }
    println!("{of_machines} kills of machines, {of_server} of the server, {:?}", began.elapsed());
    let text = std::fs::read_to_string(home.path().join("report.json")).expect("a report");
    let together: Report = serde_json::from_str(&text).expect("a report");
    let alone = alone.report();
    assert_eq!(alone.verdict, Verdict::Bug);
    assert_eq!(essence(&together), essence(&alone));
    assert!(of_machines + of_server >= wanted / 2, "the search was over after {of_machines} kills");
}

#[test]
fn results_that_are_none_are_refused_and_their_pieces_run_again() {
    if !has_server("results_that_are_none_are_refused") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let alone = run(home.command(words("40000", &["--workers", "2", "--out", "alone"])), BOUND);
    let server = Server::start();
    let url = server.url();
    // It sees each piece as soon as the server does, and answers before any machine.
    let mut liar = server.connect();
    liar.subscribe("heddle.piece.program.>");
    let liar = std::thread::spawn(move || {
        for number in 0..12 {
            let Some(subject) = liar.next_subject() else { return number };
            let key = subject.rsplit('.').next().unwrap_or_default();
            liar.publish(&format!("heddle.result.program.{key}"), b"no result");
        }
        12
    });
    let command = home.command(words("40000", &["--cluster", &url, "--out", "together"]));
    let search = std::thread::spawn(move || run(command, BOUND));
    let _machine = worker(&home, &url);
    let together = search.join().expect("it ends");
    assert!(liar.join().expect("it ends") >= 2);
    let line = "a result cannot be read (it is damaged): its piece is run again";
    assert!(together.stderr.contains(line), "{together:?}");
    assert_eq!(essence(&together.report()), essence(&alone.report()));
}

#[test]
fn a_search_of_another_version_is_named() {
    if !has_server("a_search_of_another_version_is_named") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let server = Server::start();
    let url = server.url();
    // Creates the list of searches.
    assert_eq!(run(home.command(["cluster", "status", &url]), BOUND).status, 0);
    let mut other = server.connect();
    other.publish("$KV.heddle-searches.program", br#"{"version":9}"#);
    let ran = run(home.command(words("100", &["--cluster", &url])), BOUND);
    let expected = "heddle: the search program at the server has version 9 of the protocol, and this \
                    heddle-cluster has 3: use the same release of Heddle on every machine, or another \
                    server\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (2, expected), "{ran:?}");
    let cancelled = run(home.command(["cluster", "cancel", &url, "program"]), BOUND);
    assert_eq!(cancelled.stdout, "the search program was cancelled\n", "{cancelled:?}");
}
