//! `pthread_exit`: unwinds the stack, so that C++ destructors and cleanup handlers run.
//!
//! glibc's implementation would not work on a fiber, whose base it does not know. This one uses the
//! standard's forced unwinding (Itanium C++ ABI, 1.6) with a stop function that ends at the fiber's
//! base. C code that was compiled without unwind tables registers jump buffers instead
//! ([`__pthread_register_cancel`]).

use crate::fiber::switch;
use crate::memory::thread_block;
use crate::primitives::cancel;
use crate::state::cancellation;
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::interpose;
use crate::sys::real::real;
use std::ffi::{c_int, c_void};

/// The head of `__pthread_unwind_buf_t`: a jump buffer, then private words.
#[repr(C)]
struct Buffer {
    registers: [u64; 8],
    mask_was_saved: i32,
    /// The buffer that was registered before.
    previous: u64,
    /// The innermost handler of the old list when this buffer was registered.
    handler: u64,
    /// The previous cancelability type, if registering changed it.
    kind: i32,
}

/// `struct _Unwind_Exception`, with room for the fields after it.
#[repr(C, align(16))]
struct Exception([u64; 4]);

type Stop = extern "C-unwind" fn(c_int, c_int, u64, *mut Exception, *mut c_void, u64) -> c_int;

const END_OF_STACK: c_int = 16;
const NO_REASON: c_int = 0;

/// Unwinds all frames between the caller and the task's base, then ends the task.
pub(crate) fn unwind() -> ! {
    cancellation::ends();
    // The exception must outlive the frames that are unwound, so it cannot be on the stack.
    let exception =
        crate::memory::arena::allocate(size_of::<Exception>(), 16, 0).cast::<Exception>();
    // SAFETY: the block is new and has this size and alignment; the unwinder's function is called
    // with its own types.
    unsafe {
        exception.write(Exception([0; 4]));
        real!(_Unwind_ForcedUnwind(exception, stop, 0) as fn(*mut Exception, Stop, u64) -> c_int);
    }
    finish()
}

extern "C-unwind" fn stop(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut Exception,
    context: *mut c_void,
    _: u64,
) -> c_int {
    let task = world().task();
    // SAFETY: the unwinder passes a valid context to its stop function.
    let frame = real!(_Unwind_GetCFA(context) as fn(*mut c_void) -> u64);
    let alternate = task.on_alternate_stack.get();
    let over = actions & END_OF_STACK != 0 || !alternate.is_inside(frame, task.base.get());
    let buffer = task.cleanup.get() as *mut Buffer;
    // SAFETY: the buffer is registered and not unregistered, so its frame is on this stack and has
    // not returned. glibc mangles the saved stack pointer with the pointer guard (PTR_MANGLE);
    // register 6 is rsp.
    let registered = unsafe { buffer.as_ref() }.map(|buffer| {
        (buffer.registers[6].rotate_right(17) ^ thread_block::pointer_guard(), buffer.handler)
    });
    let jumps = registered.is_some_and(|(sp, _)| over || alternate.is_inside(sp, frame));
    let until = registered.map_or(0, |(_, handler)| handler);
    loop {
        let handler = thread_block::cleanup_handler();
        let is_left = handler == frame || alternate.is_inside(handler, frame);
        if handler == until || handler == 0 || !(over || jumps || is_left) {
            break;
        }
        // SAFETY: the list is not empty, and no frame that is left was reused: the unwinder's are
        // below.
        unsafe { thread_block::run_cleanup_handler() };
    }
    if jumps {
        // SAFETY: as above; the buffer's frame is the one to continue in.
        unsafe {
            task.cleanup.set((*buffer).previous);
            real!(_longjmp(buffer.cast(), 1) as fn(*mut c_void, c_int) -> ());
        }
    }
    if over {
        finish();
    }
    NO_REASON
}

/// Ends the task on an empty stack: destructors that still run may overwrite the frames of the
/// unwinder.
fn finish() -> ! {
    extern "C-unwind" fn end() -> ! {
        switch::task_returned(world().task().result.get())
    }
    // SAFETY: no frame on this stack is returned to any more, so it can be restarted from its base.
    unsafe { switch::heddle_restart(world().task().base.get(), end) }
}

interpose! {
    fn pthread_exit(result: u64) -> () {
        if !on_fiber() {
            unsafe { real!(pthread_exit(result) as fn(u64) -> ()) };
            return;
        }
        world().task().result.set(result);
        unwind()
    }

    fn __pthread_register_cancel(buffer: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(__pthread_register_cancel(buffer) as fn(*mut c_void) -> ()) };
            return;
        }
        let task = world().task();
        // SAFETY: compiled code passes a buffer in its own frame; nothing else accesses it during
        // the call.
        unsafe {
            let buffer = &mut *buffer.cast::<Buffer>();
            buffer.previous = task.cleanup.get();
            buffer.handler = thread_block::cleanup_handler();
        }
        task.cleanup.set(buffer as u64);
    }

    fn __pthread_unregister_cancel(buffer: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(__pthread_unregister_cancel(buffer) as fn(*mut c_void) -> ()) };
            return;
        }
        // SAFETY: compiled code passes the buffer that it registered with the function above.
        world().task().cleanup.set(unsafe { (*buffer.cast::<Buffer>()).previous });
    }

    fn __pthread_register_cancel_defer(buffer: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(__pthread_register_cancel_defer(buffer) as fn(*mut c_void) -> ()) };
            return;
        }
        let task = world().task();
        // SAFETY: compiled code passes a buffer in its own frame; nothing else accesses it during
        // the call.
        unsafe {
            let buffer = &mut *buffer.cast::<Buffer>();
            buffer.previous = task.cleanup.get();
            buffer.handler = thread_block::cleanup_handler();
            buffer.kind = cancellation::defer();
        }
        task.cleanup.set(buffer as u64);
    }

    fn __pthread_unregister_cancel_restore(buffer: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(__pthread_unregister_cancel_restore(buffer) as fn(*mut c_void) -> ()) };
            return;
        }
        // SAFETY: compiled code passes the buffer that it registered with the function above.
        let (previous, kind) = unsafe {
            let buffer = &*buffer.cast::<Buffer>();
            (buffer.previous, buffer.kind)
        };
        world().task().cleanup.set(previous);
        cancel::restore(kind);
    }

    fn __pthread_unwind_next(buffer: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(__pthread_unwind_next(buffer) as fn(*mut c_void) -> ()) };
            return;
        }
        unwind()
    }
}
