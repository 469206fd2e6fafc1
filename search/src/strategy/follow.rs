//! Follows a given schedule: the non-preemptive one, or a recorded one with every step compared.

use crate::strategy::descriptor::Descriptor;
use crate::{
    Decision, Divergence, GiveUp, Outcome, PrefixReplay, Reduction, Shareable, Strategy, View,
};
use serde::{Deserialize, Serialize};
use traces::{Choice, Operation};

/// The descriptor of the non-preemptive schedule.
pub const NON_PREEMPTIVE: Descriptor = Descriptor::new("default", "no preemption").unlisted();

/// The non-preemptive scheduler: each task runs until it blocks or yields.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NonPreemptive;

impl Strategy for NonPreemptive {
    fn begin(&mut self, _: u64) -> bool {
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        Decision::Task(view.default_task())
    }

    fn choose_data(&mut self, _: u32) -> u32 {
        0
    }

    fn end(&mut self, _: Outcome) {}
}

impl PrefixReplay for NonPreemptive {}

impl Shareable for NonPreemptive {
    const MEMORYLESS: bool = true;
}

impl Reduction for NonPreemptive {}

/// Follows recorded choices, and after them the non-preemptive schedule.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Follow {
    choices: Vec<Choice>,
    /// The operation and the enabled set's digest of each step, or empty.
    expected: Vec<(u8, u32)>,
    next: usize,
    /// A divergence found by a function that cannot return one; the next `choose` reports it.
    pending: Option<Divergence>,
}

impl Follow {
    /// Follows `choices`, and compares with `expected` unless that is empty.
    #[must_use]
    pub fn new(choices: Vec<Choice>, expected: Vec<(u8, u32)>) -> Follow {
        Follow { choices, expected, next: 0, pending: None }
    }

    /// Whether the execution has repeated every step of a recording, and has not left it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.pending.is_none() && !self.expected.is_empty() && self.next >= self.expected.len()
    }

    /// The divergence of an execution that ended after `steps` steps, before the recording did, or
    /// made a wrong data choice in its last step. [`Strategy::choose`] is not called again after
    /// that, so it cannot report these.
    #[must_use]
    pub fn divergence_at_end(&self, steps: u64) -> Option<Divergence> {
        if let Some(divergence) = &self.pending {
            return Some(divergence.clone());
        }
        let recorded = self.expected.len() as u64;
        (steps < recorded).then(|| Divergence {
            step: steps,
            what: format!("the program ended here; the recording continues to step {recorded}"),
        })
    }

    fn compare(&self, view: &View<'_>, choice: Choice) -> Result<Decision, String> {
        let Choice::Task(task) = choice else {
            return Err("the recorded step made a data choice; this one did not".into());
        };
        let Ok(at) = view.enabled.binary_search(&task) else {
            return Err(format!("{task} ran in the recording, but is not enabled now"));
        };
        if let Some(&(code, digest)) = self.expected.get(view.step as usize) {
            let now = view.operations[at];
            if now.code() != code {
                let before = Operation::from_code(code).map_or("?", Operation::name);
                return Err(format!(
                    "{task} executed `{before}` in the recording, but its next operation is now `{}`",
                    now.name()
                ));
            }
            if digest != view.digest {
                let able: Vec<String> = view.enabled.iter().map(ToString::to_string).collect();
                return Err(format!(
                    "the recording has other enabled tasks than now ({})",
                    able.join(" ")
                ));
            }
        }
        Ok(Decision::Task(task))
    }
}

impl Strategy for Follow {
    fn begin(&mut self, _: u64) -> bool {
        self.next = 0;
        self.pending = None;
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if let Some(divergence) = self.pending.take() {
            return Decision::GiveUp(GiveUp::Diverged(divergence));
        }
        let Some(&choice) = self.choices.get(self.next) else {
            if self.expected.is_empty() {
                return Decision::Task(view.default_task());
            }
            return Decision::GiveUp(GiveUp::Diverged(Divergence {
                step: view.step,
                what: "the recording ends here, but the program continues".into(),
            }));
        };
        self.next += 1;
        match self.compare(view, choice) {
            Ok(decision) => decision,
            Err(what) => Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what })),
        }
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        match self.choices.get(self.next) {
            Some(&Choice::Data { taken, of: before }) if before == of => {
                self.next += 1;
                taken
            }
            Some(_) => {
                // The running step is the last one taken.
                let taken = &self.choices[..self.next];
                let steps = taken.iter().filter(|choice| matches!(choice, Choice::Task(_))).count();
                self.pending = Some(Divergence {
                    step: steps.saturating_sub(1) as u64,
                    what: format!(
                        "a data choice among {of} outcomes that the recording does not have"
                    ),
                });
                0
            }
            None => 0,
        }
    }

    fn end(&mut self, _: Outcome) {}
}

impl PrefixReplay for Follow {}

