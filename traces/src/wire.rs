//! The protocol between the runtime inside the target and the controller outside.
//!
//! Both map one shared memory file. It begins with a [`Header`]; regions follow, at the offsets in
//! the header. The controller creates the file, writes a [`Job`], starts the target with the number
//! of the inherited descriptor in [`ENV_CHANNEL`], and then only reads, except for [`Header::stop`]
//! and [`Header::resume`]. The file contains no pointers.
//!
//! Both sides always belong to one build (the runtime is embedded in the binary), so the version
//! only detects mistakes; older versions are not supported.

mod debug;
mod ending;
mod job;
mod messages;
mod records;

pub use debug::*;
pub use ending::*;
pub use job::*;
pub use messages::*;
pub use records::*;

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// `heddle` and a byte that is not a letter.
pub const MAGIC: u64 = u64::from_le_bytes(*b"heddle\0\x01");
/// Incremented when anything in this module changes.
pub const VERSION: u32 = 7;

/// The environment variable that carries the descriptor's number. It leaves the environment
/// before the program's own code runs, like the next two.
pub const ENV_CHANNEL: &str = "HEDDLE_CHANNEL";

/// The variable whose value fills the initial stack up, so that the target's stack begins at the same
/// address whatever the length of the program's path and of Heddle's own variables.
pub const ENV_PADDING: &str = "HEDDLE_PADDING";
/// The original values of `LD_PRELOAD` and the other variables that the loader reads, one variable
/// for each; absent if they were not set.
pub const ENV_SAVED: [(&str, &str); 4] = [
    ("LD_PRELOAD", "HEDDLE_SAVED_PRELOAD"),
    ("LD_BIND_NOW", "HEDDLE_SAVED_BIND_NOW"),
    ("GLIBC_TUNABLES", "HEDDLE_SAVED_TUNABLES"),
    ("LD_LIBRARY_PATH", "HEDDLE_SAVED_LIBRARY_PATH"),
];

/// Where the runtime maps the shared memory: one address in every process, so that what the runtime
/// stores there stays valid.
pub const CHANNEL_ADDRESS: usize = 0x1100_0000_0000;
/// Where the runtime maps the memory that all workers of a search share.
pub const COMMON_ADDRESS: usize = 0x1200_0000_0000;
/// The address of the program's heap.
pub const ARENA_ADDRESS: usize = 0x1000_0000_0000;

/// A part of the shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Region {
    /// The offset from the start of the file.
    pub offset: u64,
    /// The length in bytes.
    pub len: u64,
}

/// The state of the worker; the value of [`Header::state`].
pub mod state {
    /// The process has not reached its `main` yet.
    pub const STARTING: u32 = 0;
    /// Executions run.
    pub const RUNNING: u32 = 1;
    /// An execution ended, and its process waits until the controller has read the result
    /// ([`super::Header::resume`]).
    pub const PARKED: u32 = 2;
    /// The search is over (`complete` says whether it was exhausted); the process ends.
    pub const DONE: u32 = 3;
    /// With exec reset: one execution is over, start the program again.
    pub const AGAIN: u32 = 4;
    /// The runtime cannot continue; [`super::Header::message`] says why.
    pub const FAILED: u32 = 5;
    /// A piece of work is finished, and its result is in [`super::Header::parcel`]; the controller
    /// may put another one there ([`super::Header::resume`]).
    pub const IDLE: u32 = 6;
    /// The process of an execution was ended from outside ([`super::Header::died`] says how); the
    /// worker ends, and the execution has to be repeated.
    pub const DISTURBED: u32 = 7;
    /// An execution is about to change files, and [`super::Header::files`] says to hold it: the process
    /// ends, and the execution has to be repeated.
    pub const HELD: u32 = 8;
    /// An execution changed files, and its process ended: the controller restores them before the next
    /// one ([`super::Header::resume`]).
    pub const RESTORE: u32 = 9;

    /// Whether the process ends after it has stored this state, as part of the protocol.
    pub const fn is_last(state: u32) -> bool {
        matches!(state, DONE | AGAIN | FAILED | DISTURBED | HELD)
    }
}

/// The reset that is used instead of the requested one; the value of [`Header::fell_back`].
pub mod fell_back {
    /// The requested one.
    pub const NOTHING: u32 = 0;
    /// Fork, because memory reset did not suffice.
    pub const FORK: u32 = 1;
    /// Exec, because a fork did not restore the initial state.
    pub const EXEC: u32 = 2;
}

/// The most bytes of [`Header::message`].
pub const MESSAGE_LEN: usize = 512;
/// The most failures that are counted separately.
pub const KEYS: usize = 256;

/// How often failures with one key occurred.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KeyCount {
    /// The key of [`FoundFailure::key`], or 0 for an unused entry.
    pub key: AtomicU64,
    /// The number of executions that failed in this way.
    pub count: AtomicU64,
    /// A number that describes the last reported failure with this key. Within a piece of work: the
    /// number of the piece in the high 32 bits, the number of preemptions in the low ones. Otherwise:
    /// the size of its schedule.
    pub last_report: AtomicU64,
}

