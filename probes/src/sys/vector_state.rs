//! The vector registers of a task: the assembly that saves and restores them, which the stubs share
//! that interrupt a program anywhere, and access to those that it saved.

use crate::sys::dispatch::vector_offset;

/// Saves all vector state below the stack: rsp and r12 are then its aligned address. If the program has used the x87
/// registers, they are empty then, as other tasks and functions expect them. Changes rax, rcx and rdx. The
/// template's `size` and `mask` are [`VECTOR_SIZE`](crate::sys::dispatch::VECTOR_SIZE)
/// and [`VECTOR_MASK`](crate::sys::dispatch::VECTOR_MASK).
macro_rules! save_vectors {
    () => {
        concat!(
            "mov rax, [rip + {size}]; sub rsp, rax; and rsp, -64; mov r12, rsp;",
            // xsave does not write its header's reserved bytes; they must be zero for xrstor.
            "xor ecx, ecx;",
            "mov [r12 + 512], rcx; mov [r12 + 520], rcx; mov [r12 + 528], rcx;",
            "mov [r12 + 536], rcx; mov [r12 + 544], rcx; mov [r12 + 552], rcx;",
            "mov [r12 + 560], rcx; mov [r12 + 568], rcx;",
            "mov eax, [rip + {mask}]; xor edx, edx; xsave64 [r12];",
            "test byte ptr [r12 + 512], 1; jz 88f; fnclex; emms; 88:"
        )
    };
}

/// Restores what [`save_vectors`] saved. Changes rax and rdx.
macro_rules! restore_vectors {
    () => {
        concat!("mov eax, [rip + {mask}]; xor edx, edx; xrstor64 [r12]")
    };
}

pub(crate) use {restore_vectors, save_vectors};

const SSE: u64 = 1;
const AVX: u64 = 2;
const MASKS: u64 = 5;
const UPPER_HALVES: u64 = 6;
const UPPER_REGISTERS: u64 = 7;

/// The offset of the bits that say which components are not in their initial state.
const IN_USE: usize = 512;
/// The offset of the SSE registers.
const XMM: usize = 160;

/// The area in which `xsave` stored the registers, in the standard format.
#[derive(Debug)]
pub(crate) struct VectorState {
    area: *mut u8,
}

impl VectorState {
    /// # Safety
    ///
    /// `area` is where `xsave` stored all components that the processor has, and nothing else accesses it
    /// while this value exists.
    pub(crate) unsafe fn new(area: *mut u8) -> VectorState {
        VectorState { area }
    }

    /// The component that holds a byte of a vector register, and its address.
    fn place(&self, register: u8, byte: u64) -> (u64, *mut u8) {
        let (register, byte) = (usize::from(register), byte as usize);
        let (component, offset) = match (register, byte) {
            (16.., _) => {
                let offset = vector_offset(UPPER_REGISTERS) + 64 * (register - 16) + byte;
                (UPPER_REGISTERS, offset)
            }
            (_, 32..) => (UPPER_HALVES, vector_offset(UPPER_HALVES) + 32 * register + byte - 32),
            (_, 16..) => (AVX, vector_offset(AVX) + 16 * register + byte - 16),
            _ => (SSE, XMM + 16 * register + byte),
        };
        (component, self.at(offset))
    }

    /// The address at an offset into the area.
    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: the offsets are those at which the processor stores its registers, so they are within the
        // area (`new`).
        unsafe { self.area.add(offset) }
    }

    fn in_use(&self) -> u64 {
        // SAFETY: `xsave` wrote the header of the area (`new`).
        unsafe { self.at(IN_USE).cast::<u64>().read_unaligned() }
    }

    /// Makes `xrstor` load a component from the area, instead of setting it to its initial state. `xsave`
    /// has stored all of it in either case.
    fn use_component(&mut self, component: u64) {
        let in_use = self.in_use() | 1 << component;
        // SAFETY: as in `in_use`; `new` promises that nothing else accesses the area.
        unsafe { self.at(IN_USE).cast::<u64>().write_unaligned(in_use) };
    }

    /// A byte of a vector register.
    pub(crate) fn byte(&self, register: u8, byte: u64) -> u64 {
        let (component, place) = self.place(register, byte);
        if self.in_use() >> component & 1 == 0 {
            return 0;
        }
        // SAFETY: the address is within the area, which `xsave` initialised (`new`).
        u64::from(unsafe { place.read() })
    }

    /// An element of a vector register, of at most 8 bytes.
    pub(crate) fn element(&self, register: u8, lane: u64, size: u64) -> u64 {
        let byte = |at: u64| self.byte(register, lane * size + at) << (8 * at);
        (0..size).fold(0, |value, at| value | byte(at))
    }

    /// Changes an element of a vector register, of at most 8 bytes.
    pub(crate) fn set_element(&mut self, register: u8, lane: u64, size: u64, value: u64) {
        for at in 0..size {
            let (component, place) = self.place(register, lane * size + at);
            self.use_component(component);
            // SAFETY: the address is within the area, and nothing else accesses that (`new`).
            unsafe { place.write((value >> (8 * at)) as u8) };
        }
    }

    /// A mask register (AVX-512).
    pub(crate) fn mask(&self, register: u8) -> u64 {
        if self.in_use() >> MASKS & 1 == 0 {
            return 0;
        }
        let place = self.at(vector_offset(MASKS) + 8 * usize::from(register));
        // SAFETY: as in `byte`.
        unsafe { place.cast::<u64>().read_unaligned() }
    }

    /// Changes a mask register.
    pub(crate) fn set_mask(&mut self, register: u8, value: u64) {
        self.use_component(MASKS);
        let place = self.at(vector_offset(MASKS) + 8 * usize::from(register));
        // SAFETY: as in `set_element`.
        unsafe { place.cast::<u64>().write_unaligned(value) };
    }
}
