//! The report of a search: what it found, and what its verdict is.

use super::Search;
use super::round::Counts;
use super::wording::{
    Ended, HARNESS_NOTE, NO_STORE_BUFFERS, begin_note, clients_note, disturbance_notes, file_note,
    not_confirmed, notes, outside_note, reuse_note, scope_note, short_counts_note, slack_note,
    slow_note, spurious_note, uncovered, unobserved, used_by_children,
};
use crate::StrategyChoice;
use crate::control::command::execution::reset_name;
use crate::control::scope::absent_threads;
use search::Coverage;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use traces::FailureKind;
use traces::points::InstrumentationGap;
use traces::predicate::Purpose;
use traces::report::{
    Bug, ConditionReport, ConditionResult, Points, PredicateReport, PredicateResult, Report,
    ThroughReport, Verdict,
};
use traces::wire::LEFT_FILE;

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
        let (before_round, learning) = (self.before_round(), self.learning());
        let executions = before_round + ended;
        let runs = self.saved.frontier.runs() + runs + learning;
        let given_up = runs.saturating_sub(executions);
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
        let (verdict, reason) =
            self.verdict(is_bug, complete, &total, (runs, given_up), done && self.over);
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
        let leads =
            |predicate: &&traces::predicate::Predicate| predicate.purpose == Purpose::Through;
        let [other_passing, other_failing, met_passing, met_failing] = total.through;
        let through = all.clone().any(|one| leads(&one)).then_some(ThroughReport {
            met_passing,
            met_failing,
            other_passing,
            other_failing,
        });
        let (sought, watched): (Vec<_>, Vec<_>) = all
            .filter(|one| !leads(one) && one.purpose != Purpose::Start)
            .partition(|predicate| predicate.purpose.is_satisfy());
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
            given_up,
            learning,
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
            max_steps: match total.max_steps {
                0 => self.saved.learning_steps,
                most => most,
            },
            cut: total.cut - total.outside.min(total.cut),
            outside: total.outside,
            step_limit: self.step_limit(&total),
            races,
            race_details,
            suppressed,
            conflicts: self
                .saved
                .conflicts
                .into_values()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
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
        let live = if self.options.live_clients { self.options.client_commands.len() } else { 0 };
        notes.extend(clients_note(self.options.clients.len(), live));
        notes.extend(outside_note(total.outside));
        notes.extend(begin_note(&self.options.begin_at));
        notes.extend(absent);
        notes.extend(spurious_note(spurious));
        notes.extend(short_counts_note(self.options.short_counts));
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
        notes.extend(file_note(self.target.files.are_private(), self.target.files.refused()));
        if marked {
            notes.push(InstrumentationGap::Marked.describe().to_owned());
        }
        if held {
            notes.push(InstrumentationGap::Held.describe().to_owned());
        }
        if self.options.store_buffers && report.points.compiled == 0 {
            notes.push(NO_STORE_BUFFERS.to_owned());
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
        (runs, given_up): (u64, u64),
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
            return (Verdict::Incomplete, not_confirmed(once, self.saved.unconfirmed.len()));
        }
        if complete {
            return (Verdict::Clean, String::new());
        }
        let reason = Ended {
            limit: &self.reason,
            executions: runs,
            given_up,
            is_interrupted: self.interrupt.load(Relaxed),
            is_outside: total.unseen & InstrumentationGap::Outside as u64 != 0,
            cut: total.cut - total.outside.min(total.cut),
            outside: total.outside,
            step_limit: self.step_limit(total),
            has_beginnings: self.options.beginning > 0,
            leaves_files: over
                && total.unknown_calls.keys().any(|(name, _)| name.starts_with(LEFT_FILE)),
            is_unobserved: over && self.deaths == 0 && !unobserved(total, self.target).is_empty(),
            may_continue: self.options.max_executions.is_none_or(|most| runs < most),
        }
        .reason(|| self.end_of_strategy());
        (Verdict::Incomplete, reason)
    }
}
