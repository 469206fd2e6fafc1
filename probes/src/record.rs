//! What is written down about each step, in memory shared with the controller.

use crate::channel;
use crate::manager::root;
use crate::objects;
use crate::task::Task;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{
    CALLERS, CALLERS_OF, FLAG_INDEXED, RECORD_CALLERS, RECORD_DATA, RECORD_ENABLED, Record,
};
use traces::{Operation, TaskId};

/// Where the next record goes.
struct Position {
    base: Cell<usize>,
    len: Cell<usize>,
    capacity: Cell<usize>,
    /// The index of the last step's record.
    last_step: Cell<usize>,
    /// Whether steps are taken that are not recorded.
    muted: Cell<bool>,
    /// The digest of the last step and the exclusive ors of the choices so far: two executions
    /// with the same choices have the same one.
    fingerprint: Cell<u64>,
    /// Of how many more steps the callers are recorded.
    callers: Cell<u64>,
    /// The enabled set as it was recorded last (full records only).
    enabled: [Cell<u64>; crate::world::MAX_TASKS / 64],
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Position {}
static POSITION: Position = Position {
    base: Cell::new(0),
    len: Cell::new(0),
    capacity: Cell::new(0),
    last_step: Cell::new(0),
    muted: Cell::new(false),
    fingerprint: Cell::new(0),
    callers: Cell::new(0),
    enabled: [const { Cell::new(0) }; crate::world::MAX_TASKS / 64],
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
}

fn push(record: Record) -> usize {
    let index = POSITION.len.get();
    if index >= POSITION.capacity.get() {
        crate::failure::end(crate::failure::End::Cut);
    }
    // SAFETY: below the region's capacity.
    unsafe { (POSITION.base.get() as *mut Record).add(index).write(record) };
    POSITION.len.set(index + 1);
    // After the record, so that what the controller sees is whole: the stores stay in this order
    // on x86-64, and the compiler keeps them so around an atomic in the same thread's program.
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

/// On the stack of the task whose step has just begun: writes down who called it, if that is wanted.
#[inline]
pub(crate) fn callers_if_wanted(task: &Task) {
    if POSITION.callers.get() > 0 {
        // On a stack of its own: what the unwinder leaves would tell one turn of a loop from another
        // (`crate::stall`), and a task near the end of its stack is to fail where it does in the search.
        crate::fiber::on_manager(callers, task.site.get());
    }
}

extern "C" fn callers(site: u64) -> u64 {
    let last = all().get(POSITION.last_step.get());
    if last.is_none_or(|record| record.site != site) || POSITION.muted.get() {
        return 0;
    }
    let mut addresses = [0; CALLERS];
    // The unwinder may call what is interposed, and the call that is being served is still this one.
    let call = crate::interpose::site();
    let found = crate::backtrace::innermost(&mut addresses);
    crate::interpose::CALL_SITE.0.set(call);
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

/// The steps that follow are not recorded, up to the next that is.
pub(crate) fn mute(muted: bool) {
    POSITION.muted.set(muted);
}

/// What came out of the last step that was recorded.
pub(crate) fn last_value() -> u64 {
    if POSITION.len.get() == 0 {
        return 0;
    }
    // SAFETY: the last step's record lies in the region.
    unsafe { (*(POSITION.base.get() as *const Record).add(POSITION.last_step.get())).value }
}

const _: () = assert!(size_of::<Record>().is_power_of_two(), "records are found by shifting");

/// What came out of the running step.
#[inline]
pub(crate) fn value(value: u64) {
    // Where the record lies is another place in every step, and in some there is none: no register is to tell
    // of that afterwards, or one turn of a loop would be told from another by what the call left there
    // (`crate::stall`).
    // SAFETY: the last step's record lies in the region.
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

/// Writes down who became able or unable to move since the last step.
pub(crate) fn enabled_changes(enabled: &[TaskId]) {
    let created = usize::from(crate::world::world().created.get());
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

/// A digest of everything that was recorded, if that is `wanted`.
pub(crate) fn digest_if(wanted: bool) -> u64 {
    if !wanted {
        return 0;
    }
    all().iter().fold(all().len() as u64, |digest, record| {
        let head = u64::from(record.task)
            | u64::from(record.operation) << 16
            | u64::from(record.enabled) << 32;
        [head, record.object, record.site, record.value].into_iter().fold(digest, |digest, word| {
            let x = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x ^ (x >> 31)
        })
    })
}

/// A number that tells this execution's choices from others'.
pub(crate) fn fingerprint() -> u64 {
    POSITION.fingerprint.get()
}

/// The last step before the call at `here` that did one of these operations to `object`: whose it
/// was, and where.
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
        let same = if record.flags & FLAG_INDEXED != 0 { of_full() } else { object };
        (which(operation) && record.object == same).then_some((record.task, record.site))
    })
}

/// Takes over what another process wrote before it died.
pub(crate) fn adopt() {
    let records = channel::header().records;
    POSITION.base.set(channel::address(records));
    POSITION.capacity.set(records.len as usize / size_of::<Record>());
    begin_at(channel::header().records_len.load(Relaxed) as usize);
}

/// The records so far.
pub(crate) fn all() -> &'static [Record] {
    // SAFETY: written by `push`, and nobody writes while the manager reads.
    unsafe { std::slice::from_raw_parts(POSITION.base.get() as *const Record, POSITION.len.get()) }
}
