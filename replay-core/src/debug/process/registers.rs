//! The registers in the order of gdb's feature files for x86-64 Linux.

use super::extended_registers::{self, ExtendedRegisters};
use crate::symbols::Registers;
use std::fmt::Write;
use std::ops::Range;

/// The offset of the upper halves of the AVX registers in the `xsave` area.
const AVX: usize = 576;
/// The bit of the AVX state in the `xsave` header.
const AVX_BIT: u8 = 4;

/// The numbers of some registers in the target description.
pub(crate) const RBP: usize = 6;
pub(crate) const RSP: usize = 7;
pub(crate) const RIP: usize = 16;
pub(crate) const FS_BASE: usize = 58;

const GENERAL: [&str; 24] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15", "rip", "eflags", "cs", "ss", "ds", "es", "fs", "gs",
];
const CONTROL: [&str; 8] = ["fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"];

/// The size of a register in bytes.
pub(crate) fn size(number: usize) -> Option<usize> {
    Some(match number {
        0..17 | 57..60 => 8,
        17..24 | 32..40 | 56 => 4,
        24..32 => 10,
        40..56 | 60..76 => 16,
        _ => return extended_registers::size(number),
    })
}

/// The number of registers, including those that this processor may not have.
pub(crate) const COUNT: usize = extended_registers::END;

/// Whether the processor has a register.
pub(crate) fn exists(number: usize) -> bool {
    number < extended_registers::FIRST || ExtendedRegisters::here().has(number)
}

fn range(number: usize) -> Range<usize> {
    let start = (0..number).filter_map(size).sum::<usize>();
    start..start + size(number).unwrap_or(0)
}

/// The target description for the debugger.
pub(crate) fn description() -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n\
         <target version=\"1.0\">\n<architecture>i386:x86-64</architecture>\n\
         <osabi>GNU/Linux</osabi>\n<feature name=\"org.gnu.gdb.i386.core\">\n",
    );
    text.push_str(FLAGS);
    let mut reg = |name: &str, bits: usize, kind: &str, more: &str| {
        let _ = writeln!(text, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\"{more}/>");
    };
    for (number, name) in GENERAL.iter().enumerate() {
        match number {
            RIP => reg(name, 64, "code_ptr", " regnum=\"16\" generic=\"pc\""),
            RSP => reg(name, 64, "data_ptr", " generic=\"sp\""),
            RBP => reg(name, 64, "data_ptr", " generic=\"fp\""),
            17 => reg(name, 32, "i386_eflags", ""),
            18.. => reg(name, 32, "int32", ""),
            _ => reg(name, 64, "int64", ""),
        }
    }
    for number in 0..8 {
        reg(&format!("st{number}"), 80, "i387_ext", "");
    }
    for name in CONTROL {
        reg(name, 32, "int", " group=\"float\"");
    }
    text.push_str("</feature>\n<feature name=\"org.gnu.gdb.i386.sse\">\n");
    text.push_str(VECTOR_TYPES);
    let mut reg = |name: &str, bits: usize, kind: &str, more: &str| {
        let _ = writeln!(text, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\"{more}/>");
    };
    for number in 0..16 {
        reg(&format!("xmm{number}"), 128, "vec128", "");
    }
    reg("mxcsr", 32, "i386_mxcsr", " group=\"vector\"");
    text.push_str("</feature>\n<feature name=\"org.gnu.gdb.i386.linux\">\n");
    text.push_str("<reg name=\"orig_rax\" bitsize=\"64\" type=\"int\" group=\"system\"/>\n");
    text.push_str("</feature>\n<feature name=\"org.gnu.gdb.i386.segments\">\n");
    // Without this attribute lldb finds no thread-local variables; gdb ignores it.
    text.push_str("<reg name=\"fs_base\" bitsize=\"64\" type=\"int\" generic=\"tp\"/>\n");
    text.push_str("<reg name=\"gs_base\" bitsize=\"64\" type=\"int\"/>\n");
    text.push_str("</feature>\n<feature name=\"org.gnu.gdb.i386.avx\">\n");
    for number in 0..16 {
        let _ = writeln!(text, "<reg name=\"ymm{number}h\" bitsize=\"128\" type=\"uint128\"/>");
    }
    text.push_str("</feature>\n");
    ExtendedRegisters::here().describe(&mut text);
    text.push_str("</target>\n");
    text
}

const FLAGS: &str = r#"<flags id="i386_eflags" size="4">
<field name="CF" start="0" end="0"/><field name="" start="1" end="1"/>
<field name="PF" start="2" end="2"/><field name="AF" start="4" end="4"/>
<field name="ZF" start="6" end="6"/><field name="SF" start="7" end="7"/>
<field name="TF" start="8" end="8"/><field name="IF" start="9" end="9"/>
<field name="DF" start="10" end="10"/><field name="OF" start="11" end="11"/>
<field name="NT" start="14" end="14"/><field name="RF" start="16" end="16"/>
<field name="VM" start="17" end="17"/><field name="AC" start="18" end="18"/>
<field name="VIF" start="19" end="19"/><field name="VIP" start="20" end="20"/>
<field name="ID" start="21" end="21"/></flags>
"#;

