//! Shrinking against brute force, over generated programs and without any process: the result is
//! the smallest schedule that exists, or, if not all can be run, one from which no switch can be
//! removed.

use replay_core::Error;
use replay_core::runner::{RunOutcome, RunSchedules, ScheduleSet, Smallest};
use replay_core::shrink::{ProgressObserver, Proof, Refused, Size, shrink};
use search::strategy::dfs::Dfs;
use search::strategy::random::Random;
use search::{AnyStrategy, Coverage, Strategy};
use std::sync::atomic::AtomicBool;
use tests::oracle::drive::{self, Run};
use tests::oracle::machine::Machine;
use tests::oracle::{Generated, Outcome, generated};
use traces::wire::Plan;
use traces::{Choice, Failure, FailureKind, TaskId, Trace};

const SEED: u64 = 7;
const PROGRAMS: u64 = 300;
const CAP: u64 = 600;

/// A generated program in place of a process. Every exit status is a failure, including 0, so that
/// each program has several failures.
struct Abstract<'m>(&'m Machine<'m>);

impl Abstract<'_> {
    fn trace(&self, run: &Run) -> Trace {
        let outcome = run.outcome.as_ref().expect("it was not given up");
        let kind = match outcome {
            Outcome::Deadlock => FailureKind::Deadlock,
            Outcome::Exit(_) => FailureKind::Exit,
        };
        let failure = Failure {
            kind,
            signature: outcome.to_string(),
            message: outcome.to_string(),
            task: None,
            site: None,
            place: String::new(),
            waits: Vec::new(),
            stacks: Vec::new(),
            past: Vec::new(),
        };
        Trace {
            execution: drive::execution(self.0, &run.choices),
            failure: Some(failure),
            ..Trace::default()
        }
    }
}

impl RunSchedules for Abstract<'_> {
    fn run(&self, choices: Vec<Choice>, _: &AtomicBool) -> Result<RunOutcome, Error> {
        Ok(match drive::follow(self.0, choices) {
            Ok(run) => RunOutcome::Ran(Box::new(self.trace(&run))),
            Err(step) => RunOutcome::Impossible { step, what: "it is not enabled".into() },
        })
    }

    fn smallest(
        &self,
        among: &ScheduleSet,
        budget: u64,
        signature: &str,
        _: &AtomicBool,
    ) -> Result<Smallest, Error> {
        let mut dfs = AnyStrategy::new(match *among {
            ScheduleSet::Preemptions(bound) => Plan::bounded("dfs", Some(bound)),
            ScheduleSet::Orders(bound) => Plan::Orders { bound },
            ScheduleSet::Mutations { ref choices, seed } => {
                Plan::LocalSearch { choices: choices.clone(), seed }
            }
            ScheduleSet::Departures { most, preemptions, .. } => {
                Plan::Departures { most, preemptions }
            }
        });
        let mut found: Option<Trace> = None;
        let mut executions = 0;
        for run in drive::runs(self.0, &mut dfs).take(budget as usize) {
            executions += 1;
            // A run that exceeds the size limit is ended.
            if run.outcome.is_err() {
                continue;
            }
            let trace = self.trace(&run);
            let fails = trace.failure.as_ref().is_some_and(|one| one.signature == signature);
            let size = Size::of(&trace.execution);
            if fails && found.as_ref().is_none_or(|best| size < Size::of(&best.execution)) {
                found = Some(trace);
            }
        }
        // Whether executions remain is known only after asking for another one.
        let complete = !dfs.begin(executions + 1) && dfs.coverage() != Coverage::Open;
        Ok(Smallest { found, complete, executions })
    }
}

struct Silent;

impl ProgressObserver for Silent {
    fn progress(&mut self, _: Size, _: &str) {}
}

/// The size of the smallest schedule with this outcome.
fn smallest(program: &Abstract<'_>, outcome: &str) -> Size {
    let mut dfs = Dfs::new(None);
    drive::runs(program.0, &mut dfs)
        .map(|run| program.trace(&run))
        .filter(|trace| trace.failure.as_ref().is_some_and(|one| one.signature == outcome))
        .map(|trace| Size::of(&trace.execution))
        .min()
        .expect("the outcome was seen")
}

