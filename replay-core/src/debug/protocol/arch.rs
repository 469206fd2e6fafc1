//! The registers in gdbstub's form.

use crate::debug::process::registers::{COUNT, RIP, Values, exists, size};
use gdbstub::arch::{Arch, RegId, Registers};
use std::num::NonZeroUsize;

/// x86-64 Linux, with all registers of gdb's feature files.
#[derive(Debug)]
pub(crate) enum X8664 {}

impl Arch for X8664 {
    type Usize = u64;
    type Registers = Values;
    type BreakpointKind = usize;
    type RegId = Number;
}

/// A register by its number in the target description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) usize);

impl RegId for Number {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        Some((Number(id), NonZeroUsize::new(size(id).filter(|_| exists(id))?)))
    }
}

impl Registers for Values {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.word(RIP).unwrap_or(0)
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for number in (0..COUNT).filter(|&number| exists(number)) {
            match self.get(number) {
                Some(bytes) => bytes.iter().for_each(|&byte| write_byte(Some(byte))),
                None => (0..size(number).unwrap_or(0)).for_each(|_| write_byte(None)),
            }
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut rest = bytes;
        for number in (0..COUNT).filter(|&number| exists(number)) {
            let (register, more) = rest.split_at_checked(size(number).unwrap_or(0)).ok_or(())?;
            self.set(number, register);
            rest = more;
        }
        if rest.is_empty() { Ok(()) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_go_to_bytes_and_back() {
        let mut values = Values::unknown();
        values.set_word(RIP, 0x1234_5678_9abc);
        values.set(40, &[7; 16]);
        let mut bytes = Vec::new();
        values.gdb_serialize(|byte| bytes.push(byte));
        assert_eq!(bytes[16 * 8..17 * 8], [0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0].map(Some));
        assert_eq!(bytes[0], None);
        let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte.unwrap_or(1)).collect();
        let mut again = Values::unknown();
        assert_eq!(again.gdb_deserialize(&bytes), Ok(()));
        assert_eq!((again.pc(), again.get(40)), (values.pc(), values.get(40)));
        assert_eq!(again.gdb_deserialize(&bytes[1..]), Err(()));
    }
}
