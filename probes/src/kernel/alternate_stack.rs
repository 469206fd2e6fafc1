//! Calls of the program's signal handlers, on the stack of their task or on its alternate one (`sigaltstack`).

use crate::detect::access::{self, Access};
use crate::fiber::backtrace;
use crate::fiber::switch::Parked;
use crate::instrument::binary::calls;
use crate::primitives::misuse;
use crate::schedule::access_points::visit;
use crate::state::alternate_stack::{AlternateStack, OnAlternateStack};
use crate::state::outcome;
use crate::state::pending_signals::Information;
use crate::state::world::world;
use crate::sys::raw;
use crate::sys::signals::Action;
use std::arch::global_asm;
use std::ffi::c_int;
use traces::FailureKind;

/// The smallest alternate stack on which handlers run: the runtime's functions run there, too.
const LEAST: u64 = 32 * 1024;

/// How much of an alternate stack the runtime may use at most.
const USED: u64 = 64 * 1024;

/// Indices of words of a `ucontext_t`: of the alternate stack (a `stack_t`), of the general registers, and of the mask.
const STACK: usize = 2;
const GENERAL: std::ops::Range<usize> = 5..28;
const MASK: usize = 37;

/// A signal for which a handler is called.
#[derive(Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) signal: i32,
    pub(crate) acts: Action,
    pub(crate) information: Information,
    /// Whether the handler interrupts the code at an instruction that no call of the code determines.
    pub(crate) comes_at_any_moment: bool,
}

impl Delivery {
    /// Whether the handler has the parameters with the information and the context.
    fn is_informed(&self) -> bool {
        self.acts.flags & libc::SA_SIGINFO as u64 != 0
    }
}

/// What the kernel stores on the stack of a handler.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Frame {
    /// A `siginfo_t`.
    info: [u64; 16],
    /// A `ucontext_t`, with the registers that are known, and what the program may change in it: the alternate stack
    /// and the mask.
    context: [u64; 128],
    /// Where the kernel stores the other registers.
    registers: [u64; 71],
    /// The mark that the kernel stores behind them (`FP_XSTATE_MAGIC2`).
    end: u64,
}

impl Frame {
    /// The frame of a handler after which this mask and this alternate stack are restored.
    fn new(mask: u64, stack: AlternateStack) -> Frame {
        let mut context = [0; 128];
        context[MASK] = mask;
        context[STACK..STACK + 3].copy_from_slice(&[
            stack.low,
            u64::from(stack.flags.cast_unsigned()),
            stack.size,
        ]);
        Frame { info: [0; 16], context, registers: [0; 71], end: 0x4650_5845 }
    }

    /// Stores the registers with which the running task continues.
    fn show_registers(&mut self) {
        let task = world().task();
        // A task that has not called its start routine, or has returned from it.
        let none = Parked { rip: task.start.get(), rsp: task.base.get(), ..Parked::NONE };
        let known = backtrace::registers().unwrap_or(none);
        for (register, value) in [
            (libc::REG_RIP, known.rip),
            (libc::REG_RSP, known.rsp),
            (libc::REG_RBP, known.rbp),
            (libc::REG_RBX, known.rbx),
            (libc::REG_R12, known.r12),
            (libc::REG_R13, known.r13),
            (libc::REG_R14, known.r14),
            (libc::REG_R15, known.r15),
        ] {
            self.context[GENERAL.start + register as usize] = value;
        }
    }

    /// The alternate stack to restore. An error number if the kernel refuses it.
    fn stack(&self) -> Result<AlternateStack, c_int> {
        let [low, flags, size] = std::array::from_fn(|at| self.context[STACK + at]);
        AlternateStack::new(low, size, flags as i32)
    }
}

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_call_on_stack",
    ".globl heddle_call_on_stack",
    "heddle_call_on_stack:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 16",
    "call 2f",
    "add rsp, 8",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    "2:",
    ".cfi_startproc",
    // Unwinders expect the frames of callers at higher addresses, except where a signal came. Its caller is therefore
    // a separate function: its return address counts as that of the interrupted instruction.
    ".cfi_signal_frame",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, r8",
    "call rcx",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
);
unsafe extern "C-unwind" {
    /// Calls `handler` with the first three arguments, on the stack that ends at `top`.
    fn heddle_call_on_stack(
        signal: c_int,
        info: *mut u64,
        context: *mut u64,
        handler: u64,
        top: u64,
    );
}

