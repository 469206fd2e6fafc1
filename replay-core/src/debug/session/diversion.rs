//! Changing memory or registers, and calling functions: in a copy of the process, which is thrown
//! away when the program goes on.

use super::Session;
use crate::Error;
use crate::debug::execution::position::Position;
use crate::debug::execution::{Notice, Reason, Stop};
use crate::debug::process::machine::{Machine, SCRATCH, Stand};
use crate::debug::process::registers::{RIP, RSP, Values};

/// A copy of the process that was changed, in place of what stands aside.
pub(super) struct Diversion {
    original: Machine,
    at: Position,
    /// The registers when it began.
    values: Values,
    /// What was written to memory, in order.
    pub(super) written: Vec<(u64, Vec<u8>)>,
    /// Whether anything else was changed: registers, or by a function that was called.
    pub(super) more: bool,
}

impl Session<'_> {
    /// Sets the selected task's registers; false where there are none any more.
    pub(crate) fn change(&mut self, values: &Values) -> Result<bool, Error> {
        if matches!(self.execution.live().stand(), Stand::Gone(_)) {
            return Ok(false);
        }
        self.divert()?.more = true;
        self.put(values)?;
        Ok(true)
    }

    /// Puts registers into the process, whichever task runs there.
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

    /// Writes memory; false where there is none.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<bool, Error> {
        if matches!(self.execution.live().stand(), Stand::Gone(_)) {
            return Ok(false);
        }
        // Its own memory a debugger may write as it likes.
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

    /// From here on a copy of the process is looked at, which may be changed.
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
        let running = self.execution.live().stand() == Stand::Program
            && self.execution.live().current() == selected;
        let (original, at) = self.execution.divert()?;
        if !running {
            // The copy's one kernel thread becomes this task, wherever it was.
            self.put(&values)?;
        }
        Ok(Diversion { original, at, values, written: Vec::new(), more: false })
    }

    /// Throws the copy away.
    pub(super) fn undivert(&mut self) -> bool {
        let Some(diversion) = self.diversion.take() else { return false };
        self.execution.rejoin(diversion.original, diversion.at);
        true
    }

    pub(super) fn discard(&mut self) {
        if self.undivert() {
            self.say(
                "[sched] changes discarded: they were made in a copy of the process, not in the \
                 recorded execution\n",
            );
        }
    }

    /// A resumption of a changed copy: a call from the debugger, if it goes on somewhere else.
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
            Some(_) => self.execution.step_one(self.execution.live().current(), Notice::Stop)?,
            None => self.execution.resume()?,
        };
        if matches!(stop.reason, Reason::End | Reason::Gone(_)) {
            self.say(
                "[sched] the call came to a scheduling point, where the recorded schedule has \
                 nothing to say; it was broken off\n",
            );
            if let Some(diversion) = &self.diversion {
                self.execution.at = diversion.at.clone();
            }
            // A debugger takes a call back that a signal ended.
            return Ok(Stop { task, reason: Reason::Signal(libc::SIGABRT) });
        }
        Ok(Stop { task, reason: stop.reason })
    }
}
