//! The switch between fibers, and between a fiber and the manager.
//!
//! A parked fiber is its stack pointer and its thread pointer. On its stack lie, from the saved
//! pointer up: MXCSR and the x87 control word (8 bytes), r15, r14, r13, r12, rbx, rbp, and the address
//! to go on at. Everything else is the caller's to save, by the calling convention.

use crate::scheduler;
use std::arch::{asm, global_asm};
use std::cell::UnsafeCell;

/// How many words lie on a parked fiber's stack.
const SAVED_WORDS: usize = 8;

/// The manager's stack pointer while a fiber runs. Scheduling decisions are made on the manager's
/// stack, below what it left there.
#[repr(transparent)]
struct ManagerStack(UnsafeCell<u64>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for ManagerStack {}
static MANAGER_STACK: ManagerStack = ManagerStack(UnsafeCell::new(0));

unsafe extern "C" {
    /// Parks the running fiber (its stack pointer goes to `slot`), lets the scheduler decide on the
    /// manager's stack, and returns when the fiber is chosen again.
    pub(crate) fn heddle_point(slot: *mut u64);
    /// From the manager: goes on with the fiber whose stack pointer is `to`. Returns when somebody
    /// calls `heddle_leave`.
    pub(crate) fn heddle_enter(to: u64);
    /// Back to the manager; the running stack is left for good.
    fn heddle_leave() -> !;
    /// Parks the caller in `slot` and runs `manager` on the stack that ends at `stack`.
    pub(crate) fn heddle_take_main(slot: *mut u64, stack: u64, manager: extern "C" fn() -> !);
    /// Runs `function(argument)` on the manager's stack.
    fn heddle_on_manager(function: extern "C" fn(u64) -> u64, argument: u64) -> u64;
    /// Calls the program's main, and notes where its frame begins.
    pub(crate) fn heddle_call_main(
        base: *mut u64,
        main: *const (),
        argc: i32,
        argv: *mut *mut i8,
        envp: *mut *mut i8,
    ) -> i32;
    /// Goes on in `function` with an empty stack that ends at `base`.
    pub(crate) fn heddle_restart(base: u64, function: extern "C-unwind" fn() -> !) -> !;
    /// Where a fresh fiber begins: sets the task up, calls r13(r12), then `heddle_task_returned` with its result. The
    /// unwinder's end of the stack.
    fn heddle_fiber_start() -> !;
}

/// Clears the registers that nobody owns across a call, but for the one with its result. What the runtime
/// leaves in them ends up among what a task is parked with, since compilers align the stack by pushing any
/// register and hand on arguments that do not matter: one turn of a loop is not to be told from another by
/// that.
macro_rules! clear_scratch {
    () => {
        "xor ecx, ecx; xor edx, edx; xor esi, esi; xor edi, edi; \
         xor r8d, r8d; xor r9d, r9d; xor r10d, r10d; xor r11d, r11d"
    };
}

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_point",
    ".globl heddle_point",
    ".type heddle_point,@function",
    "heddle_point:",
    ".cfi_startproc",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 64",
    ".cfi_offset rbp, -16",
    ".cfi_offset rbx, -24",
    ".cfi_offset r12, -32",
    ".cfi_offset r13, -40",
    ".cfi_offset r14, -48",
    ".cfi_offset r15, -56",
    "mov [rdi], rsp",
    "mov rbx, rsp",
    "mov rsp, [rip + {stack}]",
    "call {pick}",
    "mov rsp, rax",
    // Nothing was changed for a task that goes on.
    "cmp rax, rbx",
    "je 2f",
    // The decision is made without floating-point arithmetic, so these are still the program's.
    "stmxcsr [rbx]",
    "fnstcw [rbx + 4]",
    // Loading control words is slow, and they are nearly always the same.
    "mov ecx, [rsp]",
    "cmp ecx, [rbx]",
    "jne 3f",
    "movzx ecx, word ptr [rsp + 4]",
    "cmp cx, [rbx + 4]",
    "je 2f",
    "3:",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "2:",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa_offset 8",
    "xor eax, eax",
    clear_scratch!(),
    "ret",
    ".cfi_endproc",
    ".size heddle_point, . - heddle_point",

    ".p2align 4",
    ".hidden heddle_enter",
    ".globl heddle_enter",
    "heddle_enter:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rip + {stack}], rsp",
    "mov rsp, rdi",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",

    ".p2align 4",
    ".hidden heddle_leave",
    ".globl heddle_leave",
    "heddle_leave:",
    "cld",
    "mov rsp, [rip + {stack}]",
    "ldmxcsr [rsp]",
    "fnclex",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",

    ".p2align 4",
    ".hidden heddle_take_main",
    ".globl heddle_take_main",
    "heddle_take_main:",
    ".cfi_startproc",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 64",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rdi], rsp",
    "mov rsp, rsi",
    "xor ebp, ebp",
    "call rdx",
    "ud2",
    ".cfi_endproc",

    ".p2align 4",
    ".hidden heddle_on_manager",
    ".globl heddle_on_manager",
    "heddle_on_manager:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, [rip + {stack}]",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    clear_scratch!(),
    "ret",
    ".cfi_endproc",

    ".p2align 4",
    ".hidden heddle_call_main",
    ".globl heddle_call_main",
    "heddle_call_main:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov [rdi], rsp",
    "mov rax, rsi",
    "mov edi, edx",
    "mov rsi, rcx",
    "mov rdx, r8",
    "call rax",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",

    ".p2align 4",
    ".hidden heddle_restart",
    ".globl heddle_restart",
    "heddle_restart:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "mov rsp, rdi",
    "and rsp, -16",
    "xor ebp, ebp",
    "call rsi",
    "ud2",
    ".cfi_endproc",

    ".p2align 4",
    ".hidden heddle_fiber_start",
    ".globl heddle_fiber_start",
    ".cfi_startproc",
    ".cfi_undefined rip",
    // Its address is a return address on the stack of a fiber that has not begun; names and rules
    // are looked up just before those.
    "nop",
    "heddle_fiber_start:",
    "call {started}",
    "mov rdi, r12",
    "call r13",
    "mov rdi, rax",
    "call {returned}",
    "ud2",
    ".cfi_endproc",
    stack = sym MANAGER_STACK,
    pick = sym scheduler::heddle_pick,
    started = sym crate::models::thread::heddle_task_started,
    returned = sym crate::models::thread::heddle_task_returned,
);

