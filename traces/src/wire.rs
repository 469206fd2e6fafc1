//! The protocol between the runtime inside the target and the controller outside.
//!
//! Both map one shared memory file. It begins with a [`Header`]; regions follow, at the offsets
//! that the header names. The controller lays it out, writes a [`Job`], starts the target with
//! [`ENV_CHANNEL`] set to the number of the inherited descriptor, and then only looks, apart from
//! [`Header::stop`] and [`Header::resume`]. Nothing here holds a pointer.
//!
//! Both sides are always of one build (the runtime is embedded in the binary), so the version is
//! a check against mistakes, not a compatibility layer.

use crate::points::{Granularity, Learned, Lesson, Scope, Spot};
use crate::{Choice, FailureKind};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// `heddle` and a byte that is no letter.
pub const MAGIC: u64 = u64::from_le_bytes(*b"heddle\0\x01");
/// Counts changes of anything in this module.
pub const VERSION: u32 = 3;

/// The environment variable that carries the descriptor's number. It leaves the environment
/// before the program's own code runs, like the next two.
pub const ENV_CHANNEL: &str = "HEDDLE_CHANNEL";
/// What `LD_PRELOAD` and the others that the loader reads were before, one variable for each; absent
/// where they were not set.
pub const ENV_SAVED: [(&str, &str); 4] = [
    ("LD_PRELOAD", "HEDDLE_SAVED_PRELOAD"),
    ("LD_BIND_NOW", "HEDDLE_SAVED_BIND_NOW"),
    ("GLIBC_TUNABLES", "HEDDLE_SAVED_TUNABLES"),
    ("LD_LIBRARY_PATH", "HEDDLE_SAVED_LIBRARY_PATH"),
];

/// Where the runtime maps the shared memory, so that what it keeps there stays valid in every
/// process that maps it.
pub const CHANNEL_ADDRESS: usize = 0x1100_0000_0000;
/// Where the runtime maps what all workers of a search share.
pub const COMMON_ADDRESS: usize = 0x1200_0000_0000;
/// Where the program's heap lies.
pub const ARENA_ADDRESS: usize = 0x1000_0000_0000;

/// A part of the shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Region {
    /// From the start of the file.
    pub offset: u64,
    /// In bytes.
    pub len: u64,
}

/// What the worker is doing; the value of [`Header::state`].
pub mod state {
    /// The process has not come to its `main` yet.
    pub const STARTING: u32 = 0;
    /// Executions run.
    pub const RUNNING: u32 = 1;
    /// An execution ended and its process waits to be looked at ([`super::Header::resume`]).
    pub const PARKED: u32 = 2;
    /// The search is over (`complete` says whether it was exhausted); the process ends.
    pub const DONE: u32 = 3;
    /// With exec reset: one execution is over, start the program again.
    pub const AGAIN: u32 = 4;
    /// The runtime cannot go on; [`super::Header::message`] says why.
    pub const FAILED: u32 = 5;
    /// A piece of work is done and lies in [`super::Header::parcel`]; another one may be put there
    /// ([`super::Header::resume`]).
    pub const IDLE: u32 = 6;
}

/// What is used to go back to the start instead of what was asked for; the value of
/// [`Header::fell_back`].
pub mod fell_back {
    /// What was asked for.
    pub const NOTHING: u32 = 0;
    /// Forks, since memory was not enough.
    pub const FORK: u32 = 1;
    /// The program started again, since forks were not enough.
    pub const EXEC: u32 = 2;
}

/// The most bytes of [`Header::message`].
pub const MESSAGE_LEN: usize = 512;
/// How many different failures are counted apart.
pub const KEYS: usize = 256;

/// How often failures with one key were seen.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KeyCount {
    /// The key of [`Found::key`], or 0 for an unused entry.
    pub key: AtomicU64,
    /// How many executions failed so.
    pub count: AtomicU64,
    /// When one of them was told of last: in which piece of work, shifted by 32 bits, and how many
    /// preemptions it had. Outside pieces of work, how small it was.
    pub told: AtomicU64,
}

