//! One of the program's own modules: the program itself, or a library of its own.

use super::kept::Kept;
use super::patch;
use super::trampoline::Area;
use std::cell::{Cell, RefCell};

/// A module that has probes.
pub(super) struct Module {
    text: Cell<(u64, u64)>,
    /// The text as the program has it.
    pristine: Kept<u8>,
    /// Copies of its instructions, within their reach.
    pub(super) area: RefCell<Option<Area>>,
}

impl Module {
    pub(super) const fn new() -> Module {
        Module { text: Cell::new((0, 0)), pristine: Kept::new(), area: RefCell::new(None) }
    }

    /// Takes over one with so many sites, whose probes go to `stub`; false if there is no room for it.
    pub(super) fn prepare(&self, text: (u64, u64), sites: usize, stub: u64) -> bool {
        // SAFETY: mapped and readable for as long as the program runs.
        let bytes =
            unsafe { std::slice::from_raw_parts(text.0 as *const u8, (text.1 - text.0) as usize) };
        let Some(area) = Area::map(text, sites, stub) else { return false };
        *self.area.borrow_mut() = Some(area);
        self.text.set(text);
        self.pristine.keep_bytes(bytes)
    }

    /// Where its code lies.
    pub(super) fn text(&self) -> (u64, u64) {
        self.text.get()
    }

    /// Whether an address lies in its code.
    pub(super) fn has(&self, address: u64) -> bool {
        let (low, high) = self.text.get();
        (low..high).contains(&address)
    }

    /// So many bytes of its code, as the program has them.
    pub(super) fn pristine(&self, address: u64, len: usize) -> &'static [u8] {
        let at = (address - self.text.get().0) as usize;
        &self.pristine.all()[at..at + len]
    }

    /// Where its copies lie.
    pub(super) fn copies(&self) -> (u64, u64) {
        self.area.borrow().as_ref().map_or((0, 0), Area::range)
    }

    /// Whether a copy lies there.
    pub(super) fn has_copy(&self, address: u64) -> bool {
        let (low, high) = self.copies();
        (low..high).contains(&address)
    }

    /// Memory of the runtime's own.
    pub(super) fn ranges(&self) -> [(u64, u64); 2] {
        [self.pristine.range(), self.copies()]
    }

    /// Makes its text writable while `change` runs; false if the system does not let us.
    pub(super) fn with_text(&self, change: impl FnOnce()) -> bool {
        patch::with_text(self.text.get(), change)
    }
}
