//! Interrupts the program at an arbitrary instruction: its task continues in a stub, on its own stack,
//! which saves everything and yields to another task.

use crate::schedule::interrupt;
use crate::sys::dispatch::VECTOR_SIZE;
use crate::sys::own_image;
use crate::sys::vector_state::{
    heddle_restore_vectors, heddle_save_vectors, restore_vectors, save_vectors,
};
use std::arch::global_asm;

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_interruption_stub",
    ".globl heddle_interruption_stub",
    // On entry: all registers as in the program, rsp 136 below its own (the red zone and the address of
    // the interrupted instruction).
    "heddle_interruption_stub:",
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
    "push r11",
    "push r10",
    "push r9",
    "push r8",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push rax",
    "mov rbx, rsp",
    save_vectors!(),
    "call {serve}",
    restore_vectors!(),
    "mov rsp, rbx",
    "pop rax",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop r8",
    "pop r9",
    "pop r10",
    "pop r11",
    "pop rbx",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "popfq",
    "pop rbp",
    ".cfi_def_cfa rsp, 136",
    "ret 128",
    ".cfi_endproc",
    size = sym VECTOR_SIZE,
    save = sym heddle_save_vectors,
    restore = sym heddle_restore_vectors,
    serve = sym serve,
);
unsafe extern "C" {
    fn heddle_interruption_stub();
}

extern "C-unwind" fn serve() {
    interrupt::yield_now();
}

/// Makes the interrupted task continue in the stub; false if the runtime's own code was interrupted.
///
/// # Safety
/// The context is that of a signal that interrupted a fiber, and the handler returns to it.
pub(crate) unsafe fn redirect(context: &mut libc::ucontext_t) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    let rip = registers[libc::REG_RIP as usize] as u64;
    let (start, len) = own_image::text();
    if (start..start + len).contains(&rip) {
        return false;
    }
    let sp = registers[libc::REG_RSP as usize] as u64 - 136;
    // SAFETY: the stack of the interrupted fiber below its red zone is unused.
    unsafe { *(sp as *mut u64) = rip };
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RIP as usize] = heddle_interruption_stub as *const () as i64;
    true
}
