//! The report of a search, as text.

use crate::report::style::{Role, Style};
use crate::report::text::{clean, count, grouped};
use traces::FailureKind;
use traces::report::{
    Bug, ConditionReport, ConditionResult, Points, PredicateReport, PredicateResult, RaceAccess,
    Report, ThroughReport, Verdict,
};

/// Renders the report of a search.
#[must_use]
pub fn render(report: &Report, style: &Style) -> String {
    let mut text = String::new();
    for note in &report.notes {
        text.push_str(&style.paint(Role::Title, &format!("note: {}", clean(note))));
        text.push('\n');
    }
    for bug in &report.bugs {
        text.push_str(&self::bug(bug, style));
    }
    for once in &report.unconfirmed {
        text.push_str(&style.paint(Role::Title, "seen once, not confirmed: "));
        text.push_str(&self::bug(once, style));
    }
    for (at, race) in report.races.iter().enumerate() {
        text.push_str(&style.paint(Role::Title, "race"));
        text.push_str(&format!(": {}\n", clean(race)));
        let accesses = report.race_details.get(at).map(|race| &race.accesses[..]);
        for access in accesses.unwrap_or_default() {
            text.push_str(&self::access(access, style));
        }
    }
    if !report.suppressed.is_empty() {
        let all: Vec<String> = report.suppressed.iter().map(|rule| clean(rule)).collect();
        let line = format!("suppressed reports, with their number: {}\n", all.join(", "));
        text.push_str(&style.paint(Role::Dim, &line));
    }
    for delayed in &report.store_buffers {
        text.push_str(&style.paint(Role::Title, "delayed store"));
        text.push_str(&format!(": {}\n", clean(delayed)));
    }
    for left in &report.left_held {
        text.push_str(&style.paint(Role::Title, FailureKind::LockLeftHeld.name()));
        text.push_str(&format!(": {}\n", clean(left)));
    }
    if let Some((last, rest)) = report.conflicts.split_last() {
        let conflicts = count(report.conflicts.len() as u64, "conflict");
        text.push_str(&style.paint(Role::Dim, &format!("{conflicts} (see --json), such as ")));
        text.push_str(&clean(rest.first().unwrap_or(last)));
        text.push('\n');
    }
    for found in &report.satisfied {
        text.push_str(&self::found(found, Role::Good, style));
    }
    for predicate in &report.predicates {
        text.push_str(&self::predicate(predicate, report, style));
    }
    for condition in &report.conditions {
        text.push_str(&self::condition(condition, report, style));
    }
    text.extend(report.through.map(|through| self::through(through, style)));
    text.push_str(&verdict(report, style));
    text.push('\n');
    let mut facts = vec![clean(&report.strategy), count(report.executions, "execution")];
    if report.classes == 0 && report.learning > 0 {
        facts.push("all in the learning phase".to_owned());
    } else {
        facts.push(format!("{} distinct", grouped(report.distinct)));
    }
    if report.classes > 0 && report.classes < report.executions {
        facts.push(format!("{} with every scheduling point", grouped(report.classes)));
    }
    facts.extend([
        format!("{:.2} s", report.elapsed_s),
        format!("{} a second", grouped(report.executions_per_s)),
        format!("{} reset", report.reset),
    ]);
    if report.points.kept > 0 {
        facts.push("points from an earlier search".to_owned());
    }
    if report.diverged > 0 {
        facts.push(format!("{} diverged", grouped(report.diverged)));
    }
    let dot = format!(" {} ", style.glyphs().dot);
    text.push_str(&style.paint(Role::Dim, &facts.join(&dot)));
    text.push('\n');
    let shape = format!(
        "up to {}, up to {}; memory model: sequential consistency",
        count(report.threads, "task"),
        count(report.max_steps, "step"),
    );
    text.push_str(&style.paint(Role::Dim, &shape));
    text.push('\n');
    text
}

/// One access of a race: the task, the access, the held locks, and the backtrace.
fn access(access: &RaceAccess, style: &Style) -> String {
    let locks: Vec<String> = access.locks.iter().map(|lock| clean(lock)).collect();
    let holding = match locks.is_empty() {
        true => "holding no lock".to_owned(),
        false => format!("holding {}", locks.join(" and ")),
    };
    let calls: Vec<String> = access.stack.iter().take(4).map(|frame| clean(frame)).collect();
    let calls = style.paint(Role::Dim, &calls.join(", called by "));
    format!("  {} {}, {holding}: {calls}\n", clean(&access.task), clean(&access.what))
}

/// A failure, in two or three lines.
#[must_use]
pub fn bug(bug: &Bug, style: &Style) -> String {
    found(bug, Role::Bad, style)
}

/// How the executions ended that were led through a state.
fn through(through: ThroughReport, style: &Style) -> String {
    let ThroughReport { met_passing, met_failing, other_passing, other_failing } = through;
    let of = |failing: u64, passing: u64| {
        format!("{} of {} fail", grouped(failing), count(failing + passing, "execution"))
    };
    let title = style.paint(Role::Title, "through the states");
    let met = of(met_failing, met_passing);
    format!("{title}: {met}; without them {}\n", of(other_failing, other_passing))
}