impl Shareable for Follow {
    const MEMORYLESS: bool = true;
}

impl Reduction for Follow {}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{TaskId, enabled};

    const TASKS: [TaskId; 2] = [TaskId(0), TaskId(1)];

    fn choose(follow: &mut Follow, step: u64, operation: Operation) -> Decision {
        follow.choose(&View {
            step,
            running: None,
            yielded: false,
            site: 0,
            enabled: &TASKS,
            operations: &[operation; 2],
            digest: enabled::digest(TASKS),
            expiries: &[],
            gave_way: false,
            tasks: &[],
        })
    }

    /// The step of the divergence, and what differs there.
    fn diverged_at(decision: Decision) -> Option<(u64, String)> {
        match decision {
            Decision::GiveUp(GiveUp::Diverged(Divergence { step, what })) => Some((step, what)),
            _ => None,
        }
    }

    fn at(step: u64, what: &str) -> Option<(u64, String)> {
        Some((step, what.to_owned()))
    }

    fn task(task: u16) -> Choice {
        Choice::Task(TaskId(task))
    }

    #[test]
    fn choices_are_followed_and_then_the_default() {
        let mut follow =
            Follow::new(vec![task(1), Choice::Data { taken: 2, of: 3 }, task(0)], Vec::new());
        for number in 1..3 {
            assert!(follow.begin(number));
            assert_eq!(choose(&mut follow, 0, Operation::Signal), Decision::Task(TaskId(1)));
            assert_eq!(follow.choose_data(3), 2);
            assert_eq!(choose(&mut follow, 1, Operation::Lock), Decision::Task(TaskId(0)));
            assert_eq!(choose(&mut follow, 2, Operation::Lock), Decision::Task(TaskId(0)));
            assert_eq!(follow.choose_data(2), 0);
        }
    }

    #[test]
    fn another_operation_or_enabled_set_or_length_is_a_divergence() {
        let expected = (Operation::Lock.code(), enabled::digest(TASKS));
        let mut follow = Follow::new(vec![task(0), task(0)], vec![expected; 2]);
        follow.begin(1);
        assert_eq!(choose(&mut follow, 0, Operation::Lock), Decision::Task(TaskId(0)));
        assert_eq!(
            diverged_at(choose(&mut follow, 1, Operation::Unlock)),
            at(1, "T0 executed `lock` in the recording, but its next operation is now `unlock`")
        );

        follow.begin(2);
        choose(&mut follow, 0, Operation::Lock);
        choose(&mut follow, 1, Operation::Lock);
        assert_eq!(
            diverged_at(choose(&mut follow, 2, Operation::Lock)),
            at(2, "the recording ends here, but the program continues")
        );

        let other = (Operation::Lock.code(), enabled::digest([TaskId(0)]));
        let mut follow = Follow::new(vec![task(0)], vec![other]);
        follow.begin(1);
        assert_eq!(
            diverged_at(choose(&mut follow, 0, Operation::Lock)),
            at(0, "the recording has other enabled tasks than now (T0 T1)")
        );
        let mut follow = Follow::new(vec![task(5)], Vec::new());
        follow.begin(1);
        assert_eq!(
            diverged_at(choose(&mut follow, 0, Operation::Lock)),
            at(0, "T5 ran in the recording, but is not enabled now")
        );
        let mut follow = Follow::new(vec![Choice::Data { taken: 0, of: 2 }], Vec::new());
        follow.begin(1);
        assert_eq!(
            diverged_at(choose(&mut follow, 0, Operation::Lock)),
            at(0, "the recorded step made a data choice; this one did not")
        );
    }

    #[test]
    fn another_data_choice_is_reported_at_its_step() {
        let two = Choice::Data { taken: 1, of: 2 };
        let mut follow = Follow::new(vec![task(0), two, task(0), two, task(0)], Vec::new());
        follow.begin(1);
        choose(&mut follow, 0, Operation::Signal);
        assert_eq!(follow.choose_data(2), 1);
        choose(&mut follow, 1, Operation::Signal);
        assert_eq!(follow.choose_data(3), 0);
        assert_eq!(
            diverged_at(choose(&mut follow, 2, Operation::Signal)),
            at(1, "a data choice among 3 outcomes that the recording does not have")
        );
    }

    #[test]
    fn an_execution_that_ends_early_differs_at_its_end() {
        let expected = (Operation::Lock.code(), enabled::digest(TASKS));
        let mut follow = Follow::new(vec![task(0); 3], vec![expected; 3]);
        follow.begin(1);
        choose(&mut follow, 0, Operation::Lock);
        let ended = follow.divergence_at_end(1).expect("two steps are missing");
        assert_eq!(
            (ended.step, ended.what.as_str()),
            (1, "the program ended here; the recording continues to step 3")
        );
        assert!(follow.divergence_at_end(3).is_none());
    }
}