/// `sigaltstack`: sets and reports the alternate stack of the running task.
pub(crate) fn sigaltstack(args: [u64; 6]) -> i64 {
    let [new, old, ..] = args;
    let task = world().task();
    let before = task.alternate_stack.get();
    let here = &raw const before as u64;
    if new != 0 {
        let mut bytes = [0; size_of::<libc::stack_t>()];
        if !raw::read(new, &mut bytes) {
            return -i64::from(libc::EFAULT);
        }
        // SAFETY: a `stack_t` is plain data, and the buffer has its size.
        let asked = unsafe { bytes.as_ptr().cast::<libc::stack_t>().read_unaligned() };
        let stack = AlternateStack::new(asked.ss_sp as u64, asked.ss_size as u64, asked.ss_flags);
        if let Err(error) = set(stack, here) {
            return -i64::from(error);
        }
    }
    if old != 0 {
        let shown = libc::stack_t {
            ss_sp: before.low as *mut libc::c_void,
            ss_flags: before.flags_at(here),
            ss_size: before.size as usize,
        };
        // SAFETY: the caller of `sigaltstack` passes a valid `stack_t` or null.
        unsafe { (old as *mut libc::stack_t).write(shown) };
    }
    0
}

/// Sets the alternate stack of the running task, whose stack pointer will be `here`. An error number if the kernel
/// refuses it.
fn set(stack: Result<AlternateStack, c_int>, here: u64) -> Result<(), c_int> {
    let task = world().task();
    if task.alternate_stack.get().is_used_at(here) {
        return Err(libc::EPERM);
    }
    task.alternate_stack.set(stack?);
    Ok(())
}

/// Calls the handler of a signal as the kernel would. Returns the mask with which the program continues: `mask`,
/// unless the handler changed it.
pub(crate) fn call_handler(delivery: Delivery, mask: u64) -> u64 {
    let acts = delivery.acts;
    let stack = world().task().alternate_stack.get();
    let mut own = Frame::new(mask, stack);
    if delivery.is_informed() {
        own.show_registers();
    }
    let here = &raw const own as u64;
    // Within the first instruction of the handler, where users find it.
    let site = acts.handler + 1;
    let other = match acts.flags & libc::SA_ONSTACK as u64 {
        0 => None,
        _ if stack.size == 0 || stack.is_used_at(here) => None,
        _ => frame_on(stack, site),
    };
    let shown = own.context;
    match other {
        // SAFETY: the program installed the function as a handler, and the frame is a local.
        None => unsafe { call(delivery, &raw mut own, None) },
        // SAFETY: the program gave this memory for handlers, and no task runs on it.
        Some(frame) => unsafe { call_on(stack, frame as *mut Frame, delivery, &mut own) },
    }
    let context = std::hint::black_box(own.context);
    if delivery.is_informed() && context[GENERAL] != shown[GENERAL] {
        outcome::unsupported("a signal handler that changes registers in its context", site);
    }
    restore(&own, here);
    context[MASK]
}

/// Calls a handler on an alternate stack, on which its frame, a copy of `own`, has this address. Afterwards `own` is
/// what the handler made of it.
///
/// # Safety
/// The program installed the function as a handler, the frame is on the stack, and no task runs on that.
unsafe fn call_on(stack: AlternateStack, frame: *mut Frame, delivery: Delivery, own: &mut Frame) {
    let task = world().task();
    let (low, high, from) = (stack.low, stack.high(), std::ptr::from_ref(own) as u64);
    let outer = task.on_alternate_stack.replace(OnAlternateStack { low, high, from });
    if stack.is_disarmed_by_handlers() {
        task.alternate_stack.set(AlternateStack::NONE);
    }
    // SAFETY: the caller's promise.
    unsafe {
        make_writable(low, high);
        frame.write(*own);
        call(delivery, frame, Some(frame as u64));
        visit_frame(frame as u64, false, delivery.acts.handler + 1);
        *own = frame.read();
    }
    task.on_alternate_stack.set(outer);
}

