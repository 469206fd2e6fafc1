//! Hidden state of the C library, and signal handlers that interrupt a function that uses it.
//!
//! POSIX (2.4.3) leaves undefined what happens where a handler interrupts a function that is not
//! async-signal-safe and calls another one. That is a failure here if both use the same hidden state and one
//! changes it: the position of `strtok`, the structure that `localtime` returns, the buffer of a stream, the
//! heap. (Where they do not, no implementation gives a wrong result.)
//!
//! A handler that runs at a scheduling point at the beginning of such a call could run within it as well: nothing
//! that the task does in between blocks the signal. So such calls have a scheduling point, once a handler was
//! seen that uses the same state.

use crate::detect::access::{self, Access, POINTS, is_in_company, settle_write};
use crate::detect::learned_points::{is_handled, is_in_libc, is_site};
use crate::detect::shadow::Word;
use crate::fiber::backtrace;
use crate::instrument::binary::library_states::{
    HEAP_NAME, Hidden, LIBRARY_STATES, STREAM_NAME, STREAMS_NAME, number,
};
use crate::instrument::binary::operand::{LOWEST, Operand};
use crate::instrument::binary::variable_arguments::Arguments;
use crate::schedule::access_points::visit;
use crate::state::end::End;
use crate::state::library_call::{Interruption, LibraryCall, Use, interruptions};
use crate::state::outcome;
use crate::state::world::{MAX_TASKS, world};
use crate::sys::interpose::PROGRAM_CALL;
use std::ffi::{CStr, c_char, c_int};
use traces::FailureKind;

/// For each piece of state, the word that represents its use by handlers; streams share some. Nothing is ever
/// written to them.
static USED_BY_HANDLERS: [u64; LIBRARY_STATES.len() + 1 + STREAMS] =
    [0; LIBRARY_STATES.len() + 1 + STREAMS];
const STREAMS: usize = 64;

/// For each task, the word that represents the moments within such calls. Nothing is ever written to them.
static MOMENTS: [u64; MAX_TASKS] = [0; MAX_TASKS];

fn word(state: u64) -> u64 {
    let index = match state < LOWEST {
        true => state as usize,
        false => LIBRARY_STATES.len() + 1 + (state >> 4 ^ state >> 12) as usize % STREAMS,
    };
    &raw const USED_BY_HANDLERS[index] as u64
}

fn moment() -> u64 {
    &raw const MOMENTS[usize::from(world().current.get())] as u64
}

/// Whether two pieces of state have something in common.
fn is_same(one: u64, other: u64) -> bool {
    let is_of_streams = |state: u64| state >= LOWEST || state == number(STREAMS_NAME);
    let all = number(STREAMS_NAME);
    one == other || (one == all || other == all) && is_of_streams(one) && is_of_streams(other)
}

/// Whether uses of hidden state need not be noted in the running task: it runs no handler, and no handler was seen in it
/// that uses some.
#[inline]
pub(super) fn is_unused() -> bool {
    let is_hot = || POINTS.shadow.word(moment()).is_some_and(Word::is_hot);
    world().task().handler.get().0 == 0 && !is_hot()
}

/// The call of `function` uses hidden state.
pub(super) fn uses(
    function: &'static str,
    (hidden, changes): (Hidden, bool),
    operand: &Operand,
    arguments: &Arguments<'_>,
) {
    let state = match hidden {
        Hidden::Named(index) => index.into(),
        Hidden::Stream => arguments.general[usize::from(operand.base)],
        Hidden::StandardStream => access::peek(operand.displacement, 8),
        Hidden::AllStreams => number(STREAMS_NAME),
    };
    if matches!(hidden, Hidden::Stream | Hidden::StandardStream) && state < LOWEST {
        return;
    }
    begins(function, (arguments.site, arguments.stack), Use { state, changes });
}

/// All uses of hidden state by the call at `site` are known. Calls `each` with the word of this moment if a handler
/// should have the opportunity to run in the call.
pub(super) fn all_known(site: u64, each: &mut dyn FnMut(u64, u64)) {
    if is_awaited(site) {
        each(moment(), 8);
    }
}

fn is_awaited(site: u64) -> bool {
    let task = world().task();
    task.begins_call.get() && (is_site(site) || task.library_call.get().is_awaited)
}

/// The call of a function with hidden state continues beyond its beginning.
#[inline]
pub(super) fn begun() {
    world().task().begins_call.set(false);
}

/// The program calls a function of the heap.
#[inline]
pub(crate) fn heap_called(function: &'static str, site: u64) {
    if is_in_company() && !is_unused() {
        heap_used(function, site);
    }
}

