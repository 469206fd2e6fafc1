//! Random small programs with the complete set of their executions, to test strategies that promise
//! a set of executions.

use super::execution::{Ending, Run, run, runs};
use super::program::{At, Code, Compare, Program, Value, Wanted};
use super::programs;
use crate::reduction::events::{Map, Order};
use crate::rng::Rng;
use crate::strategy::dfs::Dfs;
use crate::{Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Strategy, View};

/// Programs with more schedules than this are not generated.
const MOST: usize = 1_500;

/// A wrapper that records the equivalence class of each execution of a strategy: the order of the
/// operations that depend on each other.
#[derive(Debug, Clone)]
pub struct Classed<S> {
    /// The strategy.
    pub strategy: S,
    order: Order,
}

impl<S> Classed<S> {
    /// Wraps this strategy.
    pub fn new(strategy: S) -> Classed<S> {
        Classed { strategy, order: Order::default() }
    }
}

impl<S: Strategy> Strategy for Classed<S> {
    fn begin(&mut self, number: u64) -> bool {
        self.order.clear();
        self.strategy.begin(number)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        let decision = self.strategy.choose(view);
        self.order.follow(view, &decision);
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = self.strategy.choose_data(of);
        self.order.note(u64::from(taken));
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        self.strategy.end(outcome);
    }
}

impl<S: Strategy> PrefixReplay for Classed<S> {}

impl<S: Strategy> Reduction for Classed<S> {
    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        self.strategy.pending_at_end(tasks);
    }

    fn needs_pending(&self) -> bool {
        true
    }

    fn equivalence_class(&self) -> Option<u64> {
        Some(self.order.hash())
    }
}

/// The executions of a strategy that ran to their end, each with its class.
pub fn classes<S: Strategy>(program: &Program, strategy: S) -> impl Iterator<Item = (u64, Run)> {
    let mut classed = Classed::new(strategy);
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            number += 1;
            if !classed.begin(number) {
                return None;
            }
            let run = run(program, &mut classed);
            if run.ending.is_ok() {
                return Some((classed.order.hash(), run));
            }
        }
    })
}

/// A program and all its equivalence classes.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The program.
    pub program: Program,
    /// Each class with the fewest preemptions of any of its schedules.
    pub classes: Map<u64, u32>,
    /// The number of its schedules.
    pub schedules: usize,
}

impl Generated {
    /// Program number `number` of a seed.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Generated {
        let mut rng = Rng::new(seed, number);
        loop {
            let program = program(&mut rng);
            let mut dfs = Dfs::new(None);
            if runs(&program, &mut dfs).take(MOST + 1).count() > MOST {
                continue;
            }
            let mut all = Map::default();
            let mut results = Map::default();
            let mut schedules = 0;
            for (class, run) in classes(&program, Dfs::new(None)) {
                assert_ne!(run.ending, Ok(Ending::Cut), "programs end");
                let least = all.entry(class).or_insert(run.preemptions);
                *least = run.preemptions.min(*least);
                let result = (run.ending, run.variables, run.registers);
                let known = results.entry(class).or_insert_with(|| result.clone());
                assert_eq!(*known, result, "equivalent executions have equal results: {program:?}");
                schedules += 1;
            }
            if all.len() > 1 || rng.below(10) == 0 {
                return Generated { program, classes: all, schedules };
            }
        }
    }

    /// The classes that have a schedule with at most `bound` preemptions.
    #[must_use]
    pub fn within(&self, bound: Option<u32>) -> Vec<u64> {
        let within = |least: u32| bound.is_none_or(|bound| least <= bound);
        let classes = self.classes.iter().filter(|&(_, &least)| within(least));
        let mut classes: Vec<u64> = classes.map(|(&class, _)| class).collect();
        classes.sort_unstable();
        classes
    }
}

/// Generates a program. Variables from number 3 on are semaphores.
fn program(rng: &mut Rng) -> Program {
    let themes: [&[u32]; 8] = [
        &[0, 1, 2, 3],
        &[0, 1, 4, 4, 4],
        &[0, 1, 4, 5, 6],
        &[0, 1, 4, 7, 8, 9],
        &[1, 10, 10, 11],
        &[0, 1, 12, 12, 13, 13, 14],
        &[0, 4, 15, 15, 15, 16, 16],
        &[0, 4, 15, 16, 17, 17, 17],
    ];
    let mut program = compose(rng, &themes, body, vec![0, 0, 0, 1, 0, 3, 1], 2);
    program.streams = vec![2, 1];
    program.counts = true;
    program
}

