//! A traced process: the layout of the runtime in it, copies of it, and access to its memory.
//! `running` runs it; `runtime_state` reads what its runtime knows.

use super::probes::Probes;
use super::room;
use super::tracee::{SIGINFO, Tracee, WaitStatus};
use crate::Error;
use crate::debug::execution::position::Watch;
use crate::symbols::Memory;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use traces::wire::{COPIES, Debug, Probe, stopped};

const SYSCALL: [u8; 2] = [0x0f, 0x05];
pub(super) const DEBUG_STOPPED: usize = offset_of!(Debug, stopped);
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;

/// Memory for the debugger's own use in the process. The program never has anything at these
/// addresses.
pub(crate) const SCRATCH: Range<u64> = 0x1200_0000_0000..0x1200_0010_0000;

/// Addresses in the runtime; the same in every copy of a process.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The runtime's code, which is hidden from the user.
    pub(crate) text: Range<u64>,
    pub(super) describe: u64,
    pub(super) stack: u64,
    selector: u64,
    /// A system call instruction in the runtime.
    pub(crate) syscall: u64,
    /// The runtime's probes in the program.
    pub(super) probes: Probes,
    /// A page near the program for copies of its instructions; 0 if there is none.
    pub(super) near: u64,
}

/// The state of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// The runtime stopped it; see [`stopped`].
    Begin,
    Chosen,
    End,
    /// The process executes any other code.
    Program,
    /// It has ended.
    Gone(WaitStatus),
}

/// An event of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopEvent {
    /// The runtime stopped it: [`Machine::state`] says why.
    Hook,
    /// A requested instruction is about to execute.
    Hit(u64),
    /// It executed one instruction.
    Stepped,
    /// It accessed watched memory.
    Touched(Watch),
    /// The program made a system call, which has not been executed; rip is after the instruction.
    Call(i64),
    /// A signal was raised, and is delivered when the process continues.
    Signal(i32),
    /// Another thread stopped it.
    Stopped,
    /// The task executes a function for the debugger, and would have to wait for another task.
    Blocked,
    /// It has ended.
    Gone,
}

/// A traced process; see the module.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(super) tracee: Tracee,
    pub(super) layout: Arc<Layout>,
    pub(super) state: ProcessState,
    /// The original bytes under the breakpoints in memory.
    pub(super) placed: BTreeMap<u64, u8>,
    pub(super) watches: Vec<Watch>,
    /// What the instruction that accessed watched memory accessed, besides what was reported.
    pub(super) further: Vec<Watch>,
    /// The signal at which it stopped, which it receives when it continues.
    pub(super) pending: Option<(i32, [u8; SIGINFO])>,
    /// A signal that the runtime is about to deliver.
    pub(super) raised: Option<i32>,
}

impl Machine {
    /// Runs a started process to the start of the execution.
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
            state: ProcessState::Program,
            placed: BTreeMap::new(),
            watches: Vec::new(),
            further: Vec::new(),
            pending: None,
            raised: None,
        };
        loop {
            match machine.tracee.run(0)? {
                WaitStatus::Signal(libc::SIGTRAP)
                    if machine.debug_word(DEBUG_STOPPED) == stopped::BEGIN =>
                {
                    break;
                }
                WaitStatus::Signal(libc::SIGTRAP)
                    if machine.debug_word(DEBUG_STOPPED) == stopped::FAILED =>
                {
                    return Err(not_debugged(&machine.message()));
                }
                WaitStatus::Signal(libc::SIGTRAP | libc::SIGSTOP) => {}
                WaitStatus::Signal(signal) => {
                    return Err(Error::Target(format!(
                        "the program received signal {signal} before main, where it cannot be \
                         debugged"
                    )));
                }
                WaitStatus::Forked(_) | WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                    return Err(not_debugged("it ended before main"));
                }
            }
        }
        machine.state = ProcessState::Begin;
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
        let at = at.ok_or_else(|| {
            Error::Runtime("the runtime contains no system call instruction".into())
        })?;
        let syscall = text.start + at as u64;
        let near = room::room_near_program(&self.tracee, syscall)?;
        // If this fails, only lldb's expressions are unavailable.
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

    /// A copy of the process in the same state.
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
            state: self.state,
            placed: BTreeMap::new(),
            watches: Vec::new(),
            further: Vec::new(),
            pending: self.pending,
            raised: self.raised,
        };
        if !self.watches.is_empty() {
            copy.send_watches_to_runtime(&[])?;
        }
        Ok(copy)
    }

    pub(crate) fn tracee(&self) -> &Tracee {
        &self.tracee
    }

    pub(crate) fn state(&self) -> ProcessState {
        self.state
    }

    /// Whether an address is in the runtime's code, or in code that it executes in place of the
    /// program's.
    pub(crate) fn is_runtime(&self, address: u64) -> bool {
        self.is_own(address) || self.layout.probes.has_copy(address)
    }

    /// Whether an address is in the runtime's own code.
    pub(crate) fn is_own(&self, address: u64) -> bool {
        self.layout.text.contains(&address)
    }

    /// The runtime's probe at an instruction, or the one whose breakpoint instruction was just
    /// executed.
    pub(crate) fn probe(&self, address: u64) -> Option<&Probe> {
        let probes = &self.layout.probes;
        probes.at(address).or_else(|| probes.at(address.wrapping_sub(1)))
    }

    /// The instruction after one with a probe.
    pub(crate) fn behind_probe(&self, address: u64) -> Option<u64> {
        self.layout.probes.at(address).map(|probe| probe.behind)
    }

    /// The probe whose instruction copy is being executed.
    pub(crate) fn probe_of_copy(&self, address: u64) -> Option<&Probe> {
        self.layout.probes.of_copy(address)
    }

    /// Reads the program's memory as it would be without the runtime. Returns the number of bytes
    /// read.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let read = self.tracee.read(address, bytes);
        self.layout.probes.hide(address, &mut bytes[..read]);
        read
    }

    /// The signal that the process will receive when it continues.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.pending.map(|(signal, _)| signal).or(self.raised)
    }

    /// Whether that signal comes from the processor or the kernel, and was not sent by the program.
    pub(crate) fn is_faulting(&self) -> bool {
        self.pending.is_some()
    }

    /// The `siginfo_t` of that signal.
    pub(crate) fn siginfo(&self) -> Option<[u8; SIGINFO]> {
        self.pending.map(|(_, info)| info).or_else(|| self.raised.map(sent))
    }

    /// What else the last access to watched memory accessed; it is returned once.
    pub(crate) fn take_further(&mut self) -> Vec<Watch> {
        std::mem::take(&mut self.further)
    }

    /// The process is in the program's code now, because its registers were changed.
    pub(crate) fn leave_hook(&mut self) {
        if !matches!(self.state, ProcessState::Gone(_)) {
            self.state = ProcessState::Program;
        }
    }
}

fn not_debugged(why: &str) -> Error {
    Error::Runtime(format!("the program cannot be debugged: {why}"))
}

/// The `siginfo_t` of a signal that a task of the program sent.
fn sent(signal: i32) -> [u8; SIGINFO] {
    const SI_TKILL: i32 = -6;
    let mut info = [0; SIGINFO];
    info[..4].copy_from_slice(&signal.to_le_bytes());
    info[8..12].copy_from_slice(&SI_TKILL.to_le_bytes());
    info
}
