//! Every reachable state of a program, to test searches that leave out repetitions of states.

use super::execution::Ending;
use super::machine::Machine;
use super::program::Program;
use std::collections::{BTreeSet, HashMap};

/// A program's states, as a graph.
#[derive(Debug, Clone, Default)]
pub struct States {
    /// For each state: the variables, the ending if the program ends there, and the successors.
    all: Vec<(Vec<i64>, Option<Ending>, Vec<usize>)>,
}

impl States {
    /// All reachable states. The program must have finitely many.
    #[must_use]
    pub fn of(program: &Program) -> States {
        let mut states = States::default();
        let mut known = HashMap::new();
        let mut open = vec![Machine::new(program)];
        known.insert(open[0].key(), 0);
        states.all.push((open[0].variables.clone(), None, Vec::new()));
        while let Some(machine) = open.pop() {
            let number = known[&machine.key()];
            let tasks: Vec<_> =
                (0..machine.tasks.len()).filter_map(|task| machine.next(task)).collect();
            let able: Vec<_> = tasks.iter().filter(|next| next.enabled).collect();
            let ending = match () {
                () if machine.failed => Some(Ending::Assertion),
                () if machine.over || tasks.is_empty() => Some(Ending::Passed),
                () if able.is_empty() => Some(Ending::Deadlock),
                () => None,
            };
            states.all[number].1 = ending;
            for next in able.iter().filter(|_| ending.is_none()) {
                let mut after = machine.clone();
                after.step(next.task.index());
                let fresh = states.all.len();
                let at = *known.entry(after.key()).or_insert(fresh);
                states.all[number].2.push(at);
                if at == fresh {
                    states.all.push((after.variables.clone(), None, Vec::new()));
                    open.push(after);
                }
            }
        }
        states
    }

    /// The endings of all executions, with the values of the variables. A state with enabled tasks
    /// from which no state with other variables is reachable is a livelock.
    #[must_use]
    pub fn endings(&self) -> BTreeSet<(Ending, Vec<i64>)> {
        self.endings_of(usize::MAX)
    }

    /// The same, where only the first `count` variables matter.
    #[must_use]
    pub fn endings_of(&self, count: usize) -> BTreeSet<(Ending, Vec<i64>)> {
        let shown = |variables: &[i64]| variables[..variables.len().min(count)].to_vec();
        let mut leads_on = vec![false; self.all.len()];
        loop {
            let mut more = false;
            for (number, (variables, ending, next)) in self.all.iter().enumerate() {
                let on = ending.is_some()
                    || next
                        .iter()
                        .any(|&at| leads_on[at] || shown(&self.all[at].0) != shown(variables));
                more |= on && !std::mem::replace(&mut leads_on[number], on);
            }
            if !more {
                break;
            }
        }
        let ends = self.all.iter().zip(leads_on).filter_map(|((variables, ending, _), on)| {
            let ending = if on { (*ending)? } else { Ending::Livelock };
            Some((ending, shown(variables)))
        });
        ends.collect()
    }
}
