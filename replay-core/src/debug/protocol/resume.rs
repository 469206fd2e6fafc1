//! Resuming the program. gdbstub collects the request; `stub` executes it.

use super::debuggee::{Debuggee, task};
use super::resume_request::{Forwards, ResumeRequest};
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

impl Debuggee<'_> {
    fn forwards(&mut self) -> &mut Forwards {
        if !matches!(self.wanted, ResumeRequest::Forwards(_)) {
            self.wanted = ResumeRequest::Forwards(Forwards::default());
        }
        match &mut self.wanted {
            ResumeRequest::Forwards(forwards) => forwards,
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
        self.wanted = ResumeRequest::Forwards(Forwards::default());
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
        self.wanted = ResumeRequest::StepBack(task(thread));
        Ok(())
    }
}

impl ReverseCont<Tid> for Debuggee<'_> {
    fn reverse_cont(&mut self) -> Result<(), Infallible> {
        self.wanted = ResumeRequest::ContinueBack;
        Ok(())
    }
}
