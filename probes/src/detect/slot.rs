//! One access to memory, as shadow memory stores it.

/// [`Slot::kind`]: the entry is in use.
pub(crate) const USED: u8 = 1;
/// [`Slot::kind`]: a write.
pub(crate) const WRITE: u8 = 2;
/// [`Slot::kind`]: atomic.
pub(crate) const ATOMIC: u8 = 4;
/// [`Slot::kind`]: it is known whether the access is atomic.
pub(crate) const PROVEN: u8 = 8;
/// [`Slot::kind`]: the program declared that it may race.
pub(crate) const MEANT: u8 = 16;
/// [`Slot::kind`]: the C library or the kernel makes it in parts, which are executed as one step.
pub(crate) const IN_PARTS: u8 = 32;

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) clock: u32,
    pub(crate) task: u16,
    /// Which of the eight bytes.
    pub(crate) mask: u8,
    pub(crate) kind: u8,
    /// 48 of the address's 64 bits are stored.
    pub(crate) site: u64,
}

impl Slot {
    /// Whether the two accesses touch a common byte, and at least one writes.
    #[inline]
    pub(super) fn meets(&self, other: Head) -> bool {
        self.mask & other.mask() != 0 && (self.kind | other.kind()) & WRITE != 0
    }

    /// The accesses that this one makes redundant if it comes after them: they touch no other
    /// bytes, do not write if this one reads, and are atomic if this one is.
    #[inline]
    pub(super) const fn covered(&self) -> Covered {
        let beside = (!self.mask as u64) << Head::MASK;
        let reads = Head(0).writing(self.kind & WRITE == 0).0;
        let atomic = ((self.kind & ATOMIC) as u64) << Head::KIND;
        Covered { bits: beside | reads | atomic, are: atomic }
    }
}

/// A condition on some bits of an access's head.
#[derive(Clone, Copy)]
pub(super) struct Covered {
    bits: u64,
    are: u64,
}

impl Covered {
    #[inline]
    pub(super) const fn has(self, head: Head) -> bool {
        head.0 & self.bits == self.are
    }
}

/// An access without its site in one number, so that it is compared and written at once. From the
/// lowest bit up: its clock, byte mask, kind and task. 0 means no access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Head(pub(super) u64);

impl Head {
    const MASK: u32 = 32;
    const KIND: u32 = 40;
    const TASK: u32 = 48;

    /// The head of accesses in the stretch with this clock, without the bytes.
    #[inline]
    pub(crate) const fn new(clock: u32, task: u16, kind: u8) -> Head {
        Head(clock as u64 | (kind as u64) << Head::KIND | (task as u64) << Head::TASK)
    }

    /// Such an access, at a site.
    #[inline]
    pub(crate) const fn slot(self, mask: u8, writes: bool, site: u64) -> Slot {
        let kind = self.writing(writes).kind();
        Slot { clock: self.clock(), task: self.task(), mask, kind, site }
    }

    /// The same head, for an access to these bytes.
    #[inline]
    pub(super) const fn to(self, mask: u8) -> Head {
        Head(self.0 | (mask as u64) << Head::MASK)
    }

    /// The same head, for a write.
    #[inline]
    pub(super) const fn writing(self, writes: bool) -> Head {
        Head(self.0 | if writes { (WRITE as u64) << Head::KIND } else { 0 })
    }

    #[inline]
    pub(super) const fn clock(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(super) const fn mask(self) -> u8 {
        (self.0 >> Head::MASK) as u8
    }

    #[inline]
    pub(super) const fn kind(self) -> u8 {
        (self.0 >> Head::KIND) as u8
    }

    #[inline]
    pub(super) const fn task(self) -> u16 {
        (self.0 >> Head::TASK) as u16
    }

    /// Whether the two accesses are of the same stretch and kind, whichever bytes they touch.
    #[inline]
    pub(super) const fn bytes_apart(self, other: Head) -> bool {
        (self.0 ^ other.0) & !(0xff << Head::MASK) == 0
    }

    /// Whether a later plain access to these bytes, a write if `writes`, makes this one redundant:
    /// this one touches no other bytes, and does not write if that one reads.
    #[inline]
    pub(super) const fn is_within(self, mask: u8, writes: bool) -> bool {
        self.0 & ((!mask as u64) << Head::MASK | Head(0).writing(!writes).0) == 0
    }

    /// Whether this entry already covers an access of the same stretch and kind: it has these
    /// bytes, and is a write if that one writes.
    #[inline]
    pub(super) const fn covers(self, wanted: Head, writes: bool) -> bool {
        let free = 0xff << Head::MASK | (WRITE as u64) << Head::KIND;
        let care = !free | wanted.0 & 0xff << Head::MASK | Head(0).writing(writes).0;
        (self.0 ^ wanted.0) & care == 0
    }
}

/// Which bytes of the word that begins at `word` are between these addresses.
#[inline]
pub(crate) fn bytes_within(word: u64, address: u64, end: u64) -> u8 {
    let (low, high) = (address.max(word) - word, end.min(word + 8) - word);
    (((1u32 << high) - 1) & !((1u32 << low) - 1)) as u8
}
