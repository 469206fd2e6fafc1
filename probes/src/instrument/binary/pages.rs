//! Which pages of a module's text may be executed.
//!
//! While accesses are observed, a page is closed until the program executes code in it for the first time: the
//! processor faults, and the functions in it are decoded and probed.

use crate::instrument::binary::patch;
use crate::sys::raw;
use std::cell::Cell;

/// The size of a page.
pub(super) const PAGE: u64 = 4096;

/// The pages of one module.
pub(super) struct Pages {
    text: Cell<(u64, u64)>,
    /// The address of a byte for each page: whether the program has executed code in it.
    entered: Cell<u64>,
    /// Whether all other pages are closed.
    is_closing: Cell<bool>,
}

impl Pages {
    pub(super) const fn new() -> Pages {
        Pages { text: Cell::new((0, 0)), entered: Cell::new(0), is_closing: Cell::new(false) }
    }

    /// Initialises them for a text that consists of whole pages; false if there is no memory.
    pub(super) fn prepare(&self, text: (u64, u64)) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let entered = raw::map(0, ((text.1 - text.0) / PAGE) as usize, prot, 0);
        self.text.set(text);
        self.entered.set(entered.unwrap_or(0) as u64);
        entered.is_some()
    }

    /// The range of the text.
    pub(super) fn text(&self) -> (u64, u64) {
        self.text.get()
    }

    /// The memory of the runtime.
    pub(super) fn range(&self) -> (u64, u64) {
        let (start, end) = self.text.get();
        (self.entered.get(), self.entered.get() + (end - start) / PAGE)
    }

    fn entered(&self) -> &'static [Cell<u8>] {
        let (start, end) = self.range();
        if start == 0 {
            return &[];
        }
        // SAFETY: `prepare` mapped these bytes, which are never unmapped. They change only through the cells, and the
        // controlled process has one kernel thread.
        unsafe { std::slice::from_raw_parts(start as *const Cell<u8>, (end - start) as usize) }
    }

    /// Whether the page that contains an address is closed.
    pub(super) fn is_closed(&self, address: u64) -> bool {
        let (start, end) = self.text.get();
        self.is_closing.get()
            && (start..end).contains(&address)
            && self.entered()[((address - start) / PAGE) as usize].get() == 0
    }

    /// Opens the page that contains an address. Its protection does not change.
    pub(super) fn enter(&self, address: u64) {
        self.entered()[((address - self.text.get().0) / PAGE) as usize].set(1);
    }

    /// Opens or closes the pages that the program has not executed; false if the system refuses that.
    pub(super) fn set_closing(&self, is_closing: bool) -> bool {
        self.is_closing.replace(is_closing) == is_closing || self.protect(self.text.get())
    }

    /// Makes the pages of a range writable while `change` runs; false if the system refuses that.
    pub(super) fn with_text(&self, range: (u64, u64), change: impl FnOnce()) -> bool {
        let (start, end) = (range.0 & !(PAGE - 1), range.1.next_multiple_of(PAGE));
        if !patch::protect(start, end - start, libc::PROT_READ | libc::PROT_WRITE) {
            return false;
        }
        change();
        self.protect((start, end))
    }

    /// Gives each page of a range of whole pages its protection.
    fn protect(&self, (start, end): (u64, u64)) -> bool {
        let mut at = start;
        while at < end {
            let is_closed = self.is_closed(at);
            let mut next = at + PAGE;
            while next < end && self.is_closed(next) == is_closed {
                next += PAGE;
            }
            let prot = if is_closed { 0 } else { libc::PROT_EXEC };
            if !patch::protect(at, next - at, libc::PROT_READ | prot) {
                return false;
            }
            at = next;
        }
        true
    }
}
