//! The strategies against brute-force enumeration, over generated programs and without any process.

use search::reduction::events::{Event, Order};
use search::share::frontier::{Frontier, PortionSizes};
use search::strategy::auto::Auto;
use search::strategy::bounded_dpor::BoundedDpor;
use search::strategy::dfs::{Dfs, Measure};
use search::strategy::dpor::Dpor;
use search::strategy::follow::{Follow, NonPreemptive};
use search::strategy::iterative::Iterative;
use search::strategy::random::Random;
use search::{
    Coverage, Decision, GiveUp, PendingOperation, PrefixReplay, Reduction, Strategy, View,
};
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;
use tests::oracle::drive::{Run, runs, search};
use tests::oracle::exit_status::programs;
use tests::oracle::machine::Machine;
use tests::oracle::{Generated, Outcome, Statistics, brute, generated, of_the_whole_api, suite};
use traces::wire::Plan;

const SEED: u64 = 1;
const PROGRAMS: u64 = 2_000;
/// Fewer schedules than for real processes: these tests are not optimized.
const CAP: u64 = 600;
const BOUNDS: [Option<u32>; 6] = [None, Some(0), Some(1), Some(2), Some(3), Some(4)];

/// The results of `work` for each number up to `programs`, computed on several threads.
fn in_parallel<T: Send>(programs: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = &work;
    let mut numbered: Vec<(u64, T)> = std::thread::scope(|scope| {
        let part = |worker| move || (worker..programs).step_by(workers).map(|n| (n, work(n)));
        let parts = (0..workers as u64).map(|worker| scope.spawn(move || part(worker)().collect()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| -> Vec<_> { part.join().expect("a check") }).collect()
    });
    numbered.sort_by_key(|&(number, _)| number);
    numbered.into_iter().map(|(_, result)| result).collect()
}

/// Calls `check` for each program, on several threads.
fn for_each_program(check: impl Fn(u64, &Generated, &Machine<'_>) + Sync) {
    static PROGRAMS: LazyLock<Vec<Generated>> =
        LazyLock::new(|| in_parallel(self::PROGRAMS, |number| generated(SEED, number, CAP)));
    in_parallel(self::PROGRAMS, |number| {
        let generated = &PROGRAMS[number as usize];
        check(number, generated, &Machine::new(&generated.program));
    });
}

fn outcome(run: &Run) -> Outcome {
    *run.outcome.as_ref().unwrap_or_else(|why| panic!("given up: {why:?}"))
}

#[test]
fn both_brute_force_enumerations_agree() {
    for_each_program(|number, generated, machine| {
        let least = brute::reach(machine).expect("the program was examined");
        assert_eq!(least, generated.survey.outcomes, "program {number}");
    });
}

#[test]
fn dfs_runs_every_schedule_once_and_finds_every_outcome() {
    for_each_program(|number, generated, machine| {
        for bound in BOUNDS {
            let mut dfs = Dfs::new(bound);
            let mut found = BTreeSet::new();
            let mut seen = HashSet::new();
            for run in runs(machine, &mut dfs) {
                found.insert(outcome(&run));
                assert!(bound.is_none_or(|bound| run.preemptions <= bound));
                assert!(seen.insert(run.choices), "program {number}: a schedule ran twice");
            }
            assert_eq!(found, generated.outcomes_within(bound), "program {number}, {bound:?}");
            let executions = seen.len() as u64;
            assert_eq!(
                executions,
                generated.schedules_within(bound),
                "program {number}, {bound:?}"
            );
            assert_eq!(dfs.coverage(), Coverage::Complete { bound });
        }
    });
}

/// Every schedule, and a number that identifies the happens-before relation of each.
struct Classes {
    schedules: Dfs,
    order: Order,
    seen: HashSet<u64>,
}

impl Strategy for Classes {
    fn begin(&mut self, number: u64) -> bool {
        self.order.clear();
        self.schedules.begin(number)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        let decision = self.schedules.choose(view);
        if let Decision::Task(task) = decision {
            let next = view.next(task).expect("an enabled task has not ended");
            let event = Event::new(next, self.order.count(task));
            self.order.step(&event);
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = self.schedules.choose_data(of);
        self.order.note(u64::from(taken));
        taken
    }

    fn end(&mut self, outcome: search::Outcome) {
        self.schedules.end(outcome);
    }
}

impl PrefixReplay for Classes {}

impl Reduction for Classes {
    fn pending_at_end(&mut self, _: &[PendingOperation]) {
        self.seen.insert(self.order.hash());
    }
}

#[test]
fn dpor_runs_one_execution_for_each_class_and_finds_every_outcome() {
    let different = std::sync::Mutex::new(Vec::new());
    for_each_program(|number, generated, machine| {
        let mut dpor = Dpor::new();
        let all: Vec<Run> = runs(machine, &mut dpor).collect();
        let found: BTreeSet<Outcome> = all.iter().map(outcome).collect();
        assert_eq!(found, generated.outcomes_within(None), "program {number}");
        if generated.program.rwlocks.contains(&true) && dpor.coverage() == Coverage::Open {
            return;
        }
        assert_eq!(dpor.coverage(), Coverage::Complete { bound: None }, "program {number}");
        let mut classes =
            Classes { schedules: Dfs::new(None), order: Order::default(), seen: HashSet::new() };
        let schedules = runs(machine, &mut classes).count();
        let counts = (number, all.len(), classes.seen.len(), schedules);
        // With several workers, however few executions each runs before they share their results.
        let portions = [(2, 1, 1), (3, 1, 2), (8, 3, 1), (64, 1, 4)];
        let (pieces, first, most) = portions[number as usize % portions.len()];
        let portions = PortionSizes { pieces, first, most };
        let mut shared = Frontier::in_portions(Plan::bounded("dpor", None), portions);
        let together = search(machine, &mut shared);
        let outcomes: BTreeSet<Outcome> = together.iter().map(outcome).collect();
        assert_eq!(outcomes, found, "program {number}, {portions:?}");
        assert_eq!(together.len(), all.len(), "program {number}, {portions:?}");
        let believed = shared.coverage() == Coverage::Complete { bound: None };
        // `dpor` treats this many yields without a step of another task as a loop in which other
        // tasks must run.
        let loops = machine.most_yields() > 2;
        if !loops && (all.len() != classes.seen.len() || !believed) {
            different.lock().expect("no check failed").push(counts);
        }
    });
    let different = different.into_inner().expect("no check failed");
    assert!(different.is_empty(), "{} {different:?}", different.len());
}

#[test]
fn preemption_bounds_with_the_cache_lose_no_outcome() {
    for_each_program(|number, generated, machine| {
        for bound in 0..=3 {
            let mut icb = Iterative::new(Measure::Preemptions, Some(bound));
            let found: BTreeSet<Outcome> =
                runs(machine, &mut icb).filter_map(|run| run.outcome.ok()).collect();
            assert_eq!(found, generated.outcomes_within(Some(bound)), "program {number}, {bound}");
            assert!(
                matches!(icb.coverage(), Coverage::Complete { .. }),
                "program {number}, {bound}"
            );
        }
    });
}

#[test]
fn a_reduction_within_a_bound_finds_every_outcome_within_it() {
    let wrong = std::sync::Mutex::new(Vec::new());
    let runs_of = std::sync::Mutex::new([0; 2]);
    for_each_program(|number, generated, machine| {
        for bound in 0..=3 {
            let mut dpor = BoundedDpor::new(bound);
            let mut found = BTreeSet::new();
            let mut executions = 0;
            for run in runs(machine, &mut dpor) {
                found.insert(outcome(&run));
                assert!(run.preemptions <= bound, "program {number}, {bound}");
                executions += 1;
            }
            let whole = dpor.coverage() == Coverage::Complete { bound: None };
            let expected = generated.outcomes_within((!whole).then_some(bound));
            if found != expected {
                let missing: Vec<Outcome> = expected.difference(&found).copied().collect();
                let extra: Vec<Outcome> = found.difference(&expected).copied().collect();
                let size = generated.schedules_within(None);
                wrong.lock().expect("no check failed").push((size, number, bound, missing, extra));
            }
            let mut counts = runs_of.lock().expect("no check failed");
            counts[0] += executions;
            counts[1] += generated.schedules_within(Some(bound));
            if generated.program.rwlocks.contains(&true) && dpor.coverage() == Coverage::Open {
                continue;
            }
            let complete = matches!(dpor.coverage(), Coverage::Complete { .. });
            assert!(complete, "program {number}, {bound}");
        }
    });
    let [executions, schedules] = runs_of.into_inner().expect("no check failed");
    println!("{executions} executions of {schedules} schedules");
    let mut wrong = wrong.into_inner().expect("no check failed");
    wrong.sort();
    assert!(wrong.is_empty(), "{} wrong: {:?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}

#[test]
fn auto_and_delay_bounding_find_every_outcome() {
    for_each_program(|number, generated, machine| {
        let all = generated.outcomes_within(None);
        let mut auto = Auto::new(number);
        let found: BTreeSet<Outcome> =
            runs(machine, &mut auto).filter_map(|run| run.outcome.ok()).collect();
        assert_eq!(found, all, "program {number}");
        if generated.schedules_within(None) < 100 {
            let mut delay = Iterative::new(Measure::Delays, None);
            let found: BTreeSet<Outcome> =
                runs(machine, &mut delay).map(|run| outcome(&run)).collect();
            assert_eq!(found, all, "program {number} by delays");
        }
    });
}

#[test]
fn shared_bounded_searches_run_the_same_executions_as_one_worker() {
    for_each_program(|number, generated, machine| {
        let portions = PortionSizes { pieces: 3 + number as usize % 5, first: 1, most: 2 };
        for bound in [None, Some(1)] {
            let mut dfs = Frontier::in_portions(Plan::bounded("dfs", bound), portions);
            let schedules: HashSet<_> =
                search(machine, &mut dfs).into_iter().map(|run| run.choices).collect();
            let expected = generated.schedules_within(bound);
            assert_eq!((schedules.len() as u64, dfs.executions()), (expected, expected));
            assert_eq!(dfs.coverage(), Coverage::Complete { bound }, "program {number}");
            let mut icb = Frontier::in_portions(Plan::bounded("icb", bound), portions);
            let found: BTreeSet<Outcome> = search(machine, &mut icb).iter().map(outcome).collect();
            assert_eq!(found, generated.outcomes_within(bound), "program {number}, {bound:?}");
            assert!(matches!(icb.coverage(), Coverage::Complete { .. }), "program {number}");
        }
    });
}

#[test]
fn a_recorded_schedule_gives_the_same_execution() {
    for_each_program(|number, _, machine| {
        for recorded in runs(machine, &mut Random::new(number)).take(20) {
            let exact = Follow::new(recorded.choices.clone(), recorded.expected.clone());
            let loose = Follow::new(recorded.choices.clone(), Vec::new());
            for mut follow in [exact, loose] {
                let again = runs(machine, &mut follow).next();
                assert_eq!(again.as_ref(), Some(&recorded), "program {number}");
            }
        }
    });
}

#[test]
fn a_schedule_that_does_not_fit_is_reported() {
    for_each_program(|number, _, machine| {
        let recorded = runs(machine, &mut Random::new(number)).next().expect("it never ends");
        let last = recorded.expected.len() - 1;
        let mut expected = recorded.expected.clone();
        expected[last].1 ^= 1;
        let mut follow = Follow::new(recorded.choices, expected);
        let again = runs(machine, &mut follow).next().expect("one execution");
        let Err(GiveUp::Diverged(divergence)) = again.outcome else {
            panic!("program {number}: a different enabled set was not detected")
        };
        assert_eq!(divergence.step, last as u64, "program {number}");
    });
}

#[test]
fn random_finds_only_possible_outcomes() {
    for_each_program(|number, generated, machine| {
        for run in runs(machine, &mut Random::new(number)).take(50) {
            assert!(generated.outcomes.contains(&outcome(&run)), "program {number}");
        }
    });
}

#[test]
fn the_default_schedule_is_the_first_of_dfs_and_has_no_preemption() {
    for_each_program(|number, _, machine| {
        let default = runs(machine, &mut NonPreemptive).next().expect("it never ends");
        assert_eq!(default.preemptions, 0, "program {number}");
        assert_eq!(runs(machine, &mut Dfs::new(Some(0))).next(), Some(default), "program {number}");
    });
}

#[test]
fn suites_are_deterministic_and_varied() {
    let made = suite(SEED, 200);
    assert_eq!(made.c_source, suite(SEED, 200).c_source);
    let statistics = Statistics::of(&made.programs);
    println!("{statistics}");
    let some = ["lost wake-ups", "data choices", "robust mutexes", "futex calls", "C11"];
    for name in some.into_iter().chain(["cancellation", "signals", "limits of time"]) {
        assert!(statistics.count(name) > Some(1), "{name}\n{statistics}");
    }
    assert!(statistics.count("two outcomes or more") > Some(140), "{statistics}");
    assert!(made.schedules() < 200 * 800, "{statistics}");
}

#[test]
fn a_suite_compiles_without_a_warning() {
    let directory = std::env::temp_dir().join(format!("oracle-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let made = suite(SEED, 100);
    let program = made.compile(&directory).expect("a compiler that likes it");
    // The native outcome is up to the kernel, but there is no program number 100.
    let status = std::process::Command::new(program).arg("100").status().expect("it starts");
    assert_eq!(status.code(), Some(127));
    std::fs::remove_dir_all(&directory).expect("the directory was there");
}

#[test]
fn searches_of_programs_with_the_whole_api_agree_with_brute_force() {
    let claims = std::sync::Mutex::new([0; 2]);
    in_parallel(programs(300) as u64, |number| {
        let number = 100_000 + number;
        let generated = of_the_whole_api(SEED, number, CAP);
        let machine = Machine::new(&generated.program);
        let least = brute::reach(&machine).expect("the program was examined");
        assert_eq!(least, generated.survey.outcomes, "program {number}");
        let mut dfs = Dfs::new(None);
        let all: Vec<Run> = runs(&machine, &mut dfs).collect();
        assert_eq!(all.len() as u64, generated.schedules, "program {number}");
        let found: BTreeSet<Outcome> = all.iter().map(outcome).collect();
        assert_eq!(found, generated.outcomes, "program {number}");
        for run in runs(&machine, &mut Random::new(number)).take(20) {
            assert!(generated.outcomes.contains(&outcome(&run)), "program {number}");
            let mut again = Follow::new(run.choices.clone(), run.expected.clone());
            assert_eq!(runs(&machine, &mut again).next(), Some(run), "program {number}");
        }
        // A reduction may miss some of these, but then it must not claim completeness.
        let mut dpor = Dpor::new();
        let found: BTreeSet<Outcome> =
            runs(&machine, &mut dpor).filter_map(|run| run.outcome.ok()).collect();
        let whole = dpor.coverage() == Coverage::Complete { bound: None };
        assert!(found.is_subset(&generated.outcomes), "program {number}");
        assert!(!whole || found == generated.outcomes, "program {number}: {found:?}");
        claims.lock().expect("no check failed")[usize::from(whole)] += 1;
    });
    let [open, whole] = claims.into_inner().expect("no check failed");
    println!("dpor is complete on {whole} programs and does not claim it on {open}");
}
