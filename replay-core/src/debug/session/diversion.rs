//! Changes of memory or registers and function calls, made in a copy of the process that is
//! discarded when the program continues.

use super::Session;
use super::changed_copy::Diversion;
use crate::Error;
use crate::debug::execution::{OnHit, Reason, Stop};
use crate::debug::process::machine::{ProcessState, SCRATCH};
use crate::debug::process::registers::{RIP, RSP, Values};

impl Session<'_> {
    /// Sets the selected task's registers; false if the process has ended.
    pub(crate) fn change(&mut self, values: &Values) -> Result<bool, Error> {
        if matches!(self.execution.live().state(), ProcessState::Gone(_)) {
            return Ok(false);
        }
        self.divert()?.more = true;
        self.put(values)?;
        Ok(true)
    }

    /// Loads registers into the process.
    fn put(&mut self, values: &Values) -> Result<(), Error> {
        let live = self.execution.live_mut();
        let mut general = live.tracee().registers()?;
        let mut vector = live.tracee().vector()?;
        values.write_to(&mut general, &mut vector);
        general.orig_rax = u64::MAX;
        live.tracee().set_registers(&general)?;
        live.tracee().set_vector(&mut vector)?;
        live.leave_hook();
        Ok(())
    }

    /// Writes memory; false if it cannot be written.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<bool, Error> {
        if matches!(self.execution.live().state(), ProcessState::Gone(_)) {
            return Ok(false);
        }
        // The debugger may write to its own memory freely.
        let own = SCRATCH.contains(&address);
        if !own {
            self.divert()?;
        }
        let done = self.execution.live().tracee().write(address, bytes).is_ok();
        if let Some(diversion) = self.diversion.as_mut().filter(|_| done && !own) {
            diversion.written.push((address, bytes.to_vec()));
        }
        Ok(done)
    }

    /// Replaces the process by a copy that may be changed.
    fn divert(&mut self) -> Result<&mut Diversion, Error> {
        if self.diversion.is_none() {
            let diversion = self.diverted()?;
            self.diversion = Some(diversion);
        }
        self.diversion.as_mut().ok_or_else(|| Error::Runtime("there is no copy".to_owned()))
    }

    fn diverted(&mut self) -> Result<Diversion, Error> {
        let selected = self.selected;
        let values = self.values()?;
        let running = self.execution.live().state() == ProcessState::Program
            && self.execution.live().current() == selected;
        let (original, at) = self.execution.divert()?;
        if !running {
            // The copy's only kernel thread becomes this task.
            self.put(&values)?;
        }
        Ok(Diversion { original, at, values, written: Vec::new(), more: false })
    }

    /// Discards the copy.
    pub(super) fn undivert(&mut self) -> bool {
        let Some(diversion) = self.diversion.take() else { return false };
        self.execution.rejoin(diversion.original, diversion.at);
        true
    }

    pub(super) fn discard(&mut self) {
        if self.undivert() {
            self.print(
                "[sched] changes discarded: they were made in a copy of the process, not in the \
                 recorded execution\n",
            );
        }
    }

    /// Resumes a changed copy. If its instruction pointer has changed, the debugger calls a
    /// function.
    pub(super) fn resume_diverted(&mut self, stepping: Option<u16>) -> Result<Stop, Error> {
        let now = self.values()?;
        let same = match &self.diversion {
            Some(diversion) => {
                now.word(RIP) == diversion.values.word(RIP)
                    && now.word(RSP) == diversion.values.word(RSP)
            }
            None => true,
        };
        if same {
            self.discard();
            return self.resume(stepping, 0..0);
        }
        let task = self.selected;
        let stop = match stepping {
            Some(_) => self.execution.step_one(self.execution.live().current(), OnHit::Stop)?,
            None => self.execution.resume()?,
        };
        if matches!(stop.reason, Reason::End | Reason::Gone(_)) {
            self.print(
                "[sched] the call reached a scheduling point, which the recorded schedule does not \
                 contain; it was aborted\n",
            );
            if let Some(diversion) = &self.diversion {
                self.execution.at = diversion.at.clone();
            }
            // The debugger undoes a call that a signal ended.
            return Ok(Stop { task, reason: Reason::Signal(libc::SIGABRT) });
        }
        Ok(Stop { task, reason: stop.reason })
    }
}
