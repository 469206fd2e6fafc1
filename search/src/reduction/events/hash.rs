//! A fast hash for numbers, and maps that use it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes object numbers, which are derived from addresses. The standard library's hasher uses
/// random keys, which would make a search depend on them.
#[derive(Debug, Clone, Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }
}

/// A map with the same iteration order in every run.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// The finaliser of splitmix64.
#[must_use]
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
