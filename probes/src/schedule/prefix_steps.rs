//! The decisions in the part that all executions have in common, before the program creates its first
//! thread.
//!
//! An execution that begins after that part does not make these decisions again, but the strategy sees
//! them: a strategy counts steps, and repeats or extends schedules from the first one on.

use search::{Decision, PendingOperation, Reduction, Strategy, View};
use std::cell::RefCell;
use traces::{Operation, TaskId};

/// More steps than this are not noted, since the strategy would have to be asked about each of them in
/// each execution.
const MOST: usize = 1 << 14;

/// One decision, with main as the only task that can be chosen.
struct PrefixStep {
    view: View<'static>,
    operation: Operation,
    /// Whether the step is an expiry.
    expires: bool,
    next: PendingOperation,
}

/// The decisions so far.
#[derive(Default)]
pub(crate) struct PrefixSteps {
    steps: Vec<PrefixStep>,
    /// Whether some decision had an alternative.
    branched: bool,
}

struct Noted(RefCell<PrefixSteps>);
// SAFETY: the controlled process has one kernel thread. The `RefCell` is borrowed only for the duration
// of `note` and `take`, which call nothing that borrows it.
unsafe impl Sync for Noted {}
static NOTED: Noted = Noted(RefCell::new(PrefixSteps { steps: Vec::new(), branched: false }));

/// Notes a decision.
#[cold]
pub(crate) fn note(view: &View, chosen: u16, next: impl FnOnce() -> PendingOperation) {
    let mut noted = NOTED.0.borrow_mut();
    let alone = chosen == 0 && view.enabled.len() == 1;
    if !alone || noted.steps.len() >= MOST {
        noted.branched = true;
        return;
    }
    let (operation, expires) = (view.operations[0], !view.expiries.is_empty());
    let view = View { enabled: &[], operations: &[], expiries: &[], tasks: &[], ..*view };
    noted.steps.push(PrefixStep { view, operation, expires, next: next() });
}

/// Whether all decisions were noted, and none had an alternative.
pub(crate) fn are_common() -> bool {
    !NOTED.0.borrow().branched
}

/// The decisions that were noted.
pub(crate) fn take() -> PrefixSteps {
    NOTED.0.take()
}

impl PrefixSteps {
    /// Shows all decisions to a strategy that begins an execution. An error is an answer that is not the
    /// only possible task.
    pub(crate) fn show(&self, strategy: &mut impl Strategy) -> Result<(), Decision> {
        for step in &self.steps {
            let main = &[TaskId(0)];
            let next = std::slice::from_ref(&step.next);
            let decision = strategy.choose(&View {
                enabled: main,
                operations: &[step.operation],
                expiries: if step.expires { main } else { &[] },
                tasks: if strategy.needs_pending_now() { next } else { &[] },
                ..step.view
            });
            if !matches!(decision, Decision::Task(TaskId(0))) {
                return Err(decision);
            }
        }
        Ok(())
    }
}
