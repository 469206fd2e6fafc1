//! What a program tells by `heddle.h`: points by hand, names, regions that are not to be interrupted,
//! assertions. (Where executions begin is [`crate::begin`]'s.)

use crate::arena;
use crate::interpose::{interpose, site};
use crate::manager::root;
use crate::models::abort;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::{MAX_TASKS, on_fiber, world};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_uint};
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::points::Unseen;
use traces::wire::NAME_LEN;

/// More names than these are not kept.
const NAMES: usize = 1024;

/// The name of an object, and which block of the heap it lies in: another one may come to lie there.
#[derive(Clone, Copy)]
struct Name {
    object: u64,
    block: Option<u64>,
    text: [u8; NAME_LEN],
}

struct Told {
    names: [Cell<Name>; NAMES],
    /// How many were given before executions began, and in all.
    len: Cell<(usize, usize)>,
    /// How deep each task is in regions that are not to be interrupted.
    regions: [Cell<u16>; MAX_TASKS],
    any_region: Cell<bool>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Told {}
const NOBODY: Name = Name { object: 0, block: None, text: [0; NAME_LEN] };
static TOLD: Told = Told {
    names: [const { Cell::new(NOBODY) }; NAMES],
    len: Cell::new((0, 0)),
    regions: [const { Cell::new(0) }; MAX_TASKS],
    any_region: Cell::new(false),
};

/// Stands for what points without an object have in common.
static POINT: u64 = 0;

/// An execution begins.
pub(crate) fn begin() {
    let (early, _) = TOLD.len.get();
    TOLD.len.set((early, early));
    if TOLD.any_region.replace(false) {
        TOLD.regions.iter().for_each(|depth| depth.set(0));
    }
}

/// The object's name, if it was given one: text and zeros.
pub(crate) fn name_of(object: u64) -> [u8; NAME_LEN] {
    if object == &raw const POINT as u64 {
        let mut text = [0; NAME_LEN];
        text[..12].copy_from_slice(b"heddle_point");
        return text;
    }
    let names = TOLD.names[..TOLD.len.get().1].iter().rev().map(Cell::get);
    let block = || arena::find(object).map(|block| block.ordinal);
    let mut named = names.filter(|name| name.object == object);
    named.find(|name| name.block == block()).map_or([0; NAME_LEN], |name| name.text)
}

/// Whether the task is in a region that is not to be interrupted.
pub(crate) fn keeps(task: u16) -> bool {
    TOLD.regions[usize::from(task)].get() > 0
}

interpose! {
    fn heddle_point_at(object: u64) -> () {
        if on_fiber() {
            let object = if object == 0 { &raw const POINT as u64 } else { object };
            point(Operation::Update, object, site(), Gate::Open);
            crate::record::value(0);
        }
    }
    fn heddle_name(object: u64, name: *const c_char) -> () {
        let (early, len) = TOLD.len.get();
        if object != 0 && !name.is_null() && len < NAMES {
            let given = unsafe { CStr::from_ptr(name) }.to_bytes();
            let mut text = [0; NAME_LEN];
            let kept = given.len().min(NAME_LEN - 1);
            text[..kept].copy_from_slice(&given[..kept]);
            let block = arena::find(object).map(|block| block.ordinal);
            TOLD.names[len].set(Name { object, block, text });
            TOLD.len.set((if on_fiber() { early } else { len + 1 }, len + 1));
        }
    }
    fn heddle_atomic_begin() -> () {
        if on_fiber() {
            let depth = &TOLD.regions[usize::from(world().current.get())];
            depth.set(depth.get().saturating_add(1));
            TOLD.any_region.set(true);
            root().scoped = true;
            let unseen = &crate::channel::header().sight.unseen;
            unseen.store(unseen.load(Relaxed) | Unseen::Marked as u64, Relaxed);
        }
    }
    fn heddle_atomic_end() -> () {
        if on_fiber() {
            let depth = &TOLD.regions[usize::from(world().current.get())];
            depth.set(depth.get().saturating_sub(1));
        }
    }
    fn heddle_failed(expression: *const c_char, file: *const c_char, line: c_uint,
                     function: *const c_char) -> () {
        if on_fiber() {
            abort::assertion(expression, file, line, function, site());
        }
    }
}
