//! The report of a search.

use super::Search;
use super::round::Counts;
use crate::control::command::execution::reset_name;
use crate::control::scope::absent_threads;
use crate::symbols::{Symbols, demangle};
use crate::{StrategyChoice, Target};
use nix::sys::resource::{UsageWho, getrusage};
use search::Coverage;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use traces::points::InstrumentationGap;
use traces::report::{
    Bug, ConditionReport, ConditionResult, Points, PredicateReport, PredicateResult, Report,
    ThroughReport, Verdict,
};
use traces::wire::{LEFT_FILE, OVERLAPPING_USE, UNKNOWN_INSTRUCTION};
use traces::{FailureKind, Module, Site};

impl Search<'_> {
    pub(super) fn report(mut self) -> Report {
        self.report_unrecorded();
        let (runs, ended) = self.saved.round.executions();
        let mut total = self.saved.counts.clone();
        let mut fingerprints = std::mem::take(&mut self.saved.distinct);
        for (counts, seen) in self.saved.round.counted() {
            total.add(counts);
            seen.iter().for_each(|&fingerprint| fingerprints.add(fingerprint));
        }
        let classes = self.saved.frontier.executions() + ended;
        let executions = self.before_round() + ended;
        let runs = self.saved.frontier.runs() + runs + self.early;
        let before_round = self.before_round();
        let round = &self.saved.round;
        for known in &mut self.saved.bugs {
            let first = known.first;
            if first.round == self.saved.rounds && (first.piece as usize) < round.pieces.len() {
                let before = before_round + round.before(first.piece as usize);
                known.bug.found_at = before + first.number;
            }
            known.bug.count = total.of(&known.keys).max(1);
        }
        let mut known = std::mem::take(&mut self.saved.bugs);
        known.sort_by_key(|known| known.bug.found_at);
        let found_by = known.first().map(|known| known.part.clone());
        let bugs: Vec<Bug> = known.into_iter().map(|known| known.bug).collect();
        let (satisfied, bugs): (Vec<Bug>, Vec<Bug>) =
            bugs.into_iter().partition(|bug| bug.kind == FailureKind::Satisfied);
        let leaks = bugs.iter().filter(|bug| bug.kind == FailureKind::Leak);
        let leaks = leaks.map(|bug| format!("{}: {}", bug.site, bug.message)).collect();
        self.saved.races.sort();
        let (races, race_details) = std::mem::take(&mut self.saved.races).into_iter().unzip();
        let mut rules: BTreeMap<String, u64> = BTreeMap::new();
        for rule in std::mem::take(&mut self.saved.suppressed).into_values() {
            *rules.entry(rule).or_default() += 1;
        }
        let suppressed =
            rules.into_iter().map(|(rule, times)| format!("{rule} ({times})")).collect();
        self.saved.left_held.sort();
        let is_bug = bugs.iter().any(|bug| bug.kind != FailureKind::Unsupported);
        let unobserved = unobserved(&total, self.target);
        let gaps = total.cut > 0
            || total.diverged > 0
            || !self.saved.unsupported.is_empty()
            || !unobserved.is_empty();
        let coverage = self.saved.frontier.coverage();
        let done = matches!(coverage, Coverage::Complete { .. } | Coverage::AsAsked);
        // A reduction, and a strategy that alternates with one, would need to know which orders a
        // scope forbids.
        let marked = total.unseen & InstrumentationGap::Marked as u64 != 0;
        let held = total.unseen & InstrumentationGap::Held as u64 != 0;
        let scoped = marked
            || held
            || ![&self.options.atomic, &self.options.focus, &self.options.serial]
                .iter()
                .all(|patterns| patterns.is_empty());
        let plain = matches!(self.options.strategy, StrategyChoice::DFS | StrategyChoice::ICB);
        let complete = done
            && self.over
            && self.saved.unconfirmed.is_empty()
            && !gaps
            && self.deaths == 0
            && (plain || !scoped);
        let (verdict, reason) = self.verdict(is_bug, complete, &total, runs, done && self.over);
        let ended_itself = self.over && !done && self.reason.is_empty();
        let end =
            (is_bug && self.options.keep_going && ended_itself).then(|| self.end_of_strategy());
        let (verdict, reason) = match verdict {
            Verdict::Clean | Verdict::Incomplete if !satisfied.is_empty() => {
                (Verdict::Satisfied, String::new())
            }
            other => (other, reason),
        };
        let all = self.options.predicates.iter();
        let leads = |predicate: &&traces::predicate::Predicate| {
            predicate.purpose == traces::predicate::Purpose::Through
        };
        let [other_passing, other_failing, met_passing, met_failing] = total.through;
        let through = all.clone().any(|one| leads(&one)).then_some(ThroughReport {
            met_passing,
            met_failing,
            other_passing,
            other_failing,
        });
        let (sought, watched): (Vec<_>, Vec<_>) =
            all.filter(|one| !leads(one)).partition(|predicate| predicate.purpose.is_satisfy());
        let conditions = watched.into_iter().map(|condition| {
            let text = condition.text.clone();
            let breaks = format!(" breaks {text}");
            let is_broken = bugs.iter().any(|bug| {
                bug.kind == FailureKind::BrokenCondition && bug.message.contains(&breaks)
            });
            let result = match (is_broken, complete) {
                (true, _) => ConditionResult::Broken,
                (false, true) => ConditionResult::NeverBroken,
                (false, false) => ConditionResult::NotBroken,
            };
            ConditionReport { text, result }
        });
        let conditions = conditions.collect();
        let predicates = sought.into_iter().map(|predicate| {
            let text = predicate.text.clone();
            let begin = format!("{text} (");
            let is_satisfied = satisfied.iter().any(|found| found.message.starts_with(&begin));
            let result = match (is_satisfied, complete) {
                (true, _) => PredicateResult::Satisfied,
                (false, true) => PredicateResult::Impossible,
                (false, false) => PredicateResult::NotFound,
            };
            PredicateReport { text, result }
        });
        let predicates = predicates.collect();
        let elapsed = self.began.elapsed().as_secs_f64() + self.saved.earlier;
        let bound = match coverage {
            // Coverage within a scope says nothing about schedules outside it.
            _ if gaps || scoped => Some(-1),
            Coverage::Complete { bound: None } if self.over => None,
            Coverage::Complete { bound: Some(bound) } | Coverage::Within(bound) => {
                Some(i64::from(bound))
            }
            _ => Some(-1),
        };
        let unconfirmed = std::mem::take(&mut self.saved.unconfirmed);
        let disturbances = std::mem::take(&mut self.saved.disturbances);
        let crate::SearchOptions { atomic, focus, serial, .. } = &self.options;
        let scope = [atomic, focus, serial].map(Clone::clone);
        let main_last = self.options.main_last;
        let absent = absent_threads(self.options, total.max_tasks);
        let (spurious, reuse) = (self.options.spurious, self.options.reuse);
        let delays = total.unseen & InstrumentationGap::Deadlines as u64 != 0;
        let slack = self.options.slack.filter(|_| delays);
        let report = Report {
            heddle: 1,
            verdict,
            memory_model: "sc".into(),
            strategy: self.options.strategy.name().into(),
            found_by: found_by.filter(|_| is_bug || !satisfied.is_empty()),
            bound,
            complete,
            executions,
            classes,
            learning: total.learning.saturating_sub(self.early),
            checks: total.checks + self.saved.frontier.checks(),
            resumed: total.resumed,
            distinct: fingerprints.len().min(classes),
            diverged: total.diverged,
            elapsed_s: elapsed,
            executions_per_s: (runs as f64 / elapsed.max(1e-9)) as u64,
            workers: self.workers.max(1),
            reset: reset_name(self.reset).into(),
            points: Points {
                api: total.api,
                racy: total.racy,
                kept: self.reused_points.unwrap_or_default(),
                new: total.fresh.min(total.racy),
                compiled: total.compiled,
                code: total.code,
                covered: total.covered,
                probes: total.probes,
                jumps: total.jumps,
            },
            threads: total.max_tasks,
            max_steps: total.max_steps,
            cut: total.cut,
            step_limit: self.step_limit(&total),
            races,
            race_details,
            suppressed,
            conflicts: self.saved.conflicts.into_iter().collect(),
            store_buffers: self.saved.store_buffers.into_iter().collect(),
            leaks,
            left_held: self.saved.left_held,
            bugs,
            predicates,
            through,
            conditions,
            satisfied,
            unconfirmed: unconfirmed.into_iter().map(|(_, bug)| bug).collect(),
            disturbed: disturbances.values().sum(),
            notes: Vec::new(),
            reason,
        };
        let mut notes = notes(&report, unobserved, delays, self.over);
        notes.extend(self.primed);
        notes.extend(disturbance_notes(&disturbances));
        let now = self.began.elapsed().saturating_mul(report.workers).min(used_by_children());
        let earlier = Duration::from_secs_f64(self.saved.earlier).saturating_mul(report.workers);
        let busy = earlier.saturating_add(now);
        notes.extend(end);
        notes.extend(slow_note(busy, total.steps));
        notes.extend(scope_note(&scope));
        notes.extend(main_last.then(|| HARNESS_NOTE.to_owned()));
        notes.extend(absent);
        notes.extend(spurious_note(spurious));
        notes.extend(slack.map(slack_note));
        if report.verdict == Verdict::Clean && total.unseen & InstrumentationGap::Times as u64 != 0
        {
            notes.push(InstrumentationGap::Times.describe().to_owned());
        }
        if report.verdict == Verdict::Clean && total.unseen & InstrumentationGap::Reuse as u64 != 0
        {
            notes.push(reuse_note(reuse));
        }
        if total.unseen & InstrumentationGap::Seconds as u64 != 0 {
            notes.push(InstrumentationGap::Seconds.describe().to_owned());
        }
        notes.extend(file_note(self.target));
        if marked {
            notes.push(InstrumentationGap::Marked.describe().to_owned());
        }
        if held {
            notes.push(InstrumentationGap::Held.describe().to_owned());
        }
        if self.options.store_buffers && report.points.compiled == 0 {
            notes.push(
                "--store-buffers has no effect: the program is not instrumented; build it with \
                 `heddle build`"
                    .to_owned(),
            );
        }
        Report { notes, ..report }
    }

    /// Why a search ended that no limit ended.
    fn end_of_strategy(&self) -> String {
        uncovered(self.options.strategy, self.saved.frontier.is_refuted())
    }

    /// The largest limit on the steps of an execution.
    fn step_limit(&self, total: &Counts) -> u64 {
        match self.options.beginning {
            beginning if beginning > 0 && total.cut > 0 => total.step_limit,
            _ => total.step_limit.max(self.options.max_steps),
        }
    }

    fn verdict(
        &self,
        is_bug: bool,
        complete: bool,
        total: &Counts,
        runs: u64,
        over: bool,
    ) -> (Verdict, String) {
        if is_bug {
            return (Verdict::Bug, String::new());
        }
        let unsupported = &self.saved.unsupported;
        if !unsupported.is_empty() {
            let what = format!("not supported yet: {}", unsupported.join(", "));
            return (Verdict::Unsupported, what);
        }
        if let Some((_, once)) = self.saved.unconfirmed.first() {
            let more = match self.saved.unconfirmed.len() {
                1 => String::new(),
                all => format!(" (and {} more)", all - 1),
            };
            let what =
                format!("{} was seen once and not confirmed{more}: {}", once.kind, once.message);
            return (Verdict::Incomplete, what);
        }
        if complete {
            return (Verdict::Clean, String::new());
        }
        let reason = match &self.reason {
            reason if !reason.is_empty() && runs + total.learning > 0 => reason.clone(),
            // Nothing of the program is known then.
            reason if !reason.is_empty() => format!("{reason} {NO_EXECUTION}"),
            _ if self.interrupt.load(Relaxed) => "interrupted".into(),
            _ if total.unseen & InstrumentationGap::Outside as u64 != 0 => {
                "an execution failed and did not fail when its schedule was run again".into()
            }
            _ if total.cut > 0 && self.options.beginning > 0 => format!(
                "{} executions ended at their limit on steps (at most {}): --beginnings 0 runs each to \
                 its end",
                total.cut,
                self.step_limit(total)
            ),
            _ if total.cut > 0 => format!(
                "{} executions reached their limit on steps (at most {}): they made no progress, or \
                 --max-steps N allows more",
                total.cut,
                self.step_limit(total)
            ),
            _ if over
                && total.unknown_calls.keys().any(|(name, _)| name.starts_with(LEFT_FILE)) =>
            {
                "every schedule was run, but executions find files that earlier ones left".into()
            }
            _ if over && self.deaths == 0 && !unobserved(total, self.target).is_empty() => {
                "every schedule was run, but not every memory access could be observed".into()
            }
            _ if self.options.max_executions.is_none_or(|most| runs < most) => {
                self.end_of_strategy()
            }
            _ => "the limit on executions was reached".into(),
        };
        (Verdict::Incomplete, reason)
    }
}