/// Lays out a fresh stack, so that the first switch to it calls `start(argument)`. The new fiber
/// inherits the floating-point control state of its creator, as POSIX says.
///
/// # Safety
/// `top` is the end of a writable stack.
pub(crate) unsafe fn prepare(top: u64, start: u64, argument: u64) -> u64 {
    let (mut mxcsr, mut control) = (0u32, 0u16);
    // SAFETY: stores the two control words; then plain stores below `top`.
    unsafe {
        asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut control,
             options(nostack));
        // The start routine is to see its stack aligned as after a call.
        let sp = (top & !15) - 16 - 8 * SAVED_WORDS as u64;
        let words = sp as *mut u64;
        *words = u64::from(mxcsr) | u64::from(control) << 32;
        *words.add(1) = 0; // r15
        *words.add(2) = 0; // r14
        *words.add(3) = start; // r13
        *words.add(4) = argument; // r12
        *words.add(5) = 0; // rbx
        *words.add(6) = 0; // rbp
        *words.add(7) = heddle_fiber_start as *const () as u64;
        sp
    }
}

/// Registers of a parked fiber as its caller will see them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parked {
    pub(crate) rip: u64,
    pub(crate) rsp: u64,
    pub(crate) rbp: u64,
    pub(crate) rbx: u64,
    pub(crate) r12: u64,
    pub(crate) r13: u64,
    pub(crate) r14: u64,
    pub(crate) r15: u64,
}

/// Reads what the switch saved.
///
/// # Safety
/// `sp` is the saved stack pointer of a parked fiber.
pub(crate) unsafe fn parked(sp: u64) -> Parked {
    let word = |index: usize| {
        // SAFETY: the layout above.
        unsafe { *(sp as *const u64).add(index) }
    };
    Parked {
        r15: word(1),
        r14: word(2),
        r13: word(3),
        r12: word(4),
        rbx: word(5),
        rbp: word(6),
        rip: word(7),
        rsp: sp + 8 * SAVED_WORDS as u64,
    }
}

/// Sets the thread pointer.
///
/// # Safety
/// `to` is a thread control block made by the C library.
#[inline]
pub(crate) unsafe fn set_thread_pointer(to: u64) {
    // SAFETY: the kernel allows the instruction (checked before control is taken).
    unsafe { asm!("wrfsbase {}", in(reg) to, options(nostack, preserves_flags)) }
}

/// The thread pointer.
#[inline]
pub(crate) fn thread_pointer() -> u64 {
    let block: u64;
    // SAFETY: the first word of a thread control block is its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) block, options(nostack, preserves_flags, readonly)) }
    block
}

/// Leaves the execution, from wherever this is called, for the manager.
///
/// # Safety
/// A fiber runs (or a handler on top of it), and `manager_block` is the manager's control block.
pub(crate) unsafe fn leave(manager_block: u64) -> ! {
    // SAFETY: the manager waits in `heddle_enter`.
    unsafe {
        set_thread_pointer(manager_block);
        heddle_leave()
    }
}

/// Runs a function on the manager's stack, with the fiber's thread pointer.
pub(crate) fn on_manager(function: extern "C" fn(u64) -> u64, argument: u64) -> u64 {
    // SAFETY: while a fiber runs the manager's stack below its saved pointer is free.
    unsafe { heddle_on_manager(function, argument) }
}