/// How much of the program's accesses to memory is looked at, where that is done by probes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Sight {
    /// Bytes of the program's own code.
    pub code: AtomicU64,
    /// How many of them were decoded.
    pub covered: AtomicU64,
    /// Executions in which probes were taken out before they were over.
    pub tired: AtomicU64,
    /// Probes that were set at a time, at most, and how many of those were jumps.
    pub probes: AtomicU64,
    /// See [`Sight::probes`].
    pub jumps: AtomicU64,
    /// Instructions that turned out to conflict in the search itself.
    pub fresh: AtomicU64,
    /// Why some accesses are not looked at: the bits of [`crate::points::Unseen`].
    pub unseen: AtomicU64,
}

/// The start of the shared memory.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// The controller's process id.
    pub controller: u32,
    /// The whole size of the file.
    pub size: u64,
    /// The [`Job`], MessagePack.
    pub job: Region,
    /// [`Record`]s of the execution that runs.
    pub records: Region,
    /// Failures on their way out: a ring of frames, each a u32 length and a [`News`] in
    /// MessagePack, padded to 8 bytes. A length of `u32::MAX` says: go on at the ring's start.
    pub outbox: Region,
    /// What the program printed in the execution that runs.
    pub output: Region,
    /// [`TaskInfo`]s, filled in when an execution ends and is parked.
    pub tasks: Region,
    /// [`ObjectInfo`]s of the execution that runs, where records are full.
    pub objects: Region,
    /// The runtime's own heap.
    pub heap: Region,
    /// A piece of work on its way to the worker or back; of which so many bytes are used.
    pub parcel: Region,
    /// How many bytes of `parcel` are used.
    pub parcel_len: AtomicU64,
    /// The number of the descriptor of the memory that all workers of a search share, at
    /// [`COMMON_ADDRESS`]: a table of words. -1 for none.
    pub common: AtomicI32,
    /// Set to 1 by the controller: give back the piece of work as it stands.
    pub pause: AtomicU32,
    /// With exec reset: how the process ended in the middle of an execution, as the kernel tells it,
    /// plus 1; or 0.
    pub died: AtomicU32,

    /// See [`state`].
    pub state: AtomicU32,
    /// Counts everything the controller should look at; a futex word.
    pub news: AtomicU32,
    /// Set to 1 by the controller to let a parked process go on; a futex word.
    pub resume: AtomicU32,
    /// Set to 1 by the controller: end after this execution.
    pub stop: AtomicU32,
    /// The process that runs executions (a child of the worker with fork reset).
    pub execution_pid: AtomicI32,
    /// Whether the strategy has nothing left to try.
    pub complete: AtomicU32,
    /// 1 while a task of the program runs, so that a watchdog knows whom to blame.
    pub in_task: AtomicU32,
    /// The task that runs.
    pub running: AtomicU32,

    /// The number of the execution that runs, from 1.
    pub execution: AtomicU64,
    /// Executions that ended.
    pub executions: AtomicU64,
    /// Executions that left the schedule they were to follow.
    pub diverged: AtomicU64,
    /// Executions run twice, to compare the ways back.
    pub checks: AtomicU64,
    /// See [`fell_back`], and `message` for why.
    pub fell_back: AtomicU32,
    /// Executions given up at the step limit.
    pub cut: AtomicU64,
    /// Executions that failed.
    pub failing: AtomicU64,
    /// The most steps of an execution.
    pub max_steps: AtomicU64,
    /// The most tasks of an execution.
    pub max_tasks: AtomicU64,
    /// Steps in all executions so far.
    pub steps: AtomicU64,
    /// Switches between tasks in all executions so far.
    pub switches: AtomicU64,
    /// Counts scheduling points in all executions, so that a watchdog sees progress.
    pub heartbeat: AtomicU64,
    /// Distinct sites of calls into the models.
    pub api_sites: AtomicU64,
    /// Executions run to learn which accesses conflict.
    pub learning: AtomicU64,
    /// Sites of accesses to memory that are scheduling points.
    pub racy_sites: AtomicU64,
    /// Distinct sites of accesses that the compiler put in.
    pub compiled_sites: AtomicU64,
    /// What of the program's accesses to memory is looked at.
    pub sight: Sight,

    /// How many [`Record`]s the execution has so far.
    pub records_len: AtomicU64,
    /// How many bytes of [`Header::output`] are used; more than fit when it was cut.
    pub output_len: AtomicU64,
    /// How many [`TaskInfo`]s are filled in.
    pub tasks_len: AtomicU64,
    /// How many [`ObjectInfo`]s are filled in.
    pub objects_len: AtomicU64,
    /// Where the next frame of the outbox is written, counted without end.
    pub outbox_head: AtomicU64,
    /// Up to where the controller has read it.
    pub outbox_tail: AtomicU64,
    /// The runtime's root object, as an offset into the heap; 0 before there is one.
    pub heap_root: AtomicU64,
    /// The first free byte of the heap, as an offset into it.
    pub heap_used: AtomicU64,
    /// How many bytes of `message` are used.
    pub message_len: AtomicU64,
    /// Why the runtime cannot go on.
    pub message: [u8; MESSAGE_LEN],
    /// How often each failure was seen.
    pub counts: [KeyCount; KEYS],
    /// What a debugger and the runtime tell each other.
    pub debug: Debug,
}

