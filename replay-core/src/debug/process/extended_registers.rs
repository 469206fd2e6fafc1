//! The registers that only some processors have: those of AVX-512, and of protection keys.
//!
//! Where the `xsave` area has them differs between processors; CPUID says where (leaf 13, Intel SDM
//! 1, 13.4.3). ptrace uses the format with fixed offsets, whatever the kernel uses internally.

use std::arch::x86_64::__cpuid_count;
use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;

/// Their numbers in the target description follow those of the registers that are always there.
pub(super) const FIRST: usize = 76;
const YMM16H: usize = FIRST + 16;
const K0: usize = YMM16H + 16;
const ZMM0H: usize = K0 + 8;
pub(super) const PKRU: usize = ZMM0H + 32;
/// One more than the last number.
pub(super) const END: usize = PKRU + 1;

/// The components of the extended state.
const MASKS: u32 = 5;
const UPPER_HALVES: u32 = 6;
const UPPER_REGISTERS: u32 = 7;
const KEYS: u32 = 9;

/// The offset of the bits that say which components are not in their initial state.
const IN_USE: usize = 512;

/// The size of a register in bytes.
pub(super) fn size(number: usize) -> Option<usize> {
    Some(match number {
        FIRST..K0 => 16,
        K0..ZMM0H => 8,
        ZMM0H..PKRU => 32,
        PKRU => 4,
        _ => return None,
    })
}

/// Where a processor has its extended registers.
#[derive(Debug, Default)]
pub(super) struct ExtendedRegisters {
    /// The offsets of the three components of AVX-512.
    avx512: Option<[usize; 3]>,
    /// The offset of the component with the protection keys.
    keys: Option<usize>,
}

static HERE: LazyLock<ExtendedRegisters> = LazyLock::new(|| {
    // The kernel enables what it detects, and the standard library checks that.
    let has_keys = __cpuid_count(7, 0).ecx >> 4 & 1 == 1;
    let offset = |component| __cpuid_count(13, component).ebx as usize;
    ExtendedRegisters::new(is_x86_feature_detected!("avx512f"), has_keys, offset)
});

impl ExtendedRegisters {
    /// Those of this machine's processor.
    pub(super) fn here() -> &'static ExtendedRegisters {
        &HERE
    }

    fn new(avx512: bool, keys: bool, offset: impl Fn(u32) -> usize) -> ExtendedRegisters {
        let components = [MASKS, UPPER_HALVES, UPPER_REGISTERS].map(&offset);
        ExtendedRegisters { avx512: avx512.then_some(components), keys: keys.then(|| offset(KEYS)) }
    }

    /// Whether the processor has this register.
    pub(super) fn has(&self, number: usize) -> bool {
        self.place(number).is_some()
    }

    /// The component of a register, and its bytes in the area.
    fn place(&self, number: usize) -> Option<(u32, Range<usize>)> {
        let size = size(number)?;
        let (component, start) = match number {
            PKRU => (KEYS, self.keys?),
            FIRST..YMM16H => (UPPER_REGISTERS, self.avx512?[2] + 64 * (number - FIRST)),
            YMM16H..K0 => (UPPER_REGISTERS, self.avx512?[2] + 64 * (number - YMM16H) + 16),
            K0..ZMM0H => (MASKS, self.avx512?[0] + 8 * (number - K0)),
            _ => match number - ZMM0H {
                low @ 0..16 => (UPPER_HALVES, self.avx512?[1] + 32 * low),
                high => (UPPER_REGISTERS, self.avx512?[2] + 64 * (high - 16) + 32),
            },
        };
        Some((component, start..start + size))
    }

    /// A register's bytes in an area; zeros if its component is in its initial state.
    pub(super) fn read(&self, area: &[u8], number: usize) -> Option<Vec<u8>> {
        let (component, bytes) = self.place(number)?;
        let in_use = is_in_use(area, component)?;
        let value = area.get(bytes)?;
        Some(if in_use { value.to_vec() } else { vec![0; value.len()] })
    }

    /// Writes a register into an area. Its component is in use from then on, unless the value is the
    /// initial one.
    pub(super) fn write(&self, area: &mut [u8], number: usize, value: &[u8]) {
        let Some((component, bytes)) = self.place(number) else { return };
        let Some(in_use) = is_in_use(area, component) else { return };
        if !in_use && value.iter().all(|&byte| byte == 0) {
            return;
        }
        if let Some(slot) = area.get_mut(bytes).filter(|slot| slot.len() == value.len()) {
            slot.copy_from_slice(value);
            area[IN_USE + component as usize / 8] |= 1 << (component % 8);
        }
    }

    /// The features of the target description, as gdb and lldb name them.
    pub(super) fn describe(&self, text: &mut String) {
        if self.avx512.is_some() {
            text.push_str("<feature name=\"org.gnu.gdb.i386.avx512\">\n");
            text.push_str("<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>\n");
            for at in 0..16 {
                describe(text, FIRST + at, &format!("xmm{}", 16 + at), "uint128");
            }
            for at in 0..16 {
                describe(text, YMM16H + at, &format!("ymm{}h", 16 + at), "uint128");
            }
            for at in 0..8 {
                describe(text, K0 + at, &format!("k{at}"), "uint64");
            }
            for at in 0..32 {
                describe(text, ZMM0H + at, &format!("zmm{at}h"), "v2ui128");
            }
            text.push_str("</feature>\n");
        }
        if self.keys.is_some() {
            text.push_str("<feature name=\"org.gnu.gdb.i386.pkeys\">\n");
            describe(text, PKRU, "pkru", "uint32");
            text.push_str("</feature>\n");
        }
    }
}