/// Shrinks the outcomes of random walks over generated programs.
fn for_each_walk(budget: u64, mut check: impl FnMut(&Abstract<'_>, &str, Size, Trace, Proof)) {
    for number in 0..PROGRAMS {
        let Generated { program, .. } = generated(SEED, number, CAP);
        let machine = Machine::new(&program);
        let program = Abstract(&machine);
        let mut random = Random::new(number);
        let mut seen = Vec::new();
        for run in drive::runs(&machine, &mut random).take(6) {
            let trace = program.trace(&run);
            let outcome = trace.failure.as_ref().expect("each counts").signature.clone();
            if seen.contains(&outcome) {
                continue;
            }
            let shrunk = shrink(&program, &trace, budget, &AtomicBool::new(false), &mut Silent)
                .unwrap_or_else(|refused| panic!("program {number}, {outcome}: {refused}"));
            let failure = shrunk.trace.failure.as_ref().expect("it fails");
            assert_eq!(failure.signature, outcome, "program {number}: another failure");
            assert_eq!(shrunk.to, Size::of(&shrunk.trace.execution), "program {number}");
            assert!(shrunk.to <= shrunk.from, "program {number}, {outcome}");
            check(&program, &outcome, shrunk.to, shrunk.trace, shrunk.proof);
            seen.push(outcome);
        }
    }
}

#[test]
fn a_proven_minimum_is_the_smallest_of_all_schedules() {
    let mut checked = 0;
    for_each_walk(u64::MAX, |program, outcome, to, _, proof| {
        assert!(matches!(proof, Proof::Proved { wholly: true, .. }), "{proof:?}");
        assert_eq!(to, smallest(program, outcome), "{outcome}");
        checked += 1;
    });
    assert!(checked > PROGRAMS as usize, "{checked}");
}

#[test]
fn with_a_small_budget_no_switch_can_be_removed_from_the_result() {
    let (mut checked, mut smallest_of_all) = (0, 0);
    for_each_walk(3, |program, outcome, to, trace, _| {
        for choices in without_one_switch(&trace) {
            let Ok(run) = drive::follow(program.0, choices) else { continue };
            let now = program.trace(&run);
            let same = now.failure.as_ref().is_some_and(|one| one.signature == outcome);
            assert!(!same || Size::of(&now.execution) >= to, "{outcome}: {to:?}");
        }
        checked += 1;
        smallest_of_all += usize::from(to.preemptions == smallest(program, outcome).preemptions);
    });
    // Without a proof it is still the smallest in most cases.
    assert!(smallest_of_all * 10 >= checked * 9, "{smallest_of_all} of {checked}");
}

/// The schedules with one switch removed: a task continues with its next steps instead.
fn without_one_switch(trace: &Trace) -> Vec<Vec<Choice>> {
    let choices: Vec<Choice> = trace.execution.choices().collect();
    let mut moves: Vec<(TaskId, Vec<Choice>)> = Vec::new();
    for choice in choices {
        match (choice, moves.last_mut()) {
            (Choice::Task(task), _) => moves.push((task, vec![choice])),
            (Choice::Data { .. }, Some((_, made))) => made.push(choice),
            (Choice::Data { .. }, None) => {}
        }
    }
    let mut found = Vec::new();
    for at in 1..moves.len() {
        let task = moves[at - 1].0;
        if moves[at].0 == task {
            continue;
        }
        let Some(next) = (at..moves.len()).find(|&later| moves[later].0 == task) else { continue };
        let end = (next..moves.len()).find(|&later| moves[later].0 != task).unwrap_or(moves.len());
        let order = (0..at).chain(next..end).chain(at..next).chain(end..moves.len());
        found.push(order.flat_map(|at| moves[at].1.clone()).collect());
    }
    found
}

#[test]
fn passing_and_unreproducible_schedules_are_refused() {
    let Generated { program, .. } = generated(SEED, 0, CAP);
    let machine = Machine::new(&program);
    let program = Abstract(&machine);
    let run = drive::runs(&machine, &mut Random::new(0)).next().expect("one");
    let mut trace = program.trace(&run);
    if let Some(failure) = &mut trace.failure {
        failure.signature = "another".into();
    }
    let refused = shrink(&program, &trace, 10, &AtomicBool::new(false), &mut Silent);
    assert!(matches!(refused, Err(Refused::NotReproduced(_))), "{refused:?}");
    trace.failure = None;
    let refused = shrink(&program, &trace, 10, &AtomicBool::new(false), &mut Silent);
    assert!(matches!(refused, Err(Refused::Passes)), "{refused:?}");
}
