//! A search's report for continuous integration: one test case in the JUnit form, which fails where a
//! failure was found.

use traces::report::{Report, Verdict};

/// The file's text; `name` is the program with its arguments.
#[must_use]
pub fn render(report: &Report, name: &str) -> String {
    let bugs = &report.bugs;
    let failures = usize::from(report.verdict == Verdict::Bug);
    let errors = usize::from(matches!(report.verdict, Verdict::Unsupported | Verdict::Error));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"1\" failures=\"{failures}\" errors=\"{errors}\"");
    let time = format!("time=\"{:.3}\"", report.elapsed_s);
    text += &format!("<testsuites {counts} {time}>\n");
    text += &format!("<testsuite name=\"heddle\" {counts} {time}>\n");
    text += &format!("<testcase classname=\"heddle\" name=\"{}\" {time}>\n", escaped(name));
    if failures > 0 {
        // One element: readers show no more.
        let first = bugs.first();
        let message = first.map_or(String::new(), |bug| format!("{}: {}", bug.kind, bug.message));
        let kind = first.map_or("", |bug| bug.kind.name());
        text += &format!("<failure type=\"{kind}\" message=\"{}\">\n", escaped(&message));
        for bug in bugs {
            let trace = bug.trace.as_deref().unwrap_or("not written");
            let line = format!(
                "{}: {} at {} (execution {}, {} preemptions, seen {} times, trace {trace})\n",
                bug.kind, bug.message, bug.site, bug.found_at, bug.preemptions, bug.count
            );
            text += &escaped(&line);
        }
        text += "</failure>\n";
    } else if errors > 0 {
        text += &format!("<error message=\"{}\"/>\n", escaped(&report.reason));
    }
    let mut about = format!("{}, {} executions", report.strategy, report.executions);
    if !report.reason.is_empty() {
        about += &format!("; {}", report.reason);
    }
    for note in &report.notes {
        about += &format!("; {note}");
    }
    text += &format!("<system-out>{}</system-out>\n", escaped(&about));
    text += "</testcase>\n</testsuite>\n</testsuites>\n";
    text
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

    #[test]
    fn a_failure_is_one_and_its_text_is_escaped() {
        let mut report = empty_report(Verdict::Bug, "dfs", String::new());
        report.bugs = vec![bug(), bug()];
        let text = render(&report, "./a \"b\"");
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
        let text = |verdict| render(&empty_report(verdict, "dfs", "why".into()), "p");
        assert!(text(Verdict::Unsupported).contains("<error message=\"why\"/>"));
        assert!(text(Verdict::Incomplete).contains("errors=\"0\""));
        assert!(text(Verdict::Clean).contains("failures=\"0\""));
    }
}
