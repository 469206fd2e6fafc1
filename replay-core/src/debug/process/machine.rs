//! The process that is looked at: what happens to it when it runs, told apart. Breakpoint
//! instructions stand in its memory only while it runs.

use super::loose;
use super::probes::Probes;
use super::tracee::{Halt, INTERRUPT, SIGINFO, Tracee};
use crate::Error;
use crate::debug::execution::position::Watch;
use crate::symbols::Memory;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use traces::wire::{CHANNEL_ADDRESS, COPIES, Debug, Header, Probe, Region, TaskInfo, stopped};

const INT3: u8 = 0xcc;
const SYSCALL: [u8; 2] = [0x0f, 0x05];
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;

/// Memory for what a debugger wants to put into the process. It is there in every copy, where
/// nothing of the program's ever is.
pub(crate) const SCRATCH: Range<u64> = 0x1200_0000_0000..0x1200_0010_0000;

/// Where the runtime's things are; the same in every copy of a process.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Its code, which is not the program's business.
    pub(crate) text: Range<u64>,
    describe: u64,
    stack: u64,
    selector: u64,
    /// A system call instruction in it.
    pub(crate) syscall: u64,
    /// Its breakpoints in the program.
    probes: Probes,
    /// A page for copies of the program's instructions, near those; 0 where there is none.
    near: u64,
}

/// Where the process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// The runtime stopped it; see [`stopped`].
    Begin,
    Chosen,
    End,
    /// Anywhere else.
    Program,
    /// It is gone.
    Gone(Halt),
}

/// What happened to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    /// The runtime stopped it: [`Machine::stand`] says why.
    Hook,
    /// It is about to execute an instruction that was asked for.
    Hit(u64),
    /// It executed one instruction.
    Stepped,
    /// It touched watched memory.
    Touched(Watch),
    /// The program made a system call, which has not been served; rip is behind it.
    Call(i64),
    /// A signal came, and is to be delivered when it goes on.
    Signal(i32),
    /// Somebody wants it to stop.
    Stopped,
    /// It is gone.
    Gone,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Machine {
    tracee: Tracee,
    layout: Arc<Layout>,
    stand: Stand,
    /// What stands under the breakpoints that are in memory.
    placed: BTreeMap<u64, u8>,
    pub(super) watches: Vec<Watch>,
    /// The signal that it stopped at, which it gets when it goes on.
    pending: Option<(i32, [u8; SIGINFO])>,
    /// The same, where the runtime is about to deliver it.
    raised: Option<i32>,
}

impl Machine {
    /// A process that has been started, run to where the execution begins.
    pub(crate) fn begin(tracee: Tracee) -> Result<Machine, Error> {
        let layout = Layout {
            text: 0..0,
            describe: 0,
            stack: 0,
            selector: 0,
            syscall: 0,
            probes: Probes::default(),
            near: 0,
        };
        let mut machine = Machine {
            tracee,
            layout: Arc::new(layout),
            stand: Stand::Program,
            placed: BTreeMap::new(),
            watches: Vec::new(),
            pending: None,
            raised: None,
        };
        loop {
            match machine.tracee.run(0)? {
                Halt::Signal(libc::SIGTRAP)
                    if machine.debug_word(DEBUG_STOPPED) == stopped::BEGIN =>
                {
                    break;
                }
                Halt::Signal(libc::SIGTRAP | libc::SIGSTOP) => {}
                Halt::Signal(signal) => {
                    return Err(Error::Target(format!(
                        "the program got signal {signal} before its main began, where no schedule \
                         reaches"
                    )));
                }
                Halt::Forked(_) | Halt::Exited(_) | Halt::Killed(_) => {
                    let said = machine.message();
                    let why = if said.is_empty() { "it ended before main".into() } else { said };
                    return Err(Error::Runtime(format!("the program cannot be debugged: {why}")));
                }
            }
        }
        machine.stand = Stand::Begin;
        machine.learn()?;
        Ok(machine)
    }

