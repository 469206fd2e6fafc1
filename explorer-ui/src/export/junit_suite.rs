//! The results of `heddle test` as JUnit XML, with a case for each test, and as annotations of
//! GitHub.

use super::junit::{timestamp, without_root_attributes};
use crate::report::search;
use crate::report::style::Style;
use crate::report::suite::NOT_REPEATED;
use crate::report::text::{clean, quote};
use crate::suites::{Outcome, Verdict};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite, XmlString};
use std::time::{Duration, SystemTime};
use traces::report::Bug;

/// The text of the file. `end` is the time at which the last test ended.
#[must_use]
pub fn render(outcomes: &[Outcome], end: SystemTime) -> String {
    let mut file = quick_junit::Report::unnamed();
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.suite.as_str()).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    for (id, name) in names.into_iter().enumerate() {
        let own: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.suite == name).collect();
        let elapsed: Duration = own.iter().map(|outcome| outcome.elapsed()).sum();
        let start = end.checked_sub(elapsed).unwrap_or(end);
        let mut suite = TestSuite::new(clean(name));
        for (name, value) in [
            ("package", "heddle"),
            ("id", id.to_string().as_str()),
            ("timestamp", timestamp(start).as_str()),
            ("hostname", "localhost"),
        ] {
            suite.extra.insert(XmlString::new(name), XmlString::new(value));
        }
        suite.set_time(elapsed);
        for outcome in own {
            let test = if outcome.test.is_empty() { &outcome.suite } else { &outcome.test };
            let mut case = TestCase::new(clean(test), status(outcome));
            case.set_classname(clean(&outcome.suite)).set_time(outcome.elapsed());
            suite.add_test_case(case);
        }
        suite.set_system_out("").set_system_err("");
        file.add_test_suite(suite);
    }
    without_root_attributes(&file.to_string().unwrap_or_default())
}

