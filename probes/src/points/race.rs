//! Two accesses that nothing orders: what is made of them.

use super::shadow::Slot;
use super::table::Table;
use crate::fiber;
use crate::manager::root;
use std::cell::UnsafeCell;

/// The conflict that is being told of, kept here while the manager's stack is used.
struct Told {
    word: u64,
    earlier: Slot,
    later: Slot,
}

/// See the module.
struct Races {
    told: UnsafeCell<Told>,
    /// Pairs of sites that were told of, and when in the execution.
    pairs: Table,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Races {}
const NOBODY: Slot = Slot { clock: 0, task: 0, mask: 0, kind: 0, site: 0 };
static RACES: Races = Races {
    told: UnsafeCell::new(Told { word: 0, earlier: NOBODY, later: NOBODY }),
    pairs: Table::new(),
};

pub(super) fn map() -> bool {
    RACES.pairs.map(14)
}

pub(super) fn begin() {
    RACES.pairs.clear();
}

pub(super) fn ranges() -> [(u64, u64); 1] {
    [RACES.pairs.range()]
}

/// `earlier` and `later` touch the word unordered, and one of them writes.
pub(super) fn conflict(word: u64, earlier: &Slot, later: &Slot) {
    let pair = earlier.site.rotate_left(32) ^ later.site ^ word.rotate_left(7);
    if RACES.pairs.get(pair).is_some() {
        return;
    }
    RACES.pairs.insert(pair, 1);
    // SAFETY: there is one kernel thread, and the manager is done with it when the call returns.
    unsafe { *RACES.told.get() = Told { word, earlier: *earlier, later: *later } };
    fiber::on_manager(tell, 0);
}

extern "C" fn tell(_: u64) -> u64 {
    // SAFETY: see `conflict`.
    let told = unsafe { &*RACES.told.get() };
    let learned = &mut root().learned;
    learned.find(told.earlier.site, told.word);
    learned.find(told.later.site, told.word);
    0
}
