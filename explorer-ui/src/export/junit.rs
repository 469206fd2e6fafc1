//! The report of a search as JUnit XML, for continuous integration: one test case, which fails if the
//! search found a failure.
//!
//! JUnit XML has several schemas. The text is valid in the strictest one in use (Windy Road's, for the
//! output of Apache Ant) and in Jenkins': hence the time without a zone, the empty `system-err`, and no
//! attributes on `testsuites`.

use crate::report::suite::NOT_REPEATED;
use crate::report::text::{clean, count};
use chrono::{DateTime, Utc};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite, XmlString};
use std::time::{Duration, SystemTime};
use traces::report::{Report, Verdict};

/// The text of the file. `name` is the program with its arguments, `end` the time at which the search
/// ended.
#[must_use]
pub fn render(report: &Report, name: &str, end: SystemTime) -> String {
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    let start = end.checked_sub(elapsed).unwrap_or(end);
    let mut case = TestCase::new(clean(name), status(report));
    case.set_classname("heddle").set_time(elapsed);
    let mut suite = TestSuite::new("heddle");
    for (name, value) in [
        ("package", "heddle"),
        ("id", "0"),
        ("timestamp", &timestamp(start)),
        ("hostname", "localhost"),
    ] {
        suite.extra.insert(XmlString::new(name), XmlString::new(value));
    }
    for (name, value) in [
        ("verdict", verdict(report)),
        ("strategy", &clean(&report.strategy)),
        ("executions", &report.executions.to_string()),
        ("complete", &report.complete.to_string()),
    ] {
        suite.add_property((name, value));
    }
    suite.set_time(elapsed).add_test_case(case);
    suite.set_system_out(summary(report)).set_system_err("");
    let mut file = quick_junit::Report::unnamed();
    file.add_test_suite(suite);
    without_root_attributes(&file.to_string().unwrap_or_default())
}

/// Removes the attributes of `testsuites`, which quick-junit always writes and the strictest schema does
/// not allow.
pub(super) fn without_root_attributes(text: &str) -> String {
    const ROOT: &str = "<testsuites";
    let Some((before, after)) = text.split_once(ROOT) else { return text.to_owned() };
    let attributes = after.find('>').unwrap_or(0);
    format!("{before}{ROOT}{}", &after[attributes..])
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Bug => "bug",
        Verdict::Satisfied => "satisfied",
        Verdict::Clean => "clean",
        Verdict::Incomplete => "incomplete",
        Verdict::Unsupported => "unsupported",
        Verdict::Error => "error",
    }
}

/// The status of the test case. One element holds all failures, since readers show only one.
fn status(report: &Report) -> TestCaseStatus {
    let mut status = match report.verdict {
        Verdict::Clean | Verdict::Incomplete | Verdict::Satisfied
            if report.unconfirmed.is_empty() =>
        {
            return TestCaseStatus::success();
        }
        Verdict::Bug | Verdict::Clean | Verdict::Incomplete | Verdict::Satisfied => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Verdict::Unsupported | Verdict::Error => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type(verdict(report)).set_message(clean(&report.reason));
            return status;
        }
    };
    let first = report.bugs.iter().chain(&report.unconfirmed).next();
    status.set_type(first.map_or("", |bug| bug.kind.name()));
    status.set_message(clean(
        &first.map_or(String::new(), |bug| format!("{}: {}", bug.kind, bug.message)),
    ));
    let mut description = String::new();
    if report.bugs.is_empty() {
        description += &format!("{NOT_REPEATED}\n");
    }
    for bug in report.bugs.iter().chain(&report.unconfirmed) {
        let trace = bug.trace.as_deref().unwrap_or("not written");
        description += &clean(&format!(
            "{}: {} at {} (execution {}, {}, seen {}, trace {trace})",
            bug.kind,
            bug.message,
            bug.site,
            bug.found_at,
            count(bug.preemptions, "preemption"),
            count(bug.count, "time")
        ));
        description.push('\n');
    }
    status.set_description(description);
    status
}

/// The strategy, the number of executions, the reason for the verdict, and the notes.
fn summary(report: &Report) -> String {
    let mut text = format!("{}, {} executions", report.strategy, report.executions);
    if !report.reason.is_empty() {
        text += &format!("; {}", report.reason);
    }
    for note in &report.notes {
        text += &format!("; {note}");
    }
    clean(&text)
}