const VECTOR_TYPES: &str = r#"<vector id="v4f" type="ieee_single" count="4"/>
<vector id="v2d" type="ieee_double" count="2"/>
<vector id="v16i8" type="int8" count="16"/>
<vector id="v8i16" type="int16" count="8"/>
<vector id="v4i32" type="int32" count="4"/>
<vector id="v2i64" type="int64" count="2"/>
<union id="vec128"><field name="v4_float" type="v4f"/><field name="v2_double" type="v2d"/>
<field name="v16_int8" type="v16i8"/><field name="v8_int16" type="v8i16"/>
<field name="v4_int32" type="v4i32"/><field name="v2_int64" type="v2i64"/>
<field name="uint128" type="uint128"/></union>
<flags id="i386_mxcsr" size="4">
<field name="IE" start="0" end="0"/><field name="DE" start="1" end="1"/>
<field name="ZE" start="2" end="2"/><field name="OE" start="3" end="3"/>
<field name="UE" start="4" end="4"/><field name="PE" start="5" end="5"/>
<field name="DAZ" start="6" end="6"/><field name="IM" start="7" end="7"/>
<field name="DM" start="8" end="8"/><field name="ZM" start="9" end="9"/>
<field name="OM" start="10" end="10"/><field name="UM" start="11" end="11"/>
<field name="PM" start="12" end="12"/><field name="FZ" start="15" end="15"/></flags>
"#;

/// The registers of one thread. Some may be unknown: of a parked task, those that its callers do
/// not rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Values {
    bytes: Vec<u8>,
    known: [bool; COUNT],
}

impl Default for Values {
    fn default() -> Values {
        Values::unknown()
    }
}

impl Values {
    /// The general registers, as far as they are known, by their numbers of DWARF.
    pub(crate) fn general(&self) -> Registers {
        let mut registers = Registers::default();
        for (dwarf, number) in [0, 3, 2, 1, 4, 5].into_iter().chain(RBP..=RIP).enumerate() {
            registers.set(dwarf as u16, self.word(number));
        }
        registers
    }

    /// All registers are unknown.
    pub(crate) fn unknown() -> Values {
        Values { bytes: vec![0; range(COUNT).start], known: [false; COUNT] }
    }

    /// The registers of a stopped process.
    pub(crate) fn of(general: &libc::user_regs_struct, vector: &[u8]) -> Values {
        let mut values = Values::unknown();
        let g = general;
        let words = [
            g.rax, g.rbx, g.rcx, g.rdx, g.rsi, g.rdi, g.rbp, g.rsp, g.r8, g.r9, g.r10, g.r11,
            g.r12, g.r13, g.r14, g.r15, g.rip, g.eflags, g.cs, g.ss, g.ds, g.es, g.fs, g.gs,
        ];
        for (number, word) in words.into_iter().enumerate() {
            values.set_word(number, word);
        }
        for (number, word) in [(57, g.orig_rax), (58, g.fs_base), (59, g.gs_base)] {
            values.set_word(number, word);
        }
        values.read_vector(vector);
        values
    }

    /// The legacy area has the layout of `fxsave` (Intel SDM 1, 10.5.1).
    pub(super) fn read_vector(&mut self, vector: &[u8]) {
        if vector.len() < 512 {
            return;
        }
        let half = |at: usize| u64::from(u16::from_le_bytes([vector[at], vector[at + 1]]));
        let word = |at: usize| half(at) | half(at + 2) << 16;
        // The area has one tag bit per register, which distinguishes only "empty" and "valid".
        let tags = (0..8)
            .fold(0, |tags, bit| tags | if vector[4] >> bit & 1 == 1 { 0 } else { 3 << (2 * bit) });
        let control = [half(0), half(2), tags, half(12), word(8), half(20), word(16), half(6)];
        for (number, value) in control.into_iter().enumerate() {
            self.set_word(32 + number, value);
        }
        for number in 0..8 {
            self.set(24 + number, &vector[32 + 16 * number..][..10]);
        }
        for number in 0..16 {
            self.set(40 + number, &vector[160 + 16 * number..][..16]);
        }
        self.set_word(56, word(24));
        let avx = vector[512] & AVX_BIT != 0 && vector.len() >= AVX + 256;
        for number in 0..16 {
            let at = AVX + 16 * number;
            self.set(60 + number, if avx { &vector[at..at + 16] } else { &[0; 16] });
        }
        for number in extended_registers::FIRST..COUNT {
            if let Some(value) = ExtendedRegisters::here().read(vector, number) {
                self.set(number, &value);
            }
        }
    }

    /// Reads the protection keys from an area.
    pub(super) fn read_keys(&mut self, area: &[u8]) {
        if let Some(keys) = ExtendedRegisters::here().read(area, extended_registers::PKRU) {
            self.set(extended_registers::PKRU, &keys);
        }
    }

