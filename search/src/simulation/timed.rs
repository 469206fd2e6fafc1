//! Random small programs that sleep and wait with time limits, to compare strategies with all their
//! schedules at different slacks.

use super::execution::{Ending, runs};
use super::generated::{classes, compose, fail_unless_less, store_unless};
use super::program::{At, Code, Compare, Program, Value, Wanted};
use crate::reduction::events::Map;
use crate::rng::Rng;
use crate::strategy::dfs::Dfs;
use crate::time::{SECOND, Slack};

/// Programs with more schedules than this are not generated.
const MOST: usize = 1_500;

/// The end of an execution: how, and with which values of the variables.
pub type End = (Ending, Vec<i64>);

/// A program and all its classes of executions, each with its end.
#[derive(Debug, Clone)]
pub struct Timed {
    /// The program.
    pub program: Program,
    /// By class: the end of its executions, and the fewest preemptions of any of its schedules.
    pub classes: Map<u64, (End, u32)>,
    /// The number of its schedules.
    pub schedules: usize,
    /// Whether two executions of one class ended differently.
    pub contradicts: bool,
    /// Whether the base falls in one of them, or a step disables an expiry.
    pub base_falls: bool,
}

impl Timed {
    /// Program number `number` of a seed; none if it has too many schedules.
    #[must_use]
    pub fn new(seed: u64, number: u64, slack: Slack) -> Option<Timed> {
        Timed::of(Program { slack, ..program(&mut Rng::new(seed, number)) })
    }

    /// All classes of a program; none if it has too many schedules.
    #[must_use]
    pub fn of(program: Program) -> Option<Timed> {
        let mut schedules = 0;
        let mut is_cut = false;
        for run in runs(&program, &mut Dfs::new(None)).take(MOST + 1) {
            schedules += 1;
            is_cut |= run.ending == Ok(Ending::Cut);
        }
        // A program that does not end has more schedules than are run.
        if schedules > MOST && !is_cut {
            return None;
        }
        let mut timed = Timed {
            program,
            classes: Map::default(),
            schedules: 0,
            contradicts: false,
            base_falls: false,
        };
        for (class, run) in classes(&timed.program, Dfs::new(None)).take(MOST) {
            let end = (run.ending.expect("it was not given up"), run.variables);
            let known = timed.classes.entry(class).or_insert((end.clone(), run.preemptions));
            known.1 = known.1.min(run.preemptions);
            timed.contradicts |= known.0 != end;
            timed.base_falls |= run.base_fell;
            timed.schedules += 1;
        }
        Some(timed)
    }
}

/// Generates a program.
fn program(rng: &mut Rng) -> Program {
    let themes: [&[u32]; 8] = [
        &[0, 1, 2, 2],
        &[0, 1, 2, 3, 4, 8],
        &[0, 1, 2, 5, 6, 6],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[0, 1, 2, 9, 10],
        &[1, 2, 11, 12],
        &[1, 1, 13, 14],
        &[0, 1, 2, 13, 14],
    ];
    compose(rng, &themes, body, vec![0, 0, 0, 0], 2)
}