/// The result for a predicate that no execution satisfied.
fn predicate(predicate: &PredicateReport, report: &Report, style: &Style) -> String {
    let result = match predicate.result {
        PredicateResult::Satisfied => return String::new(),
        PredicateResult::Impossible => {
            format!("no schedule satisfies it ({})", covered(report.bound))
        }
        PredicateResult::NotFound => format!(
            "not satisfied in {}; this does not show that it is impossible (a complete search does: \
             --strategy dpor)",
            count(report.executions, "execution"),
        ),
    };
    let title = style.paint(Role::Title, "predicate");
    format!("{title} {}\n  {result}\n", clean(&predicate.text))
}

/// The result for a condition that no execution broke.
fn condition(condition: &ConditionReport, report: &Report, style: &Style) -> String {
    let result = match condition.result {
        ConditionResult::Broken => return String::new(),
        ConditionResult::NeverBroken => {
            format!("no schedule breaks it ({})", covered(report.bound))
        }
        ConditionResult::NotBroken => format!(
            "not broken in {}; this does not show that no schedule breaks it (a complete search \
             does: --strategy dpor)",
            count(report.executions, "execution"),
        ),
    };
    let title = style.paint(Role::Title, "condition");
    format!("{title} {}\n  {result}\n", clean(&condition.text))
}

/// A failure or a satisfied predicate.
fn found(bug: &Bug, role: Role, style: &Style) -> String {
    let mut text = style.paint(role, bug.kind.name());
    if !bug.message.is_empty() {
        text.push_str(&format!(": {}", clean(&bug.message)));
    }
    if !bug.site.is_empty() {
        text.push_str(&style.paint(Role::Dim, &format!("  at {}", clean(&bug.site))));
    }
    text.push_str(&format!(
        "\n  {}: {}, {}, {}; seen {}\n",
        match bug.found_at {
            0 => "in the learning phase of an earlier search".to_owned(),
            number => format!("execution {}", grouped(number)),
        },
        count(bug.preemptions, "preemption"),
        count(bug.switches, "switch"),
        count(bug.steps, "step"),
        count(bug.count, "time"),
    ));
    match &bug.trace {
        Some(path) => text.push_str(&format!("  trace {}\n", clean(path))),
        None => text.push_str("  trace not written\n"),
    }
    text
}

fn verdict(report: &Report, style: &Style) -> String {
    let reason = if report.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", clean(&report.reason))
    };
    match report.verdict {
        Verdict::Bug => {
            let found = match report.bugs.len() {
                1 => "1 failure found".to_owned(),
                more => format!("{} distinct failures found", grouped(more as u64)),
            };
            style.paint(Role::Bad, &found)
        }
        Verdict::Satisfied => {
            let all = report.satisfied.len() as u64;
            style.paint(Role::Good, &format!("{} satisfied", count(all, "predicate")))
                + "; no failure found"
        }
        Verdict::Clean => {
            style.paint(Role::Good, "no failure, search complete")
                + &format!(" ({})", covered(report.bound))
        }
        Verdict::Incomplete => {
            style.paint(Role::Title, "no failure found, search incomplete") + &reason
        }
        Verdict::Unsupported => style.paint(Role::Bad, "this program is not supported") + &reason,
        Verdict::Error => style.paint(Role::Bad, "the program could not be run") + &reason,
    }
}

/// What a complete search covered, in words.
pub(super) fn covered(bound: Option<i64>) -> String {
    match bound {
        None => "every schedule".to_owned(),
        Some(bound) => match u64::try_from(bound) {
            Ok(0) => "every schedule without preemptions".to_owned(),
            Ok(bound) => format!("every schedule with up to {}", count(bound, "preemption")),
            Err(_) => "not every schedule without preemptions".to_owned(),
        },
    }
}

/// A report that contains a verdict and a reason; all other fields are empty.
pub(crate) fn empty_report(verdict: Verdict, strategy: &str, reason: String) -> Report {
    Report {
        heddle: 1,
        verdict,
        memory_model: "sc".to_owned(),
        strategy: strategy.to_owned(),
        found_by: None,
        bound: Some(-1),
        complete: false,
        executions: 0,
        classes: 0,
        given_up: 0,
        learning: 0,
        checks: 0,
        resumed: 0,
        distinct: 0,
        diverged: 0,
        elapsed_s: 0.0,
        executions_per_s: 0,
        workers: 1,
        reset: "exec".to_owned(),
        points: Points::default(),
        threads: 0,
        max_steps: 0,
        cut: 0,
        outside: 0,
        step_limit: 0,
        races: Vec::new(),
        race_details: Vec::new(),
        suppressed: Vec::new(),
        conflicts: Vec::new(),
        store_buffers: Vec::new(),
        leaks: Vec::new(),
        left_held: Vec::new(),
        bugs: Vec::new(),
        predicates: Vec::new(),
        conditions: Vec::new(),
        through: None,
        satisfied: Vec::new(),
        unconfirmed: Vec::new(),
        disturbed: 0,
        notes: Vec::new(),
        reason,
    }
}
