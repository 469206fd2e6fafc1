//! What `heddle narrow` found, as text and as a JSON object.

use super::next_commands;
use super::style::{Role, Style};
use super::text::{clean, count, grouped, quote};
use replay_core::narrow::{Cause, Counts, Finding, Insertion, Narrowed, Proposal};
use serde_json::{Value, json as value};
use traces::Trace;

/// The text for a person.
pub(crate) fn render(narrowed: &Narrowed, trace: &Trace, style: &Style) -> String {
    let ran = format!(
        "{} compared in {}\n",
        count(narrowed.proposals as u64, "predicate"),
        count(narrowed.executions, "execution")
    );
    let mut text = match &narrowed.finding {
        Finding::Cause(cause) => return self::cause(cause, trace, &ran, style),
        Finding::Part(best, counts) => part(best, *counts, style),
        Finding::Nothing => {
            "cause not found: no state of these sites and variables separates the executions that fail \
             from those that pass\n"
                .to_owned()
        }
        Finding::Always => {
            "every schedule fails: the failure needs no state of threads, and no predicate causes it\n"
                .to_owned()
        }
        Finding::NonePassed => {
            "cause not found: none of the executions passed, so that nothing can be compared with \
             the failure\n"
                .to_owned()
        }
    };
    text.push_str(&style.paint(Role::Dim, &ran));
    text
}

fn cause(cause: &Cause, trace: &Trace, ran: &str, style: &Style) -> String {
    let predicate = clean(&cause.predicate.to_string());
    let mut text = format!("{} {predicate}\n", style.paint(Role::Title, "cause"));
    let Counts { with, without } = cause.counts;
    text.push_str(&format!(
        "  with this state {} of {} executions fail, without it {} of {}\n",
        grouped(with.failing),
        grouped(with.failing + with.passing),
        grouped(without.failing),
        grouped(without.failing + without.passing)
    ));
    text.push_str(if cause.proved {
        "  every schedule was run\n"
    } else {
        "  counted: not every schedule was run\n"
    });
    if let Some(led) = cause.led.filter(|led| led.met_failing > 0) {
        text.push_str(&format!(
            "  led there, {} of {} executions fail\n",
            grouped(led.met_failing),
            grouped(led.met_failing + led.met_passing)
        ));
    }
    if !cause.alternatives.is_empty() {
        text.push_str("the same holds for\n");
        for one in &cause.alternatives {
            text.push_str(&format!("  {}\n", clean(&one.to_string())));
        }
    }
    text.push_str(&style.paint(Role::Dim, ran));
    text.push_str(&format!("\n{}\n", style.paint(Role::Title, "In the source")));
    match &cause.insertions {
        Ok(lines) => {
            for Insertion { path, line, code, replaces } in lines {
                let file = clean(path.rsplit('/').next().unwrap_or_default());
                let place = if *replaces { "instead of" } else { "before" };
                text.push_str(&format!("  {place} {file}:{line}  {}\n", clean(code)));
            }
        }
        Err(why) => text.push_str(&format!("  heddle_cp cannot express it: {}\n", clean(why))),
    }
    let program = command(trace);
    let quoted = quote(&cause.predicate.to_string());
    let commands = vec![
        (
            format!(
                "heddle explore --keep-going --max-executions 200 --through {quoted} -- {program}"
            ),
            "lead executions there",
        ),
        (format!("heddle explore --when {quoted} -- {program}"), "find a schedule of this state"),
        (
            format!("heddle explore --never {quoted} -- {program}"),
            "after the fix: it is impossible",
        ),
    ];
    text.push('\n');
    text.push_str(&next_commands::render(&commands, style));
    text
}

fn part(best: &Proposal, counts: Counts, style: &Style) -> String {
    let Counts { with, without } = counts;
    let mut text = format!(
        "{} {}\n",
        style.paint(Role::Title, "cause not found; the nearest state is"),
        clean(&best.to_string())
    );
    text.push_str(&format!(
        "  with this state {} of {} executions fail, without it {} of {}\n",
        grouped(with.failing),
        grouped(with.failing + with.passing),
        grouped(without.failing),
        grouped(without.failing + without.passing)
    ));
    text.push_str(match (counts.is_sufficient(), counts.is_necessary()) {
        (true, _) => "  it is sufficient, but not necessary: the failure has another cause, too\n",
        (false, true) => {
            "  it is necessary, but not sufficient: something else must be true, too\n"
        }
        (false, false) => "  it is neither sufficient nor necessary\n",
    });
    text
}

