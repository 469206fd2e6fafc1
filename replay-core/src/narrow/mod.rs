//! From a failing trace to the smallest predicate that is its cause: threads at sites, and a condition
//! over variables.
//!
//! The method of Gottschlich, Pokam and Pereira, "Concurrent Predicates: A Debugging Technique for Every
//! Parallel Programmer" (2013), without a person: propose predicates, check them, divide and conquer. A
//! predicate is the cause if every execution that reaches it fails, and none fails without it. Many are
//! checked at once, since whether an execution reaches a predicate does not change the execution.

mod conditions;
mod find;
mod heddle_cp;
mod proposal;
mod relevance;
mod sites;

pub use heddle_cp::Insertion;
pub use proposal::{Counts, Proposal, SiteOfThread};

use crate::control::runner::{Reaching, Runner};
use crate::explain::source::{Language, Source};
use crate::predicates::{Compiler, Operand};
use crate::shrink::{Refused, reproduce};
use crate::{Error, Target};
use find::{Candidates, candidates, minimise};
use relevance::Relevance;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Granularity;
use traces::predicate::{MOST_NOTED, MOST_PLACES, Predicate, Purpose};
use traces::report::ThroughReport;
use traces::wire::Plan;
use traces::{Choice, FailureKind, Trace};

/// Executions of each strategy while candidates are compared, and in the last check.
const COMPARED: u64 = 150;
const CHECKED: u64 = 1_500;
/// The most executions of a search of all schedules.
const ALL: u64 = 20_000;
/// The most steps of one count, and of the last check: long executions get fewer runs.
const STEPS: u64 = 400_000;
const CHECKED_STEPS: u64 = 4_000_000;
/// Executions that are led through the cause at the end.
const LED: u64 = 400;
/// With a smaller effect a predicate says nothing about the cause.
const LEAST_EFFECT: f64 = 0.5;
/// The most exact predicates that are returned beside the best.
const MOST_ALTERNATIVES: usize = 4;

/// What a predicate is to the failure.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Sufficient and necessary.
    Cause(Cause),
    /// The best predicate that was found is not both.
    Part(Proposal, Counts),
    /// No predicate separates failing from passing executions.
    Nothing,
    /// Every schedule fails: none is needed.
    Always,
    /// No execution passed, and not all schedules were run.
    NonePassed,
}

/// A predicate that is sufficient and necessary.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The predicate.
    pub predicate: Proposal,
    /// How executions of all strategies ended.
    pub counts: Counts,
    /// Whether every schedule was run.
    pub proved: bool,
    /// How executions ended that were led through it.
    pub led: Option<ThroughReport>,
    /// Other predicates for which the same holds.
    pub alternatives: Vec<Proposal>,
    /// The lines for the source that make the threads wait for it, or why no statement can say it.
    pub insertions: Result<Vec<Insertion>, String>,
}

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct Narrowed {
    /// The failing execution, run again.
    pub failing: Trace,
    /// What was found.
    pub finding: Finding,
    /// How many predicates were compared, in how many executions.
    pub proposals: usize,
    /// The executions.
    pub executions: u64,
}

/// Receives the progress.
pub trait ProgressObserver {
    /// Reports the number of predicates and of executions so far.
    fn progress(&mut self, proposals: usize, executions: u64);
}

/// Why nothing can be narrowed down.
fn refuse(trace: &Trace, compiler: &Compiler) -> Option<&'static str> {
    let options = &trace.header.options;
    let kind = trace.failure.as_ref()?.kind;
    let tasks = trace.execution.steps.iter().any(|step| step.task != traces::TaskId::MAIN);
    if kind == FailureKind::Satisfied {
        return Some(
            "the trace satisfies a predicate and has no failure: there is no cause to find",
        );
    }
    if !tasks {
        return Some(
            "it fails before a second thread executes a step: the schedule is not the cause",
        );
    }
    if Granularity::from_name(&options.points) == Some(Granularity::Api) {
        return Some(
            "it was recorded with --points api, which observes no sites: search again with --points racy",
        );
    }
    if !compiler.has_lines() {
        return Some("the program has no debug information: build it with -g and search again");
    }
    None
}

