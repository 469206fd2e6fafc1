//! The protocol between the runtime inside the target and the controller outside.
//!
//! Both map one shared memory file. It begins with a [`Header`]; regions follow, at the offsets
//! that the header names. The controller lays it out, writes a [`Job`], starts the target with
//! [`ENV_CHANNEL`] set to the number of the inherited descriptor, and then only looks, apart from
//! [`Header::stop`] and [`Header::resume`]. Nothing here holds a pointer.
//!
//! Both sides are always of one build (the runtime is embedded in the binary), so the version is
//! a check against mistakes, not a compatibility layer.

mod debug;
mod job;
mod news;
mod records;

pub use debug::*;
pub use job::*;
pub use news::*;
pub use records::*;

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
