//! Watched memory: the processor detects accesses by the program, the runtime detects those by the
//! kernel.

use super::machine::{Machine, ProcessState};
use crate::Error;
use crate::debug::execution::position::{Access, Watch};
use std::mem::offset_of;
use traces::wire::{Debug, WATCHES};

impl Machine {
    /// Whether watched memory was accessed since the last check.
    pub(super) fn was_accessed(&self) -> Result<bool, Error> {
        Ok(!self.watches.is_empty() && self.slots()? != 0)
    }

    /// The debug registers that the last instruction triggered, one bit each.
    fn slots(&self) -> Result<u64, Error> {
        let status = self.tracee().debug_register(6)?;
        if status & 15 != 0 {
            self.tracee().set_debug_register(6, status & !15)?;
        }
        Ok(status & 15)
    }

    /// The watched memory that the last instruction accessed. One instruction may access several
    /// objects: the others are stored.
    pub(super) fn accessed(&mut self) -> Result<Option<Watch>, Error> {
        self.further.clear();
        if self.watches.is_empty() {
            return Ok(None);
        }
        let slots = self.slots()?;
        let watches = self.watches.iter().enumerate();
        let mut accessed = watches.filter(|(slot, _)| slots >> slot & 1 == 1).map(|(_, it)| *it);
        let first = accessed.next();
        self.further.extend(accessed);
        Ok(first)
    }

    /// Watches exactly this memory.
    pub(crate) fn watch(&mut self, watches: &[Watch]) -> Result<(), Error> {
        if self.watches == watches || matches!(self.state(), ProcessState::Gone(_)) {
            return Ok(());
        }
        self.tracee().set_debug_register(7, 0)?;
        let mut control = 0u64;
        for (slot, watch) in watches.iter().take(4).enumerate() {
            self.tracee().set_debug_register(slot, watch.address)?;
            let access = if watch.kind == Access::Write { 1 } else { 3 };
            let len = match watch.len {
                1 => 0,
                2 => 1,
                8 => 2,
                _ => 3,
            };
            control |= 1 << (2 * slot) | (access | len << 2) << (16 + 4 * slot);
        }
        self.tracee().set_debug_register(7, control)?;
        self.watches = watches.to_vec();
        self.send_watches_to_runtime(watches)
    }

    /// Sends the watched addresses to the runtime, which checks what the kernel writes.
    pub(super) fn send_watches_to_runtime(&mut self, watches: &[Watch]) -> Result<(), Error> {
        let lens = watches.iter().map(|watch| (watch.address, u64::from(watch.len)));
        let list = lens.chain(std::iter::repeat((0, 0))).take(WATCHES);
        for (slot, (address, len)) in list.enumerate() {
            let at = offset_of!(Debug, watched) + 16 * slot;
            self.set_debug_word(at, address)?;
            self.set_debug_word(at + 8, len)?;
        }
        Ok(())
    }
}
