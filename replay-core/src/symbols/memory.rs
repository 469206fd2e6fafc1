//! Reads the memory of another process.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A source of memory contents.
pub trait Memory {
    /// Reads from `address` and returns the number of bytes of `buf` that were filled.
    fn read(&self, address: u64, buf: &mut [u8]) -> usize;
}

/// The memory of a stopped or parked process.
#[derive(Debug)]
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// The memory of process `pid`, which must be a child or a tracee of this process.
    ///
    /// # Errors
    /// If the process has ended or may not be inspected.
    pub fn open(pid: i32) -> std::io::Result<ProcessMemory> {
        File::open(format!("/proc/{pid}/mem")).map(ProcessMemory)
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buf: &mut [u8]) -> usize {
        self.0.read_at(buf, address).unwrap_or(0)
    }
}

/// Bytes at an address: a core dump, a copy of a stack.
impl Memory for (u64, &[u8]) {
    fn read(&self, address: u64, buf: &mut [u8]) -> usize {
        let from = address.checked_sub(self.0).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| self.1.get(from..)).unwrap_or_default();
        let len = bytes.len().min(buf.len());
        buf[..len].copy_from_slice(&bytes[..len]);
        len
    }
}

const BLOCK: usize = 1024;

/// Reads in blocks: a frame consists of a few adjacent words, and each read of another process is a
/// system call.
pub(super) struct Words<'a> {
    memory: &'a dyn Memory,
    block: RefCell<(u64, usize, [u8; BLOCK])>,
}

impl<'a> Words<'a> {
    pub(super) fn new(memory: &'a dyn Memory) -> Words<'a> {
        Words { memory, block: RefCell::new((0, 0, [0; BLOCK])) }
    }

    /// The `size` (up to 8) bytes at an address, as a number.
    pub(super) fn get(&self, address: u64, size: usize) -> Option<u64> {
        let mut word = [0; 8];
        let into = word.get_mut(..size)?;
        let mut block = self.block.borrow_mut();
        let (start, len, bytes) = &mut *block;
        let inside = |start: u64, len: usize| {
            let from = usize::try_from(address.checked_sub(start)?).ok()?;
            (from.checked_add(size)? <= len).then_some(from)
        };
        let mut from = inside(*start, *len);
        if from.is_none() {
            // Stacks are read upwards. A block must not extend into the next page unnecessarily:
            // that page may be unmapped, and some implementations read everything or nothing.
            let room = BLOCK - (address % BLOCK as u64) as usize;
            *start = address;
            *len = self.memory.read(address, &mut bytes[..room.max(size)]).min(BLOCK);
            from = inside(*start, *len);
        }
        let from = from?;
        into.copy_from_slice(&bytes[from..from + size]);
        Some(u64::from_le_bytes(word))
    }

    /// The word at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.get(address, 8)
    }
}
