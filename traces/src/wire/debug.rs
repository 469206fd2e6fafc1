//! The state that a debugger and the runtime share.

use std::sync::atomic::AtomicU64;

/// Why the runtime stopped for the debugger; the value of [`Debug::stopped`].
pub mod stopped {
    /// The program runs.
    pub const NOT: u64 = 0;
    /// The execution is about to begin: main is parked before its first instruction.
    pub const BEGIN: u64 = 1;
    /// A step was chosen ([`super::Debug::stop_at`]) and has not begun.
    pub const STEP: u64 = 2;
    /// The execution is over; the stack on which it ended is still intact.
    pub const END: u64 = 3;
    /// The program sent a signal to the running task: [`super::Debug::signal`].
    pub const SIGNAL: u64 = 4;
    /// A system call changed watched memory: [`super::Debug::touched`].
    pub const TOUCHED: u64 = 5;
    /// The task that executes a function for the debugger ([`super::Debug::calling`]) would have to
    /// wait for another task.
    pub const BLOCKED: u64 = 6;
    /// The execution cannot begin: [`super::super::Header::message`] says why.
    pub const FAILED: u64 = 7;
}

/// On whose behalf the runtime accesses memory; the value of [`Debug::acting`].
pub mod acting {
    /// For itself.
    pub const RUNTIME: u64 = 0;
    /// In place of an instruction or a function of the program.
    pub const PROGRAM: u64 = 1;
    /// To restore what an instruction has read already, before it is executed.
    pub const RESTORES: u64 = 2;
}

/// How an execution ended; the value of [`Debug::end`].
pub mod ended {
    /// With status 0.
    pub const PASSED: u64 = 0;
    /// With a failure: [`super::Debug::kind`] and `number` describe it.
    pub const FAILED: u64 = 1;
    /// At the step limit, or given up.
    pub const CUT: u64 = 2;
    /// It diverged from the schedule that it should follow.
    pub const DIVERGED: u64 = 3;
}

/// The state that a debugger and the runtime share. The debugger reads and writes it with ptrace
/// while the process is stopped: under a debugger the memory is private to each process, so that a
/// checkpoint includes the state of the manager.
///
/// The runtime stops with its own breakpoint instruction, after it has set `stopped`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Debug {
    /// 1 if the process runs under a debugger, otherwise 0. Set before the start.
    pub on: AtomicU64,
    /// See [`stopped`].
    pub stopped: AtomicU64,
    /// Stop when this many steps were chosen.
    pub stop_at: AtomicU64,
    /// The number of steps that were chosen.
    pub step: AtomicU64,
    /// The start of the runtime's code.
    pub text: AtomicU64,
    /// The length of the runtime's code.
    pub text_len: AtomicU64,
    /// A function that fills in the table of tasks and stops with a breakpoint instruction.
    pub describe: AtomicU64,
    /// The end of a stack on which `describe` can run.
    pub stack: AtomicU64,
    /// The address of the byte that enables and disables the interception of system calls. After a
    /// fork it has to be passed to the kernel again.
    pub selector: AtomicU64,
    /// The number of system calls that changed state outside the process, such as a descriptor's
    /// position. Checkpoints from before such a call are invalid.
    pub outside: AtomicU64,
    /// The way in which the execution ended: see [`ended`].
    pub end: AtomicU64,
    /// The code of the kind of failure.
    pub kind: AtomicU64,
    /// The signal of a crash, or the status of an exit.
    pub number: AtomicU64,
    /// The task that failed, plus one; 0 for none.
    pub task: AtomicU64,
    /// The address of the table of probes, the runtime's breakpoints in the program: [`Probe`]s,
    /// ascending.
    pub probes: AtomicU64,
    /// The number of probes.
    pub probes_len: AtomicU64,
    /// The address ranges of the copies of the instructions under probes, by module.
    pub copies: [[AtomicU64; 2]; COPIES],
    /// The address of the [`BreakpointTable`].
    pub loose: AtomicU64,
    /// The signal of [`stopped::SIGNAL`].
    pub signal: AtomicU64,
    /// Memory that is watched for writes by the kernel, which debug registers do not detect:
    /// address and length; a length of 0 ends the list.
    pub watched: [[AtomicU64; 2]; WATCHES],
    /// The index in that list for [`stopped::TOUCHED`].
    pub touched: AtomicU64,
    /// See [`acting`].
    pub acting: AtomicU64,
    /// 1 while the debugger lets a task execute a function: the task passes scheduling points
    /// without a choice, and nothing is recorded. Otherwise 0.
    pub calling: AtomicU64,
}

