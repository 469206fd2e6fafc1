//! One of the program's own modules: the executable, or one of its libraries.

use crate::instrument::binary::address_set::AddressSet;
use crate::instrument::binary::pages::Pages;
use crate::instrument::binary::private_list::PrivateList;
use crate::instrument::binary::trampoline::{Area, Moved};
use std::cell::RefCell;

/// The most instructions that move together for one probe.
const MOST_MOVED: usize = 6;

/// A module that has probes.
pub(super) struct Module {
    pub(super) pages: Pages,
    /// The program's original text.
    pristine: PrivateList<u8>,
    /// Copies of its instructions, within reach of relative addresses.
    pub(super) area: RefCell<Option<Area>>,
    /// The instructions that have a copy, ascending by the copy's address.
    pub(super) moved: PrivateList<Moved>,
    /// Where branches may lead to.
    pub(super) targets: RefCell<AddressSet>,
}

impl Module {
    pub(super) const fn new() -> Module {
        Module {
            pages: Pages::new(),
            pristine: PrivateList::new(),
            area: RefCell::new(None),
            moved: PrivateList::new(),
            targets: RefCell::new(AddressSet::new()),
        }
    }

    /// Initialises this entry for a module with so many sites, whose probes call `stub`; false if
    /// there is no room for it.
    pub(super) fn prepare(&self, text: (u64, u64), sites: usize, stub: u64) -> bool {
        // SAFETY: the loader mapped this text readable, and it stays mapped while the program runs.
        // The reference lives only during this call, in which nothing changes the text.
        let bytes =
            unsafe { std::slice::from_raw_parts(text.0 as *const u8, (text.1 - text.0) as usize) };
        let Some(area) = Area::map(text, sites, stub) else { return false };
        *self.area.borrow_mut() = Some(area);
        self.pages.prepare(text)
            && self.moved.map(sites * MOST_MOVED)
            && self.pristine.keep_bytes(bytes)
    }

    /// The range of its code.
    pub(super) fn text(&self) -> (u64, u64) {
        self.pages.text()
    }

    /// Whether an address is in its code.
    pub(super) fn has(&self, address: u64) -> bool {
        let (low, high) = self.pages.text();
        (low..high).contains(&address)
    }

    /// `len` bytes of its original code.
    pub(super) fn pristine(&self, address: u64, len: usize) -> &'static [u8] {
        let at = (address - self.pages.text().0) as usize;
        &self.pristine.all()[at..at + len]
    }

    /// The range of its instruction copies.
    pub(super) fn copies(&self) -> (u64, u64) {
        self.area.borrow().as_ref().map_or((0, 0), Area::range)
    }

    /// Whether an address is in its instruction copies.
    pub(super) fn has_copy(&self, address: u64) -> bool {
        let (low, high) = self.copies();
        (low..high).contains(&address)
    }

    /// Memory ranges of the runtime.
    pub(super) fn ranges(&self) -> [(u64, u64); 4] {
        [self.pristine.range(), self.copies(), self.pages.range(), self.moved.range()]
    }

    /// Makes its text writable while `change` runs; false if the system refuses that.
    pub(super) fn with_text(&self, change: impl FnOnce()) -> bool {
        self.pages.with_text(self.pages.text(), change)
    }
}