fn status(outcome: &Outcome) -> TestCaseStatus {
    let kind = match outcome.verdict {
        Verdict::Clean | Verdict::Incomplete => return TestCaseStatus::success(),
        Verdict::NoThreads | Verdict::Ignored | Verdict::NotRun | Verdict::Known => {
            let mut status = TestCaseStatus::skipped();
            let reason = match (outcome.verdict, outcome.reason.as_str()) {
                (Verdict::NoThreads, _) => "it creates no thread",
                (Verdict::Known, _) => "its failure is in the baseline",
                (verdict, "") => verdict.name(),
                (_, reason) => reason,
            };
            status.set_message(clean(reason));
            return status;
        }
        Verdict::Bug | Verdict::Unconfirmed => NonSuccessKind::Failure,
        Verdict::Error | Verdict::Unsupported => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    let mut failures = outcome.bugs().iter().chain(outcome.unconfirmed());
    let Some(first) = failures.next() else {
        status.set_type(outcome.verdict.name()).set_message(clean(&outcome.reason));
        return status;
    };
    status.set_type(first.kind.name());
    status.set_message(clean(&format!("{}: {}", first.kind, first.message)));
    status.set_description(description(outcome));
    status
}

/// The failures with their commands, and the smallest schedule of the first.
fn description(outcome: &Outcome) -> String {
    let mut text = String::new();
    if outcome.verdict == Verdict::Unconfirmed {
        text += &format!("{NOT_REPEATED}\n");
    }
    for bug in outcome.bugs().iter().chain(outcome.unconfirmed()) {
        text += &search::bug(bug, &Style::default());
        if let Some(path) = &bug.trace {
            text += &format!("  heddle replay {}\n", quote(path));
        }
    }
    if !outcome.schedule.is_empty() {
        text.push('\n');
        for line in outcome.schedule.lines() {
            text += &clean(line);
            text.push('\n');
        }
    }
    text
}

/// A line that GitHub shows at the failing line of a change.
#[must_use]
pub fn annotation(outcome: &Outcome, bug: &Bug) -> String {
    // The message of a panic, or of a failed check, has the path as compiled, the place the file's name alone.
    let in_message = |(file, line): &(&str, &str)| {
        let (name, _) = bug.site.rsplit_once(':').unwrap_or((&bug.site, ""));
        file.ends_with(name) && bug.site.ends_with(&format!(":{line}"))
    };
    let (file, line) = panicked_at(&bug.message)
        .or_else(|| checked_at(&bug.message))
        .filter(in_message)
        .or_else(|| bug.site.rsplit_once(':'))
        .unwrap_or((&bug.site, ""));
    let mut properties = format!("title={}", property(&format!("heddle: {}", outcome.name())));
    if !file.is_empty() && line.parse::<u64>().is_ok() {
        properties = format!("file={},line={line},{properties}", property(file));
    }
    let trace = bug.trace.as_ref().map(|path| format!(" (heddle replay {})", quote(path)));
    let message = format!("{}: {}{}", bug.kind, bug.message, trace.unwrap_or_default());
    format!("::error {properties}::{}", escaped(&message))
}

/// File and line in the message of a Rust panic: `thread 'x' panicked at src/lib.rs:7:5: ...`.
fn panicked_at(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once(" panicked at ")?;
    let end = rest.find(".rs:")? + ".rs".len();
    let (file, rest) = rest.split_at(end);
    Some((file, rest[1..].split(':').next()?))
}

/// File and line at the beginning of the message of a failed check: `src/queue.cpp:7: Expected ...`.
fn checked_at(message: &str) -> Option<(&str, &str)> {
    let (place, _) = message.split_once(": ")?;
    place.rsplit_once(':')
}

fn escaped(text: &str) -> String {
    clean(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::search::empty_report;
    use traces::FailureKind;
    use traces::report::Verdict as Found;

    fn outcome(test: &str, verdict: Verdict) -> Outcome {
        let mut report = empty_report(Found::Bug, "auto", String::new());
        report.bugs.push(Bug {
            kind: FailureKind::Panic,
            signature: "s".into(),
            message: "left: 1, right: 2".into(),
            site: "src/lib.rs:9".into(),
            stack: Vec::new(),
            trace: Some("heddle-out/bank/lost/panic-1.heddle".into()),
            found_at: 2,
            preemptions: 1,
            switches: 3,
            steps: 9,
            count: 1,
        });
        Outcome {
            suite: "bank".into(),
            test: test.into(),
            framework: "libtest",
            verdict,
            reason: String::new(),
            elapsed_s: 1.5,
            report: (verdict == Verdict::Bug).then(|| Box::new(report)),
            schedule: "T1 | store <x>\n".into(),
        }
    }

    #[test]
    fn each_test_is_a_case() {
        let outcomes = [
            outcome("lost", Verdict::Bug),
            outcome("kept", Verdict::Clean),
            outcome("plain", Verdict::NoThreads),
        ];
        let text = render(&outcomes, SystemTime::UNIX_EPOCH);
        for part in [
            "tests=\"3\"",
            "failures=\"1\"",
            "skipped=\"1\"",
            "type=\"panic\"",
            "heddle replay heddle-out/bank/lost/panic-1.heddle",
            "T1 | store &lt;x&gt;",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("<testcase").count(), 3);
        assert_eq!(text.matches("<failure").count(), 1);
    }

    #[test]
    fn annotations_name_file_and_line() {
        let outcome = outcome("a::lost, 100%", Verdict::Bug);
        assert_eq!(
            annotation(&outcome, &outcome.bugs()[0]),
            "::error file=src/lib.rs,line=9,title=heddle%3A bank a%3A%3Alost%2C 100%25::panic: left: \
             1, right: 2 (heddle replay heddle-out/bank/lost/panic-1.heddle)"
        );
        let mut bug = outcome.bugs()[0].clone();
        bug.site = "lib.rs:7".into();
        bug.message = "thread 'a' panicked at bank/src/lib.rs:7:5: lost".into();
        let line = annotation(&outcome, &bug);
        assert!(line.starts_with("::error file=bank/src/lib.rs,line=7,title="), "{line}");
        bug.message = "bank/src/lib.rs:7: Expected equality of these values: 1 2".into();
        let line = annotation(&outcome, &bug);
        assert!(line.starts_with("::error file=bank/src/lib.rs,line=7,title="), "{line}");
        // The place is in the user's code, the message names the standard library.
        bug.message = "thread 'a' panicked at /rustc/library/core/cell.rs:9:5: lost".into();
        let line = annotation(&outcome, &bug);
        assert!(line.starts_with("::error file=lib.rs,line=7,title="), "{line}");
    }

    #[test]
    fn a_test_that_was_not_searched_has_a_reason() {
        let ignored = Outcome { reason: "#[ignore]".into(), ..outcome("slow", Verdict::Ignored) };
        let all = [
            outcome("plain", Verdict::NoThreads),
            outcome("old", Verdict::Known),
            outcome("late", Verdict::NotRun),
            ignored,
        ];
        let text = render(&all, SystemTime::UNIX_EPOCH);
        for reason in
            ["it creates no thread", "its failure is in the baseline", "not-run", "#[ignore]"]
        {
            assert!(text.contains(&format!("<skipped message=\"{reason}\"")), "{reason}: {text}");
        }
    }
}
