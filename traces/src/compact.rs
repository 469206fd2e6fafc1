//! The encoding of plain data between programs of one build: messages between controller and runtime,
//! and the state of searches.
//!
//! It stores neither names nor types, so only the build that wrote it can read it. What users keep
//! is in the format of [`crate::file`]. A checksum at the end detects data that was overwritten, as
//! a target may do with the memory that it shares with the controller.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that [`encode`] of this build did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the data was overwritten, or another build of Heddle wrote it")]
pub struct Unreadable;

const CHECKSUM: usize = size_of::<u64>();

/// The encoding of a value.
///
/// # Panics
///
/// If the type's implementation of [`Serialize`] fails, or writes a sequence without its length.
#[must_use]
pub fn encode(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut bytes = postcard::to_allocvec(value).expect("plain data always serialises");
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The inverse of [`encode`].
///
/// # Errors
///
/// If the bytes are not what `encode` returned for a value of this type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let (body, sum) = bytes.split_last_chunk::<CHECKSUM>().ok_or(Unreadable)?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(Unreadable);
    }
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        _ => Err(Unreadable),
    }
}

/// A hash of eight bytes at a time, in the manner of FNV. It need not resist an attacker.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let step = |sum: u64, word: &[u8; 8]| {
        (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    step(words.iter().fold(bytes.len() as u64 + 1, step), &last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_read_back(value: (Vec<u64>, Option<String>, Vec<(bool, i32)>)) {
            prop_assert_eq!(decode(&encode(&value)), Ok(value));
        }

        #[test]
        fn a_changed_byte_is_noticed(value: Vec<u64>, at: prop::sample::Index, change in 1..=255u8) {
            let mut bytes = encode(&value);
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert_eq!(decode::<Vec<u64>>(&bytes), Err(Unreadable));
        }

        #[test]
        fn other_bytes_are_refused(bytes: Vec<u8>) {
            prop_assert_eq!(decode::<Vec<u64>>(&bytes), Err(Unreadable));
        }
    }

    #[test]
    fn bytes_that_are_left_over_are_an_error() {
        assert_eq!(decode::<u64>(&encode(&(1u64, 2u64))), Err(Unreadable));
    }
}