/// The program with its arguments, ready to paste.
fn command(trace: &Trace) -> String {
    let arguments = trace.header.args.iter().map(|one| quote(&String::from_utf8_lossy(one)));
    std::iter::once(quote(&trace.header.program)).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The JSON object.
pub(crate) fn object(narrowed: &Narrowed) -> Value {
    let mut object = value!({
        "heddle": 1,
        "result": match &narrowed.finding {
            Finding::Cause(_) => "cause",
            Finding::Part(..) => "part",
            Finding::Nothing => "nothing",
            Finding::Always => "always",
            Finding::NonePassed => "none-passed",
        },
        "predicates": narrowed.proposals,
        "executions": narrowed.executions,
    });
    let known = match &narrowed.finding {
        Finding::Cause(cause) => Some((&cause.predicate, cause.counts)),
        Finding::Part(best, counts) => Some((best, *counts)),
        Finding::Nothing | Finding::Always | Finding::NonePassed => None,
    };
    if let Some((best, Counts { with, without })) = known {
        object["predicate"] = proposal(best);
        object["with"] = value!({ "failing": with.failing, "passing": with.passing });
        object["without"] = value!({ "failing": without.failing, "passing": without.passing });
    }
    if let Finding::Cause(cause) = &narrowed.finding {
        object["all_schedules"] = cause.proved.into();
        object["led"] = value!(cause.led);
        object["alternatives"] = cause.alternatives.iter().map(proposal).collect();
        let line = |it: &Insertion| value!({ "file": it.path, "line": it.line, "code": it.code, "replaces": it.replaces });
        object["source"] = cause
            .insertions
            .as_ref()
            .ok()
            .map(|all| all.iter().map(line).collect::<Vec<_>>())
            .into();
        object["not_in_source"] = cause.insertions.as_ref().err().cloned().into();
    }
    object
}

fn proposal(of: &Proposal) -> Value {
    let site = |role: &replay_core::narrow::SiteOfThread| value!({ "thread": role.thread, "file": role.path, "line": role.line, "text": role.text });
    value!({
        "text": of.to_string(),
        "sites": of.roles.iter().map(site).collect::<Vec<_>>(),
        "condition": of.condition,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use replay_core::narrow::SiteOfThread;
    use replay_core::runner::Reached;
    use traces::report::ThroughReport;

    fn proposal(line: u32) -> Proposal {
        let role = SiteOfThread {
            thread: "T1".to_owned(),
            path: "src/queue.c".to_owned(),
            line,
            text: None,
            locks: false,
            write: false,
            step: 3,
            lateness: 0,
        };
        Proposal { roles: vec![role], condition: vec!["len == 1".to_owned()] }
    }

    fn counts(with: (u64, u64), without: (u64, u64)) -> Counts {
        let of = |(failing, passing)| Reached { passing, failing };
        Counts { with: of(with), without: of(without) }
    }

    fn text(finding: Finding) -> String {
        let failing = samples::assertion();
        let narrowed = Narrowed { failing, finding, proposals: 1, executions: 1_200 };
        let style = Style { color: false, ascii: true };
        render(&narrowed, &narrowed.failing, &style)
    }

    #[test]
    fn without_a_cause_the_text_says_why() {
        let compared = "1 predicate compared in 1,200 executions\n";
        let none = "cause not found: no state of these sites and variables separates the executions \
                    that fail from those that pass\n";
        assert_eq!(text(Finding::Nothing), format!("{none}{compared}"));
        let always = "every schedule fails: the failure needs no state of threads, and no predicate \
                      causes it\n";
        assert_eq!(text(Finding::Always), format!("{always}{compared}"));
        let passed = "cause not found: none of the executions passed, so that nothing can be compared \
                      with the failure\n";
        assert_eq!(text(Finding::NonePassed), format!("{passed}{compared}"));
    }

    #[test]
    fn a_state_that_is_not_the_cause_says_what_it_lacks() {
        for (with, without, lacks) in [
            (
                (9, 0),
                (2, 5),
                "it is sufficient, but not necessary: the failure has another cause, too",
            ),
            (
                (9, 3),
                (0, 5),
                "it is necessary, but not sufficient: something else must be true, too",
            ),
            ((9, 3), (2, 5), "it is neither sufficient nor necessary"),
        ] {
            let (yes, no) = (with.0 + with.1, without.0 + without.1);
            assert_eq!(
                text(Finding::Part(proposal(9), counts(with, without))),
                format!(
                    "cause not found; the nearest state is T1@queue.c:9: len == 1\n  with this state 9 \
                     of {yes} executions fail, without it {} of {no}\n  {lacks}\n1 predicate compared \
                     in 1,200 executions\n",
                    without.0
                )
            );
        }
    }

    #[test]
    fn a_cause_comes_with_lines_for_the_source_and_commands() {
        let led =
            ThroughReport { met_passing: 1, met_failing: 3, other_passing: 9, other_failing: 0 };
        let line = |line, replaces| Insertion {
            path: "src/queue.c".to_owned(),
            line,
            code: "heddle_cp(len == 1);".to_owned(),
            replaces,
        };
        let cause = Cause {
            predicate: proposal(9),
            counts: counts((9, 0), (0, 5)),
            proved: false,
            led: Some(led),
            alternatives: vec![proposal(10)],
            insertions: Ok(vec![line(9, false), line(12, true)]),
        };
        insta::assert_snapshot!("cause_counted", text(Finding::Cause(cause.clone())));
        let why = Err("the threads are in several modules of a Rust program".to_owned());
        let proved =
            Cause { proved: true, led: None, alternatives: Vec::new(), insertions: why, ..cause };
        insta::assert_snapshot!("cause_proved", text(Finding::Cause(proved)));
    }
}
