//! The words that represent state of the C library, or of the kernel beside descriptors, for everything that compares
//! accesses to memory.

use std::cell::Cell;

/// How many there are.
const COUNT: usize = 64;

struct Words {
    /// Nothing is ever written to them.
    words: [u64; COUNT],
    /// What they represent.
    names: [Cell<&'static str>; COUNT],
}

// SAFETY: the cells hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Words {}

static WORDS: Words = Words { words: [0; COUNT], names: [const { Cell::new("") }; COUNT] };

/// The address of the word for the state with this number and name. The last word is that of all further ones.
pub(crate) fn at(number: usize, name: &'static str) -> u64 {
    let index = number.min(COUNT - 1);
    WORDS.names[index].set(name);
    &raw const WORDS.words[index] as u64
}

/// A name for the word at this address, if it is one.
pub(crate) fn name(address: u64) -> Option<String> {
    let index = address.checked_sub(WORDS.words.as_ptr() as u64)? as usize / size_of::<u64>();
    WORDS.names.get(index).map(|name| format!("state of {}", name.get()))
}