/// Finds the smallest predicate that is sufficient and necessary for the failure of a trace.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn narrow(
    target: &Target,
    trace: &Trace,
    interrupt: &AtomicBool,
    watch: &mut dyn ProgressObserver,
) -> Result<Narrowed, Refused> {
    let failure = trace.failure.as_ref().ok_or(Refused::Passes)?;
    let compiler = Compiler::of(&trace.execution);
    if let Some(why) = refuse(trace, &compiler) {
        return Err(Refused::Core(Error::Usage(why.to_owned())));
    }
    let runner = crate::shrink::runner_for(target.clone(), trace);
    let failing = reproduce(&runner, trace, &failure.signature)?;
    let Some(failure) = failing.failure.clone() else { return Err(Refused::Passes) };
    let mut experiment = Experiment {
        runner: &runner,
        compiler: &compiler,
        kind: failure.kind,
        failing: failing.execution.choices().collect(),
        interrupt,
        watch,
        proposals: 0,
        executions: 0,
    };
    let done = |finding, experiment: &Experiment<'_>, failing: Trace| Narrowed {
        failing,
        finding,
        proposals: experiment.proposals,
        executions: experiment.executions,
    };
    let first = experiment.run(&[], COMPARED, STEPS)?;
    if first.all.passing == 0 {
        let always = runner.always_fails(ALL, interrupt)?;
        let finding = if always { Finding::Always } else { Finding::NonePassed };
        return Ok(done(finding, &experiment, failing));
    }
    let lines = |path: &str| Some(read(path)?.lines().map(str::to_owned).collect());
    let found = sites::sites(&failing.execution, &failure, &lines, &compiler);
    let relevance = Relevance::of(&found, &lines);
    let plain = sites::without_conditions(&found);
    let mut others = Vec::new();
    for seed in 0..4 {
        others.extend(runner.random(seed, interrupt)?);
    }
    let executions: Vec<&traces::Execution> =
        std::iter::once(&failing).chain(&others).map(|it| &it.execution).collect();
    let shared = conditions::shared_variables(&executions, &compiler.statics(), &relevance);
    let parts = |proposal: &Proposal| {
        let locals = proposal.roles.iter().map(|role| compiler.locals(&role.to_string()));
        conditions::parts(proposal, &shared, &locals.collect::<Vec<_>>(), &relevance)
    };
    let is_deadlock = failure.kind.is_deadlock();
    let Candidates { exact, others } =
        candidates(&plain, &parts, is_deadlock, &mut |all| experiment.count(all, COMPARED, STEPS))?;
    let finding = experiment.settle(exact, others, is_deadlock)?;
    if interrupt.load(Relaxed) {
        return Err(Refused::NotReproduced("interrupted".into()));
    }
    Ok(done(finding, &experiment, failing))
}

/// The text of a source file.
fn read(path: &str) -> Option<String> {
    std::fs::read(path).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}

impl heddle_cp::Program for Compiler {
    fn operand(
        &self,
        site: &SiteOfThread,
        name: &str,
        is_local: bool,
        language: Language,
    ) -> Option<Operand> {
        Compiler::operand(self, &site.to_string(), name, is_local, language)
    }

    fn source(&self, path: &str) -> Option<Source> {
        Some(Source::of(read(path)?.as_bytes(), Language::of(Path::new(path))))
    }
}

impl sites::Code for Compiler {
    fn line_after(&self, path: &str, line: u32) -> Option<u32> {
        Compiler::line_after(self, path, line)
    }

    fn writes_behind(&self, path: &str, line: u32) -> bool {
        Compiler::writes_behind(self, path, line)
    }
}

/// How many of the predicates can be counted in one search: starting the program costs more than the
/// executions.
fn together(predicates: &[(Proposal, Predicate)]) -> usize {
    let mut sites = HashSet::new();
    let fits = |(_, predicate): &&(Proposal, Predicate)| {
        let places = predicate.roles.iter().flat_map(|role| {
            role.places.iter().map(|place| (place.module.as_str(), place.offset, role.before_write))
        });
        sites.extend(places.map(|(module, offset, write)| (module.to_owned(), offset, write)));
        sites.len() <= MOST_PLACES
    };
    predicates.iter().take(MOST_NOTED).take_while(fits).count().max(1)
}

