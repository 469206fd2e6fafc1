//! The program as gdbstub sees it: threads, registers, memory.

use super::arch::{Number, X8664};
use super::open_files::Files;
use super::resume_request::{Forwards, ResumeRequest};
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

/// The process id reported to debuggers. It stays the same when the process is replaced.
pub(crate) const PROCESS: usize = 1;

/// Refuses a request. The session continues.
pub(super) const REFUSED: TargetError<Infallible> = TargetError::Errno(1);
/// The memory does not exist.
pub(super) const NO_MEMORY: TargetError<Infallible> = TargetError::Errno(libc::EFAULT as u8);

/// The program under the debugger; see the module.
pub(super) struct Debuggee<'a> {
    pub(super) session: Session<'a>,
    pub(super) files: Files,
    /// The request for resumption in the current packet.
    pub(super) wanted: ResumeRequest,
    /// The conditions of the breakpoint that is being set.
    pub(super) conditions: Vec<Condition>,
    /// The reply for the last stop.
    pub(super) last_stop_reply: Vec<u8>,
    /// Only one thread is to continue.
    pub(super) one_alone: bool,
    /// Whether the debugger is gdb, judged by its features.
    pub(super) is_gdb: bool,
}

impl<'a> Debuggee<'a> {
    pub(super) fn new(session: Session<'a>) -> Self {
        Debuggee {
            session,
            files: Files::default(),
            wanted: ResumeRequest::Forwards(Forwards::default()),
            conditions: Vec::new(),
            last_stop_reply: Vec::new(),
            one_alone: false,
            is_gdb: false,
        }
    }

    /// Prints the error of a failed request and refuses the request.
    pub(super) fn or_refuse<T>(&mut self, done: Result<T, Error>) -> TargetResult<T, Self> {
        done.map_err(|error| {
            self.session.print(&format!("[sched] {error}\n"));
            REFUSED
        })
    }

    fn change(&mut self, task: u16, values: &Values) -> TargetResult<(), Self> {
        self.session.selected = task;
        let changed = self.session.change(values);
        if self.or_refuse(changed)? { Ok(()) } else { Err(REFUSED) }
    }
}

/// The thread id of a task, from 1.
pub(super) fn tid(task: u16) -> Tid {
    Tid::MIN.saturating_add(usize::from(task))
}

/// The task of a thread id.
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

    // Compression saves nothing on a local socket.
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
        *values = self.or_refuse(read)?;
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
            read if self.is_gdb => Ok(read),
            read => {
                let hidden = self.session.execution.hide_outer_frames(start, &mut data[..read]);
                self.or_refuse(hidden)?;
                Ok(read)
            }
        }
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], thread: Tid) -> TargetResult<(), Self> {
        self.session.selected = task(thread);
        let written = self.session.write(start, data);
        if self.or_refuse(written)? { Ok(()) } else { Err(NO_MEMORY) }
    }

    fn list_active_threads(&mut self, tell: &mut dyn FnMut(Tid)) -> Result<(), Infallible> {
        let threads = self.session.threads();
        let mut tasks: Vec<u16> = match self.or_refuse(threads) {
            Ok(threads) => threads.iter().map(|thread| thread.task).collect(),
            Err(_) => Vec::new(),
        };
        // By default, a debugger selects the first thread.
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
        // An empty reply means that the register is unknown.
        Ok(self.or_refuse(values)?.get(number.0).map_or(0, |bytes| {
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
        let mut values = self.or_refuse(values)?;
        if !values.set(number.0, bytes) {
            return Err(REFUSED);
        }
        self.change(task(thread), &values)
    }
}