/// The most watched ranges: as many as the processor has debug registers, each of up to eight
/// bytes.
pub const WATCHES: usize = 4;

/// The most modules of a program with probes: the program and its own libraries.
pub const COPIES: usize = 32;
/// The most [`CountedBreakpoint`]s.
pub const MARKS: usize = 48;
/// The most bytes of all their conditions together.
pub const CONDITIONS: usize = 8192;

/// What happens when a task reaches a [`CountedBreakpoint`]: the bits of
/// [`CountedBreakpoint::flags`].
pub mod breakpoint_flags {
    /// The process stops.
    pub const ALWAYS: u64 = 1;
    /// The process stops if the condition holds or cannot be evaluated.
    pub const HOLDS: u64 = 2;
    /// The process continues; the last hit at which the condition held is recorded.
    pub const RECORD: u64 = 4;
    /// The process stops if the task is [`super::CountedBreakpoint::task`] and the stack pointer is
    /// [`super::CountedBreakpoint::rsp`].
    pub const LEAVES: u64 = 8;
    /// The page of the breakpoint is currently writable.
    pub const OPEN: u64 = 16;
}

/// A breakpoint whose hits the process counts while no debugger is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CountedBreakpoint {
    /// The address of the instruction, on which a breakpoint instruction was written.
    pub address: u64,
    /// The original first byte of the instruction.
    pub original: u64,
    /// The protection of its page, as for `mprotect`.
    pub protection: u64,
    /// The number of hits at which the process did not stop.
    pub hits: u64,
    /// The step of the last hit.
    pub step: u64,
    /// The number of hits within that step.
    pub count: u64,
    /// See [`breakpoint_flags`].
    pub flags: u64,
    /// The process stops at the hit with this number; 0 for none.
    pub stop_at: u64,
    /// For [`breakpoint_flags::LEAVES`]: the task, plus one; 0 for any.
    pub task: u64,
    /// For [`breakpoint_flags::LEAVES`]: the stack pointer; 0 for any.
    pub rsp: u64,
    /// The start of its conditions in [`BreakpointTable::conditions`]; it suffices that one of them
    /// holds.
    pub condition: u64,
    /// The length of its conditions; 0 for none.
    pub condition_len: u64,
    /// How many bytes of its copy are the instruction; 0 if there is no copy yet.
    pub copied: u64,
}

/// The bytes reserved for the copy of a breakpoint's instruction and the jump after it.
pub const MARK_COPY: u64 = 32;

/// The state of a process from which the debugger has detached: the process counts breakpoint hits
/// until it reaches the one at which it has to stop. Then it asks the debugger to attach again, and
/// returns to the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct BreakpointTable {
    /// 1 if the process runs detached, otherwise 0.
    pub on: u64,
    /// The index of the breakpoint whose instruction is being executed, plus one.
    pub stepping: u64,
    /// The index of the breakpoint with [`breakpoint_flags::RECORD`] that was hit last, plus one.
    pub last: u64,
    /// The step of that hit.
    pub last_step: u64,
    /// The number of hits of that breakpoint within the step.
    pub last_count: u64,
    /// The task that hit it.
    pub last_task: u64,
    /// The address of memory near the program's code, where copies of instructions can be written
    /// and executed: breakpoint i has [`MARK_COPY`] bytes at i times that size; 0 for none.
    pub copies: u64,
    /// The number of breakpoints.
    pub len: u64,
    /// The breakpoints, ascending by address.
    pub marks: [CountedBreakpoint; MARKS],
    /// The conditions of the breakpoints: for each its length in two bytes, then gdb's bytecode.
    pub conditions: [u8; CONDITIONS],
}

impl Default for BreakpointTable {
    fn default() -> BreakpointTable {
        BreakpointTable {
            on: 0,
            stepping: 0,
            last: 0,
            last_step: 0,
            last_count: 0,
            last_task: 0,
            copies: 0,
            len: 0,
            marks: [CountedBreakpoint::default(); MARKS],
            conditions: [0; CONDITIONS],
        }
    }
}

/// The distance below the stack pointer at which a task that hit a probe has saved its registers:
/// the sixteen general ones in the order of their numbers, the flags, two words, and the probe's
/// address.
pub const PROBE_FRAME: u64 = 288;

/// A breakpoint or jump of the runtime on an instruction of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Probe {
    /// The address of the instruction.
    pub address: u64,
    /// The address of the next instruction.
    pub behind: u64,
    /// The address of the code that runs instead: a copy of the instruction, then a jump to the
    /// next one.
    pub copy: u64,
    /// The original first byte of the instruction.
    pub original: u64,
}
