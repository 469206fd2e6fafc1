//! Assertions, aborts, uncaught exceptions, panics.

use crate::fiber::switch;
use crate::kernel::{lost_panics, output, panic_stack};
use crate::state::end::End;
use crate::state::outcome;
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use crate::sys::signals;
use crate::sys::stops;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use traces::FailureKind;
use traces::reported::reported_by_glib;
use traces::wire::FoundFailure;

/// How many of the last printed bytes are searched for a message.
const TAIL: usize = 4096;
/// The panic of a scope, one of whose threads has panicked.
pub(super) const SCOPE_PANICKED: &str = "a scoped thread panicked";

fn fail(kind: FailureKind, site: u64, detail: String) -> ! {
    outcome::end_here(End::Failed(Box::new(outcome::found(kind, site, detail))))
}

/// The text of a C string of the program; empty if the pointer is null.
///
/// # Safety
/// `from` is null or a valid C string.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: not null, so a valid C string (the caller's contract).
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

/// The last printed message that begins with `start`: at most three lines, up to a backtrace.
pub(crate) fn printed_message(start: &str) -> Option<String> {
    let tail = tail(output::printed());
    Some(message_at(&tail[tail.rfind(start)?..], 3))
}

/// The end of what the program printed.
fn tail(printed: &[u8]) -> String {
    String::from_utf8_lossy(&printed[printed.len().saturating_sub(TAIL)..]).into_owned()
}

/// The message at the beginning of a text, at most this many lines of it.
fn message_at(text: &str, most: usize) -> String {
    // After the message itself come a backtrace, advice on how to get one, or the result that
    // Rust's test harness prints.
    let mut message = text;
    for end in ["\nstack backtrace:", "\nnote:", "\nFAILED\n", "\n\nfailures:"] {
        message = message.split(end).next().unwrap_or_default();
    }
    let lines: Vec<&str> = message.trim().lines().take(most).collect();
    without_thread_id(&lines.join("\n"))
}

/// The message of the last panic that the program printed, on one line. If that panic only passes
/// on the panic of another thread, it is the message of that one.
pub(crate) fn panic_message() -> Option<String> {
    panic_message_in(output::printed())
}

/// The same, where this is what the program had printed.
pub(super) fn panic_message_in(printed: &[u8]) -> Option<String> {
    const START: &str = "\nthread '";
    // A message with both operands of `assert_eq` has four lines.
    const LINES: usize = 4;
    let tail = tail(printed);
    let mut until = tail.len();
    let mut last = None;
    while let Some(at) = tail[..until].rfind(START) {
        let message = message_at(&tail[at..until], LINES).replace('\n', " ");
        let passes_on = message.contains("` on an `Err` value: Any { .. }")
            || message.ends_with(SCOPE_PANICKED);
        let is_panic = message.contains(" panicked at ");
        if is_panic && !passes_on {
            return Some(message);
        }
        last = last.or(is_panic.then_some(message));
        until = at;
    }
    last
}

/// `thread 'x' (4711) panicked` without the number, which differs from run to run.
fn without_thread_id(message: &str) -> String {
    if let Some((before, after)) = message.split_once("' (")
        && let Some((number, rest)) = after.split_once(") panicked")
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return format!("{before}' panicked{rest}");
    }
    message.to_owned()
}

/// Calls the program's handler for `SIGABRT`, as `abort` does.
fn call_abort_handler() {
    stops::signal(libc::SIGABRT);
    if let Some(action) = signals::own_handler(libc::SIGABRT) {
        signals::forget(libc::SIGABRT);
        // SAFETY: the program installed this function as a handler.
        unsafe {
            let handler: extern "C-unwind" fn(i32) = std::mem::transmute(action.handler);
            handler(libc::SIGABRT);
        }
    }
}

/// An assertion failed.
pub(crate) fn assertion(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    site: u64,
) -> ! {
    // SAFETY: the strings are literals that the compiler passes for the `assert` macro, or null.
    let message = || unsafe { assertion_message(expression, file, line, function) };
    {
        let printed = message() + "\n";
        output::keep(printed.as_ptr() as u64, printed.len() as u64);
    }
    // It may end the execution.
    call_abort_handler();
    fail(FailureKind::Assertion, site, message())
}

/// What the C library prints.
///
/// # Safety
/// The pointers are null or valid C strings.
unsafe fn assertion_message(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) -> String {
    // SAFETY: the caller's contract.
    let (expression, file, function) = unsafe { (text(expression), text(file), text(function)) };
    let place = if function.is_empty() { String::new() } else { format!("{function}: ") };
    format!("{file}:{line}: {place}Assertion `{expression}' failed.")
}

