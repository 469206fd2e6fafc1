//! Changes of memory or registers and function calls, made in a copy of the process that is
//! discarded when the program continues.

use super::Session;
use super::changed_copy::Diversion;
use crate::Error;
use crate::debug::execution::{Call, OnHit, Reason, Stop};
use crate::debug::process::machine::{ProcessState, SCRATCH, StopEvent};
use crate::debug::process::registers::{RIP, RSP, Values};
use std::collections::BTreeSet;
use traces::Operation;

impl Session<'_> {
    /// Sets the selected task's registers; false if the process has ended.
    pub(crate) fn change(&mut self, values: &Values) -> Result<bool, Error> {
        if matches!(self.execution.live().state(), ProcessState::Gone(_)) {
            return Ok(false);
        }
        if self.seek.is_some() {
            // The execution is about to go elsewhere. lldb reads what it wrote.
            self.pretend(self.selected, values.clone());
            return Ok(true);
        }
        let task = self.selected;
        let diversion = self.divert()?;
        diversion.more = true;
        if self.execution.call.as_ref().is_none_or(|call| call.task != task) {
            self.let_call(task)?;
        }
        self.put(values)?;
        Ok(true)
    }

    /// Makes a task the one that the copy's only kernel thread executes.
    fn let_call(&mut self, task: u16) -> Result<(), Error> {
        let values = self.values()?;
        let others = match &mut self.diversion {
            Some(diversion) => {
                diversion.values = values.clone();
                diversion.threads.clone()
            }
            None => Vec::new(),
        };
        self.execution.live_mut().let_call(task)?;
        self.execution.call = Some(Call { task, others });
        self.put(&values)
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
        let diversion = match self.diversion.take() {
            Some(diversion) => diversion,
            None => self.diverted()?,
        };
        Ok(self.diversion.insert(diversion))
    }

    fn diverted(&mut self) -> Result<Diversion, Error> {
        let values = self.values()?;
        let threads = self.execution.threads()?.to_vec();
        let (original, at) = self.execution.divert()?;
        Ok(Diversion { original, at, values, threads, written: Vec::new(), more: false })
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

    fn is_in_runtime(&self) -> Result<bool, Error> {
        Ok(self.execution.live().is_runtime(self.execution.live().tracee().registers()?.rip))
    }

    /// The output so far, with what the C library's streams have not written yet: a copy writes it.
    fn flushed_output(&mut self) -> Result<Vec<u8>, Error> {
        let said = self.execution.live().output();
        let Some(flush) = self.execution.symbols.exported("fflush") else { return Ok(said) };
        if matches!(self.execution.live().state(), ProcessState::Gone(_) | ProcessState::End) {
            return Ok(said);
        }
        let mut copy = self.execution.copy_current()?;
        copy.forget_signal();
        // The function returns to the debugger's own memory, which has a breakpoint there.
        let back = SCRATCH.end - 16;
        let mut registers = copy.tracee().registers()?;
        registers.rsp = ((registers.rsp - 1024) & !15) - 8;
        (registers.rip, registers.rdi, registers.orig_rax) = (flush, 0, u64::MAX);
        let is_ready = copy.tracee().write(registers.rsp, &back.to_le_bytes()).is_ok()
            && copy.tracee().write(back, &[0x90]).is_ok();
        if !is_ready {
            return Ok(said);
        }
        copy.tracee().set_registers(&registers)?;
        let back = BTreeSet::from([back]);
        loop {
            match copy.run(&back)? {
                StopEvent::Hit(_) => return Ok(copy.output()),
                // The runtime serves the call when the copy continues.
                StopEvent::Call(_) | StopEvent::Stopped | StopEvent::Stepped => {}
                // It would have to wait for the lock of a stream.
                _ => return Ok(said),
            }
        }
    }

    fn is_at_breakpoint(&self) -> Result<bool, Error> {
        let rip = self.execution.live().tracee().registers()?.rip;
        Ok(self.execution.armed.breakpoints.contains_key(&rip))
    }

    /// Resumes a changed copy. If its instruction pointer has changed, the debugger calls a
    /// function.
    pub(super) fn resume_diverted(&mut self, stepping: Option<u16>) -> Result<Stop, Error> {
        if let Some(call) = &self.execution.call {
            self.selected = call.task;
        }
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
        if let Some(other) = stepping.filter(|&other| other != task) {
            // gdb steps another thread over its breakpoint first. That thread does not run here.
            return self.pretend_step(other);
        }
        let said = self.flushed_output()?.len();
        // What stopped the program before is no part of the call, nor what ended the call before.
        self.execution.live_mut().forget_signal();
        let kept = self.execution.copy_current()?;
        let stop = match stepping {
            Some(_) if !self.is_in_runtime()? => self.execution.step_one(task, OnHit::Stop)?,
            _ => self.execution.resume()?,
        };
        let output = match stop.reason {
            Reason::Gone(_) => Vec::new(),
            _ => self.flushed_output()?,
        };
        if let Some(output) = output.get(said..).filter(|output| !output.is_empty()) {
            let mut output = String::from_utf8_lossy(output).into_owned();
            if !output.ends_with('\n') {
                output.push('\n');
            }
            self.print(&output);
        }
        if let Some(diversion) = &self.diversion {
            self.execution.at = diversion.at.clone();
        }
        let why = match stop.reason {
            Reason::Waits => {
                let threads = self.execution.live_mut().tasks()?;
                let info = threads.get(usize::from(task));
                let operation = info.and_then(|info| Operation::from_code(info.operation as u8));
                let what = operation.map_or("wait", Operation::name);
                format!("the call has to wait for another thread ({what}), and none runs meanwhile")
            }
            Reason::End | Reason::Gone(_) => {
                let message = self.execution.live().message();
                match message.is_empty() {
                    true => "the call ended the process".to_owned(),
                    false => format!("the call ended the process: {message}"),
                }
            }
            // Debuggers let functions return to a breakpoint on the stack, which is not executable.
            Reason::Signal(libc::SIGSEGV) if self.is_at_breakpoint()? => {
                return Ok(Stop { task, reason: Reason::Breakpoint });
            }
            reason => return Ok(Stop { task, reason }),
        };
        self.print(&format!(
            "[sched] {why}; the copy of the process is as it was before the call\n"
        ));
        // The session continues with the state before the call.
        let (call, at) = (self.execution.call.take(), self.execution.at.clone());
        self.execution.rejoin(kept, at);
        self.execution.call = call;
        // The debugger undoes a call that a signal ended.
        Ok(Stop { task, reason: Reason::Signal(libc::SIGABRT) })
    }
}
