//! Several tests at a time, and the progress of all.

use super::search::Test;
use super::{Request, cluster};
use crate::console::Console;
use crate::processors;
use crate::progress::Line;
use crate::report::suite;
use crate::report::text::{clean, count};
use crate::suites::outcome::{Baseline, full_name};
use crate::suites::{Outcome, Verdict, share};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The time for each test if none is given.
const EACH: Duration = Duration::from_secs(10);

enum Event {
    Started(usize),
    Ended(usize, Outcome),
}

/// Searches the tests; the results are in their order. Instead of showing progress, calls `ended`
/// for each test if that is given.
pub(super) fn search_all(
    request: &Request,
    tests: Vec<Test>,
    baseline: &Baseline,
    interrupted: &AtomicBool,
    console: &Console,
    mut ended: Option<&mut dyn FnMut(&Outcome)>,
) -> Vec<Outcome> {
    let args = &request.args;
    if tests.is_empty() {
        return Vec::new();
    }
    let jobs = args.jobs.unwrap_or_else(processors::count).max(1) as usize;
    let jobs = jobs.min(tests.len().max(1));
    let began = Instant::now();
    let next = Mutex::new(0);
    let stop = AtomicBool::new(false);
    let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
    let (send, events) = mpsc::channel();
    let work = |send: mpsc::Sender<Event>| {
        loop {
            let at = {
                let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                *next += 1;
                *next - 1
            };
            let Some(test) = tests.get(at) else { return };
            let remaining = args.total_time.map(|all| all.saturating_sub(began.elapsed()));
            let each = args.max_time.unwrap_or(EACH);
            let time = share::next(each, remaining, tests.len() - at, jobs);
            let outcome = match time {
                _ if interrupted.load(Relaxed) => test.outcome(Verdict::NotRun, "interrupted"),
                _ if stop.load(Relaxed) => test
                    .outcome(Verdict::NotRun, "an earlier test failed: --no-fail-fast continues"),
                None => test.outcome(Verdict::NotRun, "the time for all tests is used up"),
                Some(time) => {
                    let _ = send.send(Event::Started(at));
                    let mut options = request.options.clone();
                    options.extend(cluster::options(&request.cluster, &test.full_name()));
                    test.search(&options, time, args.junit.is_some(), interrupted)
                }
            };
            let outcome = judged(outcome, baseline);
            let has_failed = matches!(outcome.verdict, Verdict::Bug | Verdict::Unconfirmed);
            if has_failed && !args.no_fail_fast {
                stop.store(true, Relaxed);
            }
            if send.send(Event::Ended(at, outcome)).is_err() {
                return;
            }
        }
    };
    let mut line = Line::new(console, false);
    if ended.is_none() {
        console.note(&format!("heddle: {}, {jobs} at a time", count(tests.len() as u64, "test")));
    }
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let send = send.clone();
            scope.spawn(|| work(send));
        }
        drop(send);
        let mut running: Vec<usize> = Vec::new();
        for event in events {
            match event {
                Event::Started(at) => running.push(at),
                Event::Ended(at, outcome) => {
                    running.retain(|&other| other != at);
                    if let Some(ended) = &mut ended {
                        ended(&outcome);
                    } else if outcome.verdict != Verdict::NotRun {
                        line.clear();
                        console.note(&suite::line(&outcome, &console.messages));
                    }
                    outcomes.insert(at, outcome);
                }
            }
            if ended.is_some() {
                continue;
            }
            let names: Vec<String> = running
                .iter()
                .map(|&at| clean(&full_name(&tests[at].program.name, &tests[at].test.name)))
                .collect();
            line.show(&format!(
                "{} of {} tests · {:.0} s · {}",
                outcomes.len(),
                tests.len(),
                began.elapsed().as_secs_f64(),
                names.join(", ")
            ));
        }
    });
    outcomes.into_values().collect()
}

/// Failures that are in the baseline do not count.
fn judged(mut outcome: Outcome, baseline: &Baseline) -> Outcome {
    let is_known = |bug| baseline.has(&outcome.suite, &outcome.test, bug);
    let has_some = !outcome.bugs().is_empty();
    if outcome.verdict == Verdict::Bug && has_some && outcome.bugs().iter().all(is_known) {
        outcome.verdict = Verdict::Known;
    }
    outcome
}
