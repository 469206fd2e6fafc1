//! The records of an execution in the shared memory: its steps, objects and tasks.

/// [`Record::operation`] of a data choice: `value` is the outcome, `object` the number of outcomes.
pub const RECORD_DATA: u8 = 0xff;
/// [`Record::operation`] of a change of the enabled set: `task`, and `flags` 1 for enabled. Written
/// before the step at whose choice it is visible, and only in full recordings.
pub const RECORD_ENABLED: u8 = 0xfe;
/// [`Record::operation`] of return addresses on the stack of the step before, innermost first:
/// `object`, `site` and `value`, 0 for none. Several records may follow each other; only in full
/// recordings.
pub const RECORD_CALLERS: u8 = 0xfd;
/// [`Record::operation`] of a note on deadlines ([`crate::DeadlineNote`]): `flags` 1 for a preemption;
/// `value` is by how much `task` is late, or 0. Written before its step, only in full recordings.
pub const RECORD_DEADLINE: u8 = 0xfc;
/// [`Record::operation`] of a change of the asynchronous task that `task` executes: `value` is its number, or 0.
/// Written before the first step of it, only in full recordings.
pub const RECORD_ASYNC: u8 = 0xfb;
/// The number of steps of an execution for which return addresses are recorded.
pub const CALLERS_OF: u64 = 4096;
/// The most return addresses per step.
pub const CALLERS: usize = 24;
/// [`Record::flags`]: `object` is an index into the objects plus one, not an address.
pub const FLAG_INDEXED: u8 = 2;

/// A step, or one of the special records above, in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Record {
    /// The task that executed the step.
    pub task: u16,
    /// The code of an [`crate::Operation`], or of a special record.
    pub operation: u8,
    /// See the constants.
    pub flags: u8,
    /// The digest of the enabled set at this choice.
    pub enabled: u32,
    /// The object's address, or its index plus one; 0 for none.
    pub object: u64,
    /// The return address of the program's call.
    pub site: u64,
    /// The result of the operation.
    pub value: u64,
}

/// Where an object is; [`ObjectInfo::class`].
pub mod class {
    /// A task: `number` is its number.
    pub const TASK: u32 = 0;
    /// In a mapped file or anywhere else, at `address`.
    pub const ADDRESS: u32 = 1;
    /// In a block of the program's heap: `number` is its ordinal.
    pub const HEAP: u32 = 2;
    /// On a task's stack: `number` is the task, `offset` the distance below its top.
    pub const STACK: u32 = 3;
    /// A file descriptor: `number`.
    pub const DESCRIPTOR: u32 = 4;
}

/// An object that a step accessed, described at its first access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ObjectInfo {
    /// Its address.
    pub address: u64,
    /// See [`class`].
    pub class: u32,
    /// The code of an [`crate::ObjectKind`]: its position in the declaration.
    pub kind: u32,
    /// See [`class`].
    pub number: u64,
    /// The offset into the heap block, or below the stack's top.
    pub offset: u64,
    /// The heap block's size.
    pub size: u64,
    /// The return address of the call that allocated the block.
    pub allocated_at: u64,
    /// The return addresses on the stack of that call, innermost first, 0 for none.
    pub allocated_by: [u64; BLOCK_CALLERS],
    /// The name that the program gave the object, padded with zeros.
    pub name: [u8; NAME_LEN],
}

/// The most return addresses on the stack of an allocation.
pub const BLOCK_CALLERS: usize = 16;

/// The size of an object's name, with a zero at its end.
pub const NAME_LEN: usize = 32;

/// The state of a task when the execution ended; [`TaskInfo::state`].
pub mod task_state {
    /// It executed the last step.
    pub const RUNNING: u32 = 0;
    /// It was enabled.
    pub const RUNNABLE: u32 = 1;
    /// It was blocked.
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
    /// The code of its pending operation.
    pub operation: u32,
    /// The object of that operation: an index into the objects plus one, or 0. For a debugger also
    /// 0 if no step has accessed the object yet.
    pub object: u32,
    /// The task that would have to run first, or [`NO_TASK`].
    pub holder: u32,
    /// The task that created it, or [`NO_TASK`].
    pub parent: u32,
    /// Whether `rip` is exact (a fault) rather than a return address: 1 or 0.
    pub exact: u32,
    /// The object as the primitives' models identify it: its address, or the number of a task or
    /// descriptor plus one.
    pub object_address: u64,
    /// The code location that called the operation.
    pub site: u64,
    /// Its start function.
    pub start: u64,
    /// The lowest address of its stack.
    pub stack_low: u64,
    /// The end of its stack.
    pub stack_high: u64,
    /// The address on the stack at which the program's own frames begin.
    pub stack_base: u64,
    /// Its thread pointer.
    pub thread_pointer: u64,
    /// The registers at its last scheduling point or fault; only callee-saved ones are valid if
    /// `exact` is 0.
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
