//! Memory that a person changed in a debugger, and kept: part of what an execution is.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes that are changed at once, and the most changes of an execution.
pub const MOST: usize = 4096;

/// A change of memory. It is made when a step was chosen, before the step's task does anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The step, from 1.
    pub step: u64,
    /// Where.
    pub at: Memory,
    /// What is there from then on.
    pub bytes: Vec<u8>,
    /// What it is called, if that is known.
    pub name: String,
}

/// A place in memory, in terms that hold in every process of the same program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Memory {
    /// A variable of the program's own: from where the program lies.
    Program(u64),
    /// In the heap: from its start.
    Heap(u64),
    /// On a task's stack: so far below where it begins.
    Stack {
        /// The task's number.
        task: u16,
        /// How far.
        below: u64,
    },
}

impl fmt::Display for Change {
    /// As in `step 6: counter = 0x29`; what is not a word is given as its bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: ", self.step)?;
        match (self.name.as_str(), self.at) {
            ("", Memory::Program(offset)) => write!(f, "the program's memory at {offset:#x}")?,
            ("", Memory::Heap(offset)) => write!(f, "the heap at {offset:#x}")?,
            ("", Memory::Stack { task, below }) => write!(f, "T{task}'s stack at -{below:#x}")?,
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
    fn a_change_says_when_where_and_what() {
        let change = |at, bytes: &[u8], name: &str| {
            Change { step: 6, at, bytes: bytes.to_vec(), name: name.to_owned() }.to_string()
        };
        let program = Memory::Program(0x40a8);
        assert_eq!(change(program, &[41, 0, 0, 0], "counter"), "step 6: counter = 0x29");
        assert_eq!(change(program, &[1], ""), "step 6: the program's memory at 0x40a8 = 0x1");
        assert_eq!(change(Memory::Heap(16), &[1; 3], ""), "step 6: the heap at 0x10 = 3 bytes");
        let stack = Memory::Stack { task: 2, below: 0x48 };
        assert_eq!(change(stack, &[1, 2], ""), "step 6: T2's stack at -0x48 = 0x201");
    }
}
