//! Reads the runtime's state: the current step, the end of the execution, the tasks, the output.

use super::machine::{Machine, ProcessState};
use super::running::INT3;
use super::tracee::{INTERRUPT, WaitStatus};
use crate::Error;
use crate::symbols::Memory;
use std::mem::offset_of;
use traces::wire::{CHANNEL_ADDRESS, Debug, Header, Region, TaskInfo};

impl Machine {
    pub(super) fn debug_word(&self, at: usize) -> u64 {
        let address = CHANNEL_ADDRESS + offset_of!(Header, debug) + at;
        self.tracee.word(address as u64).unwrap_or(0)
    }

    pub(super) fn set_debug_word(&self, at: usize, value: u64) -> Result<(), Error> {
        let address = CHANNEL_ADDRESS + offset_of!(Header, debug) + at;
        self.tracee
            .write(address as u64, &value.to_le_bytes())
            .map_err(Error::system("cannot write the program's memory"))
    }

    /// The number of steps chosen so far.
    pub(crate) fn step(&self) -> u64 {
        self.debug_word(offset_of!(Debug, step))
    }

    /// The number of system calls with an external effect.
    pub(crate) fn outside(&self) -> u64 {
        self.debug_word(offset_of!(Debug, outside))
    }

    /// Stops the process when this many steps have been chosen.
    pub(crate) fn stop_at(&self, step: Option<u64>) -> Result<(), Error> {
        self.set_debug_word(offset_of!(Debug, stop_at), step.unwrap_or(u64::MAX))
    }

    /// How the execution ended: see [`traces::wire::ended`]; the kind of failure, a number, the
    /// task.
    pub(crate) fn end(&self) -> (u64, u8, i32, Option<u16>) {
        let kind = self.debug_word(offset_of!(Debug, kind)) as u8;
        let task = self.debug_word(offset_of!(Debug, task)).checked_sub(1);
        (
            self.debug_word(offset_of!(Debug, end)),
            kind,
            self.debug_word(offset_of!(Debug, number)) as i32,
            task.and_then(|task| u16::try_from(task).ok()),
        )
    }

    /// The task that runs.
    pub(crate) fn current(&self) -> u16 {
        let mut word = [0; 4];
        self.tracee.read((CHANNEL_ADDRESS + offset_of!(Header, running)) as u64, &mut word);
        u32::from_le_bytes(word) as u16
    }

    /// The runtime's last message.
    pub(crate) fn message(&self) -> String {
        let at = |offset: usize| (CHANNEL_ADDRESS + offset) as u64;
        let len = self.tracee.word(at(offset_of!(Header, message_len))).unwrap_or(0);
        let mut text = vec![0; (len as usize).min(traces::wire::MESSAGE_LEN)];
        self.tracee.read(at(offset_of!(Header, message)), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn region(&self, at: usize) -> Region {
        let word = |more| self.tracee.word((CHANNEL_ADDRESS + at + more) as u64).unwrap_or(0);
        Region { offset: word(0), len: word(8) }
    }

    /// The program's output so far.
    pub(crate) fn output(&self) -> Vec<u8> {
        let region = self.region(offset_of!(Header, output));
        let at = (CHANNEL_ADDRESS + offset_of!(Header, output_len)) as u64;
        let len = self.tracee.word(at).unwrap_or(0).min(region.len);
        let mut bytes = vec![0; len as usize];
        let read = self.tracee.read(CHANNEL_ADDRESS as u64 + region.offset, &mut bytes);
        bytes.truncate(read);
        bytes
    }

    /// The runtime's description of every task.
    pub(crate) fn tasks(&mut self) -> Result<Vec<TaskInfo>, Error> {
        if matches!(self.state, ProcessState::Gone(_)) {
            return Ok(Vec::new());
        }
        self.ask_runtime(0)?;
        let region = self.region(offset_of!(Header, tasks));
        let at = (CHANNEL_ADDRESS + offset_of!(Header, tasks_len)) as u64;
        let most = region.len / size_of::<TaskInfo>() as u64;
        let len = self.tracee.word(at).unwrap_or(0).min(most) as usize;
        let mut tasks = vec![TaskInfo::default(); len];
        // SAFETY: integers, of which any bytes are a value.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(
                tasks.as_mut_ptr().cast::<u8>(),
                len * size_of::<TaskInfo>(),
            )
        };
        self.tracee.read(CHANNEL_ADDRESS as u64 + region.offset, bytes);
        Ok(tasks)
    }

    /// Prepares a copy in which a task executes a function outside of any schedule: it is the
    /// running task from now on.
    pub(crate) fn let_call(&mut self, task: u16) -> Result<(), Error> {
        self.ask_runtime(u64::from(task) + 1)?;
        self.leave_hook();
        Ok(())
    }

    /// On whose behalf the runtime accessed memory last: see [`traces::wire::acting`].
    pub(crate) fn acting(&self) -> u64 {
        self.debug_word(offset_of!(Debug, acting))
    }

    /// Runs the runtime's own function for the debugger, on its own stack, and restores the
    /// registers.
    fn ask_runtime(&mut self, argument: u64) -> Result<(), Error> {
        self.clear();
        let before = self.tracee.registers()?;
        let mut vector = self.tracee.vector()?;
        let mut registers = before;
        registers.rip = self.layout.describe;
        // The stack alignment at the start of a function.
        registers.rsp = self.layout.stack - 8;
        registers.rdi = argument;
        registers.orig_rax = u64::MAX;
        self.tracee.set_registers(&registers)?;
        loop {
            match self.tracee.run(0)? {
                WaitStatus::Signal(libc::SIGTRAP) => {
                    let rip = self.tracee.registers()?.rip;
                    let mut byte = [0];
                    self.tracee.read(rip - 1, &mut byte);
                    // The runtime may read watched memory.
                    if self.is_own(rip) && byte[0] == INT3 && !self.was_accessed()? {
                        break;
                    }
                }
                WaitStatus::Signal(libc::SIGSTOP | INTERRUPT) => {}
                other => {
                    return Err(Error::Runtime(format!(
                        "the runtime cannot describe the tasks ({other:?}): the program may have \
                         overwritten its memory"
                    )));
                }
            }
        }
        self.tracee.set_registers(&before)?;
        self.tracee.set_vector(&mut vector)?;
        Ok(())
    }
}
