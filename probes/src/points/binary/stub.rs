//! From an instruction with a breakpoint on it to the runtime and back.
//!
//! The kernel's signal does none of the work: its handler makes the fiber go on in a stub, on its own
//! stack, that saves everything and calls [`super::heddle_probe`]. The instruction itself runs as a
//! copy, somewhere near; everything is as it was when it does.

use crate::dispatch::{VECTOR_MASK, VECTOR_SIZE};
use std::arch::global_asm;

/// The registers of a task that came to a probe, in the order in which instructions number them. A
/// debugger looks at them, too.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Registers {
    pub(super) general: [u64; 16],
    pub(super) flags: u64,
    /// The instruction's own address, where an unwinder looks for it.
    pub(super) site: u64,
}

/// So far below the program's stack pointer the stub begins: the red zone, and an address.
pub(super) const BELOW: u64 = 136;

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_probe_stub",
    ".globl heddle_probe_stub",
    "heddle_probe_stub:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_def_cfa rsp, 136",
    ".cfi_offset rip, -136",
    // Nothing up to here and in the pushes changes a flag.
    "pushfq",
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push r11",
    "push r10",
    "push r9",
    "push r8",
    "push rdi",
    "push rsi",
    "push rbp",
    "push rax",
    "push rbx",
    "push rdx",
    "push rcx",
    "push rax",
    "lea rcx, [rsp + {frame}]",
    "mov [rsp + 32], rcx",
    "mov rbx, rsp",
    ".cfi_def_cfa rbx, 272",
    ".cfi_offset rbx, -248",
    ".cfi_offset rbp, -232",
    ".cfi_offset r12, -176",
    ".cfi_offset r13, -168",
    ".cfi_offset r14, -160",
    ".cfi_offset r15, -152",
    "cld",
    "mov rdi, rsp",
    "mov rax, [rip + {size}]",
    "sub rsp, rax",
    "and rsp, -64",
    "mov r12, rsp",
    // xsave leaves its header's reserved bytes alone; they must be zero for xrstor.
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
    "call {probe}",
    "mov r13, rax",
    "mov eax, [rip + {mask}]",
    "xor edx, edx",
    "xrstor64 [r12]",
    "mov rsp, rbx",
    "mov [rsp + 136], r13",
    "pop rax",
    "pop rcx",
    "pop rdx",
    "pop rbx",
    "lea rsp, [rsp + 8]",
    "pop rbp",
    "pop rsi",
    "pop rdi",
    "pop r8",
    "pop r9",
    "pop r10",
    "pop r11",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "popfq",
    ".cfi_def_cfa rsp, 136",
    "ret 128",
    ".cfi_endproc",
    frame = const traces::wire::PROBE_FRAME,
    size = sym VECTOR_SIZE,
    mask = sym VECTOR_MASK,
    probe = sym super::heddle_probe,
);

unsafe extern "C" {
    pub(super) fn heddle_probe_stub();
}