/// Generates a program of two or three tasks with these initial values of the variables, this many
/// mutexes and one condition variable. The bodies of all tasks are drawn from one of the themes,
/// which are lists of kinds of operations.
pub(super) fn compose(
    rng: &mut Rng,
    themes: &[&[u32]],
    body: fn(&mut Rng, &[u32]) -> Vec<Code>,
    variables: Vec<i64>,
    mutexes: usize,
) -> Program {
    let tasks = 2 + rng.below(2) as usize;
    let theme = themes[rng.below(themes.len() as u32) as usize];
    let bodies = (0..tasks).map(|_| body(rng, theme)).collect();
    let tasks = (0..tasks).map(|task| (task, task as i64)).collect();
    let mut program = programs::with(bodies, tasks, variables, mutexes, &[]);
    program.conditions = 1;
    if rng.below(4) == 0 {
        // Sometimes main ends the process without joining the tasks.
        let main = &mut program.code[0];
        main.retain(|code| !matches!(code, Code::Join(_)));
        let end = main.len() - 1;
        main.insert(end, Code::Exit);
    }
    program
}

/// Adds a store of the task's argument, which the task skips if it read `value`.
pub(super) fn store_unless(code: &mut Vec<Code>, value: Value, to: At) {
    code.push(Code::If(Value::Register(1), Compare::Equal, value, code.len() + 2));
    code.push(Code::Store(to, Value::Register(0)));
}

/// Adds a failure, which the task skips if it read less than 2.
pub(super) fn fail_unless_less(code: &mut Vec<Code>) {
    code.push(Code::If(Value::Register(1), Compare::Less, Value::Is(2), code.len() + 2));
    code.push(Code::Fail);
}

pub(super) fn body(rng: &mut Rng, theme: &[u32]) -> Vec<Code> {
    let variable = |rng: &mut Rng| At(rng.below(2) as usize, None);
    let mut code = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let value = Value::Is(1 + i64::from(rng.below(2)));
        let here = variable(rng);
        match theme[rng.below(theme.len() as u32) as usize] {
            0 => code.push(Code::Load(1, here)),
            1 => code.push(Code::Store(here, value)),
            2 => code.push(Code::CompareSwap(1, here, Value::Is(0), value)),
            3 => code.push(Code::FetchAdd(1, here, value)),
            4 => {
                let mutex = At(rng.below(2) as usize, None);
                code.push(Code::Lock(mutex));
                code.push(Code::Store(here, value));
                // One lock in eight is never released.
                if rng.below(8) > 0 {
                    code.push(Code::Unlock(mutex));
                }
            }
            5 => code.push(Code::Take(3 + rng.below(2) as usize)),
            6 => code.push(Code::Post(3 + rng.below(2) as usize)),
            7 => {
                code.extend([Code::Lock(At(0, None)), Code::Wait(0, 0), Code::Unlock(At(0, None))])
            }
            8 => code.push(Code::Signal(0)),
            10 => {
                let of = if rng.below(3) == 0 { [0, 1] } else { [here.0; 2] };
                let wanted = Wanted { register: 1, of, takes: rng.below(2) == 0, limit: None };
                code.push(match rng.below(2) {
                    0 => Code::Ready(wanted),
                    _ => Code::Transfer(wanted),
                });
            }
            11 => code.push(Code::Store(here, Value::Is(0))),
            12 => code.push(Code::Send(rng.below(5) as usize / 4, 1 + u64::from(rng.below(2)))),
            13 => {
                let (stream, len) = (rng.below(5) as usize / 4, 1 + u64::from(rng.below(2)));
                code.push(Code::Receive(1, stream, len));
            }
            14 => code.push(Code::Shut(rng.below(5) as usize / 4)),
            // A counter from 3 on, and one from 1 on.
            15 => code.push(Code::Count(1, At(5 + rng.below(3) as usize / 2, None), -1)),
            17 => {
                let number = 1 - 2 * i64::from(rng.below(2));
                code.push(Code::Add(At(rng.below(7) as usize / 5 * 5, None), number));
            }
            16 => code.push(Code::Count(1, At(5 + rng.below(3) as usize / 2, None), 1)),
            _ => code.push(Code::Broadcast(0)),
        }
        // Sometimes a branch depends on the value that was read.
        match rng.below(8) {
            0 => store_unless(&mut code, value, variable(rng)),
            1 => code.push(Code::Yield),
            2 => fail_unless_less(&mut code),
            _ => {}
        }
    }
    code
}

