//! The switch between fibers, and between a fiber and the manager.
//!
//! A parked fiber consists of its stack pointer and its thread pointer. On its stack, from the
//! saved pointer up, are: MXCSR and the x87 control word (8 bytes), r15, r14, r13, r12, rbx, rbp,
//! and the return address. All other registers are the caller's to save, by the calling convention.

use std::arch::{asm, global_asm};
use std::cell::{Cell, UnsafeCell};

/// How many words a switch saves on a parked fiber's stack.
const SAVED_WORDS: usize = 8;

/// The manager's stack pointer while a fiber runs. Scheduling decisions run on the manager's stack,
/// below what is saved there.
#[repr(transparent)]
struct ManagerStack(UnsafeCell<u64>);
// SAFETY: only the assembly in this module accesses the value, in the one kernel thread of the
// controlled process; no reference to it is ever made.
unsafe impl Sync for ManagerStack {}
static MANAGER_STACK: ManagerStack = ManagerStack(UnsafeCell::new(0));

/// A function that the assembly in this module calls. The layers above register theirs, so that
/// this one does not depend on them.
#[repr(transparent)]
struct Callback(Cell<u64>);
// SAFETY: a `Cell` hands out no references. `set_callbacks` writes it before there are fibers, in a
// process with one thread that runs runtime code.
unsafe impl Sync for Callback {}
static PICK: Callback = Callback(Cell::new(0));
static TASK_STARTED: Callback = Callback(Cell::new(0));
static TASK_RETURNED: Callback = Callback(Cell::new(0));

/// Whether vector registers have upper halves; `vzeroupper` exists only then.
#[repr(transparent)]
struct HasAvx(Cell<bool>);
// SAFETY: see `Callback`.
unsafe impl Sync for HasAvx {}
static HAS_AVX: HasAvx = HasAvx(Cell::new(false));

/// The functions of higher layers that the switch calls.
pub(crate) struct Callbacks {
    /// Decides, on the manager's stack, which task runs next; returns its stack pointer.
    pub(crate) pick: extern "C" fn() -> u64,
    /// A new task runs for the first time.
    pub(crate) task_started: extern "C-unwind" fn(),
    /// The start routine of a task returned this value.
    pub(crate) task_returned: extern "C-unwind" fn(u64) -> !,
}

/// Registers the functions that the switch calls, before the first fiber exists.
pub(crate) fn set_callbacks(callbacks: &Callbacks) {
    PICK.0.set(callbacks.pick as usize as u64);
    TASK_STARTED.0.set(callbacks.task_started as usize as u64);
    TASK_RETURNED.0.set(callbacks.task_returned as usize as u64);
    HAS_AVX.0.set(std::arch::is_x86_feature_detected!("avx"));
}

/// Replaces the function that decides which task runs next.
pub(crate) fn set_pick(pick: extern "C" fn() -> u64) {
    PICK.0.set(pick as usize as u64);
}

/// Ends the running task, as if its start routine had returned `result`.
pub(crate) fn task_returned(result: u64) -> ! {
    // SAFETY: `set_callbacks` stored a function of this type before the first fiber ran.
    let returned: extern "C-unwind" fn(u64) -> ! =
        unsafe { std::mem::transmute(TASK_RETURNED.0.get()) };
    returned(result)
}

