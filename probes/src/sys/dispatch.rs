//! Syscall User Dispatch: while it blocks, the kernel turns every system call made outside this
//! library's code into a `SIGSYS`, which [`crate::kernel::dispatch`] handles.

use crate::sys::raw;
use std::cell::Cell;

pub(crate) const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// The kernel reads it at every system call.
struct Selector(Cell<u8>);
// SAFETY: a `Cell` hands out no references; the controlled process has one kernel thread, on whose
// behalf the kernel reads the byte.
unsafe impl Sync for Selector {}
static SELECTOR: Selector = Selector(Cell::new(ALLOW));

/// A number that the stub reads.
#[repr(transparent)]
pub(crate) struct Word(Cell<u64>);
// SAFETY: a `Cell` hands out no references; it is written once, before dispatch is enabled and any
// fiber runs.
unsafe impl Sync for Word {}

impl Word {
    /// The number.
    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// The size of the vector state in bytes.
pub(crate) static VECTOR_SIZE: Word = Word(Cell::new(0));
/// The parts of the vector state to save: x87, SSE, AVX, AVX-512, as far as the processor has them.
pub(crate) static VECTOR_MASK: Word = Word(Cell::new(0));

/// Which moves save and restore all of the vector state while the x87 registers are not in use: 1 those of AVX,
/// 2 those of AVX-512 as well; 0: only `xsave` does.
pub(crate) static VECTOR_MOVES: Word = Word(Cell::new(0));

/// Where each component of the vector state is, from the start of the area of `xsave`.
pub(crate) static VECTOR_OFFSETS: [Word; 8] = [const { Word(Cell::new(0)) }; 8];

/// The offset of a component of the vector state, by its number (AVX: 2).
pub(crate) fn vector_offset(component: u64) -> usize {
    VECTOR_OFFSETS[component as usize].get() as usize
}

/// Enables dispatch in this process. A fork does not inherit it.
pub(crate) fn enable() -> Result<(), String> {
    if VECTOR_MASK.get() == 0 {
        learn_vector_state();
    }
    let (start, len) = crate::sys::own_image::text();
    // SAFETY: the selector is a static, so the kernel can read it as long as the process lives.
    let result = unsafe {
        raw::call!(
            libc::SYS_prctl,
            PR_SET_SYSCALL_USER_DISPATCH,
            1,
            start,
            len,
            SELECTOR.0.as_ptr()
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(format!(
            "the kernel refuses Syscall User Dispatch (error {}): `heddle doctor` says more",
            -result
        ))
    }
}

/// The address of the selector.
pub(crate) fn selector() -> u64 {
    SELECTOR.0.as_ptr() as u64
}

/// From here on, system calls outside the runtime's code are intercepted.
#[inline]
pub(crate) fn block() {
    SELECTOR.0.set(BLOCK);
}

/// From here on, system calls go to the kernel.
#[inline]
pub(crate) fn allow() {
    SELECTOR.0.set(ALLOW);
}

/// Whether system calls outside the runtime's code are intercepted.
pub(crate) fn is_blocking() -> bool {
    SELECTOR.0.get() == BLOCK
}

/// Determines which vector registers the processor has, and where an area for them holds each.
pub(crate) fn learn_vector_state() {
    let (low, high): (u32, u32);
    // SAFETY: `xgetbv` needs the OSXSAVE feature, which every kernel enables on processors with
    // AVX; `heddle doctor` checks that.
    unsafe {
        std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem));
    }
    let enabled = (u64::from(high) << 32 | u64::from(low)) & 0xe7;
    // The offsets in the standard format are fixed (Intel SDM 1, 13.4.3).
    let size = match enabled {
        e if e & 0xe0 != 0 => 2688,
        e if e & 4 != 0 => 832,
        _ => 576,
    };
    let size = size + 64;
    VECTOR_MASK.0.set(enabled);
    VECTOR_SIZE.0.set(size);
    VECTOR_MOVES.0.set(vector_moves(enabled));
    for component in (2..8).filter(|component| enabled >> component & 1 != 0) {
        // Leaf 13 has one subleaf for each component.
        let place = std::arch::x86_64::__cpuid_count(13, component);
        VECTOR_OFFSETS[component as usize].0.set(u64::from(place.ebx));
    }
}

/// The value of [`VECTOR_MOVES`] for the components that the system has enabled.
fn vector_moves(enabled: u64) -> u64 {
    const REPORTS_USE: u32 = 1 << 2;
    // Subleaf 1 of leaf 13: whether `xgetbv` reports which components are in use.
    let reports_use = std::arch::x86_64::__cpuid_count(13, 1).eax & REPORTS_USE != 0;
    match enabled {
        0x07 if reports_use => 1,
        0xe7 if reports_use && std::arch::is_x86_feature_detected!("avx512bw") => 2,
        _ => 0,
    }
}