/// Calls a handler with this frame, on the stack that ends at `top`, or on the present one.
///
/// # Safety
/// The program installed the function as a handler, the frame stays valid during the call, and the memory below `top`
/// is an unused stack.
unsafe fn call(delivery: Delivery, frame: *mut Frame, top: Option<u64>) {
    let (task, Delivery { signal, acts, information, .. }) = (world().task(), delivery);
    // SAFETY: the frame is valid.
    let (info, context) = unsafe { (&raw mut (*frame).info, &raw mut (*frame).context) };
    let address = |word: usize| context as u64 + 8 * word as u64;
    let registers = match delivery.comes_at_any_moment {
        true => (address(GENERAL.start), address(GENERAL.end)),
        false => (0, 0),
    };
    let outer = task.shown_registers.replace(registers);
    // SAFETY: the caller's promise. Handlers have one of these types, chosen by `SA_SIGINFO`. On an alternate stack,
    // the further arguments are in registers that a handler without them ignores. `info` has room for a `siginfo_t`.
    unsafe {
        if delivery.is_informed() {
            information.write(signal, info as u64);
        }
        if let Some(top) = top {
            heddle_call_on_stack(signal, info.cast(), context.cast(), acts.handler, top);
        } else if delivery.is_informed() {
            let handler: extern "C-unwind" fn(c_int, *mut u64, *mut u64) =
                std::mem::transmute(acts.handler);
            handler(signal, info.cast(), context.cast());
        } else {
            let handler: extern "C-unwind" fn(c_int) = std::mem::transmute(acts.handler);
            handler(signal);
        }
    }
    task.shown_registers.set(outer);
}

/// The handler returns to code with the stack pointer `here`: restores the alternate stack.
fn restore(frame: &Frame, here: u64) {
    // As in the kernel, one that cannot be set is ignored.
    let _ = set(frame.stack(), here);
}

/// Where on the alternate stack a handler's frame is; none if the handler cannot run there, which is reported.
fn frame_on(stack: AlternateStack, site: u64) -> Option<u64> {
    if stack.size < LEAST {
        let what = "a signal handler on an alternate stack of less than 32 KB";
        calls::report_unexplored(what, "the kernel", site);
        return None;
    }
    let frame = (stack.high() - size_of::<Frame>() as u64) & !63;
    visit_frame(frame, true, site);
    let world = world();
    let is_there = |&number: &u16| {
        let sp = world.tasks[usize::from(number)].sp.get();
        number != world.current.get() && (stack.low..stack.high()).contains(&sp)
    };
    let Some(other) = world.alive().find(is_there) else { return Some(frame) };
    let place = Some(("runs there", world.tasks[usize::from(other)].site.get()));
    let rule =
        "a signal handler begins on an alternate stack on which another thread runs a handler";
    misuse::report(FailureKind::ObjectInUse, rule, site, &[place]);
    calls::report_unexplored("an alternate stack of two handlers", "the kernel", site);
    None
}

/// The kernel stores the frame of a handler on the alternate stack, or reads it when the handler returns.
fn visit_frame(frame: u64, writes: bool, site: u64) {
    if access::is_in_company() {
        let size = size_of::<Frame>() as u64;
        let (address, in_parts) = (frame, false);
        visit(Access { address, size, writes, atomic: false, proven: false, site, in_parts });
    }
}

/// Makes the upper pages of a stack writable that are write-protected to notice writes: the kernel stores results in
/// variables of the runtime there.
///
/// # Safety
/// The memory is a stack that no task uses.
unsafe fn make_writable(low: u64, high: u64) {
    for address in (low.max(high.saturating_sub(USED))..high).step_by(4096) {
        let byte = address as *mut u8;
        // SAFETY: the caller's promise; the value does not change.
        unsafe { byte.write_volatile(byte.read_volatile()) };
    }
}
