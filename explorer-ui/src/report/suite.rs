//! The results of a suite as text: a line for each test while it runs, and the table at the end.

use super::search::{bug, covered};
use super::style::{Role, Style};
use super::text::{clean, clip, count, fill, grouped, quote, width};
use crate::suites::outcome::counts;
use crate::suites::{Outcome, Verdict};
use std::collections::BTreeMap;

/// The line for a test that ended: verdict, time, name, and the failure or the reason.
#[must_use]
pub fn line(outcome: &Outcome, style: &Style) -> String {
    let verdict = outcome.verdict.name();
    let facts = facts(outcome);
    let dash = if facts.is_empty() { String::new() } else { format!("  {facts}") };
    format!(
        "{}{} [{:>8.3}s]  {}{}",
        fill(width(verdict), 12),
        style.paint(role(outcome.verdict), verdict),
        outcome.elapsed_s,
        clean(&outcome.name()),
        style.paint(Role::Dim, &dash),
    )
}

/// How reports describe a failure that did not occur again.
pub const NOT_REPEATED: &str = "failed once, and its recording did not repeat";

fn facts(outcome: &Outcome) -> String {
    if let Some(bug) = outcome.bugs().first() {
        return clean(&format!("{}: {}", bug.kind, bug.message));
    }
    if let Some(once) = outcome.unconfirmed().first() {
        return clean(&format!("{NOT_REPEATED}: {}: {}", once.kind, once.message));
    }
    let executions = outcome.report.as_ref().map(|report| report.executions);
    match (executions, outcome.reason.is_empty()) {
        (_, false) => clean(&outcome.reason),
        (Some(executions), true) => {
            let why = outcome.report.as_ref().map(|report| report.reason.as_str());
            match why.unwrap_or_default() {
                "" => count(executions, "execution"),
                why => clean(&format!("{}: {why}", count(executions, "execution"))),
            }
        }
        (None, true) => String::new(),
    }
}

fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Bug | Verdict::Unconfirmed | Verdict::Error | Verdict::Unsupported => Role::Bad,
        Verdict::Clean => Role::Good,
        Verdict::Incomplete | Verdict::Known => Role::Title,
        Verdict::NoThreads | Verdict::Ignored | Verdict::NotRun => Role::Dim,
    }
}

/// The table, the failures, and the totals. `cells` is the width of the terminal.
#[must_use]
pub fn render(outcomes: &[Outcome], style: &Style, cells: usize) -> String {
    let mut text = table(outcomes, style, cells);
    for outcome in outcomes {
        for found in outcome.bugs() {
            text.push('\n');
            text.push_str(&style.paint(Role::Title, &clean(&outcome.name())));
            let known = if outcome.verdict == Verdict::Known { " (in the baseline)" } else { "" };
            text.push_str(&format!("{known}\n{}", bug(found, style)));
            if let Some(path) = &found.trace {
                let path = quote(path);
                text.push_str(&format!("  heddle explain {path}\n  heddle replay {path}\n"));
            }
        }
    }
    for outcome in outcomes {
        for once in outcome.unconfirmed() {
            text.push('\n');
            text.push_str(&style.paint(Role::Title, &clean(&outcome.name())));
            text.push_str(&format!(" {NOT_REPEATED}\n{}", bug(once, style)));
        }
    }
    text.push('\n');
    text.push_str(&totals(outcomes, style));
    text.push('\n');
    text
}

