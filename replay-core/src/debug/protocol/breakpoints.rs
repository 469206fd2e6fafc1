//! Breakpoints and watchpoints. Software and hardware breakpoints are implemented in the same way.

use super::debuggee::{Debuggee, NO_MEMORY, REFUSED};
use crate::debug::execution::position::{Access, Watch};
use crate::symbols::Memory;
use gdbstub::target::TargetResult;
use gdbstub::target::ext::breakpoints::{
    Breakpoints, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};
use traces::wire::WATCHES;

impl Breakpoints for Debuggee<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Debuggee<'_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        let execution = &mut self.session.execution;
        let conditions = std::mem::take(&mut self.conditions);
        if execution.live().tracee().read(address, &mut [0]) == 0 {
            return Err(NO_MEMORY);
        }
        // The runtime's code is hidden.
        if !execution.live().is_runtime(address) {
            execution.armed.breakpoints.insert(address, conditions);
        }
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.session.execution.armed.breakpoints.remove(&address);
        Ok(true)
    }
}

impl HwBreakpoint for Debuggee<'_> {
    fn add_hw_breakpoint(&mut self, address: u64, kind: usize) -> TargetResult<bool, Self> {
        self.add_sw_breakpoint(address, kind)
    }

    fn remove_hw_breakpoint(&mut self, address: u64, kind: usize) -> TargetResult<bool, Self> {
        self.remove_sw_breakpoint(address, kind)
    }
}

impl HwWatchpoint for Debuggee<'_> {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        len: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let pieces = pieces(address, len, access(kind)).ok_or(REFUSED)?;
        let watches = &mut self.session.execution.armed.watches;
        watches.retain(|watch| !pieces.contains(watch));
        if watches.len() + pieces.len() > WATCHES {
            return Err(REFUSED);
        }
        watches.extend(pieces);
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        len: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let pieces = pieces(address, len, access(kind)).ok_or(REFUSED)?;
        self.session.execution.armed.watches.retain(|watch| !pieces.contains(watch));
        Ok(true)
    }
}

fn access(kind: WatchKind) -> Access {
    match kind {
        WatchKind::Write => Access::Write,
        WatchKind::Read => Access::Read,
        WatchKind::ReadWrite => Access::Both,
    }
}

/// Divides watched memory into aligned pieces of at most eight bytes.
fn pieces(address: u64, len: u64, kind: Access) -> Option<Vec<Watch>> {
    let end = address.checked_add(len)?;
    let (mut at, mut pieces) = (address, Vec::new());
    while at < end {
        let fits = |size: &u64| at % size == 0 && at + size <= end;
        let size = [8, 4, 2, 1].into_iter().find(fits)?;
        pieces.push(Watch { address: at, len: size as u8, kind });
        at += size;
        if pieces.len() > WATCHES {
            return None;
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watched_memory_is_cut_into_what_the_processor_can_watch() {
        let cut = |address, len| {
            let pieces = pieces(address, len, Access::Write)?;
            Some(pieces.iter().map(|piece| (piece.address, piece.len)).collect::<Vec<_>>())
        };
        assert_eq!(cut(0x1000, 4), Some(vec![(0x1000, 4)]));
        assert_eq!(cut(0x1004, 8), Some(vec![(0x1004, 4), (0x1008, 4)]));
        assert_eq!(cut(0x1001, 3), Some(vec![(0x1001, 1), (0x1002, 2)]));
        assert_eq!(cut(0x1000, 64), None);
        assert_eq!(cut(0x1000, 0), None);
    }
}
