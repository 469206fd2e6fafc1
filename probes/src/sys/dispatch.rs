//! Interception of system calls that no interposer handles: Syscall User Dispatch.
//!
//! While a fiber runs, the kernel turns every system call made outside this library's code into a
//! `SIGSYS`. The signal handler only makes the fiber continue in a stub, on its own stack; the stub
//! saves everything that a system call preserves and calls [`crate::state::upcalls`]. So a call
//! from deep inside libc can block, switch fibers, and return.

use crate::state::upcalls;
use crate::sys::raw;
use crate::sys::signals;
use std::arch::global_asm;
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

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_syscall_stub",
    ".globl heddle_syscall_stub",
    // On entry: the kernel's argument registers as at the system call, rax the number, rsp 136
    // below the program's (the red zone and the return address).
    "heddle_syscall_stub:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_def_cfa rsp, 136",
    ".cfi_offset rip, -136",
    "push rbp",
    ".cfi_def_cfa_offset 144",
    ".cfi_offset rbp, -144",
    "mov rbp, rsp",
    ".cfi_def_cfa rbp, 144",
    "pushfq",
    "cld",
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push rbx",
    ".cfi_offset r15, -160",
    ".cfi_offset r14, -168",
    ".cfi_offset r13, -176",
    ".cfi_offset r12, -184",
    ".cfi_offset rbx, -192",
    // The fields of `Call`, in reverse order.
    "push r9",
    "push r8",
    "push r10",
    "push rdx",
    "push rsi",
    "push rdi",
    "push rax",
    "mov rdi, rsp",
    "mov rbx, rsp",
    "mov rax, [rip + {size}]",
    "sub rsp, rax",
    "and rsp, -64",
    "mov r12, rsp",
    // xsave does not write its header's reserved bytes; they must be zero for xrstor.
    "xor ecx, ecx",
    "mov [r12 + 512], rcx",
    "mov [r12 + 520], rcx",
    "mov [r12 + 528], rcx",
    "mov [r12 + 536], rcx",
    "mov [r12 + 544], rcx",
    "mov [r12 + 552], rcx",
    "mov [r12 + 560], rcx",
    "mov [r12 + 568], rcx",
    "mov eax, [rip + {mask}]",
    "xor edx, edx",
    "xsave64 [r12]",
    "mov rsi, [rbp + 8]",
    "call {serve}",
    "mov r13, rax",
    "mov eax, [rip + {mask}]",
    "xor edx, edx",
    "xrstor64 [r12]",
    "mov rax, r13",
    "mov rsp, rbx",
    "add rsp, 8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop r10",
    "pop r8",
    "pop r9",
    "pop rbx",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "popfq",
    "pop rbp",
    ".cfi_def_cfa rsp, 136",
    "ret 128",
    ".hidden heddle_syscall_stub_end",
    ".globl heddle_syscall_stub_end",
    "heddle_syscall_stub_end:",
    ".cfi_endproc",
    size = sym VECTOR_SIZE,
    mask = sym VECTOR_MASK,
    serve = sym serve,
);
unsafe extern "C" {
    fn heddle_syscall_stub();
    fn heddle_syscall_stub_end();
}

/// Whether an address is in the stub.
pub(crate) fn is_stub(rip: u64) -> bool {
    let start = heddle_syscall_stub as *const () as u64;
    (start..heddle_syscall_stub_end as *const () as u64).contains(&rip)
}

/// A number that the stub reads.
#[repr(transparent)]
pub(crate) struct Word(Cell<u64>);
// SAFETY: a `Cell` hands out no references; it is written once, before dispatch is enabled and any
// fiber runs.
unsafe impl Sync for Word {}
/// The size of the vector state in bytes.
pub(crate) static VECTOR_SIZE: Word = Word(Cell::new(0));
/// The parts of the vector state to save: x87, SSE, AVX, AVX-512, as far as the processor has them.
pub(crate) static VECTOR_MASK: Word = Word(Cell::new(0));

/// A system call as the program made it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) args: [u64; 6],
}

extern "C-unwind" fn serve(call: &Call, site: u64) -> i64 {
    signals::end_if_due(site);
    upcalls::get().system_call(call.number as i64, call.args, site)
}

/// Enables dispatch in this process. A fork does not inherit it.
pub(crate) fn enable() -> Result<(), String> {
    if VECTOR_MASK.0.get() == 0 {
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

fn learn_vector_state() {
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
}

/// `SIGSYS`: makes the fiber continue in the stub.
pub(crate) extern "C" fn on_dispatch(
    _: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    const SYS_USER_DISPATCH: i32 = 2;
    // SAFETY: the kernel passes a valid `siginfo_t` and context. The interrupted code is a fiber at
    // a system call, whose stack below the red zone is unused.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        if (*info).si_code != SYS_USER_DISPATCH || SELECTOR.0.get() != BLOCK {
            // A seccomp filter's signal, or a stray one: the call fails as if the kernel did not
            // have it.
            registers[libc::REG_RAX as usize] = -i64::from(libc::ENOSYS);
            return;
        }
        let sp = registers[libc::REG_RSP as usize] as u64 - 136;
        *(sp as *mut u64) = registers[libc::REG_RIP as usize] as u64;
        registers[libc::REG_RSP as usize] = sp as i64;
        registers[libc::REG_RIP as usize] = heddle_syscall_stub as *const () as i64;
    }
}
