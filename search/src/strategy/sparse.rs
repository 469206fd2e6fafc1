//! A few preemptions, placed uniformly over the whole length of the execution.
//!
//! A uniform walk preempts at half of all steps or more, so that in a long execution it never runs
//! a task undisturbed for long enough to reach the state in which one preemption would make it fail.
//! Here the number of preemptions does not grow with the length: up to `N` of them (drawn
//! uniformly from 1 to `N`), each at an opportunity drawn uniformly from all opportunities. An
//! opportunity is a step at which a running task could continue and another one is enabled.
//! At all other steps the next task is drawn uniformly, since such a switch costs no preemption.
//!
//! This samples the schedules that Musuvathi and Qadeer, "Iterative Context Bounding for Systematic
//! Testing of Multithreaded Programs" (2007), enumerate. As in `pct`, the number of opportunities
//! is that of the longest execution so far, so the first execution has none.

use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::strategy::drawn_positions::DrawnPositions;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor = Descriptor::new(
    "sparse",
    "a few preemptions, anywhere in a long execution",
)
.with_parameter('N', "the most preemptions of an execution", 3);

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sparse {
    seed: u64,
    most: u32,
    rng: Rng,
    /// The opportunities at which this execution preempts.
    preemptions: DrawnPositions,
}

impl Sparse {
    /// A search with this seed and at most this many preemptions in an execution, which is 1 or more.
    #[must_use]
    pub fn new(seed: u64, most: u32) -> Sparse {
        Sparse {
            seed,
            most: most.max(1),
            rng: Rng::new(seed, 0),
            preemptions: DrawnPositions::default(),
        }
    }
}

impl Strategy for Sparse {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        let known = self.preemptions.is_length_known();
        let count = if known { 1 + self.rng.below(self.most) } else { 0 };
        self.preemptions.begin(&mut self.rng, count);
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let n = view.enabled.len() as u32;
        let continues = view.running.filter(|_| !view.yielded);
        let continues = continues.and_then(|task| view.enabled.binary_search(&task).ok());
        let Some(running) = continues else {
            return Decision::Task(view.enabled[self.rng.below(n) as usize]);
        };
        if n == 1 {
            return Decision::Task(view.enabled[running]);
        }
        let preempts = self.preemptions.pass_all();
        self.preemptions.advance();
        if !preempts {
            return Decision::Task(view.enabled[running]);
        }
        // Each of the other enabled tasks has the same probability.
        let other = self.rng.below(n - 1) as usize;
        Decision::Task(view.enabled[other + usize::from(other >= running)])
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {
        self.preemptions.end();
    }

    fn active_part(&self) -> &'static str {
        "sparse"
    }
}

impl PrefixReplay for Sparse {}

impl Shareable for Sparse {
    const SHARING: Sharing = Sharing::ByNumber;

    fn merge(&mut self, other: &Sparse) {
        self.preemptions.merge(&other.preemptions);
    }
}

impl Reduction for Sparse {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{At, Code, Compare, Ending, Program, Run, Value, programs, runs};
    use crate::strategy::random::Random;
    use std::collections::BTreeSet;
    use traces::{Operation, TaskId, enabled};

    /// Two tasks that are always enabled, for `length` steps: the steps at which the running task
    /// was preempted.
    fn preempted(sparse: &mut Sparse, number: u64, length: u64) -> Vec<u64> {
        let tasks = [TaskId(0), TaskId(1)];
        assert!(sparse.begin(number));
        let mut running = None;
        let mut at = Vec::new();
        for step in 0..length {
            let view = View {
                step,
                running,
                yielded: false,
                site: 0,
                enabled: &tasks,
                operations: &[Operation::Lock; 2],
                digest: enabled::digest(tasks),
                expiries: &[],
                gave_way: false,
                tasks: &[],
            };
            let Decision::Task(task) = sparse.choose(&view) else { panic!("it never gives up") };
            if view.preempts(task) {
                at.push(step);
            }
            running = Some(task);
        }
        sparse.end(Outcome::Passed);
        at
    }

    #[test]
    fn preemptions_are_few_and_cover_the_whole_length() {
        let mut sparse = Sparse::new(3, 4);
        let length = 10_001;
        assert_eq!(preempted(&mut sparse, 1, length), [] as [u64; 0], "the length is unknown");
        let (mut tenths, mut counts) = ([0; 10], BTreeSet::new());
        for number in 2..=2_000 {
            let at = preempted(&mut sparse, number, length);
            counts.insert(at.len());
            at.iter().for_each(|step| tenths[((step - 1) / 1_000) as usize] += 1);
        }
        assert_eq!(counts, BTreeSet::from([1, 2, 3, 4]));
        // 1,999 executions with 2.5 preemptions on average are 500 in each tenth.
        assert!(tenths.iter().all(|&n| (400..600).contains(&n)), "{tenths:?}");
    }

    #[test]
    fn no_execution_has_more_preemptions_than_asked() {
        for most in 1..=3 {
            let mut sparse = Sparse::new(1, most);
            let program = programs::work_stealing(2, 3);
            let counts: BTreeSet<u32> =
                runs(&program, &mut sparse).take(500).map(|run| run.preemptions).collect();
            assert_eq!(counts, (0..=most).collect(), "at most {most}");
        }
    }

    #[test]
    fn an_execution_depends_on_seed_number_and_longest_length_alone() {
        let mut one = Sparse::new(7, 3);
        preempted(&mut one, 1, 1_000);
        let fifth = preempted(&mut one, 5, 1_000);
        assert_eq!(preempted(&mut one, 5, 1_000), fifth);
        let mut other = Sparse::new(7, 3);
        other.merge(&one);
        assert_eq!(preempted(&mut other, 5, 1_000), fifth);
        assert_ne!(preempted(&mut other, 6, 1_000), fifth);
    }

    /// One task counts to 24; the other reads the count 10 times, and fails if all reads give 12.
    fn one_preemption_in_the_middle() -> Program {
        let (count, is) = (At(0, None), Value::Is);
        let counter = (1..=24).map(|value| Code::Store(count, is(value))).collect();
        let reads = 10;
        let give_up = 2 * reads + 1;
        let mut reader: Vec<Code> = (0..reads)
            .flat_map(|_| {
                let other = Code::If(Value::Register(1), Compare::Differ, is(12), give_up);
                [Code::Load(1, count), other]
            })
            .collect();
        reader.push(Code::Fail);
        programs::with(vec![counter, reader], vec![(0, 0), (1, 0)], vec![0], 0, &[])
    }

    #[test]
    fn it_reaches_a_state_from_which_a_uniform_walk_departs() {
        let program = one_preemption_in_the_middle();
        fn failures(program: &Program, strategy: &mut impl Strategy) -> usize {
            let failed = |run: &Run| run.ending == Ok(Ending::Assertion);
            runs(program, strategy).take(5_000).filter(failed).count()
        }
        let sparse = failures(&program, &mut Sparse::new(1, 1));
        let uniform = failures(&program, &mut Random::new(1));
        assert!(sparse >= 20 && sparse > 10 * uniform, "{sparse} and {uniform} of 5,000");
    }
}