/// How much of the program's memory accesses probes instrument.
#[derive(Debug, Default)]
#[repr(C)]
pub struct InstrumentationStats {
    /// Bytes of the program's own code.
    pub code: AtomicU64,
    /// The number of these bytes that were decoded.
    pub covered: AtomicU64,
    /// Executions in which probes were removed before the end.
    pub probes_removed: AtomicU64,
    /// The largest number of probes at a time, and how many of them were jumps.
    pub probes: AtomicU64,
    /// See [`InstrumentationStats::probes`].
    pub jumps: AtomicU64,
    /// Instructions that were found to conflict during the search itself.
    pub fresh: AtomicU64,
    /// The reasons why some accesses are not instrumented: the bits of
    /// [`crate::points::InstrumentationGap`].
    pub unseen: AtomicU64,
}

/// What the name of an [`UnknownCall`] begins with if it is a kind of instruction.
pub const UNKNOWN_INSTRUCTION: &str = "instruction ";
/// What the name of an [`UnknownCall`] begins with if it is an instruction that reads the processor's clock.
pub const PROCESSOR_CLOCK: &str = "clock ";
/// What the name of an [`UnknownCall`] begins with if it is a file that executions leave changed.
pub const LEFT_FILE: &str = "file ";
/// What the name of an [`UnknownCall`] begins with if it is state that calls of the C library may use at the same
/// time, although the library does not protect it.
pub const OVERLAPPING_USE: &str = "use of ";
/// What the name of an [`UnknownCall`] begins with if it is a function that accesses memory in parts, which another
/// thread may access between them.
pub const CALL_IN_PARTS: &str = "parts of ";

/// How many functions with unknown effects can be named.
pub const UNKNOWN_CALLS: usize = 16;
const NAME_WORDS: usize = 12;

/// A function that was called while two tasks existed, and whose effects on memory are unknown.
#[derive(Debug, Default)]
#[repr(C)]
pub struct UnknownCall {
    /// Its name, cut at the end; all zero in an entry that is not in use.
    name: [AtomicU64; NAME_WORDS],
    /// The file name of the library that it is in.
    library: [AtomicU64; NAME_WORDS],
    /// The module of the first call site.
    module: AtomicU64,
    /// The first call site's offset in the module.
    offset: AtomicU64,
}

fn set_text(words: &[AtomicU64], text: &str) {
    let mut bytes = text.bytes();
    for word in words {
        let value = std::array::from_fn(|_| bytes.next().unwrap_or(0));
        word.store(u64::from_le_bytes(value), Ordering::Relaxed);
    }
}