    /// Writes the known registers into the kernel's structures.
    pub(crate) fn write_to(&self, general: &mut libc::user_regs_struct, vector: &mut [u8]) {
        let g = general;
        let words = [
            &mut g.rax,
            &mut g.rbx,
            &mut g.rcx,
            &mut g.rdx,
            &mut g.rsi,
            &mut g.rdi,
            &mut g.rbp,
            &mut g.rsp,
            &mut g.r8,
            &mut g.r9,
            &mut g.r10,
            &mut g.r11,
            &mut g.r12,
            &mut g.r13,
            &mut g.r14,
            &mut g.r15,
            &mut g.rip,
            &mut g.eflags,
        ];
        for (number, slot) in words.into_iter().enumerate() {
            if let Some(word) = self.word(number) {
                *slot = word;
            }
        }
        for (number, slot) in [(57, &mut g.orig_rax), (58, &mut g.fs_base), (59, &mut g.gs_base)] {
            if let Some(word) = self.word(number) {
                *slot = word;
            }
        }
        if vector.len() < AVX {
            return;
        }
        for number in 0..8 {
            if let Some(bytes) = self.get(24 + number) {
                vector[32 + 16 * number..][..10].copy_from_slice(bytes);
            }
        }
        for number in 0..16 {
            if let Some(bytes) = self.get(40 + number) {
                vector[160 + 16 * number..][..16].copy_from_slice(bytes);
            }
            let at = AVX + 16 * number;
            let in_use = vector[512] & AVX_BIT != 0;
            if let (Some(bytes), Some(slot)) = (self.get(60 + number), vector.get_mut(at..at + 16))
                && (in_use || bytes != [0; 16])
            {
                slot.copy_from_slice(bytes);
                vector[512] |= AVX_BIT;
            }
        }
        for number in extended_registers::FIRST..COUNT {
            if let Some(bytes) = self.get(number) {
                ExtendedRegisters::here().write(vector, number, bytes);
            }
        }
        if let Some(mxcsr) = self.get(56) {
            vector[24..28].copy_from_slice(mxcsr);
            // Mark the x87 and SSE state as present, even if the processor had omitted it.
            vector[512] |= 3;
        }
    }

    /// The bytes of a register, if it is known.
    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        (number < COUNT && self.known[number]).then(|| &self.bytes[range(number)])
    }

    /// The value of a register of up to eight bytes.
    pub(crate) fn word(&self, number: usize) -> Option<u64> {
        let bytes = self.get(number).filter(|bytes| bytes.len() <= 8)?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// Sets a register; false if its size differs.
    pub(crate) fn set(&mut self, number: usize, bytes: &[u8]) -> bool {
        if size(number) != Some(bytes.len()) {
            return false;
        }
        self.bytes[range(number)].copy_from_slice(bytes);
        self.known[number] = true;
        true
    }

    /// Sets a register of up to eight bytes.
    pub(crate) fn set_word(&mut self, number: usize, word: u64) {
        let len = size(number).unwrap_or(0).min(8);
        self.set(number, &word.to_le_bytes()[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_lists_every_register() {
        let text = description();
        let count = (0..COUNT).filter(|&number| exists(number)).count();
        assert_eq!(text.matches("<reg ").count(), count);
        for (number, name) in [(0, "rax"), (40, "xmm0"), (57, "orig_rax"), (58, "fs_base")] {
            let found = text.split("<reg ").nth(number + 1).expect("a register");
            assert!(found.starts_with(&format!("name=\"{name}\"")), "{number}: {found}");
        }
    }

    #[test]
    fn registers_survive_a_round_trip() {
        // SAFETY: integers.
        let mut general: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        (general.rip, general.rax, general.fs_base) = (1, 2, 3);
        let mut vector: Vec<u8> = (0..1088u32).map(|at| at as u8).collect();
        vector[512] = 7;
        let values = Values::of(&general, &vector);
        // SAFETY: integers.
        let mut back: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let mut other = vector.clone();
        other[32..512].fill(0);
        other[AVX..AVX + 256].fill(0);
        values.write_to(&mut back, &mut other);
        assert_eq!((back.rip, back.rax, back.fs_base), (1, 2, 3));
        assert_eq!(other[160..416], vector[160..416]);
        assert_eq!(other[AVX..AVX + 256], vector[AVX..AVX + 256]);
    }

    #[test]
    fn features_are_in_the_order_of_their_registers() {
        let text = description();
        let mut from = 0;
        for feature in [
            "<feature name=\"org.gnu.gdb.i386.core\">",
            "</feature>\n<feature name=\"org.gnu.gdb.i386.sse\">",
            "</feature>\n<feature name=\"org.gnu.gdb.i386.linux\">",
            "</feature>\n<feature name=\"org.gnu.gdb.i386.segments\">",
            "</feature>\n<feature name=\"org.gnu.gdb.i386.avx\">",
        ] {
            let at = text[from..].find(feature).expect(feature);
            from += at + feature.len();
        }
    }
}
