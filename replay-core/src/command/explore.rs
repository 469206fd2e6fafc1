//! The search.

use super::{Once, kept, once, plan, record_again, reset_name, single};
use crate::capture;
use crate::options::SPINS_AGAIN_AFTER;
use crate::worker::{Event, Worker};
use crate::{Error, Observer, Progress, SearchOptions, Target, store};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use traces::report::{Bug, Points, Report, Verdict};
use traces::wire::{
    COVERED_ALL, Found, Header, Job, News, Plan, RECORD_DATA, RECORD_ENABLED, Reset, fell_back,
};
use traces::{Choice, Execution, Failure, FailureKind, TaskId, Trace};

/// How often a process that dies without a word is started again before the search ends.
const PATIENCE: u64 = 100;

/// Searches for failing schedules until the options say stop or `interrupt` is set.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn explore(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let reset = options.reset.unwrap_or(Reset::Memory);
    let job = Job {
        prefix: options.prefix.clone(),
        plan: plan(options),
        reset,
        tracking: options.tracking,
        first: 1,
        last: options.max_executions.unwrap_or(u64::MAX),
        stop_at_first: !options.keep_going,
        max_steps: options.max_steps,
        full: false,
        park: false,
        fail_on: options.fail_on.iter().map(|kind| kind.code()).collect(),
        points: options.points,
        learned: options.learned.clone(),
        learn: true,
        race: None,

        memory: options.max_memory,
        watch: None,
    };
    let mut search = Search {
        target,
        options,
        interrupt,
        observer,
        reset,
        began: Instant::now(),
        total: Totals::default(),
        checks: 0,
        bugs: Vec::new(),
        found_by: String::new(),
        unsupported: Vec::new(),
        races: Vec::new(),
        raced: BTreeSet::new(),
        reason: String::new(),
    };
    search.run(job)?;
    Ok(search.report())
}

/// Sums over the workers' headers, of those that died too.
#[derive(Default, Clone, Copy)]
struct Totals {
    executions: u64,
    distinct: u64,
    diverged: u64,
    cut: u64,
    failing: u64,
    max_steps: u64,
    max_tasks: u64,
    api: u64,
    racy: u64,
    compiled: u64,
    learning: u64,
    complete: bool,
    covered: u64,
    confirming: u64,
    deaths: u64,
}

impl Totals {
    fn and(self, header: &Header) -> Totals {
        Totals {
            executions: self.executions + header.executions.load(Relaxed),
            distinct: self.distinct + header.distinct.load(Relaxed),
            diverged: self.diverged + header.diverged.load(Relaxed),
            cut: self.cut + header.cut.load(Relaxed),
            failing: self.failing + header.failing.load(Relaxed),
            max_steps: self.max_steps.max(header.max_steps.load(Relaxed)),
            max_tasks: self.max_tasks.max(header.max_tasks.load(Relaxed)),
            api: self.api.max(header.api_sites.load(Relaxed)),
            racy: self.racy.max(header.racy_sites.load(Relaxed)),
            compiled: self.compiled.max(header.compiled_sites.load(Relaxed)),
            learning: self.learning + header.learning.load(Relaxed),
            complete: header.complete.load(Relaxed) != 0,
            confirming: self.confirming + header.confirming.load(Relaxed),
            covered: header.covered.load(Relaxed),
            deaths: self.deaths,
        }
    }
}

struct Search<'a> {
    target: &'a Target,
    options: &'a SearchOptions,
    interrupt: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    reset: Reset,
    began: Instant,
    total: Totals,
    checks: u64,
    /// What was found, with the runtime's keys and counts.
    bugs: Vec<(Vec<u64>, Bug)>,
    /// The part of the strategy that found the first of them.
    found_by: String,
    unsupported: Vec<String>,
    /// Races that are no failures, and their signatures.
    races: Vec<String>,
    raced: BTreeSet<String>,
    reason: String,
}

