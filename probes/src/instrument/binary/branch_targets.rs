//! Branch targets that no direct branch names: entries of jump tables, labels whose address was
//! taken, landing pads.
//!
//! The set may contain too much, but must not miss a target: no branch may lead to the second byte
//! of a jump that replaced several instructions.

use crate::instrument::binary::image::Image;
use iced_x86::{Instruction, Mnemonic, OpKind};

/// Addresses that the code of a module refers to.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Addresses of code that an instruction computes or contains.
    code: Vec<u64>,
    /// Addresses of constants, which may be tables.
    constants: Vec<u64>,
}

impl Named {
    /// Notes an instruction; returns the code address that it refers to, if any.
    pub(super) fn note(
        &mut self,
        image: &Image,
        text: (u64, u64),
        one: &Instruction,
    ) -> Option<u64> {
        let mut named = None;
        let mut address = |value: u64| {
            if (text.0..text.1).contains(&value) {
                self.code.push(value);
                named = Some(value);
            }
        };
        if one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand() {
            let target = one.ip_rel_memory_address();
            address(target);
            if image.is_constant(target) {
                self.constants.push(target);
            }
        }
        for at in 0..one.op_count() {
            let wide = matches!(
                one.op_kind(at),
                OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64
            );
            if wide {
                address(one.immediate(at));
            }
        }
        named
    }

    /// Calls `each` with all targets in these addresses and in the module's data.
    pub(super) fn targets(mut self, image: &Image, text: (u64, u64), mut each: impl FnMut(u64)) {
        let is_code = |address: &u64| (text.0..text.1).contains(address);
        self.code.into_iter().for_each(&mut each);
        // Words in tables of labels or functions.
        for bytes in image.data() {
            let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
            words.map(u64::from_le_bytes).filter(is_code).for_each(&mut each);
        }
        self.constants.sort_unstable();
        self.constants.dedup();
        // Tables of distances from the table to each target.
        for table in self.constants {
            let entries = image.bytes(table).unwrap_or(&[]).chunks_exact(4);
            let distances = entries.filter_map(|entry| entry.try_into().ok());
            let reached = distances
                .map(|distance| table.wrapping_add_signed(i64::from(i32::from_le_bytes(distance))));
            reached.take_while(is_code).for_each(&mut each);
        }
    }
}

/// The landing pads of a function that begins at `start`, from its table at `table` (the C++ ABI's
/// format, which other languages use, too). None if the table uses an encoding that is not
/// understood.
pub(super) fn landings(image: &Image, table: u64, start: u64) -> Option<Vec<u64>> {
    const NOTHING: u8 = 0xff;
    let mut reader = Reader { bytes: image.bytes(table)? };
    // The base of the landing pads' addresses, if it is not the function's start.
    let base = match reader.byte()? {
        NOTHING => start,
        _ => return None,
    };
    if reader.byte()? != NOTHING {
        reader.number()?;
    }
    let encoding = reader.byte()?;
    let len = reader.number()? as usize;
    let mut calls = Reader { bytes: reader.bytes.get(..len)? };
    let mut landings = Vec::new();
    while !calls.bytes.is_empty() {
        let (_, _, landing) =
            (calls.value(encoding)?, calls.value(encoding)?, calls.value(encoding)?);
        calls.number()?;
        if landing != 0 {
            landings.push(base + landing);
        }
    }
    Some(landings)
}

struct Reader<'bytes> {
    bytes: &'bytes [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    /// A number in LEB128.
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }

    /// A value in one of the encodings of call-site tables.
    fn value(&mut self, encoding: u8) -> Option<u64> {
        match encoding {
            1 => self.number(),
            2 => self.take().map(|bytes| u64::from(u16::from_le_bytes(bytes))),
            3 => self.take().map(|bytes| u64::from(u32::from_le_bytes(bytes))),
            4 => self.take().map(u64::from_le_bytes),
            _ => None,
        }
    }
}