/// Why a search that has no more executions to run does not cover every schedule. `refuted`: a random
/// walk, which checks a reduction, ended in a class of executions that the search had not found.
fn uncovered(choice: StrategyChoice, refuted: bool) -> String {
    let strategy = choice.name();
    let covers = choice == StrategyChoice::AUTO || choice.descriptor().bound.is_some();
    match (refuted, covers) {
        (true, _) => format!(
            "a random walk that checked {strategy} ended as no execution of the search did: steps depend \
             on each other in a way that Heddle does not see; --strategy icb needs no such knowledge"
        ),
        (false, true) => format!(
            "{strategy} is finished, but does not cover every schedule: a loop that was in a new state \
             after each iteration was followed for some of them, or an execution was not observed to its end"
        ),
        (false, false) => format!("{strategy} is finished, but does not cover every schedule"),
    }
}

/// What follows the reason for the end of a search without any execution.
const NO_EXECUTION: &str = "before the first execution ended: the program computes, waits or allocates \
                            for longer than that; use smaller input, raise --max-time, or limit its \
                            memory (--max-memory)";

/// Reasons why some memory accesses could not be observed.
fn unobserved(total: &Counts, target: &Target) -> Vec<String> {
    let mut described = InstrumentationGap::Marked as u64
        | InstrumentationGap::Held as u64
        | InstrumentationGap::Deadlines as u64
        | InstrumentationGap::Seconds as u64
        | InstrumentationGap::Times as u64
        | InstrumentationGap::Reuse as u64;
    if !total.unknown_calls.is_empty() {
        described |= InstrumentationGap::Calls as u64 | InstrumentationGap::Forms as u64;
    }
    let mut unobserved: Vec<String> = InstrumentationGap::among(total.unseen & !described)
        .map(|one| one.describe().to_owned())
        .collect();
    unobserved.extend(unknown_calls(total, target));
    if total.probes_removed > 0 {
        unobserved.push(format!(
            "in {} executions not every memory access was observed, because there were too many",
            total.probes_removed
        ));
    }
    unobserved
}

