//! One session: gdbstub's state machine, with a filter before and after it.
//!
//! The connection handles framing, acknowledgements and Ctrl-C. Packets that gdbstub does not
//! support are answered here (`extra_packets`); its replies about features and stops are extended.
//! If gdbstub fails on a packet, the packet is refused and gdbstub is restarted in the same state.

use super::connection::Connection;
use super::debuggee::Debuggee;
use super::extra_packets::{self, REFUSED};
use super::packet::{MOST, frame, unescape};
use super::resume_request::ResumeRequest;
use super::stop;
use crate::Error;
use crate::debug::execution::{Reason, Stop};
use crate::debug::session::{Ended, Session};
use gdbstub::stub::state_machine::{GdbStubStateMachine, GdbStubStateMachineInner, state};
use gdbstub::stub::{DisconnectReason, GdbStub};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// gdbstub's replies, collected before they are sent.
#[derive(Debug, Clone, Default)]
struct Replies(Rc<RefCell<Vec<u8>>>);

impl Replies {
    /// The replies, framed. The connection sends acknowledgements.
    fn take(&self) -> Vec<u8> {
        let mut replies = self.0.take();
        if replies.first() == Some(&b'+') {
            replies.remove(0);
        }
        replies
    }
}

impl gdbstub::conn::Connection for Replies {
    type Error = Infallible;