unsafe extern "C" {
    /// Parks the running fiber (its stack pointer is stored in `slot`), runs the scheduler on the
    /// manager's stack, and returns when the fiber is chosen again.
    pub(crate) fn heddle_point(slot: *mut u64);
    /// From the manager: continues the fiber whose stack pointer is `to`. Returns when
    /// `heddle_leave` is called.
    pub(crate) fn heddle_enter(to: u64);
    /// From the manager: decides which task runs next, while all of them are parked, and continues it.
    /// Returns when `heddle_leave` is called.
    pub(crate) fn heddle_resume();
    /// Returns to the manager, and abandons the running stack.
    fn heddle_leave() -> !;
    /// Parks the caller in `slot` and runs `manager` on the stack that ends at `stack`.
    pub(crate) fn heddle_take_main(slot: *mut u64, stack: u64, manager: extern "C" fn() -> !);
    /// Runs `function(argument)` on the manager's stack.
    fn heddle_on_manager(function: extern "C" fn(u64) -> u64, argument: u64) -> u64;
    /// Calls the program's main, and stores where its frame begins.
    pub(crate) fn heddle_call_main(
        base: *mut u64,
        main: *const (),
        argc: i32,
        argv: *mut *mut i8,
        envp: *mut *mut i8,
    ) -> i32;
    /// Continues in `function` with an empty stack that ends at `base`.
    pub(crate) fn heddle_restart(base: u64, function: extern "C-unwind" fn() -> !) -> !;
    /// The entry of a new fiber: prepares the task, calls r13(r12), then `heddle_task_returned`
    /// with the result. For unwinders, this is the end of the stack.
    fn heddle_fiber_start() -> !;
}

/// Clears the caller-saved registers, except the one with the result. What the runtime leaves in
/// them could end up on a parked task's stack, since compilers push arbitrary registers to align
/// the stack, and pass on arguments that have no meaning. Two iterations of a spin loop would then
/// look different.
///
/// The vector registers are among them: a probe stores them on the task's stack, where the program
/// copies structures from that it did not fill in. Their contents differ between an execution that is
/// resumed at a checkpoint and the same one from main.
///
/// The last instructions leave the same flags on each processor.
macro_rules! clear_scratch {
    () => {
        concat!(
            "xorps xmm0, xmm0; xorps xmm1, xmm1; xorps xmm2, xmm2; xorps xmm3, xmm3; \
         xorps xmm4, xmm4; xorps xmm5, xmm5; xorps xmm6, xmm6; xorps xmm7, xmm7; \
         xorps xmm8, xmm8; xorps xmm9, xmm9; xorps xmm10, xmm10; xorps xmm11, xmm11; \
         xorps xmm12, xmm12; xorps xmm13, xmm13; xorps xmm14, xmm14; xorps xmm15, xmm15; \
         cmp byte ptr [rip + {avx}], 0; je 9f; vzeroupper; 9: \
         xor ecx, ecx; xor edx, edx; xor esi, esi; xor edi, edi; \
         xor r8d, r8d; xor r9d, r9d; xor r10d, r10d; xor r11d, r11d"
        )
    };
}

/// Saves the registers that a function preserves.
macro_rules! push_preserved {
    () => {
        concat!("push rbp; push rbx; push r12; push r13; push r14; push r15")
    };
}

/// The inverse of `push_preserved`.
macro_rules! pop_preserved {
    () => {
        concat!("pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp")
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
    push_preserved!(),
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
    "call qword ptr [rip + {pick}]",
    "mov rsp, rax",
    // Nothing has changed for a task that continues.
    "cmp rax, rbx",
    "je 2f",
    // The scheduler does no floating-point arithmetic, so the control words are still the
    // program's.
    "stmxcsr [rbx]",
    "fnstcw [rbx + 4]",
    // Loading control words is slow, and they are nearly always equal.
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
    // Only a task that others run after stores its control words. The program may read what is left of
    // them as part of a variable that it does not initialise.
    "mov qword ptr [rsp], 0",
    "add rsp, 8",
    pop_preserved!(),
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
    push_preserved!(),
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rip + {stack}], rsp",
    "mov rsp, rdi",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    pop_preserved!(),
    "ret",

    ".p2align 4",
    ".hidden heddle_resume",
    ".globl heddle_resume",
    "heddle_resume:",
    push_preserved!(),
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rip + {stack}], rsp",
    "call qword ptr [rip + {pick}]",
    "mov rsp, rax",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    pop_preserved!(),
    "xor eax, eax",
    clear_scratch!(),
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
    pop_preserved!(),
    "ret",

    ".p2align 4",
    ".hidden heddle_take_main",
    ".globl heddle_take_main",
    "heddle_take_main:",
    ".cfi_startproc",
    push_preserved!(),
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
    // Its address is a return address on the stack of a fiber that has not begun. Unwinders look up
    // names and rules at the address before.
    "nop",
    "heddle_fiber_start:",
    "call qword ptr [rip + {started}]",
    // What it leaves in registers is not the program's, and depends on how the execution got here.
    "xor eax, eax",
    clear_scratch!(),
    "mov rdi, r12",
    "call r13",
    "mov rdi, rax",
    "call qword ptr [rip + {returned}]",
    "ud2",
    ".cfi_endproc",
    stack = sym MANAGER_STACK,
    avx = sym HAS_AVX,
    pick = sym PICK,
    started = sym TASK_STARTED,
    returned = sym TASK_RETURNED,
);

