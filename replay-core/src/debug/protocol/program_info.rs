//! The debugger's requests about the program as a whole.

use super::debuggee::{Debuggee, PROCESS, REFUSED, task};
use super::packet::PRINTED;
use crate::debug::process::registers;
use gdbstub::common::{Endianness, Pid, Tid};
use gdbstub::target::TargetResult;
use gdbstub::target::ext::auxv::Auxv;
use gdbstub::target::ext::catch_syscalls::{CatchSyscalls, SyscallNumbers};
use gdbstub::target::ext::exec_file::ExecFile;
use gdbstub::target::ext::extended_mode::{
    Args, AttachKind, CurrentActivePid, CurrentActivePidOps, ExtendedMode, ShouldTerminate,
};
use gdbstub::target::ext::host_info::{HostInfo, HostInfoResponse};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd};
use gdbstub::target::ext::process_info::{ProcessInfo, ProcessInfoResponse};
use gdbstub::target::ext::target_description_xml_override::TargetDescriptionXmlOverride;
use gdbstub::target::ext::thread_extra_info::ThreadExtraInfo;
use std::convert::Infallible;
use std::os::unix::ffi::OsStrExt;

const TRIPLE: &str = "x86_64-pc-linux-gnu";

/// The requested part of a longer text.
fn part(whole: &[u8], offset: u64, length: usize, buf: &mut [u8]) -> usize {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(whole.len());
    let len = (whole.len() - from).min(length).min(buf.len());
    buf[..len].copy_from_slice(&whole[from..from + len]);
    len
}

fn pid() -> Pid {
    Pid::MIN.saturating_add(PROCESS - 1)
}

impl Debuggee<'_> {
    fn proc(&self, entry: &str) -> String {
        format!("/proc/{}/{entry}", self.session.execution.live().tracee().pid())
    }
}

impl TargetDescriptionXmlOverride for Debuggee<'_> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        match annex {
            b"target.xml" => Ok(part(registers::description().as_bytes(), offset, length, buf)),
            _ => Err(REFUSED),
        }
    }
}

impl Auxv for Debuggee<'_> {
    fn get_auxv(&self, offset: u64, length: usize, buf: &mut [u8]) -> TargetResult<usize, Self> {
        let auxv = std::fs::read(self.proc("auxv"))?;
        Ok(part(&auxv, offset, length, buf))
    }
}

impl ExecFile for Debuggee<'_> {
    fn get_exec_file(
        &self,
        _: Option<Pid>,
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let path = std::fs::read_link(self.proc("exe"))?;
        Ok(part(path.as_os_str().as_bytes(), offset, length, buf))
    }
}

impl HostInfo for Debuggee<'_> {
    fn host_info(&self, tell: &mut dyn FnMut(&HostInfoResponse<'_>)) -> Result<(), Infallible> {
        tell(&HostInfoResponse::Triple(TRIPLE));
        tell(&HostInfoResponse::PointerSize(8));
        tell(&HostInfoResponse::Endianness(Endianness::Little));
        Ok(())
    }
}

impl ProcessInfo for Debuggee<'_> {
    fn process_info(
        &self,
        tell: &mut dyn FnMut(&ProcessInfoResponse<'_>),
    ) -> Result<(), Infallible> {
        tell(&ProcessInfoResponse::Pid(pid()));
        tell(&ProcessInfoResponse::Triple(TRIPLE));
        tell(&ProcessInfoResponse::PointerSize(8));
        tell(&ProcessInfoResponse::Endianness(Endianness::Little));
        Ok(())
    }
}

impl ThreadExtraInfo for Debuggee<'_> {
    fn thread_extra_info(&self, thread: Tid, buf: &mut [u8]) -> Result<usize, Infallible> {
        let known = self.session.execution.known_threads();
        let found = known.iter().find(|known| known.task == task(thread));
        let state = found.map(|thread| thread.state(&self.session.execution.trace.execution));
        Ok(part(state.unwrap_or_default().as_bytes(), 0, usize::MAX, buf))
    }
}

impl CatchSyscalls for Debuggee<'_> {
    fn enable_catch_syscalls(
        &mut self,
        numbers: Option<SyscallNumbers<'_, u64>>,
    ) -> TargetResult<(), Self> {
        let numbers = numbers.map(|numbers| numbers.map(|number| number as i64).collect());
        self.session.execution.armed.calls = Some(numbers.unwrap_or_default());
        Ok(())
    }

    fn disable_catch_syscalls(&mut self) -> TargetResult<(), Self> {
        self.session.execution.armed.calls = None;
        Ok(())
    }
}

impl MonitorCmd for Debuggee<'_> {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), Infallible> {
        let said = self.session.monitor(&String::from_utf8_lossy(command));
        for part in said.as_bytes().chunks(PRINTED) {
            out.write_raw(part);
            out.flush();
        }
        Ok(())
    }
}

impl ExtendedMode for Debuggee<'_> {
    /// `run` restarts at the beginning; `run N` goes to step N.
    fn run(&mut self, _: Option<&[u8]>, mut args: Args<'_, '_>) -> TargetResult<Pid, Self> {
        let step = args.next().map(|step| String::from_utf8_lossy(step).into_owned());
        let done = self.session.restart(step.as_deref());
        self.or_refuse(done)?;
        Ok(pid())
    }

    fn attach(&mut self, _: Pid) -> TargetResult<(), Self> {
        Err(REFUSED)
    }

    fn query_if_attached(&mut self, _: Pid) -> TargetResult<AttachKind, Self> {
        Ok(AttachKind::Run)
    }

    fn kill(&mut self, pid: Option<Pid>) -> TargetResult<ShouldTerminate, Self> {
        // A named process is killed in order to be run again.
        if pid.is_none() {
            return Ok(ShouldTerminate::Yes);
        }
        let done = self.session.restart(None);
        self.or_refuse(done)?;
        Ok(ShouldTerminate::No)
    }

    fn restart(&mut self) -> Result<(), Infallible> {
        let done = self.session.restart(None);
        let _ = self.or_refuse(done);
        Ok(())
    }

    fn support_current_active_pid(&mut self) -> Option<CurrentActivePidOps<'_, Self>> {
        Some(self)
    }
}

impl CurrentActivePid for Debuggee<'_> {
    fn current_active_pid(&mut self) -> Result<Pid, Infallible> {
        Ok(pid())
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_end_where_the_whole_does() {
        let mut buf = [0; 4];
        for (offset, length, expected) in
            [(0, 9, "abcd"), (0, 2, "ab"), (5, 9, "fg"), (7, 1, ""), (u64::MAX, usize::MAX, "")]
        {
            let len = part(b"abcdefg", offset, length, &mut buf);
            assert_eq!(&buf[..len], expected.as_bytes(), "{offset} {length}");
        }
    }
}