    fn write(&mut self, byte: u8) -> Result<(), Infallible> {
        self.0.borrow_mut().push(byte);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

type Idle<'a> = GdbStubStateMachineInner<'static, state::Idle<Debuggee<'a>>, Debuggee<'a>, Replies>;
type Running<'a> = GdbStubStateMachineInner<'static, state::Running, Debuggee<'a>, Replies>;

/// The result of passing a packet to gdbstub.
enum PacketResult<'a> {
    /// It answered the packet.
    Answered(Idle<'a>),
    /// The program is to continue.
    Resumed(Running<'a>),
    /// The session is over for gdbstub.
    Over(DisconnectReason, Idle<'a>),
    /// It could not parse the packet.
    Refused,
}

/// Serves one debugger until it disconnects.
///
/// # Errors
/// If gdbstub cannot be set up.
pub(crate) fn serve(session: Session<'_>, connection: Connection) -> Result<(Ended, Stop), Error> {
    let replies = Replies::default();
    let mut server =
        ServerLoop { debuggee: Debuggee::new(session), connection, replies, hello: Vec::new() };
    let mut machine = server.begin()?;
    loop {
        let Some(packet) = server.connection.next() else {
            return Ok((Ended::Detached, server.debuggee.session.leave()));
        };
        let (next, ended) = server.packet(machine, &packet)?;
        if let Some(ended) = ended {
            return Ok((ended, server.debuggee.session.leave()));
        }
        machine = next;
    }
}

struct ServerLoop<'a> {
    debuggee: Debuggee<'a>,
    connection: Connection,
    replies: Replies,
    /// The debugger's `qSupported` packet.
    hello: Vec<u8>,
}

impl<'a> ServerLoop<'a> {
    /// A new gdbstub with the negotiated features and the selected thread.
    fn begin(&mut self) -> Result<Idle<'a>, Error> {
        let failed = |error: String| Error::Runtime(format!("cannot set up gdbstub: {error}"));
        let stub = GdbStub::builder(self.replies.clone()).packet_buffer_size(MOST).build();
        let stub = stub.map_err(|error| failed(error.to_string()))?;
        let machine = stub.run_state_machine(&mut self.debuggee);
        let Ok(GdbStubStateMachine::Idle(mut machine)) = machine else {
            return Err(failed("it does not wait for packets".to_owned()));
        };
        let selected = format!("Hg{:x}", u32::from(self.debuggee.session.selected) + 1);
        for packet in [self.hello.clone(), selected.into_bytes()] {
            if packet.is_empty() {
                continue;
            }
            machine = match self.pass(machine, &packet) {
                PacketResult::Answered(machine) => machine,
                _ => return Err(failed("it rejects the negotiated features".to_owned())),
            };
        }
        self.replies.take();
        Ok(machine)
    }

    /// Handles one packet as received.
    fn packet(
        &mut self,
        machine: Idle<'a>,
        raw: &[u8],
    ) -> Result<(Idle<'a>, Option<Ended>), Error> {
        let packet = unescape(raw);
        if let Some(one) = extra_packets::is_one_alone(&packet) {
            self.debuggee.one_alone = one;
        }
        match self.debuggee.extra_packet(&packet) {
            Ok(None) => {}
            Ok(Some(answer)) => {
                self.connection.send(&answer);
                return Ok((machine, None));
            }
            Err(error) => {
                // The session continues: the execution can be restarted.
                self.debuggee.session.print(&format!("[sched] {error}\n"));
                self.connection.send(REFUSED);
                return Ok((machine, None));
            }
        }
        // gdbstub would invent a stop; report the last stop as if the program had just run.
        let asks_again = packet == b"?";
        let accepted = match asks_again {
            true => b"vCont;c".to_vec(),
            false => extra_packets::accepted(raw, self.debuggee.session.stop.task),
        };
        Ok(match self.pass(machine, &accepted) {
            PacketResult::Answered(machine) => {
                self.answer(&packet);
                (machine, None)
            }
            PacketResult::Resumed(running) => {
                let stop = match asks_again {
                    true => self.debuggee.session.last_stop(),
                    false => self.resume(),
                };
                (self.report(running, &stop)?, None)
            }
            PacketResult::Over(DisconnectReason::Kill, machine) => (machine, Some(Ended::Killed)),
            PacketResult::Over(_, machine) => {
                self.answer(&packet);
                (machine, Some(Ended::Detached))
            }
            PacketResult::Refused => {
                self.replies.take();
                self.connection.send(REFUSED);
                (self.begin()?, None)
            }
        })
    }

    fn pass(&mut self, idle: Idle<'a>, packet: &[u8]) -> PacketResult<'a> {
        let mut machine = GdbStubStateMachine::Idle(idle);
        for byte in frame(packet) {
            let GdbStubStateMachine::Idle(idle) = machine else { return PacketResult::Refused };
            machine = match idle.incoming_data(&mut self.debuggee, byte) {
                Ok(machine) => machine,
                Err(_) => return PacketResult::Refused,
            };
        }
        match machine {
            GdbStubStateMachine::Idle(machine) => PacketResult::Answered(machine),
            GdbStubStateMachine::Running(machine) => PacketResult::Resumed(machine),
            GdbStubStateMachine::Disconnected(machine) => {
                let reason = machine.get_reason();
                match machine.return_to_idle() {
                    GdbStubStateMachine::Idle(machine) => PacketResult::Over(reason, machine),
                    _ => PacketResult::Refused,
                }
            }
            GdbStubStateMachine::CtrlCInterrupt(_) => PacketResult::Refused,
        }
    }

    /// Sends gdbstub's reply to a packet.
    fn answer(&mut self, packet: &[u8]) {
        let mut replies = self.replies.take();
        if packet.starts_with(b"qSupported") {
            self.hello = packet.to_vec();
            replies = completed(&replies, extra_packets::FEATURES);
        } else if packet == b"qfThreadInfo" && replies.starts_with(b"$m#") {
            // All threads have ended.
            replies = frame(b"l");
        }
        if packet.starts_with(b"qRcmd,") {
            self.print();
        }
        self.connection.send_framed(replies);
        if packet == b"QStartNoAckMode" {
            // The reply to this packet is the last one to be acknowledged.
            self.connection.acknowledges = false;
        }
    }

    /// Executes the debugger's request.
    fn resume(&mut self) -> Stop {
        let session = &mut self.debuggee.session;
        let done = match self.debuggee.wanted.clone() {
            ResumeRequest::Forwards(forwards) => {
                let alone = forwards.is_alone();
                session.forwards(forwards.step, alone)
            }
            ResumeRequest::StepBack(task) => session.back(Some(task), self.debuggee.one_alone),
            ResumeRequest::ContinueBack => session.back(None, false),
        };
        let stop = done.unwrap_or_else(|error| {
            session.print(&format!("[sched] {error}\n"));
            Stop { task: session.stop.task, reason: Reason::Done }
        });
        session.arrive(stop);
        stop
    }

    fn report(&mut self, machine: Running<'a>, stop: &Stop) -> Result<Idle<'a>, Error> {
        let is_gdb = self.debuggee.is_gdb;
        let reported = machine.report_stop(&mut self.debuggee, stop::reason(stop, is_gdb));
        let more = self.debuggee.more_of(stop);
        let reply = completed(&self.replies.take(), &more);
        self.debuggee.last_stop_reply = payload(&reply).to_vec();
        self.print();
        self.connection.send_framed(reply);
        Ok(match reported {
            Ok(GdbStubStateMachine::Idle(machine)) => machine,
            // A program that has ended can be run again.
            Ok(GdbStubStateMachine::Disconnected(machine)) => match machine.return_to_idle() {
                GdbStubStateMachine::Idle(machine) => machine,
                _ => self.begin()?,
            },
            _ => self.begin()?,
        })
    }

    /// Sends pending text for the user, which may precede a stop and the answer to a command. A debugger
    /// that waits for any other reply parses the text as that reply.
    fn print(&mut self) {
        let said = std::mem::take(&mut self.debuggee.session.output);
        if !said.is_empty() {
            self.connection.print(&said);
        }
    }
}

/// A framed reply with more text appended.
fn completed(reply: &[u8], more: &str) -> Vec<u8> {
    frame(&[payload(reply), more.as_bytes()].concat())
}

/// The payload of a frame, without `$`, `#` and the two digits.
fn payload(reply: &[u8]) -> &[u8] {
    reply.get(1..reply.len().saturating_sub(3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_appended_to_a_framed_reply() {
        assert_eq!(completed(&frame(b"T05"), "core:0;"), frame(b"T05core:0;"));
        assert_eq!(completed(b"", ""), frame(b""));
    }
}