#[cold]
fn heap_used(function: &'static str, site: u64) {
    let task = world().task();
    // The heap may be used by a call that is in progress.
    let (outer, begins_outer) = (task.library_call.get(), task.begins_call.replace(false));
    let stack = PROGRAM_CALL.state_at(site).map_or(0, |(entry, _)| entry + 8);
    begins(function, (site, stack), Use { state: number(HEAP_NAME), changes: true });
    // The C library may hold internal locks where it allocates its own memory.
    if is_awaited(site) && !is_in_libc(site) {
        settle_write();
        let proven = false;
        visit(Access {
            address: moment(),
            size: 8,
            writes: true,
            atomic: true,
            proven,
            site,
            in_parts: false,
        });
    }
    task.library_call.set(outer);
    task.begins_call.set(begins_outer);
}

/// A call begins that uses hidden state: by a site, and with a stack pointer. Ends the execution if the call is made
/// by a handler that interrupts one on the same state.
fn begins(function: &'static str, (site, stack): (u64, u64), one: Use) {
    let task = world().task();
    let (signal, _) = task.handler.get();
    let handled = |state: u64| is_handled(word(state), true, signal);
    let all = number(STREAMS_NAME);
    let is_awaited = handled(one.state)
        || one.state >= LOWEST && handled(all)
        || one.state == all && handled(number(STREAM_NAME));
    let known = Some(task.library_call.get());
    let known = known.filter(|call| task.begins_call.get() && call.site == site);
    let call = known.unwrap_or(LibraryCall::new(function, site, stack));
    task.library_call.set(call.with(one, is_awaited));
    task.begins_call.set(true);
    if signal == 0 {
        return;
    }
    if let Some(interrupted) = interruptions().find(|outer| is_interrupted(outer, one)) {
        // A replay has probes at known sites only, so before that the failure could not be repeated.
        if is_site(site) && is_site(interrupted.call.site) {
            fail(function, site, one, interrupted);
        }
        access::expect_point(moment(), interrupted.call.site);
    }
    access::expect_handler(word(one.state), signal);
    if one.state >= LOWEST {
        access::expect_handler(word(number(STREAM_NAME)), signal);
    }
    access::expect_handler(moment(), signal);
    access::expect_point(moment(), site);
}

/// Whether a handler interrupted a call for which this use of its state matters.
fn is_interrupted(outer: &Interruption, one: Use) -> bool {
    let conflicts = |used: &Use| is_same(used.state, one.state) && (used.changes || one.changes);
    outer.call.uses().iter().any(conflicts) && (outer.begins || is_in_call(&outer.call))
}

/// Whether this call of the running task has not returned.
fn is_in_call(call: &LibraryCall) -> bool {
    let alternate = world().task().on_alternate_stack.get();
    let is_inner = |frame| alternate.is_inside(frame, call.stack);
    backtrace::is_in_call(call.site, call.stack, &is_inner)
}

unsafe extern "C" {
    /// The name of a signal without `SIG`, or null.
    safe fn sigabbrev_np(signal: c_int) -> *const c_char;
}

fn signal_name(signal: u8) -> String {
    let name = sigabbrev_np(signal.into());
    if name.is_null() {
        return format!("signal {signal}");
    }
    // SAFETY: the C library returns a constant string.
    format!("SIG{}", unsafe { CStr::from_ptr(name) }.to_string_lossy())
}

fn state_name(state: u64) -> &'static str {
    unsafe extern "C" {
        static stdin: u64;
        static stdout: u64;
        static stderr: u64;
    }
    // SAFETY: the C library's variables, which are pointers.
    let standard = unsafe { [(stdin, "stdin"), (stdout, "stdout"), (stderr, "stderr")] };
    let stream = standard.iter().find(|(address, _)| *address == state).map(|(_, name)| *name);
    let named = LIBRARY_STATES.get(state as usize).map(|(_, words, _)| *words);
    stream.or(named).unwrap_or("a stream")
}

/// Ends the execution, unless the user did not ask for this kind of failure.
fn fail(function: &str, site: u64, one: Use, interrupted: &Interruption) {
    if !outcome::counts(FailureKind::SignalUnsafe) {
        return;
    }
    let (signal, state) = (signal_name(interrupted.signal), state_name(one.state));
    let outer = interrupted.call.function;
    let rule = format!(
        "the handler of {signal} calls `{function}` while `{outer}` is interrupted: both use {state}, \
         and neither is async-signal-safe"
    );
    let mut found = outcome::found(FailureKind::SignalUnsafe, site, rule);
    found.key = outcome::key_of_text(found.key, &found.detail);
    found.places = vec![(format!("`{outer}` was called"), interrupted.call.site)];
    outcome::end_here(End::Failed(Box::new(found)));
}
