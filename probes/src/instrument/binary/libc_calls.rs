//! C library functions that access the program's memory on its behalf: a call counts as an access
//! to all memory that its arguments name. The library itself runs at full speed.

use crate::instrument::binary::decode::{Measure, NONE, Operand};
use crate::instrument::binary::image::Image;
use iced_x86::{Code, Instruction};
use std::ffi::CStr;

// Register numbers as in instruction encodings; the first three hold a function's arguments.
const RDX: u8 = 2;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// The accesses through the first and through the second argument.
#[derive(Debug, Clone, Copy)]
struct Touched {
    first: Option<Touch>,
    second: Option<Touch>,
}

#[derive(Debug, Clone, Copy)]
struct Touch {
    writes: bool,
    measure: Measure,
}

const fn reads(measure: Measure) -> Option<Touch> {
    Some(Touch { writes: false, measure })
}

const fn writes(measure: Measure) -> Option<Touch> {
    Some(Touch { writes: true, measure })
}

const COUNTED: Measure = Measure::Register(RDX);
const FIRST: Measure = Measure::String(RDI);
const SECOND: Measure = Measure::String(RSI);
const COPIES: Touched = Touched { first: writes(COUNTED), second: reads(COUNTED) };
const FILLS: Touched = Touched { first: writes(COUNTED), second: None };
const COMPARES: Touched = Touched { first: reads(COUNTED), second: reads(COUNTED) };
const COPIES_TEXT: Touched = Touched { first: writes(SECOND), second: reads(SECOND) };
const MEASURES_TEXT: Touched = Touched { first: reads(FIRST), second: None };
const COMPARES_TEXT: Touched = Touched { first: reads(FIRST), second: reads(SECOND) };

const ROUTINES: [(&CStr, Touched); 14] = [
    (c"memcpy", COPIES),
    (c"memmove", COPIES),
    (c"mempcpy", COPIES),
    (c"__memcpy_chk", COPIES),
    (c"__memmove_chk", COPIES),
    (c"memset", FILLS),
    (c"__memset_chk", FILLS),
    (c"memcmp", COMPARES),
    (c"bcmp", COMPARES),
    (c"strcpy", COPIES_TEXT),
    (c"stpcpy", COPIES_TEXT),
    (c"__strcpy_chk", COPIES_TEXT),
    (c"strlen", MEASURES_TEXT),
    (c"strcmp", COMPARES_TEXT),
];

/// The addresses of the functions in this process.
pub(super) struct Routines {
    at: Vec<(u64, Touched)>,
}

impl Routines {
    pub(super) fn find() -> Routines {
        let find = |(name, touched): (&CStr, Touched)| {
            // SAFETY: the name is a C string.
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
            (address != 0).then_some((address, touched))
        };
        Routines { at: ROUTINES.into_iter().filter_map(find).collect() }
    }

    /// The operands of a call of one of the functions, or of a jump that is a tail call; none for
    /// other instructions.
    pub(super) fn operands_of(&self, image: &Image, one: &Instruction) -> Option<Vec<Operand>> {
        let slot = match one.code() {
            Code::Call_rel32_64 | Code::Jmp_rel32_64 => linkage(image, one.near_branch_target())?,
            Code::Call_rm64 if one.is_ip_rel_memory_operand() => one.ip_rel_memory_address(),
            _ => return None,
        };
        let target = u64::from_le_bytes(image.bytes(slot)?.get(..8)?.try_into().ok()?);
        let (_, touched) = self.at.iter().find(|(address, _)| *address == target)?;
        let operand = |base: u8, touch: Touch| Operand {
            base,
            index: NONE,
            scale: 1,
            displacement: 0,
            size: 1,
            measure: touch.measure,
            reads: !touch.writes,
            writes: touch.writes,
        };
        // Reads come before writes.
        let second = touched.second.map(|touch| operand(RSI, touch));
        let first = touched.first.map(|touch| operand(RDI, touch));
        Some(second.into_iter().chain(first).collect())
    }
}

/// The GOT entry through which a linker-generated PLT stub jumps.
fn linkage(image: &Image, stub: u64) -> Option<u64> {
    let mut code = image.bytes(stub)?;
    let mut at = stub;
    let prefixes: [&[u8]; 2] = [&[0xf3, 0x0f, 0x1e, 0xfa], &[0xf2]];
    for prefix in prefixes {
        if let Some(rest) = code.strip_prefix(prefix) {
            (code, at) = (rest, at + prefix.len() as u64);
        }
    }
    let distance = code.strip_prefix(&[0xff, 0x25])?.first_chunk()?;
    Some((at + 6).wrapping_add_signed(i64::from(i32::from_le_bytes(*distance))))
}
