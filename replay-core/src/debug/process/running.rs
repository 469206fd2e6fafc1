//! Runs the process until an event. Breakpoint instructions are in its memory only while it runs.

use super::machine::{DEBUG_STOPPED, Machine, ProcessState, StopEvent};
use super::tracee::{INTERRUPT, SIGINFO, Tracee, WaitStatus};
use crate::Error;
use crate::symbols::Memory;
use std::collections::BTreeSet;
use std::mem::offset_of;
use traces::wire::{Debug, stopped};

/// The breakpoint instruction.
pub(super) const INT3: u8 = 0xcc;

/// The flag that stops the processor after one instruction.
const TRAP_FLAG: u64 = 1 << 8;

impl Machine {
    /// Removes all breakpoint instructions from memory.
    pub(crate) fn clear(&mut self) {
        for (address, byte) in std::mem::take(&mut self.placed) {
            // If the memory has been unmapped, there is nothing to restore.
            let _ = self.tracee.write(address, &[byte]);
        }
    }

    fn place(&mut self, address: u64) {
        let mut byte = [0];
        if self.tracee.read(address, &mut byte) == 1 && self.tracee.write(address, &[INT3]).is_ok()
        {
            self.placed.insert(address, byte[0]);
        }
    }

    /// Runs until an event, including the instructions in `breakpoints`.
    ///
    /// If the process is at such an instruction, it executes that first.
    pub(crate) fn run(&mut self, breakpoints: &BTreeSet<u64>) -> Result<StopEvent, Error> {
        match self.ready(breakpoints)? {
            Some(happened) => Ok(happened),
            None => self.go(Tracee::run),
        }
    }

    /// Inserts the breakpoints, after stepping over the one at the current instruction. Returns an
    /// event if one occurred during that step.
    pub(super) fn ready(
        &mut self,
        breakpoints: &BTreeSet<u64>,
    ) -> Result<Option<StopEvent>, Error> {
        if let ProcessState::Gone(_) = self.state {
            return Ok(Some(StopEvent::Gone));
        }
        let stale: Vec<u64> =
            self.placed.keys().filter(|at| !breakpoints.contains(at)).copied().collect();
        for address in stale {
            self.take_out(address);
        }
        let rip = match breakpoints.is_empty() {
            true => 0,
            false => self.tracee.registers()?.rip,
        };
        if self.state == ProcessState::Program && breakpoints.contains(&rip) {
            self.take_out(rip);
            let mut happened = self.single_step()?;
            let stopped = happened == StopEvent::Stopped;
            while happened == StopEvent::Stopped {
                // An interrupt must not keep the process at the instruction it has to leave.
                happened = self.single_step()?;
            }
            match happened {
                StopEvent::Stepped if stopped => return Ok(Some(StopEvent::Stopped)),
                StopEvent::Stepped => {}
                other => return Ok(Some(other)),
            }
        }
        for &address in breakpoints {
            if !self.placed.contains_key(&address) {
                self.place(address);
            }
        }
        Ok(None)
    }

    /// Executes one instruction. Removes the trap flag from flags that the instruction stores.
    pub(crate) fn single_step(&mut self) -> Result<StopEvent, Error> {
        let stores = self.state == ProcessState::Program && self.stores_flags()?;
        let happened = self.go(Tracee::step)?;
        match happened {
            StopEvent::Stepped | StopEvent::Touched(_) if stores => {
                let rsp = self.tracee.registers()?.rsp;
                if let Some(flags) = self.tracee.word(rsp) {
                    let own = flags & !TRAP_FLAG;
                    self.tracee
                        .write(rsp, &own.to_le_bytes())
                        .map_err(Error::system("cannot write the program's memory"))?;
                }
            }
            StopEvent::Call(_) => {
                let mut registers = self.tracee.registers()?;
                registers.r11 &= !TRAP_FLAG;
                self.tracee.set_registers(&registers)?;
            }
            _ => {}
        }
        Ok(happened)
    }

    /// Whether the next instruction pushes the flags.
    fn stores_flags(&self) -> Result<bool, Error> {
        let mut code = [0; 3];
        let len = self.tracee.read(self.tracee.registers()?.rip, &mut code);
        let code = code[..len].iter().find(|byte| !matches!(byte, 0x40..=0x4f | 0x66));
        Ok(code == Some(&0x9c))
    }

    /// Removes one breakpoint instruction from memory.
    pub(super) fn take_out(&mut self, address: u64) {
        if let Some(byte) = self.placed.remove(&address) {
            let _ = self.tracee.write(address, &[byte]);
        }
    }

    /// Discards the signal at which the process stopped.
    pub(crate) fn forget_signal(&mut self) {
        self.pending = None;
    }

    /// The address of a system call instruction in the runtime.
    pub(super) fn syscall(&self) -> u64 {
        self.layout.syscall
    }

    /// The address of the room for copies of instructions.
    pub(super) fn room_near(&self) -> u64 {
        self.layout.near
    }

    /// The original byte under a breakpoint in memory.
    pub(super) fn under(&self, address: u64) -> Option<u8> {
        self.placed.get(&address).copied()
    }

