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
/// The runtime stops with a breakpoint instruction of its own, after it has set `stopped`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Debug {
    /// Whether a debugger is there: 1 or 0. Set before the start.
    pub on: AtomicU64,
    /// See [`stopped`].
    pub stopped: AtomicU64,
    /// Stop when so many steps were chosen.
    pub stop_at: AtomicU64,
    /// How many steps were chosen.
    pub step: AtomicU64,
    /// Where the runtime's code begins.
    pub text: AtomicU64,
    /// How long it is.
    pub text_len: AtomicU64,
    /// A function that fills in the table of tasks and stops with a breakpoint instruction.
    pub describe: AtomicU64,
    /// The end of a stack that it can be run on.
    pub stack: AtomicU64,
    /// The byte that turns the net under the program's system calls on and off; a fork has to be
    /// told of it again.
    pub selector: AtomicU64,
    /// Counts system calls that moved something outside the process (a descriptor's position): a
    /// checkpoint from before one must not be gone back to.
    pub outside: AtomicU64,
    /// The execution is over: see [`ended`].
    pub end: AtomicU64,
    /// The code of the kind of failure.
    pub kind: AtomicU64,
    /// The signal of a crash, the status of an exit.
    pub number: AtomicU64,
    /// The task that failed, plus one; 0 for none.
    pub task: AtomicU64,
    /// Where the table of the runtime's own breakpoints in the program is: [`Probe`]s, ascending.
    pub probes: AtomicU64,
    /// How many there are.
    pub probes_len: AtomicU64,
    /// Where the copies of the instructions under them lie: from where to where, for each module.
    pub copies: [[AtomicU64; 2]; COPIES],
    /// Where the [`BreakpointTable`] is.
    pub loose: AtomicU64,
    /// The signal of [`stopped::SIGNAL`].
    pub signal: AtomicU64,
    /// Memory that is watched for writes, which the processor does not see where the kernel makes them:
    /// address and length; a length of 0 ends the list.
    pub watched: [[AtomicU64; 2]; WATCHES],
    /// The index in that list for [`stopped::TOUCHED`].
    pub touched: AtomicU64,
}

/// How much memory can be watched: as the processor has it, words of up to eight bytes.
pub const WATCHES: usize = 4;

/// How many modules of a program can have probes: itself, and libraries of its own.
pub const COPIES: usize = 32;
/// How many [`CountedBreakpoint`]s there may be.
pub const MARKS: usize = 48;
/// How many bytes all of their conditions may have.
pub const CONDITIONS: usize = 8192;

/// What becomes of a task that comes to a [`CountedBreakpoint`]: the bits of [`CountedBreakpoint::flags`].
pub mod breakpoint_flags {
    /// The process stops at it.
    pub const ALWAYS: u64 = 1;
    /// It stops where the condition holds, or cannot be told.
    pub const HOLDS: u64 = 2;
    /// It goes on, and the last time at which the condition held is kept.
    pub const RECORD: u64 = 4;
    /// It stops where this task comes to it ([`super::CountedBreakpoint::task`]) with this stack pointer
    /// ([`super::CountedBreakpoint::rsp`]).
    pub const LEAVES: u64 = 8;
    /// Its page can be written for now.
    pub const OPEN: u64 = 16;
}

/// A breakpoint that is counted in the process itself, while nobody holds that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CountedBreakpoint {
    /// The instruction; a breakpoint instruction stands on it.
    pub address: u64,
    /// Its first byte.
    pub original: u64,
    /// How its page is protected, as `mprotect` has it.
    pub protection: u64,
    /// How often a task came to it and the process did not stop.
    pub hits: u64,
    /// The step of the last time, and how often in it.
    pub step: u64,
    /// See `step`.
    pub count: u64,
    /// See [`breakpoint_flags`].
    pub flags: u64,
    /// It stops where it is come to for this time; 0 for none.
    pub stop_at: u64,
    /// For [`breakpoint_flags::LEAVES`]: the task, plus one; 0 for any.
    pub task: u64,
    /// For [`breakpoint_flags::LEAVES`]: the stack pointer; 0 for any.
    pub rsp: u64,
    /// Where its conditions begin in [`BreakpointTable::conditions`]; it is enough if one of them holds.
    pub condition: u64,
    /// How long they are; 0 for none.
    pub condition_len: u64,
    /// How many bytes of its copy are the instruction; 0 where none has been made.
    pub copied: u64,
}

/// The bytes for the copy of a mark's instruction and the jump behind it.
pub const MARK_COPY: u64 = 32;

/// What a process does that its debugger has let go of: it counts by itself, until it comes to where
/// it is to stop. Then it asks to be held again, and goes back to the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct BreakpointTable {
    /// Whether the process runs so: 1 or 0.
    pub on: u64,
    /// The mark whose instruction is being executed, plus one.
    pub stepping: u64,
    /// The mark of [`breakpoint_flags::RECORD`] that was come to last, plus one.
    pub last: u64,
    /// In which step that was.
    pub last_step: u64,
    /// How often the mark had been come to in it.
    pub last_count: u64,
    /// The task that came to it.
    pub last_task: u64,
    /// Memory near the program's code, where copies of instructions can be written and executed: of the
    /// mark with each index, at so many times [`MARK_COPY`]; 0 for none.
    pub copies: u64,
    /// How many marks there are.
    pub len: u64,
    /// Ascending by address.
    pub marks: [CountedBreakpoint; MARKS],
    /// The marks' conditions: of each the length, in two bytes, then gdb's bytecode.
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

/// So far below its stack pointer a task that came to a probe has its registers: the sixteen general
/// ones in the order in which instructions number them, the flags, two words, the probe's address.
pub const PROBE_FRAME: u64 = 288;

/// A breakpoint of the runtime's own on an instruction of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Probe {
    /// The instruction.
    pub address: u64,
    /// The one that follows it in memory, and in time.
    pub behind: u64,
    /// What is executed in its place: a copy, and then a jump to what follows.
    pub copy: u64,
    /// Its first byte.
    pub original: u64,
}
