//! The keys of thread-specific data: which key a number is changes when it is deleted, and when it is used again.

use crate::state::world::world;

/// Keys whose numbers are equal modulo this share a word.
const KEYS: usize = 64;

/// The words that represent the keys, and behind them the one for which numbers there are. Nothing is ever written
/// to them.
static WORDS: [u64; KEYS + 1] = [0; KEYS + 1];

/// The word of a key.
pub(super) fn word(key: u32) -> u64 {
    &raw const WORDS[key as usize % KEYS] as u64
}

/// The word for which numbers there are: which one a new key has depends on those that were deleted before.
pub(super) fn all() -> u64 {
    &raw const WORDS[KEYS] as u64
}

/// A task deletes a key.
pub(crate) fn delete(key: u32) {
    let deleted = &world().deleted_keys;
    deleted.set(deleted.get() | 1 << (key as usize % KEYS));
}

/// The words of the keys that were deleted: a new key may have the number of one of them.
pub(super) fn deleted() -> impl Iterator<Item = u64> {
    let deleted = world().deleted_keys.get();
    (0..KEYS as u32).filter(move |key| deleted >> key & 1 != 0).map(word)
}