/// If GLib printed a failed assertion before it called `abort`, that is the failure: the site of the call is
/// the same for all of them.
fn fail_as_glib_reported(site: u64) {
    let Some(check) = reported_by_glib(&tail(output::printed())) else { return };
    let kind = FailureKind::Assertion;
    let key = outcome::key_of_text(outcome::key(kind, &[site]), &check.place);
    let found = FoundFailure { key, ..outcome::found(kind, site, check.message()) };
    outcome::end_here(End::Failed(Box::new(found)))
}

/// Whether the running task handles or propagates a C++ exception.
fn has_exception() -> bool {
    // SAFETY: if the symbol exists, it is the C++ runtime's function, of this type.
    unsafe {
        let current = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_current_exception_type".as_ptr());
        if current.is_null() {
            return false;
        }
        let current: extern "C" fn() -> *const c_void = std::mem::transmute(current);
        !current().is_null()
    }
}

interpose! {
    fn __assert_fail(expression: *const c_char, file: *const c_char, line: c_uint,
                     function: *const c_char) -> () {
        if !on_fiber() {
            unsafe { real!(__assert_fail(expression, file, line, function)
                as fn(*const c_char, *const c_char, c_uint, *const c_char) -> ()) };
            return;
        }
        assertion(expression, file, line, function, site())
    }

    fn __assert(expression: *const c_char, file: *const c_char, line: c_int) -> () {
        if !on_fiber() {
            unsafe { real!(__assert(expression, file, line)
                as fn(*const c_char, *const c_char, c_int) -> ()) };
            return;
        }
        assertion(expression, file, line as c_uint, std::ptr::null(), site())
    }

    fn __assert_perror_fail(code: c_int, file: *const c_char, line: c_uint,
                            function: *const c_char) -> () {
        if !on_fiber() {
            unsafe { real!(__assert_perror_fail(code, file, line, function)
                as fn(c_int, *const c_char, c_uint, *const c_char) -> ()) };
            return;
        }
        let site = site();
        // SAFETY: `strerror` returns a valid string for any number.
        let said = unsafe { libc::strerror(code) };
        assertion(said, file, line, function, site)
    }

    fn abort() -> () {
        if !on_fiber() {
            unsafe { real!(abort() as fn() -> ()) };
            return;
        }
        let site = site();
        let uncaught = has_exception()
            .then(|| printed_message("terminate called after throwing"))
            .flatten()
            .map(|message| message.replace('\n', ";"));
        call_abort_handler();
        match uncaught {
            Some(message) => fail(FailureKind::UncaughtException, site, message),
            None => {
                fail_as_glib_reported(site);
                let detail = printed_message("terminate called without")
                    .or_else(|| printed_message("thread '"))
                    .unwrap_or_default();
                fail(FailureKind::Abort, site, detail)
            }
        }
    }
}

/// Notes the panic that the running task raises: its exception object, and where.
extern "C" fn note_raised(panic: u64) -> u64 {
    // SAFETY: the caller passes a pointer to a local.
    let &(exception, site) = unsafe { &*(panic as *const (u64, u64)) };
    lost_panics::raised(exception, site);
    panic_stack::raised(panic_message().as_deref());
    0
}

/// The exception class of Rust's panics: `MOZ\0RUST`, in either byte order (it changed).
const RUST_PANIC: [u64; 2] = [u64::from_ne_bytes(*b"MOZ\0RUST"), u64::from_be_bytes(*b"MOZ\0RUST")];

interpose! {
    fn _Unwind_RaiseException(exception: *mut u64) -> c_int {
        let site = site();
        unsafe {
            if on_fiber() && RUST_PANIC.contains(&*exception) {
                let panic = (exception as u64, site);
                // On the manager's stack: the task's steps must not depend on what the unwinder calls, nor its
                // blocks on what the message takes.
                switch::on_manager(note_raised, &raw const panic as u64);
            }
            real!(_Unwind_RaiseException(exception) as fn(*mut u64) -> c_int)
        }
    }

    /// The end of a cleanup: everything the task did until here belongs to the unwinding.
    fn _Unwind_Resume(exception: *mut u64) -> () {
        unsafe {
            if on_fiber() && RUST_PANIC.contains(&*exception) {
                world().task().panic_step.set(world().step.get());
            }
            real!(_Unwind_Resume(exception) as fn(*mut u64) -> ())
        }
    }
}