/// Why the runtime stopped for the debugger; the value of [`Debug::stopped`].
pub mod stopped {
    /// The program runs.
    pub const NOT: u64 = 0;
    /// The execution is about to begin: main is parked before its first instruction.
    pub const BEGIN: u64 = 1;
    /// A step was chosen ([`super::Debug::stop_at`]) and has not begun.
    pub const STEP: u64 = 2;
    /// The execution is over; the stack it ended on still stands.
    pub const END: u64 = 3;
    /// The running task gets a signal that the program sent: [`super::Debug::signal`].
    pub const SIGNAL: u64 = 4;
    /// A system call changed watched memory: [`super::Debug::touched`].
    pub const TOUCHED: u64 = 5;
}

/// How an execution ended; the value of [`Debug::end`].
pub mod ended {
    /// With status 0.
    pub const PASSED: u64 = 0;
    /// It failed: [`super::Debug::kind`] and `number` say how.
    pub const FAILED: u64 = 1;
    /// At the limit of steps, or given up.
    pub const CUT: u64 = 2;
    /// It was not the execution that was to be followed.
    pub const DIVERGED: u64 = 3;
}

/// What a debugger and the runtime tell each other. All of it is read and written by ptrace, while
/// the process stands still: under a debugger the memory is private to each process, so that a
/// checkpoint keeps what the manager knew, too.
///
/// The runtime stops by a breakpoint instruction of its own, with `stopped` set.
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
    /// Where the [`Loose`] is.
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
/// How many [`Mark`]s there may be.
pub const MARKS: usize = 48;
/// How many bytes all of their conditions may have.
pub const CONDITIONS: usize = 8192;

/// What becomes of a task that comes to a [`Mark`]: the bits of [`Mark::flags`].
pub mod mark {
    /// The process stops at it.
    pub const ALWAYS: u64 = 1;
    /// It stops where the condition holds, or cannot be told.
    pub const HOLDS: u64 = 2;
    /// It goes on, and the last time at which the condition held is kept.
    pub const RECORD: u64 = 4;
    /// It stops where this task comes to it ([`super::Mark::task`]) with this stack pointer
    /// ([`super::Mark::rsp`]).
    pub const LEAVES: u64 = 8;
    /// Its page can be written for now.
    pub const OPEN: u64 = 16;
}

/// A breakpoint that is counted in the process itself, while nobody holds that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Mark {
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
    /// See [`mark`].
    pub flags: u64,
    /// It stops where it is come to for this time; 0 for none.
    pub stop_at: u64,
    /// For [`mark::LEAVES`]: the task, plus one; 0 for any.
    pub task: u64,
    /// For [`mark::LEAVES`]: the stack pointer; 0 for any.
    pub rsp: u64,
    /// Where its conditions begin in [`Loose::conditions`]; it is enough if one of them holds.
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
pub struct Loose {
    /// Whether the process runs so: 1 or 0.
    pub on: u64,
    /// The mark whose instruction is being executed, plus one.
    pub stepping: u64,
    /// The mark of [`mark::RECORD`] that was come to last, plus one.
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
    pub marks: [Mark; MARKS],
    /// The marks' conditions: of each the length, in two bytes, then gdb's bytecode.
    pub conditions: [u8; CONDITIONS],
}

