//! A search's report for continuous integration: one test case in the JUnit form, which fails where a
//! failure was found.
//!
//! There are several schemas of that form. What is written here is valid in the strictest that is in use
//! (Windy Road's, of what Apache Ant writes) and in Jenkins' own: hence the order of the elements, the empty
//! `system-err`, and that `testsuites` says nothing.

use std::time::{Duration, SystemTime};
use traces::report::{Report, Verdict};

/// The file's text; `name` is the program with its arguments, `when` the time at which the search ended.
#[must_use]
pub fn render(report: &Report, name: &str, when: SystemTime) -> String {
    let failures = usize::from(report.verdict == Verdict::Bug);
    let errors = usize::from(matches!(report.verdict, Verdict::Unsupported | Verdict::Error));
    let took = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    let began = when.checked_sub(took).unwrap_or(when);
    let time = format!("time=\"{:.3}\"", report.elapsed_s);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    text += &format!(
        "<testsuite name=\"heddle\" package=\"heddle\" id=\"0\" timestamp=\"{}\" hostname=\"localhost\" \
         tests=\"1\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\" {time}>\n",
        timestamp(began)
    );
    text += &properties(report);
    text += &format!("<testcase classname=\"heddle\" name=\"{}\" {time}>\n", escaped(name));
    if failures > 0 {
        text += &failure(report);
    } else if errors > 0 {
        let kind = verdict(report);
        text += &format!("<error type=\"{kind}\" message=\"{}\"/>\n", escaped(&report.reason));
    }
    let mut about = format!("{}, {} executions", report.strategy, report.executions);
    if !report.reason.is_empty() {
        about += &format!("; {}", report.reason);
    }
    for note in &report.notes {
        about += &format!("; {note}");
    }
    text += &format!("</testcase>\n<system-out>{}</system-out>\n", escaped(&about));
    text += "<system-err></system-err>\n</testsuite>\n</testsuites>\n";
    text
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Bug => "bug",
        Verdict::Clean => "clean",
        Verdict::Incomplete => "incomplete",
        Verdict::Unsupported => "unsupported",
        Verdict::Error => "error",
    }
}

/// What a report says beyond whether there was a failure.
fn properties(report: &Report) -> String {
    let properties = [
        ("verdict", verdict(report).to_owned()),
        ("strategy", report.strategy.clone()),
        ("executions", report.executions.to_string()),
        ("complete", report.complete.to_string()),
    ];
    let mut text = String::from("<properties>\n");
    for (name, value) in properties {
        text += &format!("<property name=\"{name}\" value=\"{}\"/>\n", escaped(&value));
    }
    text + "</properties>\n"
}

/// One element for all failures: readers show no more.
fn failure(report: &Report) -> String {
    let first = report.bugs.first();
    let message = first.map_or(String::new(), |bug| format!("{}: {}", bug.kind, bug.message));
    let kind = first.map_or("", |bug| bug.kind.name());
    let mut text = format!("<failure type=\"{kind}\" message=\"{}\">\n", escaped(&message));
    for bug in &report.bugs {
        let trace = bug.trace.as_deref().unwrap_or("not written");
        let line = format!(
            "{}: {} at {} (execution {}, {} preemptions, seen {} times, trace {trace})\n",
            bug.kind, bug.message, bug.site, bug.found_at, bug.preemptions, bug.count
        );
        text += &escaped(&line);
    }
    text + "</failure>\n"
}

/// The time in UTC, as the schema has it: without a fraction and without a zone.
fn timestamp(when: SystemTime) -> String {
    let seconds = when.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, so that the day that may be missing is the last: 400 of them have
    // 146,097 days (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}")
}

/// What XML 1.0 allows, with what means something there escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c < ' ' || matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::empty_report;
    use traces::FailureKind;
    use traces::report::Bug;

    fn bug() -> Bug {
        Bug {
            kind: FailureKind::Assertion,
            signature: "s".into(),
            message: "a < b && \"c\" \u{1b}[0m".into(),
            site: "x.c:3".into(),
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
    fn a_failure_is_one_and_its_text_is_escaped() {
        let mut report = empty_report(Verdict::Bug, "dfs", String::new());
        report.bugs = vec![bug(), bug()];
        let text = rendered(&report, "./a \"b\"");
        assert!(text.contains("tests=\"1\" failures=\"1\" errors=\"0\""), "{text}");
        assert!(text.contains("name=\"./a &quot;b&quot;\""), "{text}");
        assert!(
            text.contains("assertion: a &lt; b &amp;&amp; &quot;c&quot; \u{fffd}[0m"),
            "{text}"
        );
        assert_eq!(text.matches("<failure").count(), 1);
    }

    #[test]
    fn what_is_not_supported_is_an_error_and_what_is_not_covered_none() {
        let text = |verdict| rendered(&empty_report(verdict, "dfs", "why".into()), "p");
        assert!(
            text(Verdict::Unsupported).contains("<error type=\"unsupported\" message=\"why\"/>")
        );
        assert!(text(Verdict::Incomplete).contains("errors=\"0\""));
        assert!(text(Verdict::Clean).contains("failures=\"0\""));
    }

    #[test]
    fn times_are_dates() {
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

    /// An element as the schemas have it: its name, the attributes that it has to have, and what may stand
    /// in it, in this order.
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

    /// Whether each element is closed, has what it has to have, and stands where it may.
    fn check(text: &str) {
        let mut open: Vec<(&str, usize)> = Vec::new();
        let body =
            text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a head");
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
                    ELEMENTS.iter().find(|element| element.0 == *parent).expect("it");
                let place = within[*at..].iter().position(|other| *other == name);
                *at += 1 + place.unwrap_or_else(|| panic!("{name} in {parent}: {text}"));
            }
            if !tag.ends_with('/') {
                open.push((name, 0));
            }
        }
        assert!(open.is_empty(), "{open:?}: {text}");
    }

    /// Held against the two schemas by hand, with xmllint; here against what they ask for.
    #[test]
    fn what_is_written_is_what_the_schemas_of_others_have() {
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