    fn go(
        &mut self,
        how: fn(&Tracee, i32) -> Result<WaitStatus, Error>,
    ) -> Result<StopEvent, Error> {
        self.go_then(how, how)
    }

    /// Continues the process with `first`, and with `how` after each of the runtime's own
    /// breakpoints.
    pub(super) fn go_then(
        &mut self,
        first: fn(&Tracee, i32) -> Result<WaitStatus, Error>,
        how: fn(&Tracee, i32) -> Result<WaitStatus, Error>,
    ) -> Result<StopEvent, Error> {
        self.raised = None;
        let signal = match self.pending.take() {
            Some((signal, info)) => {
                self.tracee.set_siginfo(&info)?;
                signal
            }
            None => 0,
        };
        if self.state != ProcessState::Program {
            self.set_debug_word(DEBUG_STOPPED, stopped::NOT)?;
            self.state = ProcessState::Program;
        }
        let mut status = first(&self.tracee, signal)?;
        while status == WaitStatus::Signal(libc::SIGTRAP) && self.is_at_probe()? {
            // The runtime's signal handler handles it.
            status = how(&self.tracee, libc::SIGTRAP)?;
        }
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.state = ProcessState::Gone(status);
                self.placed.clear();
                Ok(StopEvent::Gone)
            }
            WaitStatus::Forked(_) => Err(Error::Runtime(
                "the program created another process, which is not supported".into(),
            )),
            WaitStatus::Signal(libc::SIGSTOP) => Ok(StopEvent::Stopped),
            WaitStatus::Signal(signal) => self.signalled(signal),
        }
    }

    /// Whether one of the runtime's breakpoints in the program was just executed.
    fn is_at_probe(&self) -> Result<bool, Error> {
        if self.layout.probes.is_empty() {
            return Ok(false);
        }
        let at = self.tracee.registers()?.rip.wrapping_sub(1);
        Ok(self.layout.probes.at(at).is_some()
            && !self.placed.contains_key(&at)
            && code(&self.tracee.siginfo()?) == SI_KERNEL)
    }

    /// The runtime stopped the process with its own breakpoint instruction.
    fn stopped_by_runtime(&mut self) -> StopEvent {
        match self.debug_word(DEBUG_STOPPED) {
            stopped::SIGNAL => {
                let signal = self.debug_word(offset_of!(Debug, signal)) as i32;
                self.raised = Some(signal);
                return StopEvent::Signal(signal);
            }
            stopped::TOUCHED => {
                let slot = self.debug_word(offset_of!(Debug, touched)) as usize;
                let watch = self.watches.get(slot);
                return watch.map_or(StopEvent::Stepped, |watch| StopEvent::Touched(*watch));
            }
            stopped::BLOCKED => return StopEvent::Blocked,
            stopped::BEGIN => self.state = ProcessState::Begin,
            stopped::STEP => self.state = ProcessState::Chosen,
            _ => self.state = ProcessState::End,
        }
        StopEvent::Hook
    }

    fn signalled(&mut self, signal: i32) -> Result<StopEvent, Error> {
        const TRAP_TRACE: i32 = 2;
        const TRAP_HWBKPT: i32 = 4;
        // The `si_code` of a trap at the first instruction of a signal handler.
        const TRAP_HANDLER: i32 = libc::SIGTRAP;
        const SYS_USER_DISPATCH: i32 = 2;
        let info = self.tracee.siginfo()?;
        match (signal, code(&info)) {
            (libc::SIGTRAP, SI_KERNEL) => {
                let mut registers = self.tracee.registers()?;
                let at = registers.rip - 1;
                if self.placed.contains_key(&at) {
                    registers.rip = at;
                    self.tracee.set_registers(&registers)?;
                    return Ok(StopEvent::Hit(at));
                }
                if self.is_own(at) {
                    return Ok(self.stopped_by_runtime());
                }
            }
            (libc::SIGTRAP, TRAP_TRACE | TRAP_HWBKPT | TRAP_HANDLER) => {
                return Ok(match self.accessed()? {
                    Some(watch) => StopEvent::Touched(watch),
                    None => StopEvent::Stepped,
                });
            }
            // Another thread stopped the process while it ran untraced.
            (libc::SIGTRAP, ..=0) | (INTERRUPT, ..=0) => return Ok(StopEvent::Stopped),
            (libc::SIGSYS, SYS_USER_DISPATCH) => {
                self.pending = Some((signal, info));
                let number = i32::from_le_bytes([info[24], info[25], info[26], info[27]]);
                return Ok(StopEvent::Call(i64::from(number)));
            }
            _ => {}
        }
        self.pending = Some((signal, info));
        Ok(StopEvent::Signal(signal))
    }
}

/// The `si_code` of a breakpoint instruction.
const SI_KERNEL: i32 = 0x80;

/// The `si_code` of a `siginfo_t`.
fn code(info: &[u8; SIGINFO]) -> i32 {
    i32::from_le_bytes([info[8], info[9], info[10], info[11]])
}
