//! Describes the objects of a full recording, when they are first accessed.

use crate::memory::{arena, shared_views, thread_block};
use crate::state::root::root;
use crate::state::world::world;
use crate::state::{library_words, open_words};
use crate::steps::declarations;
use crate::sys::channel;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{ObjectInfo, class};
use traces::{ObjectKind, Operation, THREAD_END};

fn describe(kind: ObjectKind, object: u64) -> ObjectInfo {
    let mut name = declarations::name_of(object);
    let own = match kind {
        ObjectKind::Memory | ObjectKind::Futex if name[0] == 0 => own_name(object),
        ObjectKind::Descriptor => open_words::awaited_name(object).map(str::to_owned),
        _ => None,
    };
    if let Some(own) = &own {
        // The last byte stays 0.
        let len = own.len().min(name.len() - 1);
        name[..len].copy_from_slice(&own.as_bytes()[..len]);
    }
    let base = ObjectInfo { address: object, kind: kind as u32, name, ..ObjectInfo::default() };
    if kind == ObjectKind::Task {
        return ObjectInfo { class: class::TASK, number: object - 1, ..base };
    }
    if kind == ObjectKind::Descriptor && own.is_none() {
        return ObjectInfo { class: class::DESCRIPTOR, number: object - 1, ..base };
    }
    if let Some(block) = arena::find(object) {
        return ObjectInfo {
            class: class::HEAP,
            number: block.ordinal,
            offset: object - block.address,
            size: block.size,
            allocated_at: block.site,
            allocated_by: arena::callers(&block),
            ..base
        };
    }
    let world = world();
    for number in 0..world.created.get() {
        let stack = world.tasks[usize::from(number)].stack.get();
        if (stack.low..stack.high).contains(&object) {
            return ObjectInfo {
                class: class::STACK,
                number: u64::from(number),
                offset: stack.high - object,
                ..base
            };
        }
    }
    ObjectInfo { class: class::ADDRESS, ..base }
}

/// The name of a word that no symbol of the program names.
fn own_name(address: u64) -> Option<String> {
    if is_thread_id(address) {
        return Some(THREAD_END.to_owned());
    }
    open_words::name(address).or_else(|| library_words::name(address))
}

/// Whether the address is that of the id of a thread, in the C library's block.
fn is_thread_id(address: u64) -> bool {
    let world = world();
    (0..world.created.get()).any(|number| {
        let block = world.tasks[usize::from(number)].block.get();
        block != 0 && thread_block::tid_address(block) == address
    })
}

/// The index of an object of this kind, if it is known. A memory access finds the object at that
/// address, of whichever kind.
fn noted(kind: ObjectKind, object: u64, number: u64) -> Option<u64> {
    let object = shared_views::canonical(object);
    let of =
        |kind: ObjectKind| root().objects.borrow().get(&(object, number, kind as u32)).copied();
    let at_address = || of(ObjectKind::Semaphore).or_else(|| of(ObjectKind::Once));
    (kind == ObjectKind::Memory).then(at_address).flatten().or_else(|| of(kind))
}

/// The object's index plus one; 0 for no object. Tasks and descriptors are given as their number
/// plus one.
pub(crate) fn index(operation: Operation, object: u64) -> u64 {
    if object == 0 {
        return 0;
    }
    let kind = operation.description().object;
    let info = describe(kind, object);
    if let Some(index) = noted(kind, object, info.number) {
        return index;
    }
    let header = channel::header();
    let capacity = header.objects.len / size_of::<ObjectInfo>() as u64;
    let len = header.objects_len.load(Relaxed);
    let index = if len < capacity { len + 1 } else { 0 };
    if index > 0 {
        // SAFETY: `len` is below the capacity of the region, which is mapped and written by this
        // process only; the controller reads entries below the length stored afterwards.
        unsafe {
            (channel::address(header.objects) as *mut ObjectInfo).add(len as usize).write(info);
        }
        header.objects_len.store(index, Relaxed);
    }
    let mut objects = root().objects.borrow();
    // One object has one index, by whichever address of a second mapping a step uses it.
    for address in [object, shared_views::canonical(object)] {
        objects.insert((address, info.number, kind as u32), index);
    }
    index
}

/// [`index`] of an object that a step has accessed; 0 for any other.
pub(crate) fn known(operation: Operation, object: u64) -> u64 {
    if object == 0 {
        return 0;
    }
    let kind = operation.description().object;
    let info = describe(kind, object);
    noted(kind, object, info.number).unwrap_or(0)
}

/// How many objects there are, to continue an execution from here more than once.
pub(crate) fn save() -> u64 {
    channel::header().objects_len.load(Relaxed)
}

/// An execution continues where there were so many objects.
pub(crate) fn restore(len: u64) {
    root().objects.borrow().retain(|_, index| *index <= len);
    channel::header().objects_len.store(len, Relaxed);
}

/// An execution begins.
pub(crate) fn begin() {
    root().objects.borrow().clear();
    channel::header().objects_len.store(0, Relaxed);
}
