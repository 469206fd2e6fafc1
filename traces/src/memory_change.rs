//! Changes of memory that the user made in a debugger and saved: they are part of an execution.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes of one change, and the most changes of an execution.
pub const MOST: usize = 4096;

/// A change of memory. It is made after a step was chosen, and before the step's task runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// The step, from 1.
    pub step: u64,
    /// The address.
    pub at: MemoryLocation,
    /// The new content.
    pub bytes: Vec<u8>,
    /// The name of the variable, if it is known.
    pub name: String,
}

/// An address in terms that are valid in every process of the same program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MemoryLocation {
    /// A variable of the program: the offset from the start of the program.
    Program(u64),
    /// On the heap: the offset from its start.
    Heap(u64),
    /// On a task's stack: the distance below its start.
    Stack {
        /// The task's number.
        task: u16,
        /// The distance.
        below: u64,
    },
}

impl fmt::Display for MemoryChange {
    /// As in `step 6: counter = 0x29`; for content that is not one word, the number of bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: ", self.step)?;
        match (self.name.as_str(), self.at) {
            ("", MemoryLocation::Program(offset)) => {
                write!(f, "the program's memory at {offset:#x}")?
            }
            ("", MemoryLocation::Heap(offset)) => write!(f, "the heap at {offset:#x}")?,
            ("", MemoryLocation::Stack { task, below }) => {
                write!(f, "T{task}'s stack at -{below:#x}")?
            }
            (name, _) => f.write_str(&name.escape_debug().to_string())?,
        }
        if let 1 | 2 | 4 | 8 = self.bytes.len() {
            let mut word = [0; 8];
            word[..self.bytes.len()].copy_from_slice(&self.bytes);
            return write!(f, " = {:#x}", u64::from_le_bytes(word));
        }
        write!(f, " = {} bytes", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_step_address_and_content_as_text() {
        let change = |at, bytes: &[u8], name: &str| {
            MemoryChange { step: 6, at, bytes: bytes.to_vec(), name: name.to_owned() }.to_string()
        };
        let program = MemoryLocation::Program(0x40a8);
        assert_eq!(change(program, &[41, 0, 0, 0], "counter"), "step 6: counter = 0x29");
        assert_eq!(change(program, &[1], ""), "step 6: the program's memory at 0x40a8 = 0x1");
        assert_eq!(
            change(MemoryLocation::Heap(16), &[1; 3], ""),
            "step 6: the heap at 0x10 = 3 bytes"
        );
        let stack = MemoryLocation::Stack { task: 2, below: 0x48 };
        assert_eq!(change(stack, &[1, 2], ""), "step 6: T2's stack at -0x48 = 0x201");
    }
}
