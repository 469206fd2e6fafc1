//! The process that is looked at: where the runtime is in it, how it is copied, what is read of it. What
//! happens to it when it runs is in `running`, what its runtime tells in `told`.

use super::loose;
use super::probes::Probes;
use super::running::{DEBUG_STOPPED, sent};
use super::tracee::{Halt, SIGINFO, Tracee};
use crate::Error;
use crate::debug::execution::position::Watch;
use crate::symbols::Memory;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use traces::wire::{COPIES, Debug, Probe, stopped};

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
    pub(super) describe: u64,
    pub(super) stack: u64,
    selector: u64,
    /// A system call instruction in it.
    pub(crate) syscall: u64,
    /// Its breakpoints in the program.
    pub(super) probes: Probes,
    /// A page for copies of the program's instructions, near those; 0 where there is none.
    pub(super) near: u64,
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
    pub(super) tracee: Tracee,
    pub(super) layout: Arc<Layout>,
    pub(super) stand: Stand,
    /// What stands under the breakpoints that are in memory.
    pub(super) placed: BTreeMap<u64, u8>,
    pub(super) watches: Vec<Watch>,
    /// The signal that it stopped at, which it gets when it goes on.
    pub(super) pending: Option<(i32, [u8; SIGINFO])>,
    /// The same, where the runtime is about to deliver it.
    pub(super) raised: Option<i32>,
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
}