fn describe(text: &mut String, number: usize, name: &str, kind: &str) {
    let bits = 8 * size(number).unwrap_or(0);
    let place = format!("bitsize=\"{bits}\" type=\"{kind}\" regnum=\"{number}\"");
    let _ = writeln!(text, "<reg name=\"{name}\" {place}/>");
}

fn is_in_use(area: &[u8], component: u32) -> Option<bool> {
    let bits = area.get(IN_USE + component as usize / 8)?;
    Some(bits >> (component % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets on Intel's processors, on AMD's, and on one without AVX-512.
    fn processors() -> [ExtendedRegisters; 3] {
        let of = |places: [usize; 4]| {
            move |component| match component {
                MASKS => places[0],
                UPPER_HALVES => places[1],
                UPPER_REGISTERS => places[2],
                _ => places[3],
            }
        };
        [
            ExtendedRegisters::new(true, true, of([1088, 1152, 1664, 2688])),
            ExtendedRegisters::new(true, true, of([832, 896, 1408, 2432])),
            ExtendedRegisters::new(false, true, of([0, 0, 0, 832])),
        ]
    }

    #[test]
    fn registers_do_not_overlap_and_are_within_the_area() {
        for (registers, (count, size)) in
            processors().iter().zip([(73, 2696), (73, 2440), (1, 840)])
        {
            let mut places: Vec<_> =
                (FIRST..END).filter_map(|number| Some(registers.place(number)?.1)).collect();
            assert_eq!(places.len(), count);
            places.sort_by_key(|place| place.start);
            assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert!(places.iter().all(|place| place.start >= 832 && place.end <= size));
            let mut text = String::new();
            registers.describe(&mut text);
            assert_eq!(text.matches("<reg ").count(), count);
        }
    }

    #[test]
    fn registers_are_read_as_they_were_written() {
        // With the state of AMX, without, and with an area that is too short.
        for (registers, len) in processors().iter().zip([11_008, 2_440, 840]) {
            let mut area = vec![0; len];
            for number in (FIRST..END).filter(|&number| registers.has(number)) {
                let value = vec![number as u8; size(number).expect("a register")];
                assert_eq!(registers.read(&area, number), Some(vec![0; value.len()]));
                registers.write(&mut area, number, &value);
                assert_eq!(registers.read(&area, number), Some(value), "{number}");
            }
        }
        let [registers, ..] = processors();
        let mut short = vec![0; 832];
        registers.write(&mut short, ZMM0H, &[1; 32]);
        assert_eq!(registers.read(&short, ZMM0H), None);
        assert!(short.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_component_in_its_initial_state_reads_as_zero_and_stays_in_it() {
        let [registers, ..] = processors();
        let mut area = vec![0xff; 2_696];
        area[IN_USE..IN_USE + 8].fill(0);
        assert_eq!(registers.read(&area, K0), Some(vec![0; 8]));
        registers.write(&mut area, K0, &[0; 8]);
        assert_eq!(area[IN_USE], 0);
    }
}
