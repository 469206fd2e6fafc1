use super::*;
use crate::prefix::{Prefixed, TrailChoice, steps_in_common};
use crate::simulation::generated::Generated;
use crate::simulation::{Program, Run, programs, run};
use crate::{Decision, Outcome, PendingOperation, View};
use std::collections::{BTreeMap, BTreeSet};

/// The results of a complete search.
struct SearchSummary {
    runs: Vec<Run>,
    executions: u64,
    coverage: Coverage,
}

fn search(program: &Program, plan: Plan, most: u64) -> SearchSummary {
    search_in(program, Frontier::new(plan), most)
}

fn search_in(program: &Program, mut frontier: Frontier, most: u64) -> SearchSummary {
    let mut runs = Vec::new();
    loop {
        let round = frontier.round(most - frontier.runs());
        if round.is_empty() {
            break;
        }
        let mut settled = Vec::new();
        for piece in round {
            let searches = piece.searches;
            settled.push(work(piece, |strategy| {
                let run = run(program, strategy);
                let ended = run.ending.is_ok();
                if searches && ended {
                    runs.push(run);
                }
                ended
            }));
        }
        frontier.settle(settled);
    }
    SearchSummary { runs, executions: frontier.executions(), coverage: frontier.coverage() }
}

#[test]
fn complete_searches_have_exact_numbers_with_any_portion_sizes() {
    for (plan, program, expected) in [
        (Plan::bounded("dpor", None), programs::locked(7, 1), 5_040),
        (Plan::bounded("dpor", None), programs::lastzero(10), 3_328),
        (Plan::bounded("dpor", None), programs::readers(13), 8_192),
        (Plan::bounded("dpor", None), programs::locked(5, 1), 120),
        (Plan::bounded("stateless", None), programs::locked(7, 1), 5_040),
        (Plan::bounded("stateless", None), programs::lastzero(10), 3_328),
        (Plan::bounded("stateless", None), programs::readers(13), 8_192),
    ] {
        // One search alone, and many small pieces with as many parallel searches as possible.
        let small = |pieces| PortionSizes { pieces, first: 20, most: 100 };
        for portions in [PortionSizes::default(), small(64), small(5)] {
            let frontier = Frontier::in_portions(plan.clone(), portions);
            let results = search_in(&program, frontier, 100_000);
            assert_eq!(results.executions, expected, "{plan:?} {portions:?}");
            assert_eq!(
                results.coverage,
                Coverage::Complete { bound: None },
                "{plan:?} {portions:?}"
            );
        }
    }
}

