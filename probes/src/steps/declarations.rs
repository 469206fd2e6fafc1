//! What the program declares by the functions of `heddle.h`: names of objects, atomic regions.

use crate::memory::arena;
use crate::state::world::MAX_TASKS;
use std::cell::Cell;
use traces::wire::NAME_LEN;

/// The most names that are stored; further ones are dropped.
const NAMES: usize = 1024;

/// The name of an object, and the ordinal of its heap block: another block may be allocated at the
/// same address later.
#[derive(Clone, Copy)]
struct Name {
    object: u64,
    block: Option<u64>,
    text: [u8; NAME_LEN],
}

struct Declarations {
    names: [Cell<Name>; NAMES],
    /// How many names were given before executions began, and in all.
    len: Cell<(usize, usize)>,
    /// For each task, its nesting depth in atomic regions.
    regions: [Cell<u16>; MAX_TASKS],
    any_region: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread. (A multithreaded program that runs without a controller also writes names here,
// unsynchronised; nothing reads them there.)
unsafe impl Sync for Declarations {}
const NO_NAME: Name = Name { object: 0, block: None, text: [0; NAME_LEN] };
static DECLARATIONS: Declarations = Declarations {
    names: [const { Cell::new(NO_NAME) }; NAMES],
    len: Cell::new((0, 0)),
    regions: [const { Cell::new(0) }; MAX_TASKS],
    any_region: Cell::new(false),
};

/// The object of all points that name no object.
static POINT: u64 = 0;

/// An execution begins.
pub(crate) fn begin() {
    let (early, _) = DECLARATIONS.len.get();
    DECLARATIONS.len.set((early, early));
    if DECLARATIONS.any_region.replace(false) {
        DECLARATIONS.regions.iter().for_each(|depth| depth.set(0));
    }
}

/// How many names were given before executions began, and in all; none while a task is in an atomic
/// region.
pub(crate) fn save() -> Option<(usize, usize)> {
    (!DECLARATIONS.any_region.get()).then(|| DECLARATIONS.len.get())
}

/// An execution continues where [`save`] returned `len`.
pub(crate) fn restore(len: (usize, usize)) {
    begin();
    DECLARATIONS.len.set(len);
}

/// The object's name, padded with zeros, or all zeros if it has none.
pub(crate) fn name_of(object: u64) -> [u8; NAME_LEN] {
    if object == &raw const POINT as u64 {
        let mut text = [0; NAME_LEN];
        text[..12].copy_from_slice(b"heddle_point");
        return text;
    }
    let names = DECLARATIONS.names[..DECLARATIONS.len.get().1].iter().rev().map(Cell::get);
    let block = || arena::find(object).map(|block| block.ordinal);
    let mut named = names.filter(|name| name.object == object);
    named.find(|name| name.block == block()).map_or([0; NAME_LEN], |name| name.text)
}

/// Whether the task is in an atomic region.
pub(crate) fn keeps(task: u16) -> bool {
    DECLARATIONS.regions[usize::from(task)].get() > 0
}

/// The object of points that name no object.
pub(crate) fn point() -> u64 {
    &raw const POINT as u64
}

/// Names an object. An early name, from before executions began, is valid in all of them.
pub(crate) fn name(object: u64, name: &[u8], is_early: bool) {
    let (early, len) = DECLARATIONS.len.get();
    if len == NAMES {
        return;
    }
    let mut text = [0; NAME_LEN];
    let stored = name.len().min(NAME_LEN - 1);
    text[..stored].copy_from_slice(&name[..stored]);
    let block = arena::find(object).map(|block| block.ordinal);
    DECLARATIONS.names[len].set(Name { object, block, text });
    DECLARATIONS.len.set((if is_early { len + 1 } else { early }, len + 1));
}

/// The task enters an atomic region.
pub(crate) fn enter_region(task: u16) {
    let depth = &DECLARATIONS.regions[usize::from(task)];
    depth.set(depth.get().saturating_add(1));
    DECLARATIONS.any_region.set(true);
}

/// The task leaves an atomic region.
pub(crate) fn leave_region(task: u16) {
    let depth = &DECLARATIONS.regions[usize::from(task)];
    depth.set(depth.get().saturating_sub(1));
}
