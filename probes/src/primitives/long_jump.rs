//! Non-local jumps: `longjmp`, `setcontext` and their forms.
//!
//! The real functions do the work. A jump to the stack of another thread, which POSIX leaves
//! undefined, ends the execution before it is made: it would overwrite the frames with which that
//! thread continues. Stacks that the program allocated for contexts belong to no thread.

use crate::instrument::binary::calls::report_unexplored;
use crate::memory::thread_block;
use crate::state::library_call;
use crate::state::outcome;
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::c_int;

/// Ends the execution if the stack pointer is in another task's stack.
fn check(sp: u64, name: &'static str, site: u64) {
    let world = world();
    let (signal, frames) = world.task().handler.get();
    let leaves = world.task().on_alternate_stack.get().is_inside(frames, sp);
    if leaves {
        // The jump leaves the signal handler.
        world.task().handler.set((0, 0));
        library_call::leave_handlers();
    }
    // Signals are delivered before accesses with which one of the handler's conflicts. What a jump skips need
    // not be such an access.
    if frames != 0 && leaves && !FAULTS.contains(&signal.into()) {
        report_unexplored("siglongjmp", "libc, out of a signal handler", site);
    }
    let is_its = |number: u16| {
        let stack = world.tasks[usize::from(number)].stack.get();
        (stack.low..stack.high).contains(&sp)
    };
    let current = world.current.get();
    if !is_its(current) && world.alive().any(|number| number != current && is_its(number)) {
        outcome::unsupported(name, site);
    }
}

/// Signals of the instruction that caused them: they arrive at no other moment.
const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// Index of the word with the stack pointer in a `jmp_buf` and in a `ucontext_t`.
const IN_BUFFER: usize = 6;
const IN_CONTEXT: usize = 20;

/// The stack pointer to which a jump with this buffer leads.
///
/// # Safety
/// `buffer` is a `jmp_buf` that `setjmp` filled in.
unsafe fn of_buffer(buffer: *const u64) -> u64 {
    // SAFETY: the caller guarantees a valid buffer, which has eight words.
    let mangled = unsafe { *buffer.add(IN_BUFFER) };
    mangled.rotate_right(17) ^ thread_block::pointer_guard()
}

macro_rules! jumps {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(buffer: *const u64, value: c_int) -> () {
                unsafe {
                    if on_fiber() {
                        let what = "longjmp to the stack of another thread";
                        check(of_buffer(buffer), what, site());
                    }
                    real!($name(buffer, value) as fn(*const u64, c_int) -> ());
                }
            })*
        }
    };
}

jumps! { longjmp _longjmp siglongjmp __longjmp_chk }

interpose! {
    fn setcontext(context: *const u64) -> c_int {
        unsafe {
            if on_fiber() {
                check(*context.add(IN_CONTEXT), "setcontext to the stack of another thread", site());
            }
            real!(setcontext(context) as fn(*const u64) -> c_int)
        }
    }

    fn swapcontext(old: *mut u64, new: *const u64) -> c_int {
        unsafe {
            if on_fiber() {
                check(*new.add(IN_CONTEXT), "setcontext to the stack of another thread", site());
            }
            real!(swapcontext(old, new) as fn(*mut u64, *const u64) -> c_int)
        }
    }
}