/// A program of two or three tasks, each with a few accesses and critical sections.
fn some_program(seed: u64) -> Program {
    let mut rng = crate::rng::Rng::new(seed, 3);
    let tasks: Vec<String> = (0..2 + rng.below(2))
        .map(|_| {
            let operations = (0..2 + rng.below(3)).map(|_| match rng.below(4) {
                0 => "r a;",
                1 => "w a;",
                2 => "w b;",
                _ => "l m; r b; u m;",
            });
            operations.collect()
        })
        .collect();
    programs::short(&tasks.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_reported_share_is_right_within_a_factor_of_two_and_a_half() {
    let portions = PortionSizes { pieces: 16, first: 20, most: 100 };
    let plans = [
        (Plan::bounded("dfs", None), 60, 20_000),
        (Plan::bounded("icb", None), 40, 8_000),
        (Plan::bounded("delay", None), 40, 8_000),
    ];
    for (plan, programs, most) in plans {
        let (mut reported, mut searches) = (0, 0);
        for seed in 0..programs {
            let program = some_program(seed);
            let mut frontier = Frontier::in_portions(plan.clone(), portions);
            // For each level the reported shares with the number of executions at that time, and at
            // the end the level's number of executions.
            let mut said: Vec<(Option<u32>, f64, u64)> = Vec::new();
            let mut ends = Vec::new();
            loop {
                let round = frontier.round(most - frontier.runs());
                if round.is_empty() {
                    break;
                }
                let level = frontier.level();
                let done = |piece| work(piece, |strategy| run(&program, strategy).ending.is_ok());
                frontier.settle(round.into_iter().map(done).collect());
                if frontier.level() != level || frontier.is_over() {
                    ends.push((level, frontier.runs()));
                } else if let Some(covered) = frontier.covered() {
                    said.push((level, covered, frontier.runs()));
                }
            }
            searches += ends.len();
            for (level, covered, runs) in said {
                let Some(end) = ends.iter().position(|end| end.0 == level) else { continue };
                let before = end.checked_sub(1).map_or(0, |before| ends[before].1);
                let share = (runs - before) as f64 / (ends[end].1 - before) as f64;
                let factor = (covered / share).max(share / covered);
                assert!(factor <= 2.5, "{plan:?} {seed} {level:?}: {covered} reported for {share}");
                reported += 1;
            }
        }
        assert!(
            reported > 20 && searches > 20,
            "{plan:?}: {reported} shares of {searches} searches"
        );
    }
}

#[test]
fn no_schedule_of_a_depth_first_search_runs_twice() {
    for bound in [None, Some(2)] {
        let results = search(&programs::locked(3, 1), Plan::bounded("dfs", bound), 1_000_000);
        assert_eq!(results.coverage, Coverage::Complete { bound });
        let schedules: BTreeSet<_> =
            results.runs.iter().map(|run| format!("{:?}", run.choices)).collect();
        assert_eq!(schedules.len(), results.runs.len());
    }
}

#[test]
fn walks_have_the_numbers_from_one_on_each_once() {
    let program = programs::locked(2, 2);
    let results = search(&program, Plan::seeded("random", 3), 10_000);
    assert_eq!(results.executions, 10_000);
    let mut random = crate::strategy::random::Random::new(3);
    let all = crate::simulation::runs(&program, &mut random).take(10_000);
    let key = |run: &Run| format!("{:?}", run.choices);
    let mut expected: Vec<_> = all.map(|run| key(&run)).collect();
    let mut found: Vec<_> = results.runs.iter().map(key).collect();
    expected.sort();
    found.sort();
    assert!(found == expected);
}

#[test]
fn walks_that_learn_nothing_are_the_same_in_pieces_of_any_size() {
    let program = programs::account();
    let mut covered = Vec::new();
    for descriptor in crate::strategy::registry::listed() {
        let plan = Plan::seeded(descriptor.name, 7);
        let strategy = AnyStrategy::new(plan.clone());
        if strategy.sharing() != crate::Sharing::ByNumber || strategy.learns() {
            continue;
        }
        covered.push(descriptor.name);
        let large = PortionSizes { pieces: 1, first: 9_000, most: 9_000 };
        let whole = search_in(&program, Frontier::in_portions(plan.clone(), large), 9_000);
        let divided = search(&program, plan, 9_000);
        assert_eq!(whole.runs, divided.runs, "{}", descriptor.name);
    }
    assert!(covered.contains(&"random") && covered.len() > 2, "{covered:?}");
}

#[test]
fn long_random_searches_have_pieces_for_a_hundred_workers() {
    let mut frontier = Frontier::new(Plan::seeded("random", 1));
    let mut rounds = Vec::new();
    for _ in 0..6 {
        let round = frontier.round(u64::MAX);
        rounds.push((round.len(), round[0].budget));
        let result = |piece: Work| {
            let (executions, classes) = (piece.budget, Vec::new());
            WorkResult { work: piece, executions, redundant: 0, exhausted: false, classes }
        };
        frontier.settle(round.into_iter().map(result).collect());
    }
    let sizes =
        [(1, 500), (256, 1_000), (512, 1_000), (1_024, 1_000), (1_024, 2_000), (1_024, 2_000)];
    assert_eq!(rounds, sizes);
    // A search with a limit has no pieces that are too small.
    let mut frontier = Frontier::new(Plan::seeded("random", 1));
    let first = frontier.round(100_000);
    frontier.settle(first.into_iter().map(|piece| work(piece, |_| true)).collect());
    assert_eq!(frontier.round(100_000 - frontier.runs()).len(), 99);
}

#[test]
fn auto_continues_after_its_first_executions() {
    let program = programs::locked(3, 3);
    let results = search(&program, Plan::seeded("auto", 0), 200_000);
    assert_eq!(results.coverage, Coverage::Complete { bound: None });
    let cut = search(&program, Plan::seeded("auto", 0), 3_000);
    assert!(cut.executions <= 3_000);
    assert!(cut.executions > 2_500);
}

#[test]
fn coverage_within_a_bound_is_checked_by_walks_within_it() {
    let mut within = 0;
    for seed in 0..150 {
        let program = some_program(seed);
        for bound in 0..3 {
            for plan in [Plan::bounded("dpor", Some(bound)), Plan::bounded("icb", Some(bound))] {
                let mut frontier = Frontier::new(plan.clone());
                loop {
                    let round = frontier.round(1_000_000);
                    if round.is_empty() {
                        break;
                    }
                    let done =
                        |piece| work(piece, |strategy| run(&program, strategy).ending.is_ok());
                    frontier.settle(round.into_iter().map(done).collect());
                }
                let Coverage::Complete { bound: claimed } = frontier.coverage() else {
                    panic!("{plan:?} of program {seed} must be covered within its bound");
                };
                assert!(claimed.is_none() || claimed == Some(bound), "{plan:?}: {claimed:?}");
                assert!(frontier.checks() >= 20, "{plan:?} of program {seed} was checked");
                within += usize::from(claimed.is_some());
            }
        }
    }
    assert!(within > 300, "{within} searches had more beyond their bound");
}

/// A walk in a class that the search has not found shows that the search misses something.
#[test]
fn a_walk_in_an_unknown_class_refutes_coverage() {
    let program = programs::locked(2, 1);
    for unknown in [false, true] {
        let mut frontier = Frontier::new(Plan::bounded("dpor", None));
        loop {
            let round = frontier.round(1_000);
            if round.is_empty() {
                break;
            }
            let done = round.into_iter().map(|piece| {
                let walks = piece.part == CHECK;
                let mut result = work(piece, |strategy| run(&program, strategy).ending.is_ok());
                if walks && unknown {
                    result.classes.push(1);
                }
                result
            });
            frontier.settle(done.collect());
        }
        assert_eq!(frontier.is_refuted(), unknown);
        assert_eq!(frontier.coverage() == Coverage::Open, unknown);
    }
}

/// Also if a search diverges before the branch that it was given: no other search waits for that
/// branch.
#[test]
fn a_divided_search_of_a_program_that_changes_ends() {
    let before = programs::locked(4, 1);
    for (now, noticed) in [(programs::locked(3, 1), true), (programs::locked(4, 1), false)] {
        for changes in 0..30 {
            let portions = PortionSizes { pieces: 4, first: 3, most: 5 };
            let mut frontier = Frontier::in_portions(Plan::bounded("dpor", None), portions);
            let mut ran = 0;
            loop {
                let round = frontier.round(1_000 - frontier.runs());
                if round.is_empty() {
                    break;
                }
                let mut settled = Vec::new();
                for mut piece in round {
                    let mut strategy = Prefixed::new(Vec::new(), AnyStrategy::nothing());
                    strategy
                        .set_rest(std::mem::replace(&mut piece.strategy, AnyStrategy::nothing()));
                    let (mut executions, mut redundant, mut classes) = (0, 0, Vec::new());
                    let exhausted = loop {
                        if !strategy.will_retry() && executions >= piece.budget {
                            break false;
                        }
                        if !strategy.begin(piece.first + executions) {
                            break true;
                        }
                        let results =
                            run(if ran < changes { &before } else { &now }, &mut strategy);
                        redundant += u64::from(results.ending.is_err());
                        executions += 1;
                        ran += 1;
                        classes.extend(strategy.equivalence_class());
                    };
                    let work = piece.with(strategy.rest().clone());
                    settled.push(WorkResult { work, executions, redundant, exhausted, classes });
                }
                frontier.settle(settled);
            }
            let what = format!("{changes} before, {ran} in all");
            assert!(ran < 1_000 && frontier.is_over(), "{what}");
            let whole = Coverage::Complete { bound: None };
            assert!(!noticed || changes == 0 || frontier.coverage() != whole, "{what}");
        }
    }
}

/// A program whose searches begin again at almost every execution would otherwise run only the first
/// executions of a search, over and over.
#[test]
fn later_restarts_wait_for_more_executions() {
    let mut frontier = Frontier::new(Plan::seeded("auto", 1));
    let mut waits = Vec::new();
    for _ in 0..12 {
        let round = frontier.round(u64::MAX);
        assert_eq!(round.len(), 1);
        let work = &round[0];
        assert!(work.budget >= work.settles_after, "{work:?}");
        waits.push(work.settles_after);
        let paused = work.clone().after(5);
        assert_eq!(paused.settles_after, work.settles_after.saturating_sub(5));
        frontier.begin_again(Plan::seeded("auto", 1));
    }
    assert_eq!(waits, [0, 0, 0, 0, 16, 32, 64, 128, 256, 512, 1024, 2048]);
}

/// A piece of work that is paused goes to another process, perhaps on another machine.
#[test]
fn every_strategy_continues_the_same_after_it_was_stored() {
    let programs = [programs::account(), programs::locked(3, 2), some_program(4), some_program(11)];
    let mut failed = Vec::new();
    for descriptor in crate::strategy::registry::listed() {
        for (number, program) in programs.iter().enumerate() {
            let plan = Plan::seeded(descriptor.name, 7);
            let executions = |stores: bool| {
                let mut strategy = AnyStrategy::new(plan.clone());
                let mut runs = Vec::new();
                for execution in 1..=600 {
                    if !strategy.begin(execution) {
                        break;
                    }
                    runs.push(run(program, &mut strategy));
                    if stores {
                        let stored = traces::compact::encode(&strategy);
                        strategy = traces::compact::decode(&stored).expect("it was stored");
                    }
                }
                runs
            };
            let (whole, paused) = (executions(false), executions(true));
            let differs = whole.iter().zip(&paused).position(|(one, other)| one != other);
            if differs.is_some() || whole.len() != paused.len() {
                failed.push((descriptor.name, number, differs, whole.len(), paused.len()));
            }
        }
    }
    assert!(failed.is_empty(), "name, program, first that differs, executions: {failed:?}");
}

/// Records the choices of the last execution.
struct Recorded {
    search: Prefixed,
    trail: Vec<TrailChoice>,
}

impl Strategy for Recorded {
    fn begin(&mut self, number: u64) -> bool {
        let begins = self.search.begin(number);
        if begins {
            self.trail.clear();
        }
        begins
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let decision = self.search.choose(view);
        if let Decision::Task(task) = decision {
            self.trail.push(TrailChoice::step(task, view.digest));
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = self.search.choose_data(of);
        self.trail.push(TrailChoice::data(taken, of));
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        self.search.end(outcome);
    }
}

impl PrefixReplay for Recorded {}

impl Reduction for Recorded {
    fn needs_pending(&self) -> bool {
        self.search.needs_pending()
    }

    fn needs_pending_now(&self) -> bool {
        self.search.needs_pending_now()
    }

    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        self.search.pending_at_end(tasks);
    }
}

/// A search in one process, in which a piece of work takes over from the one before it what both have in
/// common if it `adopts`. Returns its classes with the number of executions of each, the number of all
/// executions with its coverage, and the number of steps that were taken over.
fn classes_in_pieces(
    program: &Program,
    plan: Plan,
    adopts: bool,
) -> (BTreeMap<u64, u64>, (u64, Coverage), usize) {
    let portions = PortionSizes { pieces: 8, first: 5, most: 12 };
    let mut frontier = Frontier::in_portions(plan, portions);
    let search = Prefixed::new(Vec::new(), AnyStrategy::nothing());
    let mut last = Recorded { search, trail: Vec::new() };
    let (mut classes, mut adopted) = (BTreeMap::new(), 0);
    loop {
        let round = frontier.round(3_000 - frontier.runs());
        if round.is_empty() {
            return (classes, (frontier.runs(), frontier.coverage()), adopted);
        }
        let mut settled = Vec::new();
        for mut piece in round {
            let strategy = std::mem::replace(&mut piece.strategy, AnyStrategy::nothing());
            let before = last.trail.clone();
            let mut common = 0;
            match adopts {
                true => common = last.search.continue_with(strategy, || before.clone()),
                false => last.search.set_rest(strategy),
            }
            let (mut executions, mut redundant, mut own) = (0, 0, Vec::new());
            let exhausted = loop {
                if executions >= piece.budget {
                    break false;
                }
                if !last.begin(piece.first + executions) {
                    break true;
                }
                common = common.min(last.search.common_steps());
                let given_up = run(program, &mut last).ending.is_err();
                let steps = steps_in_common(&last.trail, &before);
                assert!(executions > 0 || steps >= common, "{steps} of {common} steps are common");
                adopted += std::mem::take(&mut common);
                redundant += u64::from(given_up);
                executions += 1;
                let class = last.search.equivalence_class().filter(|_| !given_up);
                own.extend(class);
            };
            own.iter().for_each(|&class| *classes.entry(class).or_default() += 1);
            let work = piece.with(last.search.rest().clone());
            settled.push(WorkResult { work, executions, redundant, exhausted, classes: own });
        }
        frontier.settle(settled);
    }
}

/// What a process knows about the steps that a piece of work has in common with the one before does not
/// change what the search runs.
#[test]
fn pieces_that_continue_where_others_ended_run_the_same_executions() {
    let mut adopted = [0; 3];
    for seed in 0..400 {
        let program = Generated::new(9, seed).program;
        let plans = [
            Plan::bounded("dpor", None),
            Plan::bounded("icb", Some(2)),
            Plan::bounded("dfs", None),
        ];
        for (plan, adopted) in plans.into_iter().zip(&mut adopted) {
            let whole = classes_in_pieces(&program, plan.clone(), false);
            let continued = classes_in_pieces(&program, plan.clone(), true);
            assert_eq!((&whole.0, whole.1), (&continued.0, continued.1), "{plan:?} of {seed}");
            assert_eq!(whole.2, 0);
            *adopted += continued.2;
        }
    }
    assert!(adopted.iter().all(|&steps| steps > 1_000), "{adopted:?} steps were taken over");
}
