//! The program as gdbstub sees it: threads, registers, memory.

use super::arch::{Number, X8664};
use super::files::Files;
use super::resume::{Forwards, Wanted};
use crate::Error;
use crate::debug::execution::Condition;
use crate::debug::process::registers::Values;
use crate::debug::session::Session;
use gdbstub::common::Tid;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{MultiThreadBase, MultiThreadResumeOps};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::{
    auxv, breakpoints, catch_syscalls, exec_file, extended_mode, host_info, host_io, monitor_cmd,
    process_info, target_description_xml_override, thread_extra_info,
};
use gdbstub::target::{Target, TargetError, TargetResult};
use std::convert::Infallible;

/// The process number that debuggers are told: it stays when the process does not.
pub(crate) const PROCESS: usize = 1;

/// The refusal of what the debugger asked for: nothing ends a session but its end.
pub(super) const REFUSED: TargetError<Infallible> = TargetError::Errno(1);
/// There is no such memory.
pub(super) const NO_MEMORY: TargetError<Infallible> = TargetError::Errno(libc::EFAULT as u8);

/// See the module.
pub(super) struct Debuggee<'a> {
    pub(super) session: Session<'a>,
    pub(super) files: Files,
    /// What the packet that is being handled wants to happen next.
    pub(super) wanted: Wanted,
    /// The conditions that came with the breakpoint that is being set.
    pub(super) conditions: Vec<Condition>,
    /// The last stop, in the words of the protocol.
    pub(super) told: Vec<u8>,
    /// One thread is to go on, and no other.
    pub(super) one_alone: bool,
    /// The debugger is gdb, by what it says it supports.
    pub(super) is_gdb: bool,
}

impl<'a> Debuggee<'a> {
    pub(super) fn new(session: Session<'a>) -> Self {
        Debuggee {
            session,
            files: Files::default(),
            wanted: Wanted::Forwards(Forwards::default()),
            conditions: Vec::new(),
            told: Vec::new(),
            one_alone: false,
            is_gdb: false,
        }
    }

    /// The answer to something that may fail: the reason is told, and the session goes on.
    pub(super) fn told<T>(&mut self, done: Result<T, Error>) -> TargetResult<T, Self> {
        done.map_err(|error| {
            self.session.say(&format!("[sched] {error}\n"));
            REFUSED
        })
    }

    fn change(&mut self, task: u16, values: &Values) -> TargetResult<(), Self> {
        self.session.selected = task;
        let changed = self.session.change(values);
        if self.told(changed)? { Ok(()) } else { Err(REFUSED) }
    }
}

/// A task as the protocol numbers threads: from 1.
pub(super) fn tid(task: u16) -> Tid {
    Tid::MIN.saturating_add(usize::from(task))
}

/// The task that a thread is.
pub(super) fn task(tid: Tid) -> u16 {
    u16::try_from(tid.get() - 1).unwrap_or(u16::MAX)
}

impl Target for Debuggee<'_> {
    type Arch = X8664;
    type Error = Infallible;

    fn base_ops(&mut self) -> BaseOps<'_, X8664, Infallible> {
        BaseOps::MultiThread(self)
    }

    fn guard_rail_implicit_sw_breakpoints(&self) -> bool {
        true
    }

    // It saves nothing on a local socket.
    fn use_rle(&self) -> bool {
        false
    }

    fn support_breakpoints(&mut self) -> Option<breakpoints::BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<monitor_cmd::MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_extended_mode(&mut self) -> Option<extended_mode::ExtendedModeOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<target_description_xml_override::TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }

    fn support_catch_syscalls(&mut self) -> Option<catch_syscalls::CatchSyscallsOps<'_, Self>> {
        Some(self)
    }

    fn support_host_io(&mut self) -> Option<host_io::HostIoOps<'_, Self>> {
        Some(self)
    }

    fn support_exec_file(&mut self) -> Option<exec_file::ExecFileOps<'_, Self>> {
        Some(self)
    }

    fn support_auxv(&mut self) -> Option<auxv::AuxvOps<'_, Self>> {
        Some(self)
    }

    fn support_host_info(&mut self) -> Option<host_info::HostInfoOps<'_, Self>> {
        Some(self)
    }

    fn support_process_info(&mut self) -> Option<process_info::ProcessInfoOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Debuggee<'_> {
    fn read_registers(&mut self, values: &mut Values, thread: Tid) -> TargetResult<(), Self> {
        self.session.selected = task(thread);
        let read = self.session.values();
        *values = self.told(read)?;
        Ok(())
    }

    fn write_registers(&mut self, values: &Values, thread: Tid) -> TargetResult<(), Self> {
        self.change(task(thread), values)
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, start: u64, data: &mut [u8], _: Tid) -> TargetResult<usize, Self> {
        match self.session.execution.live().read(start, data) {
            0 if !data.is_empty() => Err(NO_MEMORY),
            read => Ok(read),
        }
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], thread: Tid) -> TargetResult<(), Self> {
        self.session.selected = task(thread);
        let written = self.session.write(start, data);
        if self.told(written)? { Ok(()) } else { Err(NO_MEMORY) }
    }

    fn list_active_threads(&mut self, tell: &mut dyn FnMut(Tid)) -> Result<(), Infallible> {
        let threads = self.session.threads();
        let mut tasks: Vec<u16> = match self.told(threads) {
            Ok(threads) => threads.iter().map(|thread| thread.task).collect(),
            Err(_) => Vec::new(),
        };
        // A debugger that was not told otherwise looks at the first.
        let current = self.session.stop.task;
        tasks.sort_by_key(|&task| (task != current, task));
        tasks.into_iter().map(tid).for_each(tell);
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(
        &mut self,
    ) -> Option<thread_extra_info::ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl SingleRegisterAccess<Tid> for Debuggee<'_> {
    fn read_register(
        &mut self,
        thread: Tid,
        number: Number,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        self.session.selected = task(thread);
        let values = self.session.values();
        // Nothing is what is not known.
        Ok(self.told(values)?.get(number.0).map_or(0, |bytes| {
            buf[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        }))
    }

    fn write_register(
        &mut self,
        thread: Tid,
        number: Number,
        bytes: &[u8],
    ) -> TargetResult<(), Self> {
        self.session.selected = task(thread);
        let values = self.session.values();
        let mut values = self.told(values)?;
        if !values.set(number.0, bytes) {
            return Err(REFUSED);
        }
        self.change(task(thread), &values)
    }
}
