//! Interception of system calls that no interposer handles.
//!
//! While a fiber runs, each is a `SIGSYS` ([`crate::sys::dispatch`]). The signal handler only makes
//! the fiber continue in a stub, on its own stack; the stub saves everything that a system call
//! preserves and serves the call. So a call from deep inside libc can block, switch fibers, and
//! return.

use crate::kernel::syscalls;
use crate::state::overdue;
use crate::sys::dispatch::{self, VECTOR_SIZE};
use crate::sys::interpose::PROGRAM_CALL;
use crate::sys::vector_state::{
    heddle_restore_vectors, heddle_save_vectors, restore_vectors, save_vectors,
};
use std::arch::global_asm;

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
    save_vectors!(),
    "mov rsi, [rbp + 8]",
    "call {serve}",
    "mov r13, rax",
    restore_vectors!(),
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
    save = sym heddle_save_vectors,
    restore = sym heddle_restore_vectors,
    serve = sym serve,
);
/// What a function may use below its stack pointer.
const RED_ZONE: u64 = 128;

unsafe extern "C" {
    fn heddle_syscall_stub();
    fn heddle_syscall_stub_end();
}

/// Whether an address is in the stub.
pub(crate) fn is_stub(rip: u64) -> bool {
    let start = heddle_syscall_stub as *const () as u64;
    (start..heddle_syscall_stub_end as *const () as u64).contains(&rip)
}

/// A system call as the program made it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) args: [u64; 6],
}

/// What the stub stores above the call: rbx, r12 to r15, the flags, rbp and the program's next instruction.
type Stored = [u64; 8];

/// Notes the state in which the program made the call: a task that waits in it is compared by that.
fn note_call(call: &Call, site: u64) {
    let behind = std::ptr::from_ref(call).wrapping_add(1);
    // SAFETY: the stub pushed these words before it pushed the fields of `call`.
    let [rbx, r12, r13, r14, r15, _, rbp, _] = unsafe { *behind.cast::<Stored>() };
    let sp = behind as u64 + size_of::<Stored>() as u64 + RED_ZONE;
    let [_, rsi, rdx, ..] = call.args;
    PROGRAM_CALL.restore(&(site, sp, [rbx, rbp, r12, r13, r14, r15, rsi, rdx, call.number]));
}

extern "C-unwind" fn serve(call: &Call, site: u64) -> i64 {
    note_call(call, site);
    overdue::act_if_due(site);
    syscalls::serve(call.number as i64, call.args, site)
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
        if (*info).si_code != SYS_USER_DISPATCH || !dispatch::is_blocking() {
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
