//! Blocks of the heap that come back: `malloc` returns a block that the same task freed before.
//!
//! Freed blocks are held for a while, so that uses after free are found. A program that compares pointers would
//! then never see an address twice, although it may with any real heap (ABA). So where a compare-and-swap expects
//! the address of a freed block, later allocations of that size choose, as a data choice, between a fresh block
//! and the last one that their task freed: in all, as often in an execution as `--reuse` says.

use crate::detect::access::{POINTS, is_in_company, note_gap};
use crate::detect::race;
use crate::detect::shadow::Word;
use crate::detect::slot::{ATOMIC, Slot, USED, WRITE};
use crate::memory::arena;
use crate::schedule::scheduler::choose_data;
use crate::state::root::root;
use crate::state::world::world;
use traces::points::InstrumentationGap;

/// For each size class, the word that represents that its blocks come back. Nothing is ever written to them.
static WORDS: [u64; arena::CLASSES] = [0; arena::CLASSES];

fn word(class: usize) -> u64 {
    &raw const WORDS[class.min(arena::CLASSES - 1)] as u64
}

/// An atomic operation before `site` expects this value.
#[inline]
pub(crate) fn expected(value: u64, site: u64) {
    if let Some(class) = arena::freed_class(value) {
        learn(class, site);
    }
}

#[cold]
fn learn(class: usize, site: u64) {
    if root().reuse == 0 {
        note_gap(InstrumentationGap::Reuse);
    } else if is_in_company() {
        let (task, kind) = (world().current.get(), USED | WRITE | ATOMIC);
        race::belongs(word(class), &Slot { clock: 0, task, mask: 0xff, kind, site });
    }
}

/// Whether blocks of a size class may come back.
pub(crate) fn may_come_back(class: usize) -> bool {
    is_in_company() && POINTS.shadow.word(word(class)).is_some_and(Word::is_hot)
}

/// Whether a block comes back, where so many did before in this execution.
pub(crate) fn comes_back(before: u32) -> bool {
    if before >= root().reuse {
        note_gap(InstrumentationGap::Reuse);
        return false;
    }
    choose_data(2) == 1
}