fn body(rng: &mut Rng, theme: &[u32]) -> Vec<Code> {
    let mutex = At(0, None);
    let mut code = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let value = Value::Is(1 + i64::from(rng.below(2)));
        let here = At(rng.below(2) as usize, None);
        let limit = [SECOND / 5, SECOND / 2, 3 * SECOND / 2, 3 * SECOND][rng.below(4) as usize];
        match theme[rng.below(theme.len() as u32) as usize] {
            0 => code.push(Code::Load(1, here)),
            1 => code.push(Code::Store(here, value)),
            2 => code.push(Code::Sleep(limit)),
            // A lock, under which the task may sleep.
            3 => {
                code.push(Code::Lock(mutex));
                if rng.below(2) == 0 {
                    code.push(Code::Sleep(limit));
                }
                code.extend([Code::Store(here, value), Code::Unlock(mutex)]);
            }
            // A lock with a time limit.
            4 => {
                let next = code.len() + 4;
                code.push(Code::TimedLock(2, mutex, limit));
                code.push(Code::If(Value::Register(2), Compare::Equal, Value::Is(1), next));
                code.extend([Code::Store(here, value), Code::Unlock(mutex)]);
            }
            // A wait with a time limit.
            5 => code.extend([
                Code::Lock(mutex),
                Code::TimedWait(2, 0, 0, limit),
                Code::Unlock(mutex),
                Code::Store(At(2, None), Value::Register(2)),
            ]),
            // One lock under another; the task may sleep in between.
            8 => {
                let first = rng.below(2) as usize;
                let [one, other] = [first, 1 - first].map(|at| At(at, None));
                code.push(Code::Lock(one));
                if rng.below(2) == 0 {
                    code.push(Code::Sleep(limit));
                }
                code.extend([Code::Lock(other), Code::Store(here, value)]);
                code.extend([Code::Unlock(other), Code::Unlock(one)]);
            }
            // A semaphore with a time limit.
            9 => code.extend([
                Code::TimedTake(2, 3, limit),
                Code::Store(At(2, None), Value::Register(2)),
            ]),
            10 => code.push(Code::Post(3)),
            // A futex with a time limit.
            11 => code.extend([
                Code::FutexWait(2, here.0, Value::Is(0), limit),
                Code::Store(At(2, None), Value::Register(2)),
            ]),
            12 => code.extend([Code::Store(here, value), Code::FutexWake(here.0)]),
            // A wait as for descriptors, mostly with a time limit; and what makes them not ready.
            13 => {
                let of = if rng.below(3) == 0 { [0, 1] } else { [here.0; 2] };
                let limit = (rng.below(4) > 0).then_some(limit);
                let wanted = Wanted { register: 1, of, takes: rng.below(2) == 0, limit };
                code.push(Code::Ready(wanted));
                code.push(Code::Store(At(2, None), Value::Register(1)));
            }
            14 => code.push(Code::Store(here, Value::Is(0))),
            6 => code.push(if rng.below(2) == 0 { Code::Signal(0) } else { Code::Broadcast(0) }),
            // The clock, in steps of 100 ms.
            _ => {
                code.push(Code::Now(3));
                code.push(Code::Store(At(2, None), Value::Register(3)));
            }
        }
        // Sometimes a branch depends on the value that was read.
        match rng.below(8) {
            0 => store_unless(&mut code, value, here),
            1 => fail_unless_less(&mut code),
            _ => {}
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::execution::Run;
    use crate::simulation::generated::number_of_programs;
    use crate::simulation::programs;
    use crate::strategy::bounded_dpor::BoundedDpor;
    use crate::strategy::dfs::Measure;
    use crate::strategy::dpor::Dpor;
    use crate::strategy::iterative::Iterative;
    use crate::{Coverage, Strategy};
    use std::collections::{BTreeMap, BTreeSet};

    const SEED: u64 = 11;
    const SLACKS: [Slack; 3] = [Some(0), Some(SECOND), None];

    /// The classes that a strategy runs, and the number of its executions.
    fn found<S: Strategy>(program: &Program, strategy: S) -> (BTreeSet<u64>, usize) {
        let mut executions = 0;
        let found = classes(program, strategy).map(|(class, _)| class);
        let found = found.inspect(|_| executions += 1).collect();
        (found, executions)
    }

    #[test]
    fn executions_of_one_class_end_alike() {
        let mut wrong = Vec::new();
        for slack in SLACKS {
            for number in 0..number_of_programs(100) {
                let Some(timed) = Timed::new(SEED, number, slack) else { continue };
                let stuck = timed.classes.values().any(|((ending, _), _)| *ending == Ending::Cut);
                if timed.contradicts || timed.base_falls || stuck {
                    wrong.push((slack, number, timed.schedules));
                }
            }
        }
        assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(9)]);
    }

    #[test]
    fn more_slack_loses_no_class_of_a_smaller_one() {
        for number in 0..number_of_programs(100) {
            let all: Vec<_> = SLACKS.iter().map(|&slack| Timed::new(SEED, number, slack)).collect();
            for pair in all.windows(2) {
                let [Some(less), Some(more)] = pair else { continue };
                let lost = less.classes.keys().find(|class| !more.classes.contains_key(class));
                assert_eq!(lost, None, "program {number}");
            }
        }
    }

    #[test]
    fn strategies_run_every_class_at_every_slack() {
        let mut wrong = Vec::new();
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for slack in SLACKS {
            for number in 0..number_of_programs(100) {
                let Some(timed) = Timed::new(SEED, number, slack) else { continue };
                let program = &timed.program;
                let mut check = |name, bound: u32, (found, executions): (BTreeSet<u64>, usize)| {
                    let within = timed.classes.iter().filter(|(_, (_, least))| *least <= bound);
                    let expected: BTreeSet<u64> = within.map(|(&class, _)| class).collect();
                    let count = counts.entry(name).or_default();
                    *count = (count.0 + expected.len(), count.1 + executions);
                    if found != expected {
                        let size = timed.schedules;
                        wrong.push((size, number, slack, name, bound, expected.len(), found.len()));
                    }
                };
                let mut dpor = Dpor::new();
                check("dpor", u32::MAX, found(program, &mut dpor));
                assert_eq!(dpor.coverage(), Coverage::Complete { bound: None }, "{number}");
                for bound in 0..=2 {
                    check("bounded dpor", bound, found(program, BoundedDpor::new(bound)));
                    let icb = Iterative::new(Measure::Preemptions, Some(bound));
                    check("icb", bound, found(program, icb));
                }
            }
        }
        println!("classes, executions: {counts:?}");
        wrong.sort();
        assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(40)]);
    }

    /// A task looks at a variable, and if that is 0 waits for it for a time, in a loop; another sets it, at
    /// once or after a while.
    #[test]
    fn a_loop_of_waits_with_limits_is_one_wait() {
        let flag = At(0, None);
        let wanted = Wanted { register: 1, of: [0, 0], takes: false, limit: Some(SECOND / 100) };
        let poll = vec![
            Code::Load(1, flag),
            Code::If(Value::Register(1), Compare::Differ, Value::Is(0), 4),
            Code::Ready(wanted),
            Code::If(Value::Register(1), Compare::Equal, Value::Is(0), 0),
            Code::End,
        ];
        let set = vec![Code::Store(flag, Value::Is(1)), Code::End];
        let set_later = [&[Code::Sleep(SECOND / 200)], &set[..]].concat();
        for setter in [set, set_later] {
            let bodies = vec![poll.clone(), setter];
            let program = programs::with(bodies, vec![(0, 0), (1, 0)], vec![0], 0, &[]);
            let program = Program { slack: Some(SECOND), ..program };
            let all: Vec<(u64, Run)> = classes(&program, Dfs::new(None)).collect();
            assert!(all.iter().all(|(_, run)| run.ending == Ok(Ending::Passed)));
            let all: BTreeSet<u64> = all.iter().map(|&(class, _)| class).collect();
            // The setter comes first, or after a look, an expiry, or a second look; then the task waits.
            assert_eq!(all.len(), 4);
            let mut dpor = Dpor::new();
            assert_eq!(found(&program, &mut dpor), (all, 4));
            assert_eq!(dpor.coverage(), Coverage::Complete { bound: None });
        }
    }
}
