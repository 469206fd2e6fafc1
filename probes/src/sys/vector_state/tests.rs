//! The moves save and restore the same as `xsave` and `xrstor`.

use super::{VectorState, heddle_restore_vectors, heddle_save_vectors};
use crate::sys::dispatch::{VECTOR_MASK, VECTOR_MOVES, VECTOR_OFFSETS, learn_vector_state};
use std::arch::asm;

/// An area for the vector state.
#[derive(Clone)]
#[repr(C, align(64))]
struct Area([u8; 2752]);

impl Area {
    fn new(byte: u8) -> Box<Area> {
        Box::new(Area([byte; 2752]))
    }

    fn bytes(&self, component: usize) -> &[u8] {
        let (start, len) = match component {
            1 => (160, 256),
            2 => (VECTOR_OFFSETS[2].get() as usize, 256),
            5 => (VECTOR_OFFSETS[5].get() as usize, 64),
            6 => (VECTOR_OFFSETS[6].get() as usize, 512),
            _ => (VECTOR_OFFSETS[7].get() as usize, 1024),
        };
        &self.0[start..start + len]
    }
}

/// The control word of the SSE registers with all exceptions masked.
const MXCSR: u32 = 0x1f80;

/// The components that the moves save on this processor.
fn moved() -> impl Iterator<Item = usize> {
    [1, 2, 5, 6, 7].into_iter().filter(|component| VECTOR_MASK.get() >> component & 1 != 0)
}

/// Loads the registers from `from`, with `xrstor`; saves them to `by_moves`; changes them all; restores them
/// from there; and stores them to `after`, with `xsave`. `used_x87`: the x87 registers are in use meanwhile.
fn round_trip(from: &Area, by_moves: &mut Area, after: &mut Area, used_x87: bool) {
    let mut zeros = Area::new(0);
    zeros.0[24..28].copy_from_slice(&MXCSR.to_le_bytes());
    let mask = VECTOR_MASK.get() as u32;
    // SAFETY: the areas have the size and the alignment that the instructions need; the registers are those of
    // the caller again at the end, as far as a call preserves any.
    unsafe {
        asm!(
            "xrstor64 [{from}]",
            "test {used}, {used}",
            "jz 2f",
            "fld1",
            "2:",
            "mov r12, {area}",
            "call {save}",
            // All components in their initial state.
            "mov eax, r14d",
            "xor edx, edx",
            "xrstor64 [{zeros}]",
            "mov r12, {area}",
            "call {restore}",
            "mov eax, r14d",
            "xor edx, edx",
            "xsave64 [{after}]",
            "fninit",
            "xrstor64 [{zeros}]",
            from = in(reg) from,
            used = in(reg) u64::from(used_x87),
            area = in(reg) &raw mut *by_moves,
            zeros = in(reg) &raw const *zeros,
            after = in(reg) &raw mut *after,
            save = sym heddle_save_vectors,
            restore = sym heddle_restore_vectors,
            inout("eax") mask => _,
            inout("edx") 0 => _,
            in("r14") u64::from(mask),
            out("r12") _,
            out("ecx") _,
            clobber_abi("sysv64"),
        );
    }
}

/// A state in which each byte of each component has a value that depends on where it is.
fn filled() -> Box<Area> {
    let mut from = Area::new(0);
    from.0[24..28].copy_from_slice(&MXCSR.to_le_bytes());
    let mut components = 0u64;
    for component in moved() {
        components |= 1 << component;
        let start = from.bytes(component).as_ptr() as usize - from.0.as_ptr() as usize;
        let len = from.bytes(component).len();
        for (at, byte) in from.0[start..start + len].iter_mut().enumerate() {
            *byte = (at * 7 + component * 31 + at / 256) as u8;
        }
    }
    from.0[512..520].copy_from_slice(&components.to_le_bytes());
    from
}

#[test]
fn vector_registers_survive_with_and_without_x87() {
    learn_vector_state();
    let from = filled();
    for used_x87 in [false, true] {
        let (mut saved, mut after) = (Area::new(0xee), Area::new(0));
        round_trip(&from, &mut saved, &mut after, used_x87);
        for component in moved() {
            assert_eq!(saved.bytes(component), from.bytes(component), "saved: {component}");
            assert_eq!(after.bytes(component), from.bytes(component), "restored: {component}");
        }
        let in_use = u64::from_le_bytes(saved.0[512..520].try_into().expect("eight bytes"));
        assert_eq!(in_use & 1 != 0, used_x87 || VECTOR_MOVES.get() == 0 && in_use & 1 != 0);
        // The rest of the header is zero, as `xrstor` requires.
        assert_eq!(saved.0[520..576], [0; 56]);
        // A value of 1 is still on the x87 stack, and there is none otherwise.
        assert_eq!(after.0[4] != 0, used_x87, "the tags of the x87 registers");
    }
}

#[test]
fn elements_are_found_where_the_moves_saved_them() {
    learn_vector_state();
    let from = filled();
    let (mut saved, mut after) = (Area::new(0xee), Area::new(0));
    round_trip(&from, &mut saved, &mut after, false);
    // SAFETY: `heddle_save_vectors` stored all components there, and nothing else accesses it meanwhile.
    let mut state = unsafe { VectorState::new(saved.0.as_mut_ptr()) };
    assert_eq!(state.byte(3, 5), u64::from(from.bytes(1)[3 * 16 + 5]));
    if VECTOR_MASK.get() & 4 != 0 {
        assert_eq!(state.byte(3, 21), u64::from(from.bytes(2)[3 * 16 + 5]));
    }
    state.set_element(3, 1, 4, 0x1234_5678);
    assert_eq!(state.element(3, 1, 4), 0x1234_5678);
}