/// The time in UTC, without a fraction and a zone, as the schema requires.
pub(super) fn timestamp(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::search::empty_report;
    use traces::FailureKind;
    use traces::report::Bug;

    fn bug() -> Bug {
        Bug {
            kind: FailureKind::Assertion,
            signature: "s".into(),
            message: "a < b && \"c\" \u{1b}[0m".into(),
            site: "x.c:3".into(),
            stack: Vec::new(),
            trace: None,
            found_at: 2,
            preemptions: 1,
            switches: 3,
            steps: 9,
            count: 4,
        }
    }

    fn rendered(report: &Report, name: &str) -> String {
        render(report, name, SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400))
    }

    #[test]
    fn all_failures_are_one_element_with_escaped_text() {
        let mut report = empty_report(Verdict::Bug, "dfs", String::new());
        report.bugs = vec![bug(), bug()];
        let text = rendered(&report, "./a \"b\"");
        for count in ["tests=\"1\"", "failures=\"1\"", "errors=\"0\"", "skipped=\"0\""] {
            assert!(text.contains(count), "{count}: {text}");
        }
        assert!(text.contains("name=\"./a &quot;b&quot;\""), "{text}");
        assert!(text.contains("assertion: a &lt; b &amp;&amp; &quot;c&quot; \\u{1b}[0m"), "{text}");
        assert_eq!(text.matches("<failure").count(), 1);
        let facts = " at x.c:3 (execution 2, 1 preemption, seen 4 times, trace not written)";
        assert_eq!(text.matches(facts).count(), 2, "{text}");
    }

    #[test]
    fn unsupported_is_an_error_and_incomplete_is_none() {
        let text = |verdict| rendered(&empty_report(verdict, "dfs", "why".into()), "p");
        assert!(
            text(Verdict::Unsupported).contains("<error message=\"why\" type=\"unsupported\"/>")
        );
        assert!(text(Verdict::Incomplete).contains("errors=\"0\""));
        assert!(text(Verdict::Clean).contains("failures=\"0\""));
    }

    #[test]
    fn timestamps_are_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_709_251_199, "2024-02-29T23:59:59"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(timestamp(when), expected);
        }
    }

    /// The elements of the schemas: name, required attributes, and permitted children in their order.
    const ELEMENTS: [(&str, &[&str], &[&str]); 9] = [
        ("testsuites", &[], &["testsuite"]),
        (
            "testsuite",
            &[
                "name",
                "package",
                "id",
                "timestamp",
                "hostname",
                "tests",
                "failures",
                "errors",
                "time",
            ],
            &["properties", "testcase", "system-out", "system-err"],
        ),
        ("properties", &[], &["property", "property", "property", "property"]),
        ("property", &["name", "value"], &[]),
        ("testcase", &["classname", "name", "time"], &["failure", "error"]),
        ("failure", &["type", "message"], &[]),
        ("error", &["type", "message"], &[]),
        ("system-out", &[], &[]),
        ("system-err", &[], &[]),
    ];

    /// Checks that each element is closed, has the required attributes, and is a permitted child.
    fn check(text: &str) {
        let mut open: Vec<(&str, usize)> = Vec::new();
        let body = text
            .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
            .expect("the XML declaration");
        for part in body.split('<').skip(1) {
            let (tag, after) = part.split_once('>').expect("a tag ends");
            assert!(!after.contains(['>', '"']) || after.is_empty(), "{after:?} is escaped");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().map(|(open, _)| open), Some(name), "{text}");
                continue;
            }
            let name = tag.split([' ', '/']).next().expect("a name");
            let element = ELEMENTS.iter().find(|element| element.0 == name);
            let (_, attributes, _) = element.unwrap_or_else(|| panic!("{name}: {text}"));
            for attribute in *attributes {
                assert_eq!(
                    tag.matches(&format!(" {attribute}=\"")).count(),
                    1,
                    "{attribute}: {tag}"
                );
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some((parent, at)) = open.last_mut() {
                let (_, _, within) =
                    ELEMENTS.iter().find(|element| element.0 == *parent).expect("a known element");
                let place = within[*at..].iter().position(|other| *other == name);
                *at += 1 + place.unwrap_or_else(|| panic!("{name} in {parent}: {text}"));
            }
            if !tag.ends_with('/') {
                open.push((name, 0));
            }
        }
        assert!(open.is_empty(), "{open:?}: {text}");
    }

    /// The two schemas were checked once with xmllint; this test checks their requirements.
    #[test]
    fn the_text_meets_the_requirements_of_the_schemas() {
        for verdict in [
            Verdict::Clean,
            Verdict::Incomplete,
            Verdict::Unsupported,
            Verdict::Error,
            Verdict::Bug,
        ] {
            let mut report = empty_report(verdict, "dfs", "a < \"b\" & c".into());
            report.notes.push("<system-out>".into());
            for bugs in
                [vec![], vec![bug()], vec![bug(), Bug { trace: Some("x>y".into()), ..bug() }]]
            {
                let bugs = if verdict == Verdict::Bug { bugs } else { vec![] };
                check(&rendered(&Report { bugs, ..report.clone() }, "./a <b> \"c\" 'd'\n&e"));
            }
        }
    }
}