/// A line for each function whose effects are unknown, with the place of a call in the program.
fn unknown_calls(total: &Counts, target: &Target) -> Vec<String> {
    if total.unknown_calls.is_empty() {
        return Vec::new();
    }
    let path = target.program.to_string_lossy().into_owned();
    let symbols = Symbols::of_modules(&[Module { path, build_id: target.build_id.clone() }]);
    let line = |((name, library), &(module, offset)): (&(String, String), &(u64, u64))| {
        let frames = match module {
            0 => symbols.frames(Site { module: 0, offset }, true),
            _ => Vec::new(),
        };
        let place = frames.first().map(|frame| format!(", from {}", frame.place()));
        if let Some(mnemonic) = name.strip_prefix(UNKNOWN_INSTRUCTION) {
            return format!(
                "not explored: accesses of the instruction `{mnemonic}` in {library}{}: the extent of \
                 what it reads and writes is not known",
                place.unwrap_or_default()
            );
        }
        if let Some(state) = name.strip_prefix(OVERLAPPING_USE) {
            return format!(
                "not explored: calls in several threads that use {state} at the same time{}: {library} \
                 does not protect it; hold a lock around these calls",
                place.unwrap_or_default()
            );
        }
        if let Some(path) = name.strip_prefix(LEFT_FILE) {
            return format!(
                "not explored: executions without the files of earlier ones: the program leaves `{path}` \
                 changed{}; remove it at the end, or write in the working directory (--scratch)",
                place.unwrap_or_default()
            );
        }
        format!(
            "not explored: calls of `{}` in {library}{}: what the function reads and writes is not \
             known",
            demangle(name),
            place.unwrap_or_default()
        )
    };
    total.unknown_calls.iter().map(line).collect()
}

