//! Random small programs whose main belongs to a test harness: it creates the task of a test, runs only
//! when no other task can, and meets the other tasks at variables, locks and waits.

use super::generated::{body, compose};
use super::program::{At, Code, Program, Value};
use crate::rng::Rng;

/// Program number `number` of a seed.
#[must_use]
pub fn program(seed: u64, number: u64) -> Program {
    let rng = &mut Rng::new(seed, number);
    let themes: [&[u32]; 4] = [&[0, 1, 2], &[0, 1, 4, 4], &[0, 1, 4, 5, 6], &[1, 4, 7, 7, 8, 9]];
    let mut program = compose(rng, &themes, body, vec![0, 0, 0, 1, 0], 2);
    program.main_last = true;
    // What composed programs do in main is the test, which runs in a separate task.
    let test = program.tasks.len();
    program.tasks.push((program.code.len(), 0));
    let harness = vec![Code::Create(test), Code::Join(test), Code::End];
    let test = std::mem::replace(&mut program.code[0], harness);
    program.code.push(test);
    for _ in 0..rng.below(4) {
        let own = operation(rng);
        let at = rng.below(program.code[0].len() as u32) as usize;
        program.code[0].splice(at..at, own);
    }
    program
}

/// An operation of main, without jumps.
fn operation(rng: &mut Rng) -> Vec<Code> {
    let variable = At(rng.below(2) as usize, None);
    let lock = At(rng.below(2) as usize, None);
    match rng.below(8) {
        0 => vec![Code::Load(1, variable)],
        1 => vec![Code::Store(variable, Value::Is(3))],
        2 => vec![Code::Lock(lock), Code::Store(variable, Value::Is(4)), Code::Unlock(lock)],
        3 => vec![Code::Lock(lock), Code::Unlock(lock)],
        4 => vec![Code::Lock(At(0, None)), Code::Wait(0, 0), Code::Unlock(At(0, None))],
        5 => vec![Code::Post(3 + rng.below(2) as usize)],
        6 => vec![if rng.below(2) == 0 { Code::Signal(0) } else { Code::Broadcast(0) }],
        _ => vec![Code::Take(3 + rng.below(2) as usize)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::generated::{classes, number_of_programs};
    use crate::simulation::runs;
    use crate::strategy::bounded_dpor::BoundedDpor;
    use crate::strategy::dfs::{Dfs, Measure};
    use crate::strategy::dpor::Dpor;
    use crate::strategy::iterative::Iterative;
    use crate::{Coverage, Strategy};
    use std::collections::BTreeMap;

    const SEED: u64 = 23;

    /// Programs with more schedules than this are left out.
    const MOST: usize = 3_000;

    fn programs() -> impl Iterator<Item = (u64, Program)> {
        let all = (0..number_of_programs(300)).map(|number| (number, program(SEED, number)));
        all.filter(|(_, program)| runs(program, &mut Dfs::new(None)).take(MOST + 1).count() <= MOST)
    }

    #[test]
    fn strategies_run_every_class_in_which_main_is_last() {
        let mut wrong = Vec::new();
        let (mut schedules, mut of_dpor, mut all_classes) = (0, 0, 0);
        for (number, program) in programs() {
            let mut known = BTreeMap::new();
            for (class, run) in classes(&program, Dfs::new(None)) {
                let end = (run.ending.expect("it was not given up"), run.variables);
                let (before, least) = known.entry(class).or_insert((end.clone(), run.preemptions));
                assert_eq!(*before, end, "program {number}: one class, two ends");
                *least = run.preemptions.min(*least);
                schedules += 1;
            }
            let mut dpor = Dpor::new();
            let mut found: Vec<u64> =
                classes(&program, &mut dpor).map(|(class, _)| class).collect();
            let executions = found.len();
            found.sort_unstable();
            let expected: Vec<u64> = known.keys().copied().collect();
            let is_complete = dpor.coverage() == Coverage::Complete { bound: None };
            if found != expected || !is_complete {
                wrong.push((number, "dpor", u32::MAX, expected.len(), executions));
            }
            of_dpor += executions;
            all_classes += expected.len();
            for bound in 0..=2 {
                let within = known.iter().filter(|(_, (_, least))| *least <= bound);
                let expected: Vec<u64> = within.map(|(&class, _)| class).collect();
                let mut check = |name, found: Vec<u64>| {
                    let mut found = found;
                    found.sort_unstable();
                    found.dedup();
                    if found != expected {
                        wrong.push((number, name, bound, expected.len(), found.len()));
                    }
                };
                let bounded = classes(&program, BoundedDpor::new(bound));
                check("bounded dpor", bounded.map(|(class, _)| class).collect());
                let icb = classes(&program, Iterative::new(Measure::Preemptions, Some(bound)));
                check("icb", icb.map(|(class, _)| class).collect());
            }
        }
        println!("{schedules} schedules, {all_classes} classes, dpor {of_dpor} executions");
        assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    }
}
