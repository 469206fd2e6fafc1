//! Jumps to where a task stood before: `longjmp`, `setcontext` and their forms.
//!
//! They do what they do; but one that leads onto the stack of another thread, which POSIX leaves
//! undefined, is named before it is made: it would write over what that thread is to go on with. Stacks
//! that the program made for contexts of its own are nobody's.

use crate::block;
use crate::failure;
use crate::interpose::{interpose, site};
use crate::real::real;
use crate::world::{on_fiber, world};
use std::ffi::c_int;

/// Ends the execution if the stack pointer lies in another task's stack.
fn check(sp: u64, name: &'static str, site: u64) {
    let world = world();
    let is_its = |number: u16| {
        let stack = world.tasks[usize::from(number)].stack.get();
        (stack.low..stack.high).contains(&sp)
    };
    let current = world.current.get();
    if !is_its(current) && world.alive().any(|number| number != current && is_its(number)) {
        failure::unsupported(name, site);
    }
}

/// Where the stack pointer is in a `jmp_buf` and in a `ucontext_t`, in words.
const IN_BUFFER: usize = 6;
const IN_CONTEXT: usize = 20;

/// The stack pointer that a jump with this buffer leads to.
unsafe fn of_buffer(buffer: *const u64) -> u64 {
    // SAFETY: the program's buffer.
    let kept = unsafe { *buffer.add(IN_BUFFER) };
    kept.rotate_right(17) ^ block::pointer_guard()
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
                check(*context.add(IN_CONTEXT), "a context of another thread's stack", site());
            }
            real!(setcontext(context) as fn(*const u64) -> c_int)
        }
    }

    fn swapcontext(old: *mut u64, new: *const u64) -> c_int {
        unsafe {
            if on_fiber() {
                check(*new.add(IN_CONTEXT), "a context of another thread's stack", site());
            }
            real!(swapcontext(old, new) as fn(*mut u64, *const u64) -> c_int)
        }
    }
}