/// Lays out a new stack, so that the first switch to it calls `start(argument)`. The new fiber
/// inherits the floating-point control state of its creator, as POSIX says.
///
/// # Safety
/// `top` is the end of a writable stack that nothing else uses.
pub(crate) unsafe fn prepare(top: u64, start: u64, argument: u64) -> u64 {
    let (mut mxcsr, mut control) = (0u32, 0u16);
    // SAFETY: stores the two control words into locals, then eight words below `top`, which the
    // caller guarantees to be writable.
    unsafe {
        asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut control,
             options(nostack));
        // At the start routine, the stack is aligned as after a call.
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

/// The registers of a parked fiber as its caller will see them.
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

impl Parked {
    /// No registers.
    pub(crate) const NONE: Parked =
        Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 };
}

/// Reads the registers that a switch saved.
///
/// # Safety
/// `sp` is the saved stack pointer of a parked fiber.
pub(crate) unsafe fn parked(sp: u64) -> Parked {
    let word = |index: usize| {
        // SAFETY: a parked fiber has `SAVED_WORDS` words at its stack pointer (see the module), and
        // the index is below that.
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
/// `to` is a thread control block that the C library made, and stays allocated while it is set.
#[inline]
pub(crate) unsafe fn set_thread_pointer(to: u64) {
    // SAFETY: the kernel allows the instruction (checked before control is taken), and the caller
    // guarantees a valid control block.
    unsafe { asm!("wrfsbase {}", in(reg) to, options(nostack, preserves_flags)) }
}

/// The thread pointer.
#[inline]
pub(crate) fn thread_pointer() -> u64 {
    let block: u64;
    // SAFETY: reads the first word of the current thread control block, which is its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) block, options(nostack, preserves_flags, readonly)) }
    block
}

/// Leaves the execution for the manager, from any depth.
///
/// # Safety
/// A fiber runs (or a handler on top of it), and `manager_block` is the manager's control block.
pub(crate) unsafe fn leave(manager_block: u64) -> ! {
    // SAFETY: while a fiber runs the manager waits in `heddle_enter`, so its stack is valid; the
    // caller guarantees its control block.
    unsafe {
        set_thread_pointer(manager_block);
        heddle_leave()
    }
}

/// Stores the floating-point control words of a fiber that has parked. A switch to another fiber does it,
/// since nearly always a parked fiber continues or is abandoned.
///
/// # Safety
/// `sp` is the stack pointer of the fiber that parked last, and nothing has changed the control words
/// since then.
pub(crate) unsafe fn store_control_words(sp: u64) {
    // SAFETY: the two words have their place at the stack pointer of a parked fiber.
    unsafe { asm!("stmxcsr [{sp}]", "fnstcw [{sp} + 4]", sp = in(reg) sp, options(nostack)) };
}

/// Runs a function on the manager's stack, with the fiber's thread pointer.
pub(crate) fn on_manager(function: extern "C" fn(u64) -> u64, argument: u64) -> u64 {
    // SAFETY: callers run on a fiber, so the manager's stack below its saved pointer is unused, and
    // the function does not switch fibers.
    unsafe { heddle_on_manager(function, argument) }
}
