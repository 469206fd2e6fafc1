//! Where the program's own frames end on the tasks' stacks.
//!
//! The runtime calls `main` and the functions of threads. gdb hides the runtime's frames by a filter.
//! lldb has none: it takes a return address of 0 for the end of a stack, as a new thread has it.

use super::Execution;
use crate::Error;
use std::ops::Range;

/// The size of a return address.
const WORD: u64 = 8;

impl Execution {
    /// The addresses of the return addresses that lead from the outermost frames of the program
    /// into the runtime.
    fn find_outer_returns(&self) -> Vec<u64> {
        let memory = self.live().tracee();
        let found = self.known_threads().iter().filter_map(|thread| {
            let frames = self.symbols.live(&thread.values.general(), true, memory);
            self.symbols.caller_slot(&frames, &|address| self.live().is_runtime(address))
        });
        found.collect()
    }

    /// Shows bytes that were read at an address as if nothing had called the program's outermost
    /// frames.
    pub(crate) fn hide_outer_frames(&mut self, start: u64, bytes: &mut [u8]) -> Result<(), Error> {
        // Reading the threads anew discards what was found for the old ones.
        self.threads()?;
        if self.outer_returns.is_none() {
            self.outer_returns = Some(self.find_outer_returns());
        }
        for &slot in self.outer_returns.iter().flatten() {
            let part = common(start, bytes.len(), slot);
            bytes[part].fill(0);
        }
        Ok(())
    }
}

/// The part of some bytes at an address that belongs to a word.
fn common(start: u64, len: usize, word: u64) -> Range<usize> {
    let offset = |address: u64| address.saturating_sub(start).min(len as u64) as usize;
    offset(word)..offset(word.saturating_add(WORD))
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn only_the_bytes_of_the_word_are_replaced() {
        for (start, len, expected) in [
            (0x1000, 16, 8..16),
            (0x1008, 8, 0..8),
            (0x100c, 8, 0..4),
            (0x1000, 10, 8..10),
            (0x1010, 8, 0..0),
            (0x0ff8, 8, 8..8),
        ] {
            assert_eq!(common(start, len, 0x1008), expected, "{start:#x}");
        }
    }
}