impl Default for Loose {
    fn default() -> Loose {
        Loose {
            on: 0,
            stepping: 0,
            last: 0,
            last_step: 0,
            last_count: 0,
            last_task: 0,
            copies: 0,
            len: 0,
            marks: [Mark::default(); MARKS],
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

/// [`Record::operation`] of a data choice: `value` holds what was taken, `object` out of how many.
pub const RECORD_DATA: u8 = 0xff;
/// [`Record::operation`] of a change of the enabled set: `task`, and `flags` 1 for enabled. Written
/// before the step at which it shows, and only where records are full.
pub const RECORD_ENABLED: u8 = 0xfe;
/// [`Record::operation`] of return addresses on the stack of the step before, innermost first: `object`,
/// `site` and `value`, 0 for none. Several may follow each other; only where records are full.
pub const RECORD_CALLERS: u8 = 0xfd;
/// Of so many steps of an execution are those kept.
pub const CALLERS_OF: u64 = 4096;
/// So many of each step, at most.
pub const CALLERS: usize = 24;
/// [`Record::flags`]: `object` is an index into the objects plus one, not an address.
pub const FLAG_INDEXED: u8 = 2;

/// One step, or one of the special records above. The order in memory is the order in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Record {
    /// Who moved.
    pub task: u16,
    /// The code of an [`crate::Operation`], or one of the special ones.
    pub operation: u8,
    /// See the constants.
    pub flags: u8,
    /// The digest of the enabled set at this choice.
    pub enabled: u32,
    /// The object's address, or its index plus one; 0 for none.
    pub object: u64,
    /// The return address of the program's call.
    pub site: u64,
    /// What came out of it.
    pub value: u64,
}

/// Where an object lies; [`ObjectInfo::class`].
pub mod class {
    /// A task: `number` is its number.
    pub const TASK: u32 = 0;
    /// In a mapped file or anywhere else: `address` tells.
    pub const ADDRESS: u32 = 1;
    /// In a block of the program's heap: `number` is its ordinal.
    pub const HEAP: u32 = 2;
    /// On a task's stack: `number` is the task, `offset` the distance below its top.
    pub const STACK: u32 = 3;
    /// A descriptor: `number`.
    pub const DESCRIPTOR: u32 = 4;
}

/// An object that a step touched, described when it was first touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ObjectInfo {
    /// Its address.
    pub address: u64,
    /// See [`class`].
    pub class: u32,
    /// The code of an [`crate::ObjectKind`]: its place in the declaration.
    pub kind: u32,
    /// See [`class`].
    pub number: u64,
    /// The offset into the heap block, or below the stack's top.
    pub offset: u64,
    /// The heap block's size.
    pub size: u64,
    /// The return address of the call that allocated the block.
    pub allocated_at: u64,
    /// What the program calls it, and zeros.
    pub name: [u8; NAME_LEN],
}

/// So long is the name that a program gives an object, with a zero at its end.
pub const NAME_LEN: usize = 32;

/// What a task was doing when the execution ended; [`TaskInfo::state`].
pub mod task_state {
    /// It moved last.
    pub const RUNNING: u32 = 0;
    /// It could have moved.
    pub const RUNNABLE: u32 = 1;
    /// It waits.
    pub const BLOCKED: u32 = 2;
    /// It has ended.
    pub const EXITED: u32 = 3;
}

/// No task, in [`TaskInfo::holder`] and [`TaskInfo::parent`].
pub const NO_TASK: u32 = u32::MAX;

/// The state of one task when an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct TaskInfo {
    /// See [`task_state`].
    pub state: u32,
    /// The code of the operation it was about to do.
    pub operation: u32,
    /// The object of that operation: an index into the objects plus one, or 0. For a debugger, 0
    /// too where no step has touched the object yet.
    pub object: u32,
    /// The task that would have to move first, or [`NO_TASK`].
    pub holder: u32,
    /// Who created it, or [`NO_TASK`].
    pub parent: u32,
    /// Whether `rip` is exact (a fault) rather than a return address: 1 or 0.
    pub exact: u32,
    /// The object as the models know it: its address, or the number of a task or descriptor plus one.
    pub object_address: u64,
    /// Where the operation was called.
    pub site: u64,
    /// The function it started in.
    pub start: u64,
    /// The lowest address of its stack.
    pub stack_low: u64,
    /// The end of its stack.
    pub stack_high: u64,
    /// Where on it the program's own frames begin.
    pub stack_base: u64,
    /// Its thread pointer.
    pub thread_pointer: u64,
    /// Registers as at its last point or fault; callee-saved ones only where `exact` is 0.
    pub rip: u64,
    /// The stack pointer that belongs to `rip`.
    pub rsp: u64,
    /// Register rbp.
    pub rbp: u64,
    /// Register rbx.
    pub rbx: u64,
    /// Register r12.
    pub r12: u64,
    /// Register r13.
    pub r13: u64,
    /// Register r14.
    pub r14: u64,
    /// Register r15.
    pub r15: u64,
    /// The name the program gave it, ended by a zero byte if shorter.
    pub name: [u8; 16],
}