/// The columns: test, verdict, executions, what was covered, time. Tests that were not run share
/// the last lines, one for each reason.
fn table(outcomes: &[Outcome], style: &Style, cells: usize) -> String {
    let is_row = |outcome: &&Outcome| {
        !matches!(outcome.verdict, Verdict::NoThreads | Verdict::Ignored | Verdict::NotRun)
    };
    let rows: Vec<[String; 5]> = outcomes
        .iter()
        .filter(is_row)
        .map(|outcome| {
            let executions = outcome.report.as_ref().map(|report| grouped(report.executions));
            [
                clean(&outcome.name()),
                outcome.verdict.name().to_owned(),
                executions.unwrap_or_else(|| "-".to_owned()),
                coverage(outcome),
                format!("{:.2} s", outcome.elapsed_s),
            ]
        })
        .collect();
    let mut text = String::new();
    if !rows.is_empty() {
        let heads = ["test", "verdict", "executions", "covered", "time"];
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| width(&row[column]));
            cells.chain([width(heads[column])]).max().unwrap_or(0)
        };
        let mut widths: [usize; 5] = std::array::from_fn(widest);
        let others: usize = widths[1..].iter().sum::<usize>() + 2 * 4;
        widths[0] = widths[0].min(cells.saturating_sub(others).max(20));
        let row = |row: [&str; 5], roles: [Role; 5]| {
            let mut line = String::new();
            for (column, word) in row.into_iter().enumerate() {
                let word = clip(word, widths[column], style.glyphs().cut);
                let space = fill(width(&word), widths[column]);
                let word = style.paint(roles[column], &word);
                // Numbers are aligned at their end.
                match column {
                    2 | 4 => line.push_str(&format!("{space}{word}  ")),
                    _ => line.push_str(&format!("{word}{space}  ")),
                }
            }
            line.trim_end().to_owned() + "\n"
        };
        text.push_str(&row(heads, [Role::Dim; 5]));
        for (outcome, words) in outcomes.iter().filter(is_row).zip(&rows) {
            let plain = Role::Plain;
            let roles = [plain, role(outcome.verdict), plain, plain, Role::Dim];
            text.push_str(&row(std::array::from_fn(|column| words[column].as_str()), roles));
        }
    }
    for (verdict, why) in [
        (Verdict::NoThreads, "no thread is created, so nothing was searched"),
        (Verdict::Ignored, "ignored: --ignored or --include-ignored runs them"),
        (Verdict::NotRun, "not run"),
    ] {
        let names: Vec<String> = outcomes
            .iter()
            .filter(|outcome| outcome.verdict == verdict)
            .filter(|outcome| verdict == Verdict::NoThreads || outcome.reason.is_empty())
            .map(|outcome| clean(&outcome.name()))
            .collect();
        if !names.is_empty() {
            text.push_str(&style.paint(Role::Dim, &format!("{why}: ")));
            text.push_str(&names.join(", "));
            text.push('\n');
        }
    }
    for (verdict, what) in [(Verdict::Ignored, "ignored"), (Verdict::NotRun, "not run")] {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| outcome.verdict == verdict) {
            reasons.entry(&outcome.reason).or_default().push(clean(&outcome.name()));
        }
        for (why, names) in reasons.into_iter().filter(|(why, _)| !why.is_empty()) {
            text.push_str(&style.paint(Role::Dim, &format!("{what}, {}: ", clean(why))));
            text.push_str(&names.join(", "));
            text.push('\n');
        }
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.reason.is_empty()) {
        if !matches!(outcome.verdict, Verdict::Ignored | Verdict::NotRun | Verdict::NoThreads) {
            let name = clean(&outcome.name());
            text.push_str(&format!("{}: {}\n", name, clean(&outcome.reason)));
        }
    }
    for outcome in outcomes {
        let Some(report) = &outcome.report else { continue };
        if !report.unconfirmed.is_empty() || report.diverged > 0 {
            let name = clean(&outcome.name());
            let seen = count(report.unconfirmed.len() as u64, "failure");
            let diverged = count(report.diverged, "execution");
            text.push_str(&format!(
                "{name} is unstable: it depends on something outside of the schedule ({seen} not \
                 confirmed, {diverged} diverged)\n"
            ));
        }
    }
    text
}

fn coverage(outcome: &Outcome) -> String {
    let Some(report) = &outcome.report else { return "-".to_owned() };
    match report.bound {
        _ if !outcome.bugs().is_empty() => "-".to_owned(),
        Some(-1) if report.cut > 0 => format!("{} cut off", grouped(report.cut)),
        Some(-1) => "-".to_owned(),
        None if report.cut > 0 => format!("{} cut off", grouped(report.cut)),
        None if !report.complete => "-".to_owned(),
        bound => covered(bound),
    }
}

/// `7 tests: 1 bug, 2 clean, 4 no-threads`.
#[must_use]
pub fn totals(outcomes: &[Outcome], style: &Style) -> String {
    let parts: Vec<String> = counts(outcomes)
        .into_iter()
        .map(|(verdict, number)| {
            style.paint(role(verdict), &format!("{} {}", grouped(number as u64), verdict.name()))
        })
        .collect();
    format!("{}: {}", count(outcomes.len() as u64, "test"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::search::empty_report;
    use traces::FailureKind;
    use traces::report::Verdict as Searched;

    fn outcome(test: &str, verdict: Verdict, reason: &str) -> Outcome {
        Outcome {
            suite: "queue".to_owned(),
            test: test.to_owned(),
            framework: "",
            verdict,
            reason: reason.to_owned(),
            elapsed_s: 0.5,
            report: None,
            schedule: String::new(),
        }
    }

    #[test]
    fn every_kind_of_outcome() {
        let failure = traces::report::Bug {
            kind: FailureKind::Deadlock,
            signature: String::new(),
            message: "T1 waits".to_owned(),
            site: "queue.c:9".to_owned(),
            stack: Vec::new(),
            trace: Some("out/a b.heddle".to_owned()),
            found_at: 3,
            preemptions: 1,
            switches: 2,
            steps: 9,
            count: 1,
        };
        let report = || empty_report(Searched::Incomplete, "random", String::new());
        let with = |test, verdict, report| Outcome {
            report: Some(Box::new(report)),
            ..outcome(test, verdict, "")
        };
        let failing = || traces::report::Report { bugs: vec![failure.clone()], ..report() };
        let cut = traces::report::Report { cut: 1_200, executions: 5_000, ..report() };
        let whole = |bound| traces::report::Report { bound, complete: true, ..report() };
        let unstable =
            traces::report::Report { unconfirmed: vec![failure.clone()], diverged: 2, ..report() };
        let all = [
            with("push", Verdict::Bug, failing()),
            with("pop", Verdict::Known, failing()),
            with("cut", Verdict::Incomplete, cut),
            with("bounded", Verdict::Clean, whole(Some(1))),
            with("all", Verdict::Clean, whole(None)),
            with("clock", Verdict::Unconfirmed, unstable),
            outcome("missing", Verdict::Error, "it ended before main"),
            outcome("plain", Verdict::NoThreads, ""),
            outcome("slow", Verdict::Ignored, ""),
            outcome("last", Verdict::NotRun, ""),
            outcome("later", Verdict::NotRun, "the time for all tests is used up"),
        ];
        let style = Style { color: false, ascii: true };
        let lines: Vec<String> = all.iter().map(|one| line(one, &style)).collect();
        insta::assert_snapshot!("suite_lines", lines.join("\n"));
        insta::assert_snapshot!("suite_table", render(&all, &style, 100));
    }
}
