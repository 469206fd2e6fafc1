//! Why the program stopped, as the protocol says it.

use super::debuggee::{Debuggee, PROCESS, tid};
use super::lacking::thread_id;
use super::packet::hex;
use crate::debug::execution::position::Access;
use crate::debug::execution::{Reason, Stop};
use crate::debug::process::tracee::Halt;
use crate::debug::session::protocol_signal;
use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::reverse_exec::ReplayLogPosition;
use gdbstub::target::ext::breakpoints::WatchKind;
use gdbstub::target::ext::catch_syscalls::CatchSyscallPosition;

/// The reason, as gdbstub has it.
pub(super) fn reason(stop: &Stop, is_gdb: bool) -> MultiThreadStopReason<u64> {
    use MultiThreadStopReason as R;
    let tid: Tid = tid(stop.task);
    let call =
        |number: i64, position| R::CatchSyscall { tid: Some(tid), number: number as u64, position };
    let signalled = |signal: i32| Signal(protocol_signal(signal));
    match stop.reason {
        Reason::Breakpoint => R::SwBreak(tid),
        Reason::Touched(watch) => {
            let kind = match watch.kind {
                Access::Write => WatchKind::Write,
                Access::Read => WatchKind::Read,
                Access::Both => WatchKind::ReadWrite,
            };
            R::Watch { tid, kind, addr: watch.address }
        }
        Reason::Done | Reason::Sent => R::SignalWithThread { tid, signal: Signal::SIGTRAP },
        // lldb goes on by itself where there is no signal; gdb says just that it stopped.
        Reason::Chosen if is_gdb => R::SignalWithThread { tid, signal: Signal::SIGZERO },
        Reason::Chosen => R::SignalWithThread { tid, signal: Signal::SIGTRAP },
        Reason::Interrupted => R::SignalWithThread { tid, signal: Signal::SIGINT },
        Reason::Signal(signal) => R::SignalWithThread { tid, signal: signalled(signal) },
        Reason::Call(number) => call(number, CatchSyscallPosition::Entry),
        Reason::Returned(number) => call(number, CatchSyscallPosition::Return),
        Reason::Begin => R::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::Begin },
        Reason::End => R::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::End },
        Reason::Gone(Halt::Exited(status)) => R::Exited((status & 0xff) as u8),
        Reason::Gone(Halt::Killed(signal) | Halt::Signal(signal)) => {
            R::Terminated(signalled(signal))
        }
        Reason::Gone(Halt::Forked(_)) => R::Terminated(Signal::SIGKILL),
    }
}

impl Debuggee<'_> {
    /// What is to stand behind what gdbstub makes of the reason.
    pub(super) fn more_of(&mut self, stop: &Stop) -> String {
        let more = match stop.reason {
            Reason::Gone(_) => return format!(";process:{PROCESS:x}"),
            _ if self.is_gdb => String::new(),
            // lldb wants to be told in words of its own.
            Reason::Breakpoint => "reason:breakpoint;".to_owned(),
            Reason::Done => "reason:trace;".to_owned(),
            // Of a trace in another thread than the one that it steps it takes no notice.
            Reason::Begin | Reason::End | Reason::Chosen | Reason::Sent => {
                let text = match stop.reason {
                    Reason::Begin => "the schedule begins here".to_owned(),
                    Reason::End => self.session.outcome(),
                    Reason::Chosen => "the schedule comes to a step that is to be seen".to_owned(),
                    _ => format!("position {}", self.session.execution.at),
                };
                format!("reason:exception;description:{};", hex(text.as_bytes()))
            }
            _ => String::new(),
        };
        let name = if self.is_gdb { String::new() } else { self.name_of(stop.task) };
        format!("core:0;{name}{more}")
    }

    /// What lldb is told of a thread that did not stop by itself.
    pub(super) fn standing(&mut self, task: u16) -> Vec<u8> {
        if task == self.session.stop.task && !self.told.is_empty() {
            return self.told.clone();
        }
        format!("T00thread:{};{}", thread_id(task), self.name_of(task)).into_bytes()
    }

    fn name_of(&mut self, task: u16) -> String {
        let thread = self.session.execution.thread(task).ok().flatten();
        thread
            .map_or_else(String::new, |thread| format!("hexname:{};", hex(thread.name.as_bytes())))
    }
}
