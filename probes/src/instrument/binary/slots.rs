//! Memory of the runtime for entries with fixed numbers, of which groups are written when they are needed.

use crate::instrument::binary::private_list::PrivateList;

/// Memory for entries that are written in any order.
pub(super) struct Slots<T>(PrivateList<T>);

impl<T> Slots<T> {
    pub(super) const fn new() -> Slots<T> {
        Slots(PrivateList::new())
    }

    /// Maps memory for `room` entries; false if there is none.
    pub(super) fn map(&self, room: usize) -> bool {
        self.0.map(room)
    }

    /// The range of the memory.
    pub(super) fn range(&self) -> (u64, u64) {
        self.0.range()
    }

    /// The number of an entry.
    pub(super) fn number_of(&self, entry: &T) -> usize {
        self.0.index_of(entry)
    }

    /// Writes an entry; false if there is no room for this number.
    ///
    /// # Safety
    /// No slice from [`Slots::all`] that contains the entry is used afterwards.
    pub(super) unsafe fn write(&self, number: usize, entry: T) -> bool {
        let Some(place) = self.place(number) else { return false };
        // SAFETY: the place is in the mapping, aligned, and by this function's contract there is no reference to it.
        unsafe { place.write(entry) };
        true
    }

    /// Some consecutive entries. What changes in an entry is in its cells.
    ///
    /// # Safety
    /// All of them were written.
    #[inline]
    pub(super) unsafe fn all(&self, first: usize, len: usize) -> &'static [T] {
        if len == 0 {
            return &[];
        }
        let (start, end) = self.range();
        let place = start as usize + first * size_of::<T>();
        debug_assert!(place + len * size_of::<T>() <= end as usize, "entries beyond the mapping");
        // SAFETY: the mapping is never unmapped, and the entries were written by this function's contract; they are
        // not written again while the slice is in use. The controlled process has one kernel thread.
        unsafe { std::slice::from_raw_parts(place as *const T, len) }
    }

    /// The place of an entry; none beyond the mapping.
    fn place(&self, number: usize) -> Option<*mut T> {
        let (start, end) = self.range();
        let place = start as usize + number * size_of::<T>();
        (place + size_of::<T>() <= end as usize).then_some(place as *mut T)
    }
}
