//! The record of each step, in memory shared with the controller.

use crate::memory::shared_views;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::stack::Stack;
use crate::state::task::Task;
use crate::steps::objects;
use crate::sys::{channel, raw};
use search::TrailChoice;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{
    CALLERS, CALLERS_OF, FLAG_INDEXED, RECORD_ASYNC, RECORD_CALLERS, RECORD_DATA, RECORD_DEADLINE,
    RECORD_ENABLED, Record,
};
use traces::{Choice, Operation, TaskId};

/// Where the next record is written.
struct Position {
    base: Cell<usize>,
    len: Cell<usize>,
    capacity: Cell<usize>,
    /// The index of the last step's record.
    last_step: Cell<usize>,
    /// Whether the current steps are not recorded.
    muted: Cell<bool>,
    /// A hash of the choices so far: two executions with the same choices have the same one.
    fingerprint: Cell<u64>,
    /// For how many more steps the callers are recorded.
    callers: Cell<u64>,
    /// The asynchronous task of each task as it was recorded last (full records only).
    async_tasks: [Cell<u64>; crate::state::world::MAX_TASKS],
    /// The enabled set as it was recorded last (full records only).
    enabled: [Cell<u64>; crate::state::world::MAX_TASKS / 64],
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Position {}
static POSITION: Position = Position {
    base: Cell::new(0),
    len: Cell::new(0),
    capacity: Cell::new(0),
    last_step: Cell::new(0),
    muted: Cell::new(false),
    fingerprint: Cell::new(0),
    callers: Cell::new(0),
    async_tasks: [const { Cell::new(0) }; crate::state::world::MAX_TASKS],
    enabled: [const { Cell::new(0) }; crate::state::world::MAX_TASKS / 64],
};

/// An execution begins.
pub(crate) fn begin() {
    let records = channel::header().records;
    POSITION.base.set(channel::address(records));
    POSITION.capacity.set(records.len as usize / size_of::<Record>());
    begin_at(0);
    channel::header().records_len.store(0, Relaxed);
}

fn begin_at(len: usize) {
    POSITION.len.set(len.min(POSITION.capacity.get()));
    POSITION.muted.set(false);
    POSITION.fingerprint.set(0xcbf2_9ce4_8422_2325);
    POSITION.callers.set(if root().full { CALLERS_OF } else { 0 });
    for word in &POSITION.enabled {
        word.set(0);
    }
    if root().async_word.is_some() {
        POSITION.async_tasks.iter().for_each(|word| word.set(0));
    }
}

/// The position in the record, to continue an execution from there more than once.
#[derive(Clone, Copy)]
pub(crate) struct Saved {
    len: usize,
    last_step: usize,
    fingerprint: u64,
}

/// The current position.
pub(crate) fn save() -> Saved {
    Saved {
        len: POSITION.len.get(),
        last_step: POSITION.last_step.get(),
        fingerprint: POSITION.fingerprint.get(),
    }
}

/// An execution continues after the records up to the saved position, which are still there.
pub(crate) fn restore(saved: &Saved) {
    begin_at(saved.len);
    POSITION.last_step.set(saved.last_step);
    POSITION.fingerprint.set(saved.fingerprint);
    channel::header().records_len.store(saved.len as u64, Relaxed);
}

fn push(record: Record) -> usize {
    let index = POSITION.len.get();
    if index >= POSITION.capacity.get() {
        outcome::end(End::Cut);
    }
    // SAFETY: the index is below the capacity of the region, which is mapped shared memory and
    // aligned for `Record`. No reference from `all` is in use while a step is recorded.
    unsafe { (POSITION.base.get() as *mut Record).add(index).write(record) };
    POSITION.len.set(index + 1);
    // The length is stored after the record, so that the controller sees complete records only:
    // x86-64 keeps the order of stores, and the compiler does not move them across an atomic store
    // with `Release`.
    channel::header().records_len.store(index as u64 + 1, std::sync::atomic::Ordering::Release);
    index
}

fn mix(value: u64) {
    let x = (POSITION.fingerprint.get() ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    POSITION.fingerprint.set(x ^ (x >> 29));
}

/// One step: `task` was chosen.
#[inline]
pub(crate) fn step(chosen: u16, task: &Task, digest: u32) {
    let (object, flags) = if root().full {
        async_task(chosen, task);
        (objects::index(task.operation.get(), task.object.get()), FLAG_INDEXED)
    } else {
        (task.object.get(), 0)
    };
    mix(u64::from(chosen));
    let index = push(Record {
        task: chosen,
        operation: task.operation.get().code(),
        flags,
        enabled: digest,
        object,
        site: task.site.get(),
        value: 0,
    });
    POSITION.last_step.set(index);
    POSITION.muted.set(false);
}

/// Notes which asynchronous task the next step of a task belongs to, if that is another one than before.
fn async_task(chosen: u16, task: &Task) {
    let Some(distance) = root().async_word else { return };
    let mut id = [0; 8];
    // The kernel copies the word, so that a task whose thread block is no longer mapped has none.
    raw::read(task.block.get().wrapping_add_signed(distance), &mut id);
    let id = u64::from_ne_bytes(id);
    if POSITION.async_tasks[usize::from(chosen)].replace(id) != id {
        push(Record { task: chosen, operation: RECORD_ASYNC, value: id, ..Record::default() });
    }
}

/// Called on the stack of the task whose step has just begun: records its callers, if wanted.
#[inline]
pub(crate) fn callers_if_wanted(task: &Task) {
    if POSITION.callers.get() > 0 {
        // On the manager's stack: what the unwinder leaves below the task's stack pointer would
        // make iterations of a loop look different (`crate::schedule::stall`), and a task near the
        // end of its stack must overflow where it does in the search.
        crate::fiber::switch::on_manager(callers, task.site.get());
    }
}

extern "C" fn callers(site: u64) -> u64 {
    let last = all().get(POSITION.last_step.get());
    if last.is_none_or(|record| record.site != site) || POSITION.muted.get() {
        return 0;
    }
    let mut addresses = [0; CALLERS];
    let found = crate::fiber::backtrace::innermost(&mut addresses);
    POSITION.callers.set(POSITION.callers.get() - 1);
    for part in addresses[..found].chunks(3) {
        let at = |index: usize| part.get(index).copied().unwrap_or(0);
        push(Record {
            operation: RECORD_CALLERS,
            object: at(0),
            site: at(1),
            value: at(2),
            ..Record::default()
        });
    }
    0
}

/// Stops recording steps, until the next step that is recorded.
pub(crate) fn mute(muted: bool) {
    POSITION.muted.set(muted);
}

/// Whether the running task runs through a loop once more, unrecorded.
pub(crate) fn is_muted() -> bool {
    POSITION.muted.get()
}

/// The result of the last recorded step.
pub(crate) fn last_value() -> u64 {
    if POSITION.len.get() == 0 {
        return 0;
    }
    // SAFETY: the record at `last_step` was written by `push`, so it is in the mapped region.
    unsafe { (*(POSITION.base.get() as *const Record).add(POSITION.last_step.get())).value }
}

const _: () = assert!(size_of::<Record>().is_power_of_two(), "records are found by shifting");

/// Stores the result of the running step.
#[inline]
pub(crate) fn value(value: u64) {
    // The record has another address in every step, and a muted step has none. No register may keep
    // a trace of that, or a register that the call leaves behind would make two iterations of a
    // loop look different (`crate::schedule::stall`); so the assembly clears all of them.
    //
    // SAFETY: the only store is to the last step's record, which `push` wrote into the mapped
    // region, and it is skipped while steps are muted. The assembly uses no stack.
    unsafe {
        std::arch::asm!(
            "test {muted:e}, {muted:e}",
            "jne 2f",
            "shl {step}, {size}",
            "mov [{base} + {step} + {at}], {value}",
            "2:",
            "xor {muted:e}, {muted:e}",
            "xor {base:e}, {base:e}",
            "xor {step:e}, {step:e}",
            muted = inout(reg) u32::from(POSITION.muted.get()) => _,
            base = inout(reg) POSITION.base.get() => _,
            step = inout(reg) POSITION.last_step.get() => _,
            value = in(reg) value,
            size = const size_of::<Record>().trailing_zeros(),
            at = const std::mem::offset_of!(Record, value),
            options(nostack),
        );
    }
}

/// A data choice of the running step.
pub(crate) fn data(taken: u32, of: u32) {
    mix(u64::from(taken) | 1 << 40);
    push(Record {
        task: 0,
        operation: RECORD_DATA,
        flags: 0,
        enabled: 0,
        object: u64::from(of),
        site: 0,
        value: u64::from(taken),
    });
}

/// Records which tasks became enabled or disabled since the last step.
pub(crate) fn enabled_changes(enabled: &[TaskId]) {
    let created = usize::from(crate::state::world::world().created.get());
    let mut now = enabled.iter().peekable();
    for word in 0..created.div_ceil(64) {
        let mut bits = 0u64;
        while let Some(task) = now.next_if(|task| task.index() / 64 == word) {
            bits |= 1 << (task.index() % 64);
        }
        let mut changed = bits ^ POSITION.enabled[word].replace(bits);
        while changed != 0 {
            let bit = changed.trailing_zeros();
            changed &= changed - 1;
            push(Record {
                task: (word * 64) as u16 + bit as u16,
                operation: RECORD_ENABLED,
                flags: (bits >> bit & 1) as u8,
                ..Record::default()
            });
        }
    }
}

/// A note on the deadlines at the next step ([`traces::DeadlineNote`]).
pub(crate) fn deadline(preempts: bool, late: Option<(TaskId, u64)>) {
    let (task, by) = late.unwrap_or((TaskId(0), 0));
    push(Record {
        task: task.0,
        operation: RECORD_DEADLINE,
        flags: u8::from(preempts),
        value: by,
        ..Record::default()
    });
}

/// The value of a record, if it is the program's. What a task wrote to its own stack is read at its next step, when
/// the frame may be gone: then frames of the runtime are there, which differ between a fork and this process.
fn comparable(record: &Record) -> u64 {
    let writes = record.operation == Operation::Write.code();
    let task = crate::state::world::world().tasks.get(usize::from(record.task));
    let stack = task.map_or(Stack::default(), |task| task.stack.get());
    if writes && (stack.low..stack.high).contains(&record.object) { 0 } else { record.value }
}

/// A digest of all records, if `wanted`.
pub(crate) fn digest_if(wanted: bool) -> u64 {
    if !wanted {
        return 0;
    }
    all().iter().fold(all().len() as u64, |digest, record| {
        let head = u64::from(record.task)
            | u64::from(record.operation) << 16
            | u64::from(record.enabled) << 32;
        [head, record.object, record.site, comparable(record)].into_iter().fold(
            digest,
            |digest, word| {
                let x = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                x ^ (x >> 31)
            },
        )
    })
}

/// A hash of this execution's choices.
pub(crate) fn fingerprint() -> u64 {
    POSITION.fingerprint.get()
}

/// The last step before the call at `here` that executed one of these operations on `object`: its
/// task and its code address.
pub(crate) fn last(
    object: u64,
    here: u64,
    which: impl Fn(Operation) -> bool,
) -> Option<(u16, u64)> {
    let own = POSITION.last_step.get();
    let before = all().iter().enumerate().rev();
    let before = before.filter(|&(at, record)| at != own || record.site != here);
    before.map(|(_, record)| record).find_map(|record| {
        let operation = Operation::from_code(record.operation)?;
        let of_full = || objects::index(operation, object);
        let is_same = match record.flags & FLAG_INDEXED {
            0 => shared_views::canonical(record.object) == shared_views::canonical(object),
            _ => record.object == of_full(),
        };
        (which(operation) && is_same).then_some((record.task, record.site))
    })
}

/// Continues with the records that another process wrote before it died.
pub(crate) fn adopt() {
    let records = channel::header().records;
    POSITION.base.set(channel::address(records));
    POSITION.capacity.set(records.len as usize / size_of::<Record>());
    begin_at(channel::header().records_len.load(Relaxed) as usize);
}

/// The records so far.
pub(crate) fn all() -> &'static [Record] {
    // SAFETY: `push` initialised the first `len` records, and the region stays mapped. Callers drop
    // the slice before the next step is recorded, so no write overlaps with it.
    unsafe { std::slice::from_raw_parts(POSITION.base.get() as *const Record, POSITION.len.get()) }
}

/// The schedule of the execution so far, with the digest of the enabled tasks before each step.
pub(crate) fn trail() -> Vec<TrailChoice> {
    let choice = |record: &Record| match record.operation {
        RECORD_ENABLED | RECORD_CALLERS | RECORD_DEADLINE | RECORD_ASYNC => None,
        RECORD_DATA => Some(TrailChoice::data(record.value as u32, record.object as u32)),
        _ => Some(TrailChoice::step(TaskId(record.task), record.enabled)),
    };
    all().iter().filter_map(choice).collect()
}

/// The schedule of the execution so far.
pub(crate) fn choices() -> Vec<Choice> {
    trail().into_iter().map(|it| it.choice).collect()
}
