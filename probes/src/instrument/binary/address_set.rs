//! A set of addresses in a range of code.

/// A set of addresses, as a bit for each byte of the range.
#[derive(Debug)]
pub(super) struct AddressSet {
    start: u64,
    bits: Vec<u64>,
}

impl AddressSet {
    /// An empty set of addresses in no range.
    pub(super) const fn new() -> AddressSet {
        AddressSet { start: 0, bits: Vec::new() }
    }

    /// An empty set of addresses in this range.
    pub(super) fn of((start, end): (u64, u64)) -> AddressSet {
        AddressSet { start, bits: vec![0; (end - start).div_ceil(64) as usize] }
    }

    /// The word and the bit of an address, unless it is outside.
    fn place(&self, address: u64) -> Option<(usize, u64)> {
        let at = address.checked_sub(self.start)?;
        let word = usize::try_from(at / 64).ok().filter(|&word| word < self.bits.len())?;
        Some((word, 1 << (at % 64)))
    }

    /// Adds an address; one outside of the range is ignored.
    #[inline]
    pub(super) fn insert(&mut self, address: u64) {
        if let Some((word, bit)) = self.place(address) {
            self.bits[word] |= bit;
        }
    }

    /// Whether the set contains an address.
    #[inline]
    pub(super) fn contains(&self, address: u64) -> bool {
        self.place(address).is_some_and(|(word, bit)| self.bits[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::AddressSet;

    #[test]
    fn contains_exactly_what_was_inserted_within_the_range() {
        let mut set = AddressSet::of((100, 300));
        let inserted = [100, 163, 164, 299, 99, 1000];
        inserted.into_iter().for_each(|address| set.insert(address));
        let found: Vec<u64> = (0..2000).filter(|&address| set.contains(address)).collect();
        assert_eq!(found, [100, 163, 164, 299]);
    }
}