    fn learn(&mut self) -> Result<(), Error> {
        let word = |at| self.debug_word(at);
        let start = word(offset_of!(Debug, text));
        let text = start..start + word(offset_of!(Debug, text_len));
        let mut code = vec![0; (text.end - text.start) as usize];
        let len = self.tracee.read(text.start, &mut code);
        let at = code[..len].windows(2).position(|pair| pair == SYSCALL);
        let at = at.ok_or_else(|| Error::Runtime("the runtime makes no system calls".into()))?;
        let syscall = text.start + at as u64;
        let near = loose::room_near_program(&self.tracee, syscall)?;
        // Without it only lldb's expressions are missing.
        self.tracee.map(syscall, SCRATCH)?;
        let copies = (0..COPIES).map(|at| {
            let at = offset_of!(Debug, copies) + 16 * at;
            word(at)..word(at + 8)
        });
        let copies = copies.filter(|copies| !copies.is_empty()).collect();
        self.layout = Arc::new(Layout {
            describe: word(offset_of!(Debug, describe)),
            stack: word(offset_of!(Debug, stack)),
            selector: word(offset_of!(Debug, selector)),
            syscall,
            near,
            probes: Probes::read(
                &self.tracee,
                word(offset_of!(Debug, probes)),
                word(offset_of!(Debug, probes_len)),
                copies,
            ),
            text,
        });
        Ok(())
    }

    /// A copy that stands where this one stands.
    pub(crate) fn copy(&mut self) -> Result<Machine, Error> {
        self.clear();
        let tracee = self.tracee.fork(self.layout.syscall)?;
        let text = &self.layout.text;
        let net = [
            PR_SET_SYSCALL_USER_DISPATCH,
            1,
            text.start,
            text.end - text.start,
            self.layout.selector,
            0,
        ];
        let (answer, _) = tracee.call(self.layout.syscall, libc::SYS_prctl, net)?;
        if answer != 0 {
            return Err(Error::Runtime(format!(
                "a copy of the process cannot be controlled (error {})",
                -answer
            )));
        }
        let mut copy = Machine {
            tracee,
            layout: Arc::clone(&self.layout),
            stand: self.stand,
            placed: BTreeMap::new(),
            watches: Vec::new(),
            pending: self.pending,
            raised: self.raised,
        };
        if !self.watches.is_empty() {
            copy.tell_watched(&[])?;
        }
        Ok(copy)
    }

    pub(crate) fn tracee(&self) -> &Tracee {
        &self.tracee
    }

    pub(crate) fn stand(&self) -> Stand {
        self.stand
    }

    /// Whether an address is in the runtime's code, or in what it executes in the program's place.
    pub(crate) fn is_runtime(&self, address: u64) -> bool {
        self.is_own(address) || self.layout.probes.has_copy(address)
    }

    /// Whether an address is in the runtime's code proper.
    pub(crate) fn is_own(&self, address: u64) -> bool {
        self.layout.text.contains(&address)
    }

    /// The breakpoint of the runtime's on an instruction of the program, or the one that a task stands
    /// in whose breakpoint instruction was just executed.
    pub(crate) fn probe(&self, address: u64) -> Option<&Probe> {
        let probes = &self.layout.probes;
        probes.at(address).or_else(|| probes.at(address.wrapping_sub(1)))
    }

    /// What follows an instruction on which a breakpoint of the runtime's stands.
    pub(crate) fn behind_probe(&self, address: u64) -> Option<u64> {
        self.layout.probes.at(address).map(|probe| probe.behind)
    }

    /// The one whose copy is being executed.
    pub(crate) fn probe_of_copy(&self, address: u64) -> Option<&Probe> {
        self.layout.probes.of_copy(address)
    }

