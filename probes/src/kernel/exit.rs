//! The end of the process: `exit` and its handlers run as steps of the calling task.
//!
//! The runtime has its own list of handlers, because the C library's `exit` calls an internal
//! `_exit` that cannot be interposed.

use crate::kernel::{abort, output, panic_stack};
use crate::primitives::thread_keys;
use crate::schedule::scheduler::point;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::sys::channel;
use crate::sys::copies::is_copy;
use crate::sys::interpose::{LiveFrames, interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::c_int;
use traces::reported::reported;
use traces::wire::FoundFailure;
use traces::{FailureKind, Operation};

/// An exit handler, in the program's heap.
#[repr(C)]
struct Handler {
    next: u64,
    function: u64,
    argument: u64,
    /// The module that registered it, for `__cxa_finalize`.
    module: u64,
    /// Whether the function's first argument is the status (`on_exit`).
    takes_status: bool,
    done: bool,
}

struct Handlers {
    last: Cell<u64>,
    /// The loader's function, which runs the destructors of the executable and its libraries.
    loader: Cell<u64>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Handlers {}
static HANDLERS: Handlers = Handlers { last: Cell::new(0), loader: Cell::new(0) };

/// Whether the runtime stores the handlers: in the controlled process and in copies of it.
fn has_own_list() -> bool {
    channel::attached() || is_copy()
}

/// Stores the function that the loader wants called at the end.
pub(crate) fn set_loader_destructors(function: u64) {
    HANDLERS.loader.set(function);
}

/// The list of handlers, and the loader's function.
pub(crate) fn save() -> (u64, u64) {
    (HANDLERS.last.get(), HANDLERS.loader.get())
}

/// Restores what [`save`] returned.
pub(crate) fn restore(saved: (u64, u64)) {
    HANDLERS.last.set(saved.0);
    HANDLERS.loader.set(saved.1);
}

fn register(function: u64, argument: u64, module: u64, takes_status: bool) -> c_int {
    let handler = crate::memory::arena::allocate(size_of::<Handler>(), 16, 0).cast::<Handler>();
    // SAFETY: the block is new, of this size and alignment, and nothing else points to it.
    unsafe {
        handler.write(Handler {
            next: HANDLERS.last.get(),
            function,
            argument,
            module,
            takes_status,
            done: false,
        });
    }
    HANDLERS.last.set(handler as u64);
    0
}

/// Calls handlers, last registered first, including those that handlers register; only those of one
/// module unless it is 0.
fn run_handlers(module: u64, status: c_int) {
    'again: loop {
        let mut at = HANDLERS.last.get();
        while at != 0 {
            // SAFETY: `register` made the node, and it is never freed. No other reference to it is
            // used while this one is: a handler that registers another only reads the list's head,
            // and a nested run makes its own reference after this one's last write; the loop starts
            // again from the head after each call.
            let handler = unsafe { &mut *(at as *mut Handler) };
            if !handler.done && (module == 0 || handler.module == module) {
                handler.done = true;
                // SAFETY: the program registered the function with one of these types.
                unsafe {
                    if handler.takes_status {
                        let function: extern "C-unwind" fn(c_int, u64) =
                            std::mem::transmute(handler.function);
                        function(status, handler.argument);
                    } else {
                        let function: extern "C-unwind" fn(u64, c_int) =
                            std::mem::transmute(handler.function);
                        function(handler.argument, status);
                    }
                }
                continue 'again;
            }
            at = handler.next;
        }
        return;
    }
}

/// The program's main returned; `site` is its address.
pub(crate) fn program_returned(status: c_int, site: u64) -> ! {
    // Nothing of main is left: an old pointer in its frame or below leads to no block.
    exit(status, site, LiveFrames::from(world().tasks[0].base.get()))
}

/// The last thread has ended, after main.
pub(crate) fn after_last_thread() -> ! {
    let task = world().task();
    exit(0, task.site.get(), LiveFrames::from(task.base.get()))
}

/// A copy of the process ends, without control.
fn exit_copy(status: c_int) -> ! {
    run_all_handlers(status);
    // It flushes all streams.
    real!(exit(status) as fn(c_int) -> ());
    raw::exit_process(status)
}

/// Calls what the program registered for the end of the process: the destructors of the running thread,
/// the handlers, and the loader's function, which calls the destructors of libraries.
fn run_all_handlers(status: c_int) {
    thread_keys::run_thread_destructors(world().task());
    run_handlers(0, status);
    let loader = HANDLERS.loader.replace(0);
    if loader != 0 {
        // SAFETY: the loader registered a function without arguments, which is called once.
        unsafe { std::mem::transmute::<u64, extern "C-unwind" fn()>(loader)() };
    }
}

fn exit(status: c_int, site: u64, live: LiveFrames) -> ! {
    if is_copy() {
        exit_copy(status);
    }
    let world = world();
    point(Operation::Exit, u64::from(world.current.get()) + 1, site, Gate::Open);
    world.exiting.set(true);
    run_all_handlers(status);
    // Writes what is in all streams, as the C library does at the end: without waiting for their locks.
    real!(fcloseall() as fn() -> c_int);
    now(status, site, live)
}

/// The site and message of the panic that the exit status may report: one of main, or one that
/// Rust's test harness caught in the thread of the test and printed.
fn panicked() -> Option<(u64, String)> {
    let tasks = &world().tasks;
    let main = tasks[0].panic_site.get();
    if main != 0 {
        return Some((main, abort::panic_message().unwrap_or_default()));
    }
    let created = &tasks[..usize::from(world().created.get())];
    let site = created.iter().map(|task| task.panic_site.get()).find(|&site| site != 0)?;
    Some((site, abort::panic_message()?))
}

/// The failed check that the exit status reports, if a test framework printed it. Its stack no longer exists:
/// the message has the place.
fn failed_check(site: u64) -> Option<FoundFailure> {
    let check = reported(&String::from_utf8_lossy(output::printed()))?;
    let which = if check.place.is_empty() { &check.text } else { &check.place };
    let key = outcome::key_of_text(outcome::key(FailureKind::Assertion, &[]), which);
    Some(FoundFailure { key, ..outcome::found(FailureKind::Assertion, site, check.message()) })
}

/// The process ends at once, without handlers.
pub(crate) fn now(status: c_int, site: u64, live: LiveFrames) -> ! {
    before_end(site);
    end(status, site, live)
}

/// A scheduling point before the process ends.
pub(crate) fn before_end(site: u64) {
    point(Operation::ExitNow, u64::from(world().current.get()) + 1, site, Gate::Open);
}

/// The process has ended: no task runs any more. `live` is what the running task had not left.
pub(crate) fn end(status: c_int, site: u64, live: LiveFrames) -> ! {
    crate::schedule::busy_loops::process_ends();
    crate::memory::arena::check_all(&live);
    let status = status & 0xff;
    if status == 0 {
        outcome::end_here(End::Passed);
    }
    const PANICKED: c_int = 101;
    let found = match panicked().filter(|_| status == PANICKED) {
        Some((panic, message)) => {
            // All panics are raised at the same site: the message has the place.
            let place = message.split(": ").next().unwrap_or_default();
            let key = outcome::key_of_text(outcome::key(FailureKind::Panic, &[panic]), place);
            let past = panic_stack::of(&message);
            FoundFailure { key, past, ..outcome::found(FailureKind::Panic, panic, message) }
        }
        None => failed_check(site).unwrap_or_else(|| FoundFailure {
            key: outcome::key(FailureKind::Exit, &[status as u64]),
            ..outcome::found(FailureKind::Exit, site, String::new())
        }),
    };
    outcome::end_here(End::Failed(Box::new(FoundFailure { number: status, ..found })))
}

interpose! {
    fn exit(status: c_int) -> () {
        if is_copy() {
            exit_copy(status);
        }
        if !on_fiber() {
            unsafe { real!(exit(status) as fn(c_int) -> ()) };
            return;
        }
        self::exit(status, site(), LiveFrames::of_call())
    }

    fn _exit(status: c_int) -> () {
        if !on_fiber() {
            raw::exit_process(status);
        }
        now(status, site(), LiveFrames::of_call())
    }

    fn _Exit(status: c_int) -> () {
        if !on_fiber() {
            raw::exit_process(status);
        }
        now(status, site(), LiveFrames::of_call())
    }

    fn __cxa_atexit(function: u64, argument: u64, module: u64) -> c_int {
        if !has_own_list() {
            return unsafe { real!(__cxa_atexit(function, argument, module)
                as fn(u64, u64, u64) -> c_int) };
        }
        register(function, argument, module, false)
    }

    // In libc, `atexit` is a static function. The sanitizer's library exports one, to which programs
    // built with `-fsanitize=thread` are linked. As there, the handler belongs to no module.
    fn atexit(function: u64) -> c_int {
        if !has_own_list() {
            return unsafe { real!(__cxa_atexit(function, 0, 0) as fn(u64, u64, u64) -> c_int) };
        }
        register(function, 0, 0, false)
    }

    fn on_exit(function: u64, argument: u64) -> c_int {
        if !has_own_list() {
            return unsafe { real!(on_exit(function, argument) as fn(u64, u64) -> c_int) };
        }
        register(function, argument, 0, true)
    }

    fn __cxa_finalize(module: u64) -> () {
        if !has_own_list() {
            unsafe { real!(__cxa_finalize(module) as fn(u64) -> ()) };
            return;
        }
        run_handlers(module, 0);
    }
}
