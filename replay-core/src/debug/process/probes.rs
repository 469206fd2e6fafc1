//! Hides the runtime's breakpoints in the program from the user: memory shows the original bytes,
//! and the copied instructions count as the runtime's code.

use super::tracee::Tracee;
use crate::symbols::Memory;
use std::ops::Range;
use traces::wire::Probe;

/// The probes of a process, ascending by address.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    all: Vec<Probe>,
    /// The copied instructions of each module.
    copies: Vec<Range<u64>>,
}

impl Probes {
    /// Reads the table of probes from the runtime.
    pub(super) fn read(tracee: &Tracee, table: u64, len: u64, copies: Vec<Range<u64>>) -> Probes {
        const SIZE: usize = size_of::<Probe>();
        let mut bytes = vec![0u8; (len as usize).saturating_mul(SIZE)];
        let read = tracee.read(table, &mut bytes);
        let word = |entry: &[u8], at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&entry[8 * at..8 * at + 8]);
            u64::from_le_bytes(word)
        };
        let all = bytes[..read].chunks_exact(SIZE).map(|entry| Probe {
            address: word(entry, 0),
            behind: word(entry, 1),
            copy: word(entry, 2),
            original: word(entry, 3),
        });
        Probes { all: all.collect(), copies }
    }

    /// Whether there are no probes.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The probe at an instruction.
    pub(super) fn at(&self, address: u64) -> Option<&Probe> {
        let at = self.all.binary_search_by_key(&address, |probe| probe.address).ok()?;
        Some(&self.all[at])
    }

    /// The probe whose instruction copy is at an address.
    pub(super) fn of_copy(&self, address: u64) -> Option<&Probe> {
        if !self.has_copy(address) {
            return None;
        }
        self.all.iter().filter(|probe| probe.copy <= address).max_by_key(|probe| probe.copy)
    }

    /// Whether an address is within the copied instructions.
    pub(super) fn has_copy(&self, address: u64) -> bool {
        self.copies.iter().any(|copies| copies.contains(&address))
    }

    /// Replaces breakpoint bytes by the original ones in bytes that were read from `address`.
    pub(super) fn hide(&self, address: u64, bytes: &mut [u8]) {
        let from = self.all.partition_point(|probe| probe.address < address);
        for probe in &self.all[from..] {
            let Some(byte) = bytes.get_mut((probe.address - address) as usize) else { break };
            *byte = probe.original as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_shows_the_bytes_under_a_probe() {
        let probe = |address, copy| Probe { address, behind: address + 3, copy, original: address };
        let probes = Probes {
            all: vec![probe(0x10, 0x900), probe(0x14, 0x930), probe(0x20, 0x960)],
            copies: vec![0x100..0x200, 0x900..0xa00],
        };
        let mut bytes = [0xcc; 5];
        probes.hide(0x10, &mut bytes);
        assert_eq!(bytes, [0x10, 0xcc, 0xcc, 0xcc, 0x14]);
        probes.hide(0x21, &mut bytes);
        assert_eq!(bytes, [0x10, 0xcc, 0xcc, 0xcc, 0x14]);
        assert_eq!(probes.at(0x14).map(|probe| probe.behind), Some(0x17));
        assert_eq!(probes.of_copy(0x935).map(|probe| probe.address), Some(0x14));
        assert_eq!(probes.of_copy(0x899), None);
    }
}