/// Runs executions of the program.
struct Experiment<'a> {
    runner: &'a Runner,
    compiler: &'a Compiler,
    kind: FailureKind,
    failing: Vec<Choice>,
    interrupt: &'a AtomicBool,
    watch: &'a mut dyn ProgressObserver,
    proposals: usize,
    executions: u64,
}

impl Experiment<'_> {
    /// Runs the failing schedule, random walks, walks with few preemptions, and schedules similar to the
    /// failing one.
    fn run(
        &mut self,
        predicates: &[Predicate],
        executions: u64,
        steps: u64,
    ) -> Result<Reaching, Refused> {
        let plans = [
            (self.again(), 1),
            (Plan::seeded("random", 1), executions),
            (Plan::seeded("pct", 1), executions),
            (Plan::LocalSearch { choices: self.failing.clone(), seed: 1 }, executions / 2),
        ];
        let mut sum =
            Reaching { each: vec![Default::default(); predicates.len()], ..Default::default() };
        for (plan, most) in plans {
            let more = self.plan(predicates, plan, most, steps)?;
            sum.all = sum.all.plus(more.all);
            for (one, more) in sum.each.iter_mut().zip(more.each) {
                *one = one.plus(more);
            }
        }
        Ok(sum)
    }

    /// The failing schedule.
    fn again(&self) -> Plan {
        Plan::Replay { choices: self.failing.clone(), expected: Vec::new() }
    }

    fn plan(
        &mut self,
        predicates: &[Predicate],
        plan: Plan,
        most: u64,
        steps: u64,
    ) -> Result<Reaching, Refused> {
        let (kind, interrupt) = (self.kind, self.interrupt);
        let ran = self.runner.count_reaching(predicates, kind, plan, (most, steps), interrupt)?;
        self.executions += ran.all.passing + ran.all.failing;
        self.watch.progress(self.proposals, self.executions);
        Ok(ran)
    }

    /// The predicates that the program allows.
    fn compiled(&self, proposals: &[Proposal]) -> Vec<(Proposal, Predicate)> {
        let compile = |one: &Proposal| {
            Some((one.clone(), self.compiler.compile(&one.to_string(), Purpose::Note)?))
        };
        proposals.iter().filter_map(compile).collect()
    }

    /// Counts executions for each of the predicates that the program allows. Leaves out those that the
    /// failing execution does not reach: they cannot be its cause, and running it once costs much less than
    /// the comparison.
    fn count(
        &mut self,
        proposals: &[Proposal],
        executions: u64,
        steps: u64,
    ) -> Result<Vec<(Proposal, Counts)>, Refused> {
        let compiled = self.compiled(proposals);
        let mut reached = Vec::new();
        self.in_batches(&compiled, |experiment, some, predicates| {
            experiment.proposals += some.len();
            let again = experiment.again();
            let ran = experiment.plan(predicates, again, 1, steps)?;
            // A program that does not repeat its failure says nothing about them.
            let is_reached = |at: usize| ran.all.failing == 0 || ran.each[at].failing > 0;
            let some = some.iter().enumerate().filter(|(at, _)| is_reached(*at));
            reached.extend(some.map(|(_, one)| one.clone()));
            Ok(())
        })?;
        let mut counted = Vec::new();
        self.in_batches(&reached, |experiment, some, predicates| {
            let ran = experiment.run(predicates, executions, steps)?;
            let counts = ran.each.iter().map(|&with| Counts::of(ran.all, with));
            counted.extend(some.iter().map(|(one, _)| one.clone()).zip(counts));
            Ok(())
        })?;
        Ok(counted)
    }

    /// Does something with as many of the predicates at a time as fit into one search.
    fn in_batches(
        &mut self,
        compiled: &[(Proposal, Predicate)],
        mut of: impl FnMut(&mut Self, &[(Proposal, Predicate)], &[Predicate]) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let mut rest = compiled;
        while !rest.is_empty() && !self.interrupt.load(Relaxed) {
            let some = rest.split_off(..together(rest)).unwrap_or_default();
            let predicates: Vec<Predicate> = some.iter().map(|(_, it)| it.clone()).collect();
            of(self, some, &predicates)?;
        }
        Ok(())
    }

    /// Checks the exact candidates with more executions, and with all schedules if these are few.
    fn settle(
        &mut self,
        exact: Vec<Proposal>,
        others: Vec<(Proposal, Counts)>,
        is_deadlock: bool,
    ) -> Result<Finding, Refused> {
        let some = self.compiled(&exact);
        let predicates: Vec<Predicate> = some.iter().map(|(_, it)| it.clone()).collect();
        let mut refuted = others;
        let mut left: Vec<(Proposal, Counts)> = Vec::new();
        let mut proved = false;
        if !predicates.is_empty() {
            let walks = self.run(&predicates, CHECKED, CHECKED_STEPS)?;
            let all = self.plan(&predicates, Plan::bounded("dfs", None), ALL, CHECKED_STEPS)?;
            proved = all.complete;
            for (at, (one, _)) in some.iter().enumerate() {
                let counts = Counts::of(walks.all.plus(all.all), walks.each[at].plus(all.each[at]));
                match counts.is_exact() {
                    true => left.push((one.clone(), counts)),
                    false => refuted.push((one.clone(), counts)),
                }
            }
        }
        for at in 0..left.len().min(3) {
            let (best, counts) = left[at].clone();
            let smaller = minimise(best.clone(), &mut |all| self.count(all, CHECKED, STEPS))?;
            let best = if left.iter().any(|(one, _)| *one == smaller) { smaller } else { best };
            let led = self.led(&best)?;
            let disproved = led.is_some_and(|led| led.met_passing > 0 || led.other_failing > 0);
            // A state to which no execution can be led says where the failure shows, not how it comes about.
            let is_reached = led.is_some_and(|led| led.met_failing > 0);
            if disproved || !is_reached {
                continue;
            }
            let alternatives = left.into_iter().map(|(one, _)| one);
            let mut kept: Vec<Proposal> = Vec::new();
            for one in alternatives.filter(|one| *one != best) {
                if !kept.iter().chain([&best]).any(|other| other.roles == one.roles) {
                    kept.push(one);
                }
            }
            kept.truncate(MOST_ALTERNATIVES);
            let insertions = heddle_cp::insertions(&best, self.compiler);
            return Ok(Finding::Cause(Cause {
                predicate: best,
                counts,
                proved,
                led,
                alternatives: kept,
                insertions,
            }));
        }
        refuted.retain(|(_, counts)| counts.effect() >= LEAST_EFFECT);
        let cost = |one: &(Proposal, Counts)| one.0.cost(is_deadlock);
        refuted.sort_by(|one, other| {
            let effect = |it: &(Proposal, Counts)| (it.1.effect() * 20.0).round();
            effect(other).total_cmp(&effect(one)).then_with(|| cost(one).cmp(&cost(other)))
        });
        Ok(refuted.into_iter().next().map_or(Finding::Nothing, |(one, it)| Finding::Part(one, it)))
    }

    /// Leads executions through the predicate, as a user would by `--through`: in a search that learns its
    /// own scheduling points, since those of the trace may lack the writes to what the condition reads.
    fn led(&mut self, best: &Proposal) -> Result<Option<ThroughReport>, Refused> {
        let steps = self.failing.len().max(1) as u64;
        let most = LED.min(CHECKED_STEPS / steps).max(1);
        let through =
            self.runner.led_through(&best.to_string(), self.kind, most, self.interrupt)?;
        if let Some(through) = through {
            let of = [
                through.met_passing,
                through.met_failing,
                through.other_passing,
                through.other_failing,
            ];
            self.executions += of.iter().sum::<u64>();
        }
        Ok(through)
    }
}
