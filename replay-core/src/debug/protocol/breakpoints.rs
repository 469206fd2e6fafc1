//! Breakpoints and watchpoints. Software and hardware breakpoints are implemented in the same way.

use super::debuggee::{Debuggee, NO_MEMORY, REFUSED};
use crate::debug::execution::position::{Access, watched_pieces};
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
        self.session.lifted.remove(&address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        if let Some(conditions) = self.session.execution.armed.breakpoints.remove(&address) {
            self.session.lifted.insert(address, conditions);
        }
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
        let pieces = watched_pieces(address, len, access(kind)).ok_or(REFUSED)?;
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
        let pieces = watched_pieces(address, len, access(kind)).ok_or(REFUSED)?;
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