/// Which strategy the runtime is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// No preemption: each task goes on until it blocks, then the next in order of creation.
    Default,
    /// A uniform random walk.
    Random {
        /// The seed of the whole search.
        seed: u64,
    },
    /// Depth first, over every choice.
    Dfs {
        /// The most preemptions of an execution, if bounded.
        bound: Option<u32>,
    },
    /// A random walk in which the running task has this weight, each other 1.
    Sticky {
        /// The seed of the whole search.
        seed: u64,
        /// The weight.
        weight: u32,
    },
    /// Random priorities with `depth` - 1 changes.
    Pct {
        /// The seed of the whole search.
        seed: u64,
        /// How many orderings a failure needs.
        depth: u32,
    },
    /// Partial order sampling.
    Pos {
        /// The seed of the whole search.
        seed: u64,
    },
    /// By number of preemptions.
    Icb {
        /// The most, if bounded.
        bound: Option<u32>,
    },
    /// By number of delays.
    Delay {
        /// The most, if bounded.
        bound: Option<u32>,
    },
    /// Everything that is close to the default schedule.
    Departures {
        /// The most decisions of an execution that are not the default's.
        most: u32,
        /// And the most preemptions.
        preemptions: u32,
    },
    /// Changes of a schedule that fails.
    Near {
        /// Its choices.
        choices: Vec<Choice>,
        /// The seed.
        seed: u64,
    },
    /// Partial order reduction within a bound, checked at its end by walks of its own.
    Orders {
        /// The most preemptions.
        bound: u32,
    },
    /// One execution for each order of dependent operations.
    Dpor {
        /// The most preemptions of an execution, if bounded.
        bound: Option<u32>,
    },
    /// Random walks in which the orders on an object that is drawn are equally likely.
    Surw {
        /// The seed of the whole search.
        seed: u64,
    },
    /// Which write a read sees, fed back.
    Feedback {
        /// The seed of the whole search.
        seed: u64,
    },
    /// Orders of two places that were not seen.
    Hapset {
        /// The seed of the walks.
        seed: u64,
        /// How many random walks are learned from first.
        walks: u32,
        /// The most preemptions of an execution, if bounded.
        bound: Option<u32>,
    },
    /// Each order of two places tried once.
    Directed,
    /// Several in turn.
    Auto {
        /// The seed of the whole search.
        seed: u64,
    },
    /// Follow a recorded schedule and compare every step with it.
    Replay {
        /// The choices.
        choices: Vec<Choice>,
        /// For each step the operation's code and the digest of the enabled set; empty: follow
        /// the choices without comparing.
        expected: Vec<(u8, u32)>,
    },
}

/// How to get back to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// The program's memory put back, as long as it leaves nothing in the kernel; fork from there on.
    Memory,
    /// A fork of the process as it was before `main`, for each execution.
    Fork,
    /// The program started again for each execution.
    Exec,
}

/// How the pages that an execution changes are found, to put memory back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// Each page is protected until it is written for the first time.
    #[default]
    Faults,
    /// The kernel keeps account (`PAGEMAP_SCAN`, Linux 6.7).
    Scan,
    /// All memory is compared with its copy after each execution.
    Compare,
}

/// What stands in the program's text where its accesses to memory are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// Jumps where that is certain to be right, breakpoints elsewhere.
    #[default]
    Jumps,
    /// Breakpoints everywhere, to check the others.
    Breakpoints,
}

