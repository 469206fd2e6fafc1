//! Stop replies.

use super::debuggee::{Debuggee, PROCESS, tid};
use super::extra_packets::thread_id;
use super::packet::hex;
use crate::debug::execution::position::Access;
use crate::debug::execution::{Reason, Stop};
use crate::debug::process::tracee::WaitStatus;
use crate::debug::session::protocol_signal;
use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::reverse_exec::ReplayLogPosition;
use gdbstub::target::ext::breakpoints::WatchKind;
use gdbstub::target::ext::catch_syscalls::CatchSyscallPosition;

/// The reason of a stop, in gdbstub's form.
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
        // A search alone ends so.
        Reason::Done | Reason::Sent | Reason::Enough => {
            R::SignalWithThread { tid, signal: Signal::SIGTRAP }
        }
        // lldb continues if there is no signal; gdb only reports the stop.
        Reason::Chosen if is_gdb => R::SignalWithThread { tid, signal: Signal::SIGZERO },
        Reason::Chosen => R::SignalWithThread { tid, signal: Signal::SIGTRAP },
        Reason::Interrupted => R::SignalWithThread { tid, signal: Signal::SIGINT },
        Reason::Signal(signal) => R::SignalWithThread { tid, signal: signalled(signal) },
        Reason::Call(number) => call(number, CatchSyscallPosition::Entry),
        Reason::Returned(number) => call(number, CatchSyscallPosition::Return),
        Reason::Begin => R::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::Begin },
        Reason::End => R::ReplayLog { tid: Some(tid), pos: ReplayLogPosition::End },
        // The session turns it into the end of a call.
        Reason::Waits => R::SignalWithThread { tid, signal: Signal::SIGABRT },
        Reason::Gone(WaitStatus::Exited(status)) => R::Exited((status & 0xff) as u8),
        Reason::Gone(WaitStatus::Killed(signal) | WaitStatus::Signal(signal)) => {
            R::Terminated(signalled(signal))
        }
        Reason::Gone(WaitStatus::Forked(_)) => R::Terminated(Signal::SIGKILL),
    }
}

impl Debuggee<'_> {
    /// Fields to append to gdbstub's stop reply.
    pub(super) fn more_of(&mut self, stop: &Stop) -> String {
        let more = match stop.reason {
            Reason::Gone(_) => return format!(";process:{PROCESS:x}"),
            _ if self.is_gdb => String::new(),
            // lldb expects its own fields.
            Reason::Breakpoint => "reason:breakpoint;".to_owned(),
            Reason::Done => "reason:trace;".to_owned(),
            // lldb ignores a trace stop in a thread other than the one it steps.
            Reason::Begin | Reason::End | Reason::Chosen | Reason::Sent => {
                let text = match stop.reason {
                    Reason::Begin => "the schedule begins here".to_owned(),
                    Reason::End => self.session.outcome(),
                    Reason::Chosen => "the schedule reaches a step to stop at".to_owned(),
                    _ => format!("position {}", self.session.execution.at),
                };
                format!("reason:exception;description:{};", hex(text.as_bytes()))
            }
            _ => String::new(),
        };
        let name = if self.is_gdb { String::new() } else { self.name_of(stop.task) };
        format!("core:0;{name}{more}")
    }

    /// The stop reply for a thread that did not cause the stop, for lldb.
    pub(super) fn stop_reply_of(&mut self, task: u16) -> Vec<u8> {
        if task == self.session.stop.task && !self.last_stop_reply.is_empty() {
            return self.last_stop_reply.clone();
        }
        // Without a reason, lldb takes a thread that is at a breakpoint for one that has hit it.
        format!("T00thread:{};{}reason:none;", thread_id(task), self.name_of(task)).into_bytes()
    }

    fn name_of(&mut self, task: u16) -> String {
        let thread = self.session.execution.thread(task).ok().flatten();
        thread
            .map_or_else(String::new, |thread| format!("hexname:{};", hex(thread.name.as_bytes())))
    }
}
