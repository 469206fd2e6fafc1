//! What the higher layers do when lower ones call them.

use crate::debugger::stops;
use crate::detect::{access, freed_memory};
use crate::executions::manager;
use crate::kernel::syscalls;
use crate::state::end::End;
use crate::state::upcalls::{self, Upcalls};
use crate::sys::dispatch;

struct Runtime;

impl Upcalls for Runtime {
    fn execution_ends(&self, end: &End) {
        access::end();
        dispatch::allow();
        if stops::is_there() {
            stops::ended(end);
        }
    }

    fn memory_allocated(&self, address: u64, size: u64) {
        access::fresh(address, size);
    }

    fn memory_released(&self, address: u64, size: u64, site: u64) {
        freed_memory::freed(address, size, site);
    }

    fn state_left(&self) {
        syscalls::leave_trace();
    }

    fn system_call(&self, number: i64, args: [u64; 6], site: u64) -> i64 {
        syscalls::serve(number, args, site)
    }

    fn program_memory(&self) -> Vec<(u64, u64)> {
        manager::program_memory()
    }
}

/// Registers these functions.
pub(crate) fn register() {
    upcalls::register(&Runtime);
}
