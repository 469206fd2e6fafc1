//! The tests of one Rust test program, with the lines that Rust's harness prints.

use super::{Request, chosen, discover, pool};
use crate::cli::arguments::SuiteArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::search::bug;
use crate::report::suite::NOT_REPEATED;
use crate::report::text::{clean, quote};
use crate::suites::filter::Ignored;
use crate::suites::harness_args::HarnessArgs;
use crate::suites::outcome::Baseline;
use crate::suites::{Outcome, Program, Verdict, without_harness};
use replay_core::store;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Searches the tests that the harness's arguments ask for. `None` if the program does not use the
/// harness.
pub(crate) fn run(
    program: &OsStr,
    given: &HarnessArgs,
    args: SuiteArgs,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Option<Status>, Problem> {
    let here = std::env::current_dir().map_err(|error| {
        Problem::Usage(format!("the working directory cannot be used ({error})"))
    })?;
    let suite = discover::list(
        Program {
            name: discover::stem(Path::new(program)),
            command: vec![program.to_owned()],
            directory: here,
            ..Program::default()
        },
        interrupted,
    );
    if suite.framework.is_none_or(|framework| framework.name != "libtest") {
        return Ok(None);
    }
    let all = suite.tests.as_ref().map_or(0, Vec::len);
    let args = SuiteArgs {
        skip: given.filter.skip.clone(),
        exact: given.filter.exact,
        ignored: given.filter.ignored == Ignored::Only,
        include_ignored: given.filter.ignored == Ignored::Included,
        ..args
    };
    let request = Request { args, filter: given.filter.texts.clone(), ..Request::default() };
    let (tests, mut outcomes) = chosen(&request, &[suite]);
    let number = tests.len() + outcomes.len();
    let began = Instant::now();
    console.print(&format!("\nrunning {number} test{}\n", if number == 1 { "" } else { "s" }))?;
    for outcome in &outcomes {
        console.print(&line(outcome))?;
    }
    let mut ended = |outcome: &Outcome| {
        // The status reports what happened even if this line cannot be written.
        let _ = console.print(&line(outcome));
    };
    let baseline = Baseline::default();
    outcomes.extend(pool::search_all(
        &request,
        tests,
        &baseline,
        interrupted,
        console,
        Some(&mut ended),
    ));
    let seconds = began.elapsed().as_secs_f64();
    console.print(&summary(&outcomes, all.saturating_sub(number), seconds, console))?;
    Ok(Some(if outcomes.iter().any(failed) { Status::TestFailed } else { Status::Fine }))
}

/// A test that could not be searched has not passed.
pub(super) fn failed(outcome: &Outcome) -> bool {
    matches!(
        outcome.verdict,
        Verdict::Bug
            | Verdict::Known
            | Verdict::Unconfirmed
            | Verdict::Error
            | Verdict::Unsupported
            | Verdict::NotRun
    )
}

fn line(outcome: &Outcome) -> String {
    let result = match outcome.verdict {
        Verdict::Ignored => "ignored",
        _ if failed(outcome) => "FAILED",
        _ => "ok",
    };
    format!("test {} ... {result}\n", clean(&outcome.test))
}

/// The failures, each with the program's output and the trace, and the last line.
fn summary(outcomes: &[Outcome], filtered: usize, seconds: f64, console: &Console) -> String {
    let failures: Vec<&Outcome> = outcomes.iter().filter(|outcome| failed(outcome)).collect();
    let mut text = String::new();
    if !failures.is_empty() {
        text.push_str("\nfailures:\n");
        for outcome in &failures {
            text.push_str(&format!("\n---- {} stdout ----\n", clean(&outcome.test)));
            text.push_str(&details(outcome, console));
        }
        text.push_str("\n\nfailures:\n");
        for outcome in &failures {
            text.push_str(&format!("    {}\n", clean(&outcome.test)));
        }
    }
    let ignored = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Ignored).count();
    let result = if failures.is_empty() { "ok" } else { "FAILED" };
    text.push_str(&format!(
        "\ntest result: {result}. {} passed; {} failed; {ignored} ignored; 0 measured; {filtered} \
         filtered out; finished in {seconds:.2}s\n\n",
        outcomes.len() - failures.len() - ignored,
        failures.len(),
    ));
    text
}

fn details(outcome: &Outcome, console: &Console) -> String {
    let mut text = String::new();
    if outcome.bugs().is_empty() {
        let reason = match outcome.unconfirmed() {
            [] => clean(&outcome.reason),
            _ => NOT_REPEATED.to_owned(),
        };
        text.push_str(&format!("{}: {reason}\n", outcome.verdict.name()));
    }
    for found in outcome.bugs().iter().chain(outcome.unconfirmed()) {
        let trace = found.trace.as_deref();
        let loaded = trace.and_then(|path| store::load(Path::new(path)).ok());
        let output = loaded.map(|loaded| loaded.trace.output).unwrap_or_default();
        let output = without_harness(&String::from_utf8_lossy(&output), &outcome.test);
        for line in output.lines() {
            text.push_str(&clean(line));
            text.push('\n');
        }
        text.push_str(&bug(found, &console.style));
        if let Some(path) = trace.map(quote) {
            text.push_str(&format!("  heddle explain {path}\n  heddle replay {path}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::search::empty_report;

    #[test]
    fn a_test_whose_failure_did_not_repeat_has_not_passed() {
        let report = empty_report(traces::report::Verdict::Incomplete, "auto", String::new());
        let outcome = |verdict| Outcome {
            suite: "bank".into(),
            test: "lost".into(),
            framework: "libtest",
            verdict,
            reason: String::new(),
            elapsed_s: 1.0,
            report: Some(Box::new(report.clone())),
            schedule: String::new(),
        };
        assert_eq!(line(&outcome(Verdict::Unconfirmed)), "test lost ... FAILED\n");
        assert_eq!(line(&outcome(Verdict::Incomplete)), "test lost ... ok\n");
    }
}
