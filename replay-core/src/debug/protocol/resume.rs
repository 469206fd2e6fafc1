//! How the debugger wants the program to go on. gdbstub collects the wish; `stub` has it done after.

use super::debuggee::{Debuggee, task};
use gdbstub::common::{Signal, Tid};
use gdbstub::target::ext::base::multithread::{
    MultiThreadRangeStepping, MultiThreadRangeSteppingOps, MultiThreadResume,
    MultiThreadSchedulerLocking, MultiThreadSchedulerLockingOps, MultiThreadSingleStep,
    MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use std::convert::Infallible;
use std::ops::Range;

/// What is to happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Forwards(Forwards),
    /// A task steps backwards.
    StepBack(u16),
    ContinueBack,
}

/// Which threads are to do what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Forwards {
    /// The one that steps, as long as it stays in the range.
    pub(super) step: Option<(u16, Range<u64>)>,
    /// Another was told to go on.
    continued: bool,
    /// All that were not told anything are to be held back.
    locked: bool,
}

impl Forwards {
    /// Whether nothing but the step is to happen.
    pub(super) fn is_alone(&self) -> bool {
        self.step.is_some() && self.locked && !self.continued
    }
}

impl Debuggee<'_> {
    fn forwards(&mut self) -> &mut Forwards {
        if !matches!(self.wanted, Wanted::Forwards(_)) {
            self.wanted = Wanted::Forwards(Forwards::default());
        }
        match &mut self.wanted {
            Wanted::Forwards(forwards) => forwards,
            _ => unreachable!("just set"),
        }
    }

    fn check(&mut self, signal: Option<Signal>) {
        if let Some(signal) = signal {
            self.session.check_signal(signal.0);
        }
    }
}

impl MultiThreadResume for Debuggee<'_> {
    fn resume(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Infallible> {
        self.wanted = Wanted::Forwards(Forwards::default());
        Ok(())
    }

    fn set_resume_action_continue(
        &mut self,
        _: Tid,
        signal: Option<Signal>,
    ) -> Result<(), Infallible> {
        self.check(signal);
        self.forwards().continued = true;
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<MultiThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for Debuggee<'_> {
    fn set_resume_action_step(
        &mut self,
        thread: Tid,
        signal: Option<Signal>,
    ) -> Result<(), Infallible> {
        self.check(signal);
        self.forwards().step.get_or_insert((task(thread), 0..0));
        Ok(())
    }
}

impl MultiThreadRangeStepping for Debuggee<'_> {
    fn set_resume_action_range_step(
        &mut self,
        thread: Tid,
        start: u64,
        end: u64,
    ) -> Result<(), Infallible> {
        self.forwards().step.get_or_insert((task(thread), start..end));
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for Debuggee<'_> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Infallible> {
        self.forwards().locked = true;
        Ok(())
    }
}

impl ReverseStep<Tid> for Debuggee<'_> {
    fn reverse_step(&mut self, thread: Tid) -> Result<(), Infallible> {
        self.wanted = Wanted::StepBack(task(thread));
        Ok(())
    }
}

impl ReverseCont<Tid> for Debuggee<'_> {
    fn reverse_cont(&mut self) -> Result<(), Infallible> {
        self.wanted = Wanted::ContinueBack;
        Ok(())
    }
}