/// The number of programs that a test generates: `HEDDLE_GENERATED`, or this default. 2,000 take
/// too long for every test run.
#[cfg(test)]
pub(crate) fn number_of_programs(default: u64) -> u64 {
    let text = std::env::var("HEDDLE_GENERATED").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coverage;
    use crate::strategy::bounded_dpor::BoundedDpor;
    use crate::strategy::dfs::Measure;
    use crate::strategy::dpor::Dpor;
    use crate::strategy::iterative::Iterative;

    const SEED: u64 = 7;

    fn sorted(found: impl Iterator<Item = (u64, Run)>) -> (Vec<u64>, usize) {
        let mut all: Vec<u64> = found.map(|(class, _)| class).collect();
        let executions = all.len();
        all.sort_unstable();
        all.dedup();
        (all, executions)
    }

    #[test]
    fn strategies_that_promise_a_set_run_exactly_that_set() {
        let mut counts = [0; 5];
        let mut wrong = Vec::new();
        for number in 0..number_of_programs(300) {
            let generated = Generated::new(SEED, number);
            let Generated { program, schedules, .. } = &generated;
            let size = *schedules;
            let mut dpor = Dpor::new();
            let all = generated.within(None);
            let (found, executions) = sorted(classes(program, &mut dpor));
            if (&found, executions) != (&all, all.len())
                || dpor.coverage() != (Coverage::Complete { bound: None })
            {
                wrong.push((size, number, "dpor", u32::MAX, all.len(), found.len(), executions));
            }
            counts[0] += schedules;
            counts[1] += executions;
            for bound in 0..=3 {
                let expected = generated.within(Some(bound));
                let mut check = |name, found: Vec<u64>, executions| {
                    if found != expected {
                        let (all, found) = (expected.len(), found.len());
                        wrong.push((size, number, name, bound, all, found, executions));
                    }
                };
                let (found, executions) = sorted(classes(program, BoundedDpor::new(bound)));
                counts[2] += executions;
                check("bounded dpor", found, executions);
                let icb = Iterative::new(Measure::Preemptions, Some(bound));
                let (found, executions) = sorted(classes(program, icb));
                counts[3] += executions;
                check("icb", found, executions);
                counts[4] += expected.len();
            }
        }
        let [schedules, dpor, bounded, icb, classes] = counts;
        println!("{schedules} schedules, dpor {dpor}");
        println!("within bounds: {classes} classes, dpor {bounded}, icb {icb} executions");
        wrong.sort();
        assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    }

    /// Of several decrements of a counter, only the last one is ordered: as many executions as tasks that may be last.
    #[test]
    fn one_execution_for_each_task_that_may_use_up_a_counter() {
        for tasks in 2..=6 {
            let body = vec![Code::Count(1, At(0, None), -1)];
            let all = (0..tasks).map(|task| (0, task)).collect();
            let mut program = programs::with(vec![body], all, vec![tasks], 0, &[]);
            program.counts = true;
            let (found, executions) = sorted(classes(&program, Dpor::new()));
            assert_eq!((found.len(), executions), (tasks as usize, tasks as usize));
        }
    }

    /// Additions whose results are not observed have one order.
    #[test]
    fn one_execution_for_all_orders_of_additions() {
        let body = vec![Code::Add(At(0, None), 2), Code::Add(At(0, None), -1)];
        let all = (0..4).map(|task| (0, task)).collect();
        let mut program = programs::with(vec![body], all, vec![0], 0, &[]);
        program.counts = true;
        let (found, executions) = sorted(classes(&program, Dpor::new()));
        assert_eq!((found.len(), executions), (1, 1));
    }

    /// The process ends after main joined one task and before it joins the next, which has ended. Without a
    /// preemption main must have waited for that.
    #[test]
    fn a_process_may_end_between_two_joins() {
        let zero = At(0, None);
        let body = vec![Code::FetchAdd(1, zero, Value::Is(1))];
        let mut last = body.clone();
        fail_unless_less(&mut last);
        let tasks = (0..3).map(|task| (task as usize, task)).collect();
        let program = programs::with(vec![body.clone(), body, last], tasks, vec![0], 0, &[]);
        for bound in 0..3 {
            let (found, _) = sorted(classes(&program, BoundedDpor::new(bound)));
            let icb = Iterative::new(Measure::Preemptions, Some(bound));
            assert_eq!(found, sorted(classes(&program, icb)).0, "within {bound} preemptions");
        }
    }
}
