//! Calls of library functions that use hidden state, and signal handlers that interrupt them.

use crate::state::world::world;

/// A use of hidden state by a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    /// Identifies the state: the same number is the same state.
    pub(crate) state: u64,
    pub(crate) changes: bool,
}

/// The most uses of one call. Further ones are not noted.
const USES: usize = 4;

/// The call of a library function with hidden state that a task made last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LibraryCall {
    pub(crate) function: &'static str,
    /// Its return address.
    pub(crate) site: u64,
    /// The stack pointer with which it was made.
    pub(crate) stack: u64,
    /// Whether a handler should have the opportunity to run in it.
    pub(crate) is_awaited: bool,
    uses: [Use; USES],
    len: usize,
}

impl LibraryCall {
    pub(crate) const NONE: LibraryCall = LibraryCall {
        function: "",
        site: 0,
        stack: 0,
        is_awaited: false,
        uses: [Use { state: 0, changes: false }; USES],
        len: 0,
    };

    /// A call that begins.
    pub(crate) fn new(function: &'static str, site: u64, stack: u64) -> LibraryCall {
        LibraryCall { function, site, stack, ..LibraryCall::NONE }
    }

    /// The same call, which also uses this; `is_awaited` if a handler uses it, too.
    pub(crate) fn with(mut self, one: Use, is_awaited: bool) -> LibraryCall {
        self.is_awaited |= is_awaited;
        if let Some(place) = self.uses.get_mut(self.len) {
            *place = one;
            self.len += 1;
        }
        self
    }

    /// What the call uses.
    pub(crate) fn uses(&self) -> &[Use] {
        &self.uses[..self.len]
    }
}

/// What a signal handler interrupted; on the stack of its task, below the interrupted frames.
#[derive(Debug)]
pub(crate) struct Interruption {
    pub(crate) signal: u8,
    pub(crate) call: LibraryCall,
    /// Whether the task was at the beginning of the call. Later the call may have returned.
    pub(crate) begins: bool,
    /// The address of the next outer one, or 0.
    outer: u64,
}

impl Interruption {
    /// A handler of the signal is about to run in the running task.
    pub(crate) fn new(signal: u8) -> Interruption {
        let task = world().task();
        Interruption {
            signal,
            call: task.library_call.get(),
            begins: task.begins_call.get(),
            outer: task.interruption.get(),
        }
    }

    /// The handler begins.
    pub(crate) fn begin(&self) {
        let task = world().task();
        task.interruption.set(&raw const *self as u64);
        task.begins_call.set(false);
    }

    /// The handler has returned.
    pub(crate) fn end(&self) {
        let task = world().task();
        task.interruption.set(self.outer);
        task.library_call.set(self.call);
        task.begins_call.set(self.begins);
    }
}

/// What the handlers of the running task interrupted, innermost first, each where it is on the stack.
pub(crate) fn interruptions() -> impl Iterator<Item = &'static Interruption> {
    let here = 0u8;
    let here = &raw const here as u64;
    let mut next = world().task().interruption.get();
    std::iter::from_fn(move || {
        // A handler that was left by other means than its return is no longer on the stack.
        if !is_in_frames(next, here) {
            return None;
        }
        // SAFETY: a handler that has not returned keeps its `Interruption` on the stack of its task, which is the
        // running one, above the frame of this function.
        let found = unsafe { &*(next as *const Interruption) };
        next = found.outer;
        Some(found)
    })
}

/// Whether an address is in a frame of the running task, whose stack pointer is `here`.
fn is_in_frames(address: u64, here: u64) -> bool {
    let task = world().task();
    let (alternate, high) = (task.on_alternate_stack.get(), task.stack.get().high);
    match alternate.has(here) {
        true => {
            (here..alternate.high).contains(&address) || (alternate.from..high).contains(&address)
        }
        false => (here..high).contains(&address),
    }
}

/// The running task left its handlers by a jump.
pub(crate) fn leave_handlers() {
    let task = world().task();
    task.interruption.set(0);
    task.begins_call.set(false);
}
