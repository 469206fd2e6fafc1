//! Memory that a person changed in a debugger and kept: it is changed again at the same step of every
//! execution.

use crate::arena;
use crate::failure::{self, End};
use crate::world::world;
use search::Divergence;
use std::ffi::c_void;
use traces::change::{Change, Memory};

/// Where the program lies, and which of its memory may be written to.
#[derive(Default)]
struct Program {
    base: u64,
    writable: Vec<(u64, u64)>,
}

/// See the module.
pub(crate) struct Changes {
    all: Vec<Change>,
    /// The step of the first, so that there is one comparison where there are none.
    first: u64,
    program: Program,
}

impl Changes {
    pub(crate) fn new(all: Vec<Change>) -> Changes {
        let first = all.iter().map(|change| change.step).min().unwrap_or(u64::MAX);
        let program = if all.is_empty() { Program::default() } else { program() };
        Changes { all, first, program }
    }

    /// A step was chosen, the `step`-th from 1.
    #[inline]
    pub(crate) fn chosen(&self, step: u64) {
        if step >= self.first {
            self.make(step);
        }
    }

    #[cold]
    fn make(&self, step: u64) {
        for change in self.all.iter().filter(|change| change.step == step) {
            let Some(address) = self.address(change) else {
                let what = format!("there is no such memory to be changed ({change})");
                failure::end(End::Diverged(Divergence { step: step - 1, what }));
            };
            for (at, byte) in change.bytes.iter().enumerate() {
                // SAFETY: the program's own memory, which may be written to; no task runs.
                unsafe { ((address as usize + at) as *mut u8).write_volatile(*byte) };
            }
        }
    }

    /// Where that is in this process; none where nothing can be written.
    fn address(&self, change: &Change) -> Option<u64> {
        let len = change.bytes.len() as u64;
        let inside = |low: u64, high: u64, start: u64| {
            (start >= low && start.checked_add(len)? <= high).then_some(start)
        };
        match change.at {
            Memory::Program(offset) => {
                let start = self.program.base.checked_add(offset)?;
                self.program.writable.iter().find_map(|&(low, high)| inside(low, high, start))
            }
            Memory::Heap(offset) => {
                let (low, high) = arena::used();
                inside(low, high, low.checked_add(offset)?)
            }
            Memory::Stack { task, below } => {
                let world = world();
                world.alive().find(|&number| number == task)?;
                let task = &world.tasks[usize::from(task)];
                let stack = task.stack.get();
                let start = task.base.get().checked_sub(below)?;
                // Below its stack pointer is nothing that anybody put there.
                inside(task.sp.get().max(stack.low + stack.guard), stack.high, start)
            }
        }
    }
}

/// The first that the loader lists.
fn program() -> Program {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader's tables, and our own record.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let base = (*info).dlpi_addr;
            let range = |header: &libc::Elf64_Phdr| {
                (base + header.p_vaddr, base + header.p_vaddr + header.p_memsz)
            };
            // After it was relocated, part of what may be written to may not.
            let fixed = headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO);
            let fixed = fixed.map(|header| range(header).1.next_multiple_of(4096)).max();
            let writable = headers.iter().filter(|header| {
                header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0
            });
            let writable = writable.map(range).map(|(low, high)| match fixed {
                Some(fixed) if (low..high).contains(&(fixed - 1)) => (fixed, high),
                _ => (low, high),
            });
            *to.cast::<Program>() = Program { base, writable: writable.collect() };
            1
        }
    }
    let mut program = Program::default();
    // SAFETY: the callback only fills in the record.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut program).cast());
    }
    program
}