/// The note for a search of one test of a harness.
const HARNESS_NOTE: &str = "main belongs to the test harness: it ran only when no thread of the test could \
                            (--harness)";

/// The note for a search in which preemptions were limited to parts of the code.
fn scope_note([atomic, focus, serial]: &[Vec<String>; 3]) -> Option<String> {
    let no = (!atomic.is_empty()).then(|| format!("no preemptions in {}", atomic.join(", ")));
    let of = (!serial.is_empty()).then(|| format!("no preemptions of {}", serial.join(", ")));
    let only = (!focus.is_empty()).then(|| format!("preemptions only in {}", focus.join(", ")));
    let all: Vec<String> = only.into_iter().chain(no).chain(of).collect();
    (!all.is_empty()).then(|| {
        format!("the search was scoped: {}; other schedules were not explored", all.join(", "))
    })
}

/// A step takes less than a microsecond. Above this limit, most time is spent outside scheduling,
/// even on a busy machine that starts the program anew for each execution.
const SLOW: Duration = Duration::from_millis(10);
/// Shorter searches are dominated by start-up cost.
const BEGINS: Duration = Duration::from_secs(2);

/// The processor time of all processes of the program that have ended. On a machine with other work
/// the time of the clock says nothing about the program.
fn used_by_children() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let all = usage.user_time() + usage.system_time();
    let seconds = u64::try_from(all.tv_sec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(all.tv_usec()).unwrap_or(0))
}