fn text(words: &[AtomicU64]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl UnknownCall {
    /// Whether the entry is not in use.
    pub fn is_free(&self) -> bool {
        self.name[0].load(Ordering::Relaxed) == 0
    }

    /// Whether it is this function.
    pub fn is(&self, name: &str, library: &str) -> bool {
        let cut = |text: &str| text.bytes().take(8 * NAME_WORDS).collect::<Vec<u8>>();
        cut(name) == text(&self.name).into_bytes()
            && cut(library) == text(&self.library).into_bytes()
    }

    /// Fills the entry in.
    pub fn set(&self, name: &str, library: &str, module: u16, offset: u64) {
        self.module.store(module.into(), Ordering::Relaxed);
        self.offset.store(offset, Ordering::Relaxed);
        set_text(&self.library, library);
        set_text(&self.name, name);
    }

    /// The function's name, its library's file name, and the module and offset of the first call site.
    pub fn get(&self) -> Option<(String, String, u64, u64)> {
        (!self.is_free()).then(|| {
            let (module, offset) = (&self.module, &self.offset);
            let place = (module.load(Ordering::Relaxed), offset.load(Ordering::Relaxed));
            (text(&self.name), text(&self.library), place.0, place.1)
        })
    }
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
    /// The [`Job`], encoded by [`crate::compact`].
    pub job: Region,
    /// [`Record`]s of the current execution.
    pub records: Region,
    /// Messages to the controller: a ring of frames, each a u32 length and a [`RuntimeMessage`] in
    /// [`crate::compact`], padded to 8 bytes. A length of `u32::MAX` means that the next frame is at the
    /// ring's start.
    pub outbox: Region,
    /// The output of the program in the current execution.
    pub output: Region,
    /// [`TaskInfo`]s, filled in when an execution ends and is parked.
    pub tasks: Region,
    /// [`ObjectInfo`]s of the current execution, if records are full.
    pub objects: Region,
    /// The runtime's own heap.
    pub heap: Region,
    /// A piece of work on its way to the worker, or its result on the way back.
    pub parcel: Region,
    /// How many bytes of `parcel` are used.
    pub parcel_len: AtomicU64,
    /// The number of the descriptor of the memory that all workers of a search share, at
    /// [`COMMON_ADDRESS`]: a table of words. -1 for none.
    pub common: AtomicI32,
    /// The nice value that the runtime reports to the program: the controller may start it with another one.
    pub nice: AtomicI32,
    /// Set to 1 by the controller: the worker returns the piece of work unfinished.
    pub pause: AtomicU32,
    /// With exec reset and in [`state::DISTURBED`]: the wait status of a process that ended in the
    /// middle of an execution, plus 1; or 0.
    pub died: AtomicU32,
    /// Set to 1 by the controller before it kills the process of an execution that did not react to
    /// the watchdog's signal.
    pub unresponsive: AtomicU32,
    /// Set to 1 by the runtime when a task had to be interrupted because it kept others from moving: the
    /// watchdog then waits less for the next one.
    pub interrupted: AtomicU32,

    /// The code of a [`FilePolicy`].
    pub files: AtomicU32,
    /// 1 if an execution changed files since the controller restored them.
    pub files_changed: AtomicU32,
    /// 1 if an execution without learned points ended because a task waits in a loop, which is seen at
    /// points.
    pub needs_points: AtomicU32,
    /// 1 if the execution that parks changed anything in the kernel that may be seen later.
    pub leaves_traces: AtomicU32,

    /// See [`state`].
    pub state: AtomicU32,
    /// Counts changes that the controller should read; a futex word.
    pub news: AtomicU32,
    /// Set to 1 by the controller to resume a parked process; a futex word.
    pub resume: AtomicU32,
    /// Set to 1 by the controller: the worker ends after the current execution.
    pub stop: AtomicU32,
    /// The process that runs executions (a child of the worker with fork reset).
    pub execution_pid: AtomicI32,
    /// Whether the strategy has run everything.
    pub complete: AtomicU32,
    /// 1 while a task of the program runs, so that a watchdog knows which code does not return.
    pub in_task: AtomicU32,
    /// The running task.
    pub running: AtomicU32,

    /// The number of the current execution, from 1.
    pub execution: AtomicU64,
    /// Executions that ended.
    pub executions: AtomicU64,
    /// Executions that diverged from the schedule that they should follow.
    pub diverged: AtomicU64,
    /// Executions that were run twice, to compare the resets.
    pub checks: AtomicU64,
    /// Executions that continued from the end of the common prefix.
    pub resumed: AtomicU64,
    /// See [`fell_back`]; `message` has the reason.
    pub fell_back: AtomicU32,
    /// Executions that reached the step limit, and those in `outside`.
    pub cut: AtomicU64,
    /// Executions that ended because the program sent something else to a client than in the recording.
    pub outside: AtomicU64,
    /// Executions that ended without a failure and with one that did not meet a predicate with the purpose
    /// [`crate::predicate::Purpose::Through`], and those that did.
    pub through: [AtomicU64; 4],
    /// For each predicate that counts executions: those that reached it and ended without a failure, and
    /// those that failed.
    pub noted: [[AtomicU64; 2]; crate::predicate::MOST_NOTED],
    /// Executions that failed.
    pub failing: AtomicU64,
    /// The most steps of an execution.
    pub max_steps: AtomicU64,
    /// The largest limit on steps that an execution had.
    pub step_limit: AtomicU64,
    /// The most tasks of an execution.
    pub max_tasks: AtomicU64,
    /// Steps in all executions so far.
    pub steps: AtomicU64,
    /// Switches between tasks in all executions so far.
    pub switches: AtomicU64,
    /// Counts scheduling points in all executions, so that a watchdog sees progress.
    pub heartbeat: AtomicU64,
    /// How often all tasks waited for another process for as long as that may take.
    pub waits_in_vain: AtomicU64,
    /// Distinct call sites of modelled functions.
    pub api_sites: AtomicU64,
    /// Executions of the learning phase.
    pub learning: AtomicU64,
    /// Sites of memory accesses that are scheduling points.
    pub racy_sites: AtomicU64,
    /// Distinct sites of accesses in instrumented code (compiler instrumentation).
    pub compiled_sites: AtomicU64,
    /// How much of the program's memory accesses is instrumented.
    pub instrumentation: InstrumentationStats,
    /// The functions with unknown effects that were called while two tasks existed.
    pub unknown_calls: [UnknownCall; UNKNOWN_CALLS],

    /// How many [`Record`]s the execution has so far.
    pub records_len: AtomicU64,
    /// How many bytes of [`Header::output`] are used; more than its size if the output was cut.
    pub output_len: AtomicU64,
    /// How many [`TaskInfo`]s are filled in.
    pub tasks_len: AtomicU64,
    /// How many [`ObjectInfo`]s are filled in.
    pub objects_len: AtomicU64,
    /// The position at which the next frame of the outbox is written; never reduced modulo the
    /// ring's size.
    pub outbox_head: AtomicU64,
    /// The position up to which the controller has read the outbox.
    pub outbox_tail: AtomicU64,
    /// The offset of the runtime's root object in the heap; 0 before it is created.
    pub heap_root: AtomicU64,
    /// The first free byte of the heap, as an offset into it.
    pub heap_used: AtomicU64,
    /// How many bytes of `message` are used.
    pub message_len: AtomicU64,
    /// The reason why the runtime cannot continue.
    pub message: [u8; MESSAGE_LEN],
    /// How often each failure occurred.
    pub counts: [KeyCount; KEYS],
    /// The state that a debugger and the runtime share.
    pub debug: Debug,
}
