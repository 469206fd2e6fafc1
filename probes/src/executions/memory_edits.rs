//! Changes to memory that a user made in a debugger and saved: they are repeated at the same step
//! of every execution.

use crate::memory::arena;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::{Changes, Program};
use crate::state::world::world;
use search::Divergence;
use std::ffi::c_void;
use traces::memory_change::{MemoryChange, MemoryLocation};

impl Changes {
    pub(crate) fn new(all: Vec<MemoryChange>) -> Changes {
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
                let what = format!(
                    "a saved change of memory cannot be applied, since its address does not exist ({change})"
                );
                outcome::end(End::Diverged(Divergence { step: step - 1, what }));
            };
            for (at, byte) in change.bytes.iter().enumerate() {
                // SAFETY: `address` checked that the whole range is writable memory of the program
                // (image, used heap, or a living task's stack); no task runs.
                unsafe { ((address as usize + at) as *mut u8).write_volatile(*byte) };
            }
        }
    }

    /// The address of a change in this process; none if that memory is not writable.
    fn address(&self, change: &MemoryChange) -> Option<u64> {
        let len = change.bytes.len() as u64;
        let inside = |low: u64, high: u64, start: u64| {
            (start >= low && start.checked_add(len)? <= high).then_some(start)
        };
        match change.at {
            MemoryLocation::Program(offset) => {
                let start = self.program.base.checked_add(offset)?;
                self.program.writable.iter().find_map(|&(low, high)| inside(low, high, start))
            }
            MemoryLocation::Heap(offset) => {
                let (low, high) = arena::used();
                inside(low, high, low.checked_add(offset)?)
            }
            MemoryLocation::Stack { task, below } => {
                let world = world();
                world.alive().find(|&number| number == task)?;
                let task = &world.tasks[usize::from(task)];
                let stack = task.stack.get();
                let start = task.base.get().checked_sub(below)?;
                // Below the stack pointer there is no data of the task.
                inside(task.sp.get().max(stack.low + stack.guard), stack.high, start)
            }
        }
    }
}

/// The executable, which the loader lists first.
fn program() -> Program {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers, and `to`
        // is the local below.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let base = (*info).dlpi_addr;
            let range = |header: &libc::Elf64_Phdr| {
                (base + header.p_vaddr, base + header.p_vaddr + header.p_memsz)
            };
            // Part of the writable segment is write-protected after relocation.
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
    // SAFETY: the callback has the right type, and `program` outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut program).cast());
    }
    program
}
