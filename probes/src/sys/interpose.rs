//! Interposition of C library functions.
//!
//! Each interposer is a stub that stores its return address, which is the *site* of the operation,
//! and the program's registers, and jumps to the function that does the work. The stack stays as
//! the program's call left it, so unwinders see nothing unusual.

use std::cell::Cell;

/// What the program left at its last call of an interposer or of an instrumentation function. There
/// is one kernel thread, so one is enough; it is read before any other of these functions can be
/// called.
#[repr(C)]
pub(crate) struct ProgramCall {
    /// The return address.
    site: Cell<u64>,
    /// The stack pointer at the entry of the function, where the return address is.
    sp: Cell<u64>,
    /// The registers that a function preserves (rbx, rbp, r12 to r15), the second and the third
    /// argument (rsi, rdx), and rax.
    registers: [Cell<u64>; STORED],
}
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread. (In a
// multithreaded process without a controller the stubs store unsynchronised words here, which
// nothing uses.)
unsafe impl Sync for ProgramCall {}

/// The number of stored registers.
pub(crate) const STORED: usize = 9;
/// Which of them hold arguments, and which one is rax.
pub(crate) const ARGUMENTS: std::ops::Range<usize> = 6..8;
pub(crate) const RAX: usize = 8;

pub(crate) static PROGRAM_CALL: ProgramCall = ProgramCall {
    site: Cell::new(0),
    sp: Cell::new(0),
    registers: [const { Cell::new(0) }; STORED],
};

impl ProgramCall {
    /// Runs what may call interposed functions, and keeps what is stored for the call in progress.
    pub(crate) fn keep_during<T>(&self, run: impl FnOnce() -> T) -> T {
        let saved = self.save();
        let result = run();
        self.restore(&saved);
        result
    }

    /// What is stored for the call in progress.
    pub(crate) fn save(&self) -> (u64, u64, [u64; STORED]) {
        let registers = std::array::from_fn(|at| self.registers[at].get());
        (self.site.get(), self.sp.get(), registers)
    }

    /// Restores what [`ProgramCall::save`] returned.
    pub(crate) fn restore(&self, (site, sp, registers): &(u64, u64, [u64; STORED])) {
        self.site.set(*site);
        self.sp.set(*sp);
        self.registers.iter().zip(registers).for_each(|(at, &value)| at.set(value));
    }

    /// The stack pointer and the registers, if the call in progress came from this site.
    pub(crate) fn state_at(&self, site: u64) -> Option<(u64, [u64; STORED])> {
        (self.site.get() == site)
            .then(|| (self.sp.get(), std::array::from_fn(|at| self.registers[at].get())))
    }
}

/// What is live of the program's stack and registers in the task that ends the process. Below it are
/// frames of functions that have returned and of the runtime, in which old copies of pointers remain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveFrames {
    /// The lowest address of a frame that has not ended.
    pub low: u64,
    /// The registers that a called function preserves.
    pub registers: [u64; ARGUMENTS.start],
}

impl LiveFrames {
    /// The frames of the call in progress.
    pub(crate) fn of_call() -> LiveFrames {
        let (_, low, registers) = PROGRAM_CALL.save();
        LiveFrames { low, registers: std::array::from_fn(|at| registers[at]) }
    }

    /// The frames from this address on; the function that was called there has returned.
    pub(crate) fn from(low: u64) -> LiveFrames {
        LiveFrames { low, registers: [0; ARGUMENTS.start] }
    }
}

/// The site of the call in progress.
#[inline]
pub(crate) fn site() -> u64 {
    PROGRAM_CALL.site.get()
}

/// Assembly that stores the stack pointer and the registers in [`PROGRAM_CALL`]; r11 holds the
/// site. No instruction before it may have changed one of them since the program's call.
macro_rules! store_program_call {
    () => {
        "mov [rip + {call}], r11
         mov [rip + {call} + 8], rsp
         mov [rip + {call} + 16], rbx
         mov [rip + {call} + 24], rbp
         mov [rip + {call} + 32], r12
         mov [rip + {call} + 40], r13
         mov [rip + {call} + 48], r14
         mov [rip + {call} + 56], r15
         mov [rip + {call} + 64], rsi
         mov [rip + {call} + 72], rdx
         mov [rip + {call} + 80], rax"
    };
}
pub(crate) use store_program_call;

/// Defines interposers: exported stubs and the functions that they jump to.
///
/// Inside a body, `real!(NAME(ARGS) as fn(TYPES) -> TYPE)` calls the interposed function.
macro_rules! interpose {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)*) => {
        $(
            const _: () = {
                $(#[$meta])*
                #[allow(
                    unused_unsafe,
                    clippy::undocumented_unsafe_blocks,
                    reason = "a body works on what the program gave, by the C function's contract"
                )]
                unsafe extern "C-unwind" fn work($($arg: $type),*) -> $ret $body

                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name() {
                    std::arch::naked_asm!(
                        // A debugger may stop here and look for the caller.
                        ".cfi_startproc",
                        "mov r11, [rsp]",
                        $crate::sys::interpose::store_program_call!(),
                        "jmp {work}",
                        ".cfi_endproc",
                        call = sym $crate::sys::interpose::PROGRAM_CALL,
                        work = sym work,
                    )
                }
            };
        )*
    };
}
pub(crate) use interpose;
