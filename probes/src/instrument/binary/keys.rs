//! The keys of thread-specific data, of which one may be deleted while another task uses it.
//!
//! Keys are named by the task that created them. Their numbers depend on the order in which tasks create and
//! delete others, and as with addresses, a search takes them as they are.

use crate::state::world::world;
use std::cell::Cell;

/// As many as the C library has.
pub(crate) const KEYS: usize = 1024;
/// Keys of tasks whose numbers are equal modulo this share a word.
const WORDS: usize = 64;

/// The words that represent the keys. Nothing is ever written to them.
static WORD: [u64; WORDS] = [0; WORDS];

/// The task that created each key.
struct Creators([Cell<u16>; KEYS]);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Creators {}

static CREATORS: Creators = Creators([const { Cell::new(0) }; KEYS]);

/// The word of a key.
pub(super) fn word(key: u32) -> u64 {
    let creator = CREATORS.0.get(key as usize).map_or(0, Cell::get);
    &raw const WORD[usize::from(creator) % WORDS] as u64
}

/// The running task created a key.
pub(crate) fn create(key: u32) {
    if let Some(creator) = CREATORS.0.get(key as usize) {
        creator.set(world().current.get());
    }
}

/// The creators of all keys.
pub(crate) fn save() -> Vec<u16> {
    CREATORS.0.iter().map(Cell::get).collect()
}

/// Restores what [`save`] returned.
pub(crate) fn restore(saved: &[u16]) {
    CREATORS.0.iter().zip(saved).for_each(|(creator, &was)| creator.set(was));
}