impl Search<'_> {
    fn run(&mut self, first: Job) -> Result<(), Error> {
        let deadline = self.options.max_time.map(|time| self.began + time);
        let mut job = first;
        let mut worker = Worker::start(self.target, job.clone(), self.options.spin_after)?;
        let mut last_line = Instant::now();
        loop {
            match worker.wait(self.interrupt)? {
                Event::News(News::Found(found)) => self.found(found)?,
                Event::News(News::Diverged { execution, step, what }) => {
                    if self.reason.is_empty() {
                        self.reason =
                            format!("execution {execution} left its prefix at step {step}: {what}");
                    }
                }
                Event::Tick | Event::Parked => {}

                Event::Done => {
                    self.settle(&worker);
                    return Ok(());
                }
                Event::Died(how) => {
                    self.settle(&worker);
                    match self.died(&worker, &job, &how)? {
                        Some(next) => {
                            job = next.clone();
                            worker.restart(next)?;
                        }
                        None => return Ok(()),
                    }
                }
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                worker.channel().stop();
                if self.reason.is_empty() {
                    self.reason = "the time was up".into();
                }
            }
            if last_line.elapsed() > Duration::from_millis(200) {
                last_line = Instant::now();
                let now = self.total.and(worker.channel().header());
                self.observer.progress(&Progress {
                    executions: now.executions,
                    distinct: now.distinct,
                    failing: now.failing,
                    elapsed: self.began.elapsed(),
                });
            }
        }
    }

    /// Takes over what a worker that is at its end has counted.
    fn settle(&mut self, worker: &Worker<'_>) {
        let header = worker.channel().header();
        self.checks += header.checks.load(Relaxed);
        let instead = match header.fell_back.load(Relaxed) {
            fell_back::FORK => Reset::Fork,
            fell_back::EXEC => Reset::Exec,
            _ => self.reset,
        };
        if instead != self.reset {
            if self.options.reset.is_some() {
                let [now, before] = [instead, self.reset].map(reset_name);
                let why = worker.channel().message();
                self.observer.note(&format!("{now} reset is used instead of {before}: {why}"));
            }
            self.reset = instead;
        }
        self.total = self.total.and(worker.channel().header());
        for (keys, bug) in &mut self.bugs {
            bug.count += keys.iter().map(|&key| worker.channel().count(key)).sum::<u64>();
        }
    }

    /// A worker died in an execution: that is a finding, and the search goes on after it.
    fn died(&mut self, worker: &Worker<'_>, job: &Job, how: &str) -> Result<Option<Job>, Error> {
        if self.interrupt.load(Relaxed) {
            return Ok(None);
        }
        let header = worker.channel().header();
        let execution = header.execution.load(Relaxed);
        if execution == 0 {
            return Err(Error::Target(format!(
                "{} ended before its main began: {how}. Does it run by itself?",
                self.target.program.display()
            )));
        }
        let choices: Vec<Choice> = worker
            .channel()
            .records()
            .iter()
            .filter(|record| record.operation != RECORD_ENABLED)
            .map(|record| match record.operation {
                RECORD_DATA => {
                    Choice::Data { taken: record.value as u32, of: record.object as u32 }
                }
                _ => Choice::Task(TaskId(record.task)),
            })
            .collect();
        // It may have died after it was counted.
        let counted = header.executions.load(Relaxed) > execution - job.first.min(execution);
        self.total.executions += u64::from(!counted);
        self.total.failing += 1;
        self.total.deaths += 1;
        let found = Found {
            part: String::new(),
            kind: FailureKind::Crash,
            key: 1,
            execution,
            task: None,
            address: 0,
            exact: false,
            number: 0,
            fault: 0,
            places: Vec::new(),
            block: None,
            past: Vec::new(),
            detail: format!("the process died in the middle of an execution: {how}"),
            choices: choices.clone(),
            cycle: Vec::new(),
            learned: Box::default(),
            race: None,
        };
        if self.bugs.iter().any(|(keys, _)| keys.contains(&1)) {
            self.bugs
                .iter_mut()
                .filter(|(keys, _)| keys.contains(&1))
                .for_each(|(_, bug)| bug.count += 1);
        } else {
            self.found(found)?;
            if let Some((_, bug)) = self.bugs.iter_mut().find(|(keys, _)| keys.contains(&1)) {
                bug.count = 1;
            }
        }
        if !self.options.keep_going || self.total.deaths >= PATIENCE || execution >= job.last {
            return Ok(None);
        }
        let plan = match &job.plan {
            Plan::Dfs { bound, .. } => {
                let after = choices.get(job.prefix.len()..).unwrap_or_default().to_vec();
                Plan::Dfs { bound: *bound, after }
            }
            other => other.clone(),
        };
        Ok(Some(Job { plan, first: execution + 1, ..job.clone() }))
    }

    /// A failure that this worker had not seen: it is run again, recorded, and written down before
    /// anything else happens.
    fn found(&mut self, found: Found) -> Result<(), Error> {
        if found.kind == FailureKind::Race && !self.options.fail_on.contains(&found.kind) {
            return self.race(&found);
        }
        if found.kind == FailureKind::Unsupported && !self.unsupported.contains(&found.detail) {
            self.unsupported.push(found.detail.clone());
        }
        let spins = found.kind == FailureKind::Spin;
        let spin_after = if spins { SPINS_AGAIN_AFTER } else { self.options.spin_after };
        let options = SearchOptions {
            learned: (*found.learned).clone(),
            race: found.race.as_deref().copied(),
            ..self.options.clone()
        };
        let again = record_again(
            self.target,
            found.choices.clone(),
            &SearchOptions { spin_after, ..options.clone() },
            &AtomicBool::new(false),
            self.observer,
        )?;
        let mut trace = match again {
            Once::Recorded(trace)
                if trace.failure.as_ref().is_some_and(|failure| failure.kind == found.kind) =>
            {
                *trace
            }
            Once::Recorded(trace) if trace.failure.is_some() => {
                self.bare(&found, "run again, it failed in another way")
            }
            Once::Recorded(_) => self
                .bare(&found, "run again, it did not fail: something outside the schedule decides"),
            Once::Diverged { step, what } => {
                self.bare(&found, &format!("run again, it went another way at step {step}: {what}"))
            }
            Once::Died { how } => self.bare(&found, &how),
            Once::Interrupted => self.bare(&found, "it was not run again"),
        };
        trace.header.found_at = found.execution;
        trace.header.options = kept(&options, self.reset);
        let Some(failure) = trace.failure.clone() else { return Ok(()) };
        if let Some((keys, _)) =
            self.bugs.iter_mut().find(|(_, bug)| bug.signature == failure.signature)
        {
            // A worker that was started again tells of everything a second time.
            if !keys.contains(&found.key) {
                keys.push(found.key);
            }
            return Ok(());
        }
        let out =
            std::path::absolute(&self.options.out).unwrap_or_else(|_| self.options.out.clone());
        let dir = if self.options.out.is_absolute() { &out } else { &self.options.out };
        let path = match store::save(&trace, dir, failure.kind.name()) {
            Ok(path) => Some(path.to_string_lossy().into_owned()),
            Err(error) => {
                self.observer.note(&error.to_string());
                None
            }
        };
        let execution = &trace.execution;
        let bug = Bug {
            kind: failure.kind,
            signature: failure.signature,
            message: failure.message,
            site: failure.place,
            trace: path,
            found_at: found.execution,
            preemptions: execution.preemptions().len() as u64,
            switches: execution.switches() as u64,
            steps: execution.steps.len() as u64,
            count: 0,
        };
        self.observer.bug(&Bug { count: 1, ..bug.clone() }, &trace);
        let first = self.bugs.iter().map(|(_, bug)| bug.found_at).min();
        if first.is_none_or(|first| found.execution < first) {
            self.found_by = match found.part.as_str() {
                "" => self.options.strategy.name().to_owned(),
                part => part.to_owned(),
            };
        }
        self.bugs.push((vec![found.key], bug));
        Ok(())
    }

    /// A race that does not count as a failure: its schedule is run again up to there.
    fn race(&mut self, found: &Found) -> Result<(), Error> {
        let options = SearchOptions {
            learned: (*found.learned).clone(),
            fail_on: vec![FailureKind::Race],
            race: found.race.as_deref().copied(),
            ..self.options.clone()
        };
        let plan = Plan::Replay { choices: found.choices.clone(), expected: Vec::new() };
        let job = Job { plan, ..single(&options) };
        let again = once(self.target, job, &options, &AtomicBool::new(false), self.observer)?;
        let Once::Recorded(mut trace) = again else { return Ok(()) };
        trace.header.found_at = found.execution;
        trace.header.options = kept(&options, self.reset);
        let Some(failure) = trace.failure.as_ref().filter(|f| f.kind == FailureKind::Race) else {
            return Ok(());
        };
        if !self.raced.insert(failure.signature.clone()) {
            return Ok(());
        }
        let out =
            std::path::absolute(&self.options.out).unwrap_or_else(|_| self.options.out.clone());
        let dir = if self.options.out.is_absolute() { &out } else { &self.options.out };
        let line = match store::save(&trace, dir, failure.kind.name()) {
            Ok(path) => format!("{} (trace {})", failure.message, path.display()),
            Err(error) => {
                self.observer.note(&error.to_string());
                failure.message.clone()
            }
        };
        self.races.push(line);
        Ok(())
    }

    /// A trace of which nothing but the failure is known.
    fn bare(&self, found: &Found, why: &str) -> Trace {
        let message = match found.detail.is_empty() {
            true => format!("{} ({why})", found.kind),
            false => format!("{} ({why})", found.detail),
        };
        Trace {
            header: capture::header(self.target, kept(self.options, self.reset), found.execution),
            execution: Execution::default(),
            failure: Some(Failure {
                kind: found.kind,
                signature: format!("{} {}", found.kind, found.detail),
                message,
                // There are no tasks in this trace that it could name.
                task: None,
                site: None,
                place: String::new(),
                waits: Vec::new(),
                stacks: Vec::new(),
                past: Vec::new(),
            }),
            output: Vec::new(),
        }
    }

    fn report(self) -> Report {
        let total = self.total;
        let elapsed = self.began.elapsed().as_secs_f64();
        let mut bugs: Vec<Bug> = self.bugs.into_iter().map(|(_, bug)| bug).collect();
        bugs.sort_by_key(|bug| bug.found_at);
        let leaks = bugs.iter().filter(|bug| bug.kind == FailureKind::Leak);
        let leaks = leaks.map(|bug| format!("{}: {}", bug.site, bug.message)).collect();
        let is_bug = bugs.iter().any(|bug| bug.kind != FailureKind::Unsupported);
        let complete =
            total.complete && total.cut == 0 && total.diverged == 0 && self.unsupported.is_empty();
        let (verdict, reason) = if is_bug {
            (Verdict::Bug, String::new())
        } else if !self.unsupported.is_empty() {
            (Verdict::Unsupported, format!("not supported yet: {}", self.unsupported.join(", ")))
        } else if complete {
            (Verdict::Clean, String::new())
        } else {
            let reason = match self.reason {
                reason if !reason.is_empty() => reason,
                _ if self.interrupt.load(Relaxed) => "interrupted".into(),
                _ if total.cut > 0 => format!("{} executions reached the step limit", total.cut),
                _ if self.options.max_executions.is_none_or(|most| total.executions < most) => {
                    format!(
                        "{} has nothing left to try, and what it tried is not every schedule",
                        self.options.strategy.name()
                    )
                }
                _ => "executions ran out".into(),
            };
            (Verdict::Incomplete, reason)
        };
        let gaps = total.cut > 0 || total.diverged > 0 || !self.unsupported.is_empty();
        let bound = match total.covered {
            _ if gaps || total.deaths > 0 => Some(-1),
            COVERED_ALL => None,
            covered => Some(covered as i64 - 1),
        };
        Report {
            heddle: 1,
            verdict,
            memory_model: "sc".into(),
            strategy: self.options.strategy.name().into(),
            found_by: is_bug.then_some(self.found_by),
            bound,
            complete,
            executions: total.executions - total.confirming,
            learning: total.learning,
            checks: self.checks + total.confirming,
            distinct: total.distinct.min(total.executions - total.confirming),
            diverged: total.diverged,
            elapsed_s: elapsed,
            executions_per_s: (total.executions as f64 / elapsed.max(1e-9)) as u64,
            workers: 1,
            reset: reset_name(self.reset).into(),
            points: Points { api: total.api, racy: total.racy, compiled: total.compiled },
            threads: total.max_tasks,
            max_steps: total.max_steps,
            races: self.races,
            conflicts: Vec::new(),
            leaks,
            bugs,
            reason,
        }
    }
}