/// The note for a program that spends its time between scheduling points, so that few schedules
/// were run.
fn slow_note(busy: Duration, steps: u64) -> Option<String> {
    let each = busy.checked_div(u32::try_from(steps).ok()?)?;
    (busy >= BEGINS && each >= SLOW).then(|| {
        format!(
            "most of the time was spent between scheduling points ({} ms per step): use smaller \
             input, or start executions later (heddle_begin)",
            each.as_millis()
        )
    })
}

/// The notes on executions that something outside of the program ended.
fn disturbance_notes(disturbances: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    disturbances.iter().map(|(how, &times)| {
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        format!(
            "something outside of the program ended one of its processes ({times}): {how}; its \
                 executions were run again"
        )
    })
}

/// The note for a search with spurious wake-ups.
fn spurious_note(spurious: u32) -> Option<String> {
    let waits = if spurious == 1 { "1 wait".to_owned() } else { format!("{spurious} waits") };
    (spurious > 0).then(|| format!("up to {waits} of each thread could wake up spuriously"))
}

/// The note for a program that changes files in its working directory.
fn file_note(target: &Target) -> Option<String> {
    if target.files.are_private() {
        return Some(
            "the program changes files in its working directory: each execution had its own copy \
             (--scratch)"
                .to_owned(),
        );
    }
    let why = target.files.refused()?;
    Some(format!(
        "the program changes files in its working directory, and executions see what earlier ones \
         left: {why}"
    ))
}

/// The note for a search in which more freed blocks could have come back.
fn reuse_note(reuse: u32) -> String {
    let blocks = match reuse {
        0 => "no freed block comes back".to_owned(),
        1 => "one freed block at most comes back".to_owned(),
        more => format!("{more} freed blocks at most come back"),
    };
    format!(
        "assuming that {blocks} at its old address in one execution: addresses of freed blocks are compared (--reuse)"
    )
}

/// The note for a search in which deadlines were not due.
fn slack_note(slack: u64) -> String {
    format!(
        "assuming that no step is later than {} by its thread's clock: deadlines that expire only if one \
         is were not tried (--slack)",
        traces::seconds(slack)
    )
}

