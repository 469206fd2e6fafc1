//! Lets the process run until something happens, and tells what. Breakpoint instructions stand in its memory
//! only while it runs.

use super::machine::{Happened, Machine, Stand};
use super::tracee::{Halt, INTERRUPT, SIGINFO, Tracee};
use crate::Error;
use crate::symbols::Memory;
use std::collections::BTreeSet;
use std::mem::offset_of;
use traces::wire::{Debug, stopped};

/// The breakpoint instruction.
pub(super) const INT3: u8 = 0xcc;
pub(super) const DEBUG_STOPPED: usize = offset_of!(Debug, stopped);
/// The flag that has the processor stop behind one instruction.
const TRAP_FLAG: u64 = 1 << 8;

impl Machine {
    /// Takes all breakpoint instructions out of memory.
    pub(crate) fn clear(&mut self) {
        for (address, byte) in std::mem::take(&mut self.placed) {
            // Memory that is gone needs no mending.
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

    /// Lets it run until something happens; the instructions of `breakpoints` do.
    ///
    /// One that stands at such an instruction executes it first.
    pub(crate) fn run(&mut self, breakpoints: &BTreeSet<u64>) -> Result<Happened, Error> {
        match self.ready(breakpoints)? {
            Some(happened) => Ok(happened),
            None => self.go(Tracee::run),
        }
    }

    /// Puts the breakpoints into memory, off the one that it stands at; what happened if more than
    /// that instruction did.
    pub(super) fn ready(&mut self, breakpoints: &BTreeSet<u64>) -> Result<Option<Happened>, Error> {
        if let Stand::Gone(_) = self.stand {
            return Ok(Some(Happened::Gone));
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
        if self.stand == Stand::Program && breakpoints.contains(&rip) {
            self.take_out(rip);
            let mut happened = self.single_step()?;
            let stopped = happened == Happened::Stopped;
            while happened == Happened::Stopped {
                // It does not stay on an instruction that it was told to go on from.
                happened = self.single_step()?;
            }
            match happened {
                Happened::Stepped if stopped => return Ok(Some(Happened::Stopped)),
                Happened::Stepped => {}
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

    /// Lets it execute one instruction. The flag that stops the processor behind that is not the
    /// program's, whatever the instruction makes of the flags.
    pub(crate) fn single_step(&mut self) -> Result<Happened, Error> {
        let stores = self.stand == Stand::Program && self.stores_flags()?;
        let happened = self.go(Tracee::step)?;
        match happened {
            Happened::Stepped | Happened::Touched(_) if stores => {
                let rsp = self.tracee.registers()?.rsp;
                if let Some(flags) = self.tracee.word(rsp) {
                    let own = flags & !TRAP_FLAG;
                    self.tracee
                        .write(rsp, &own.to_le_bytes())
                        .map_err(Error::system("the program's memory"))?;
                }
            }
            Happened::Call(_) => {
                let mut registers = self.tracee.registers()?;
                registers.r11 &= !TRAP_FLAG;
                self.tracee.set_registers(&registers)?;
            }
            _ => {}
        }
        Ok(happened)
    }

    /// Whether the next instruction is one that puts the flags on the stack.
    fn stores_flags(&self) -> Result<bool, Error> {
        let mut code = [0; 3];
        let len = self.tracee.read(self.tracee.registers()?.rip, &mut code);
        let code = code[..len].iter().find(|byte| !matches!(byte, 0x40..=0x4f | 0x66));
        Ok(code == Some(&0x9c))
    }

    /// Takes one breakpoint instruction out of memory.
    pub(super) fn take_out(&mut self, address: u64) {
        if let Some(byte) = self.placed.remove(&address) {
            let _ = self.tracee.write(address, &[byte]);
        }
    }

    /// The signal that it stopped at is not the program's.
    pub(super) fn forget_signal(&mut self) {
        self.pending = None;
    }

    /// A system call instruction of the runtime's.
    pub(super) fn syscall(&self) -> u64 {
        self.layout.syscall
    }

    /// Room for copies of the program's instructions.
    pub(super) fn room_near(&self) -> u64 {
        self.layout.near
    }

    /// What stands under a breakpoint that is in memory.
    pub(super) fn under(&self, address: u64) -> Option<u8> {
        self.placed.get(&address).copied()
    }

    fn go(&mut self, how: fn(&Tracee, i32) -> Result<Halt, Error>) -> Result<Happened, Error> {
        self.go_then(how, how)
    }

    /// Lets it go on, and go on in the second way from breakpoints of the runtime's.
    pub(super) fn go_then(
        &mut self,
        first: fn(&Tracee, i32) -> Result<Halt, Error>,
        how: fn(&Tracee, i32) -> Result<Halt, Error>,
    ) -> Result<Happened, Error> {
        self.raised = None;
        let signal = match self.pending.take() {
            Some((signal, info)) => {
                self.tracee.set_siginfo(&info)?;
                signal
            }
            None => 0,
        };
        if self.stand != Stand::Program {
            self.set_debug_word(DEBUG_STOPPED, stopped::NOT)?;
            self.stand = Stand::Program;
        }
        let mut halt = first(&self.tracee, signal)?;
        while halt == Halt::Signal(libc::SIGTRAP) && self.is_at_probe()? {
            // The runtime's own handler knows what to do.
            halt = how(&self.tracee, libc::SIGTRAP)?;
        }
        match halt {
            Halt::Exited(_) | Halt::Killed(_) => {
                self.stand = Stand::Gone(halt);
                self.placed.clear();
                Ok(Happened::Gone)
            }
            Halt::Forked(_) => Err(Error::Runtime(
                "the program made another process, which is not supported".into(),
            )),
            Halt::Signal(libc::SIGSTOP) => Ok(Happened::Stopped),
            Halt::Signal(signal) => self.signalled(signal),
        }
    }

    /// Whether a breakpoint instruction of the runtime's in the program was just executed.
    fn is_at_probe(&self) -> Result<bool, Error> {
        if self.layout.probes.is_empty() {
            return Ok(false);
        }
        let at = self.tracee.registers()?.rip.wrapping_sub(1);
        Ok(self.layout.probes.at(at).is_some()
            && !self.placed.contains_key(&at)
            && code(&self.tracee.siginfo()?) == SI_KERNEL)
    }

    /// The runtime stopped it by a breakpoint instruction of its own.
    fn stopped_by_runtime(&mut self) -> Happened {
        match self.debug_word(DEBUG_STOPPED) {
            stopped::SIGNAL => {
                let signal = self.debug_word(offset_of!(Debug, signal)) as i32;
                self.raised = Some(signal);
                return Happened::Signal(signal);
            }
            stopped::TOUCHED => {
                let slot = self.debug_word(offset_of!(Debug, touched)) as usize;
                let watch = self.watches.get(slot);
                return watch.map_or(Happened::Stepped, |watch| Happened::Touched(*watch));
            }
            stopped::BEGIN => self.stand = Stand::Begin,
            stopped::STEP => self.stand = Stand::Chosen,
            _ => self.stand = Stand::End,
        }
        Happened::Hook
    }

    fn signalled(&mut self, signal: i32) -> Result<Happened, Error> {
        const TRAP_TRACE: i32 = 2;
        const TRAP_HWBKPT: i32 = 4;
        // At the first instruction of a signal handler.
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
                    return Ok(Happened::Hit(at));
                }
                if self.is_own(at) {
                    return Ok(self.stopped_by_runtime());
                }
            }
            (libc::SIGTRAP, TRAP_TRACE | TRAP_HWBKPT | TRAP_HANDLER) => {
                let slot = if self.watches.is_empty() { None } else { self.slot()? };
                return Ok(match slot.and_then(|slot| self.watches.get(slot)) {
                    Some(watch) => Happened::Touched(*watch),
                    None => Happened::Stepped,
                });
            }
            // Somebody wanted it to stop while nobody held it.
            (libc::SIGTRAP, ..=0) | (INTERRUPT, ..=0) => return Ok(Happened::Stopped),
            (libc::SIGSYS, SYS_USER_DISPATCH) => {
                self.pending = Some((signal, info));
                let number = i32::from_le_bytes([info[24], info[25], info[26], info[27]]);
                return Ok(Happened::Call(i64::from(number)));
            }
            _ => {}
        }
        self.pending = Some((signal, info));
        Ok(Happened::Signal(signal))
    }
}

/// The `si_code` of a breakpoint instruction.
const SI_KERNEL: i32 = 0x80;

/// What is known of a signal that a task of the program sent.
pub(super) fn sent(signal: i32) -> [u8; SIGINFO] {
    const SI_TKILL: i32 = -6;
    let mut info = [0; SIGINFO];
    info[..4].copy_from_slice(&signal.to_le_bytes());
    info[8..12].copy_from_slice(&SI_TKILL.to_le_bytes());
    info
}

/// The code in what is known of a signal.
fn code(info: &[u8; SIGINFO]) -> i32 {
    i32::from_le_bytes([info[8], info[9], info[10], info[11]])
}
