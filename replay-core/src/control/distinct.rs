//! Counts distinct schedules: exactly for the first hundred thousand, by estimation beyond.

/// Up to this number every fingerprint is stored.
const EXACT: usize = 1 << 17;
/// 2^14 registers: a standard error of 0.8 %.
const REGISTER_BITS: u32 = 14;

/// A set of 64-bit fingerprints that can only be counted, in bounded memory.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Distinct {
    /// Open addressing, 0 for a free slot, at most half full.
    slots: Vec<u64>,
    len: usize,
    /// HyperLogLog (Flajolet et al. 2007), updated from the start so that it can take over.
    registers: Vec<u8>,
    /// The sum over the registers of 2^-rank, updated incrementally.
    sum: f64,
}

impl Distinct {
    /// Adds a fingerprint.
    pub(crate) fn add(&mut self, fingerprint: u64) {
        let fingerprint = fingerprint.max(1);
        if self.registers.is_empty() {
            self.registers = vec![0; 1 << REGISTER_BITS];
            self.sum = self.registers.len() as f64;
            self.slots = vec![0; 1024];
        }
        let mixed = mix(fingerprint);
        let register = &mut self.registers[(mixed >> (64 - REGISTER_BITS)) as usize];
        let rank = ((mixed << REGISTER_BITS) | 1).leading_zeros() as u8 + 1;
        if rank > *register {
            self.sum += inverse_power(rank) - inverse_power(*register);
            *register = rank;
        }
        if self.len >= EXACT {
            return;
        }
        if self.insert(fingerprint) {
            self.len += 1;
            if self.len * 2 > self.slots.len() {
                let old = std::mem::take(&mut self.slots);
                self.slots = vec![0; old.len() * 2];
                for fingerprint in old.into_iter().filter(|&f| f != 0) {
                    self.insert(fingerprint);
                }
            }
        }
    }

    /// The number of distinct fingerprints.
    pub(crate) fn len(&self) -> u64 {
        if self.len >= EXACT { self.estimate() } else { self.len as u64 }
    }

    fn insert(&mut self, fingerprint: u64) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = mix(fingerprint) as usize & mask;
        while self.slots[at] != 0 {
            if self.slots[at] == fingerprint {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = fingerprint;
        true
    }

    fn estimate(&self) -> u64 {
        let m = self.registers.len() as f64;
        let alpha = 0.7213 / (1.0 + 1.079 / m);
        ((alpha * m * m / self.sum) as u64).max(EXACT as u64)
    }
}

fn inverse_power(rank: u8) -> f64 {
    1.0 / (1u64 << rank.min(63)) as f64
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