    /// The program's memory, as it would be without the runtime: how much could be read.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let read = self.tracee.read(address, bytes);
        self.layout.probes.hide(address, &mut bytes[..read]);
        read
    }

    /// The signal that it will get when it goes on.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.pending.map(|(signal, _)| signal).or(self.raised)
    }

    /// Whether that signal is the processor's or the kernel's, not one that the program sent.
    pub(crate) fn is_faulting(&self) -> bool {
        self.pending.is_some()
    }

    /// What is known of that signal.
    pub(crate) fn siginfo(&self) -> Option<[u8; SIGINFO]> {
        self.pending.map(|(_, info)| info).or_else(|| self.raised.map(sent))
    }

    /// It stands in the program's code now: somebody changed its registers.
    pub(crate) fn leave_hook(&mut self) {
        if !matches!(self.stand, Stand::Gone(_)) {
            self.stand = Stand::Program;
        }
    }

    pub(super) fn debug_word(&self, at: usize) -> u64 {
        let address = CHANNEL_ADDRESS + offset_of!(Header, debug) + at;
        self.tracee.word(address as u64).unwrap_or(0)
    }

    pub(super) fn set_debug_word(&self, at: usize, value: u64) -> Result<(), Error> {
        let address = CHANNEL_ADDRESS + offset_of!(Header, debug) + at;
        self.tracee
            .write(address as u64, &value.to_le_bytes())
            .map_err(Error::system("the program's memory"))
    }

    /// How many steps were chosen.
    pub(crate) fn step(&self) -> u64 {
        self.debug_word(offset_of!(Debug, step))
    }

    /// How many system calls moved something outside the process.
    pub(crate) fn outside(&self) -> u64 {
        self.debug_word(offset_of!(Debug, outside))
    }

    /// Has it stop when so many steps were chosen.
    pub(crate) fn stop_at(&self, step: Option<u64>) -> Result<(), Error> {
        self.set_debug_word(offset_of!(Debug, stop_at), step.unwrap_or(u64::MAX))
    }

    /// How the execution ended: see [`traces::wire::ended`]; the kind of failure, the number, the task.
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

    /// What the runtime said last.
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

    /// What the program printed so far.
    pub(crate) fn output(&self) -> Vec<u8> {
        let region = self.region(offset_of!(Header, output));
        let at = (CHANNEL_ADDRESS + offset_of!(Header, output_len)) as u64;
        let len = self.tracee.word(at).unwrap_or(0).min(region.len);
        let mut bytes = vec![0; len as usize];
        let read = self.tracee.read(CHANNEL_ADDRESS as u64 + region.offset, &mut bytes);
        bytes.truncate(read);
        bytes
    }

    /// Every task as the runtime sees it now.
    pub(crate) fn tasks(&mut self) -> Result<Vec<TaskInfo>, Error> {
        if matches!(self.stand, Stand::Gone(_)) {
            return Ok(Vec::new());
        }
        self.clear();
        let before = self.tracee.registers()?;
        let mut vector = self.tracee.vector()?;
        let mut registers = before;
        registers.rip = self.layout.describe;
        // As a call leaves it.
        registers.rsp = self.layout.stack - 8;
        registers.orig_rax = u64::MAX;
        self.tracee.set_registers(&registers)?;
        loop {
            match self.tracee.run(0)? {
                Halt::Signal(libc::SIGTRAP) => {
                    let rip = self.tracee.registers()?.rip;
                    let mut byte = [0];
                    self.tracee.read(rip - 1, &mut byte);
                    // What it reads may be watched.
                    if self.is_own(rip) && byte[0] == INT3 && !self.touched()? {
                        break;
                    }
                }
                Halt::Signal(libc::SIGSTOP | INTERRUPT) => {}
                other => {
                    return Err(Error::Runtime(format!(
                        "the runtime cannot describe the tasks ({other:?}): has the program \
                         written to its memory?"
                    )));
                }
            }
        }
        self.tracee.set_registers(&before)?;
        self.tracee.set_vector(&mut vector)?;
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
            match self.single_step()? {
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

    /// Lets it execute one instruction.
    pub(crate) fn single_step(&mut self) -> Result<Happened, Error> {
        self.go(Tracee::step)
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
fn sent(signal: i32) -> [u8; SIGINFO] {
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

const DEBUG_STOPPED: usize = offset_of!(Debug, stopped);