/// Notes that limit what the report claims: a search that explored nothing must not look like a
/// search that found nothing.
///
/// `delays`: whether deadlines were not tried, so that other schedules exist. `over`: whether the search
/// continued to its end, so that what it did not observe matters also beside failures.
fn notes(report: &Report, mut notes: Vec<String>, delays: bool, over: bool) -> Vec<String> {
    if report.executions == 0 || !matches!(report.verdict, Verdict::Clean | Verdict::Incomplete) {
        return if over && report.verdict == Verdict::Bug { notes } else { Vec::new() };
    }
    let is_cut = "their limit on steps";
    if report.cut > 0 && !report.reason.contains(is_cut) {
        let (cut, limit) = (report.cut, report.step_limit);
        notes.push(format!("{cut} executions reached {is_cut} (at most {limit})"));
    }
    // An execution that reached the limit could have created one later.
    if report.threads <= 1 && report.cut == 0 {
        notes.push("the program created no thread: there was nothing to interleave".to_owned());
    } else if report.distinct == 1 && !delays && (report.complete || report.classes > 1) {
        notes.push(
            "every execution was the same: the threads share no scheduling point, or their shared \
             accesses are not observed (see --points)"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_between_scheduling_points_is_reported() {
        let note = |seconds: f64, steps| slow_note(Duration::from_secs_f64(seconds), steps);
        assert!(note(60.0, 240).is_some_and(|note| note.contains("(250 ms per step)")));
        // One microsecond per step; also short executions in a new process each.
        assert_eq!(note(60.0, 60_000_000), None);
        assert_eq!(note(3.0, 1_000), None);
        assert_eq!(note(3.0, 0), None);
        // One execution of four steps: start-up cost only.
        assert_eq!(note(0.13, 4), None);
        assert_eq!(
            note(60.0, 240).as_deref(),
            Some(
                "most of the time was spent between scheduling points (250 ms per step): use smaller \
                 input, or start executions later (heddle_begin)"
            )
        );
    }

    #[test]
    fn a_finished_search_says_why_it_is_incomplete() {
        assert_eq!(
            uncovered(StrategyChoice::DPOR, true),
            "a random walk that checked dpor ended as no execution of the search did: steps depend on \
             each other in a way that Heddle does not see; --strategy icb needs no such knowledge"
        );
        assert_eq!(
            uncovered(StrategyChoice::AUTO, false),
            "auto is finished, but does not cover every schedule: a loop that was in a new state after \
             each iteration was followed for some of them, or an execution was not observed to its end"
        );
    }

    #[test]
    fn a_scope_limits_what_the_report_claims() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let scope = [names(&["push", "pop"]), names(&["queue.c"]), names(&["T2"])];
        assert_eq!(
            scope_note(&scope).as_deref(),
            Some(
                "the search was scoped: preemptions only in queue.c, no preemptions in push, pop, no \
                 preemptions of T2; other schedules were not explored"
            )
        );
        assert_eq!(scope_note(&Default::default()), None);
    }

    #[test]
    fn assumptions_are_named_with_their_option() {
        let reuse = |what: &str| {
            format!(
                "assuming that {what} at its old address in one execution: addresses of freed blocks are \
                 compared (--reuse)"
            )
        };
        assert_eq!(reuse_note(0), reuse("no freed block comes back"));
        assert_eq!(reuse_note(1), reuse("one freed block at most comes back"));
        assert_eq!(reuse_note(3), reuse("3 freed blocks at most come back"));
        let seconds = traces::seconds(2_000_000_000);
        assert_eq!(
            slack_note(2_000_000_000),
            format!(
                "assuming that no step is later than {seconds} by its thread's clock: deadlines that \
                 expire only if one is were not tried (--slack)"
            )
        );
        assert_eq!(spurious_note(0), None);
        assert_eq!(
            spurious_note(1).as_deref(),
            Some("up to 1 wait of each thread could wake up spuriously")
        );
        assert_eq!(
            spurious_note(3).as_deref(),
            Some("up to 3 waits of each thread could wake up spuriously")
        );
    }

    #[test]
    fn what_ended_processes_from_outside_is_reported_with_its_number() {
        let all = BTreeMap::from([("signal 15 ended it".to_owned(), 1), ("x".to_owned(), 2)]);
        let notes: Vec<String> = disturbance_notes(&all).collect();
        assert_eq!(
            notes,
            [
                "something outside of the program ended one of its processes (once): signal 15 ended \
                 it; its executions were run again",
                "something outside of the program ended one of its processes (2 times): x; its \
                 executions were run again",
            ]
        );
    }
}