/// What the runtime is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The choices with which every execution begins.
    pub prefix: Vec<Choice>,
    /// Which strategy, from there on.
    pub plan: Plan,
    /// Which reset.
    pub reset: Reset,
    /// How changed pages are found, with memory reset.
    pub tracking: Tracking,
    /// The number of the first execution, from 1.
    pub first: u64,
    /// The number of the last; `u64::MAX` for no limit.
    pub last: u64,
    /// End at the first execution that fails.
    pub stop_at_first: bool,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// End after an execution with which all together have so many.
    pub all_steps: u64,
    /// Record enabled sets, and describe objects.
    pub full: bool,
    /// Wait after each execution until the controller has looked.
    pub park: bool,
    /// Do the pieces of work that come by parcel; `plan`, `first` and `last` mean nothing then.
    pub shared: bool,
    /// Whether no other worker has run the program: then what can be learned of it is learned before
    /// the search.
    pub pioneer: bool,
    /// How many executions are compared with a fork's before memory reset is trusted.
    pub checks: u32,
    /// Whether it is counted which ways the search goes.
    pub visits: bool,
    /// The kinds of failure that count: their codes.
    pub fail_on: Vec<u8>,
    /// Where the scheduler may choose.
    pub points: Granularity,
    /// How a program that tells of nothing is looked at.
    pub probing: Probing,
    /// Whether it is looked for what delayed stores could lead to.
    pub store_buffers: bool,
    /// What is known of the program's accesses to memory.
    pub learned: Learned,
    /// Whether more is to be learned: before the search, and while it goes on.
    pub learn: bool,
    /// What was learned of the program before, if it was: taken over where its first execution is the
    /// same.
    pub lesson: Option<Lesson>,
    /// The two places of the one race that is a failure, where races are and not all of them.
    pub race: Option<(Spot, Spot)>,
    /// The most bytes of the program's heap.
    pub memory: u64,
    /// How many waits of each task may come back with nobody waking it.
    pub spurious: u32,
    /// Where tasks may be preempted.
    pub scope: Scope,
    /// Keep what happens to the block of the program's heap with this ordinal, with stacks.
    pub watch: Option<u64>,
    /// What memory is changed on the way.
    pub changes: Vec<crate::change::Change>,
}

/// What the runtime has to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// A failure that was not seen before.
    Found(Found),
    /// An execution left the schedule that it was to follow.
    Diverged {
        /// Its number.
        execution: u64,
        /// The step, from 0.
        step: u64,
        /// What was expected and what came.
        what: String,
    },
    /// Learning is over.
    Learned {
        /// What it came to.
        lesson: Lesson,
        /// Whether that is what was known before ([`Job::lesson`]).
        known: bool,
    },
}

/// Something that happened earlier in an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// What: allocated, freed (a block), or an access to memory in words.
    pub what: String,
    /// Who did it.
    pub task: u16,
    /// How many steps there were before it.
    pub step: u64,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
}

/// A failure as the runtime tells of it: raw addresses, to be understood by the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What kind.
    pub kind: FailureKind,
    /// The same for executions that fail alike, in this process and its forks.
    pub key: u64,
    /// The number of the execution, from 1.
    pub execution: u64,
    /// Which part of the strategy found it; empty where it has no parts.
    pub part: String,
    /// Whose step it was.
    pub task: Option<u16>,
    /// Where: an address in code (a return address unless `exact`), or 0.
    pub address: u64,
    /// Whether `address` is the very instruction.
    pub exact: bool,
    /// The signal of a crash, the status of an exit.
    pub number: i32,
    /// The address that a fault touched.
    pub fault: u64,
    /// Further places in code that belong to it, each with what happened there: return addresses.
    pub places: Vec<(String, u64)>,
    /// The block of the program's heap that it is about: its ordinal.
    pub block: Option<u64>,
    /// What happened to that block before, if it was watched ([`Job::watch`]); the two accesses of a race,
    /// the earlier first, where it was recorded for that.
    pub past: Vec<Past>,
    /// What the runtime has to say in words: the assertion's text, the call that is not modelled.
    pub detail: String,
    /// The schedule.
    pub choices: Vec<Choice>,
    /// How many of its switches were preemptions.
    pub preemptions: u32,
    /// The tasks of the cycle, for a deadlock that has one, each waiting for the next.
    pub cycle: Vec<u16>,
    /// What was known of the program's accesses to memory when the execution began.
    pub learned: Box<Learned>,
    /// The two places of a race, or of a conflict.
    pub race: Option<Box<(Spot, Spot)>>,
    /// It is a conflict of accesses of which it is not known whether they are atomic, and no failure: what
    /// they touch.
    pub conflict: Option<Box<Spot>>,
    /// It is no failure either, but what a delayed store could lead to: `race` has the store and the load.
    pub delayed: bool,
}
