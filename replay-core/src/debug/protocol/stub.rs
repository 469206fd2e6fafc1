//! One session over the wire: gdbstub's state machine, and the filter before and behind it.
//!
//! Framing, acknowledgements and Ctrl-C are the connection's. What gdbstub does not know is answered
//! here (`lacking`); what it says of features and stops is completed on its way out. It gives up over
//! a packet that it cannot read: it is then begun again where it was, and the packet is refused.

use super::connection::Connection;
use super::debuggee::Debuggee;
use super::lacking::{self, REFUSED};
use super::packet::{MOST, frame, unescape};
use super::resume::Wanted;
use super::stop;
use crate::Error;
use crate::debug::execution::{Reason, Stop};
use crate::debug::session::{Ended, Session};
use gdbstub::stub::state_machine::{GdbStubStateMachine, GdbStubStateMachineInner, state};
use gdbstub::stub::{DisconnectReason, GdbStub};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// What gdbstub answers, to be looked at before it is sent.
#[derive(Debug, Clone, Default)]
struct Replies(Rc<RefCell<Vec<u8>>>);

impl Replies {
    /// The packets that were answered, framed. What acknowledges is the connection's business.
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

/// What became of a packet.
enum Passed<'a> {
    /// It is answered.
    Answered(Idle<'a>),
    /// The program is to go on.
    Resumed(Running<'a>),
    /// The session is over, or would be, for gdbstub.
    Over(DisconnectReason, Idle<'a>),
    /// It could not be read.
    Refused,
}

/// Serves one debugger until it is done, or gone.
///
/// # Errors
/// Where gdbstub cannot be set up.
pub(crate) fn serve(session: Session<'_>, connection: Connection) -> Result<(Ended, Stop), Error> {
    let replies = Replies::default();
    let mut served =
        Served { debuggee: Debuggee::new(session), connection, replies, hello: Vec::new() };
    let mut machine = served.begin()?;
    loop {
        let Some(packet) = served.connection.next() else {
            return Ok((Ended::Detached, served.debuggee.session.leave()));
        };
        let (next, ended) = served.packet(machine, &packet)?;
        if let Some(ended) = ended {
            return Ok((ended, served.debuggee.session.leave()));
        }
        machine = next;
    }
}

struct Served<'a> {
    debuggee: Debuggee<'a>,
    connection: Connection,
    replies: Replies,
    /// How the debugger introduced itself.
    hello: Vec<u8>,
}

impl<'a> Served<'a> {
    /// gdbstub, as it is where nothing was asked yet but what was agreed on and who is looked at.
    fn begin(&mut self) -> Result<Idle<'a>, Error> {
        let failed = |error: String| Error::Runtime(format!("gdbstub cannot be set up: {error}"));
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
                Passed::Answered(machine) => machine,
                _ => return Err(failed("it does not know how it was greeted".to_owned())),
            };
        }
        self.replies.take();
        Ok(machine)
    }

    /// Has one packet answered, as it came.
    fn packet(
        &mut self,
        machine: Idle<'a>,
        raw: &[u8],
    ) -> Result<(Idle<'a>, Option<Ended>), Error> {
        let packet = unescape(raw);
        if let Some(one) = lacking::is_one_alone(&packet) {
            self.debuggee.one_alone = one;
        }
        match self.debuggee.lacking(&packet) {
            Ok(None) => {}
            Ok(Some(answer)) => {
                self.print();
                self.connection.send(&answer);
                return Ok((machine, None));
            }
            Err(error) => {
                // Nothing is lost: the execution can be begun again.
                self.debuggee.session.say(&format!("[sched] {error}\n"));
                self.print();
                self.connection.send(REFUSED);
                return Ok((machine, None));
            }
        }
        // gdbstub would invent a stop; the last one is told as if the program had just run.
        let asks_again = packet == b"?";
        let accepted = match asks_again {
            true => b"vCont;c".to_vec(),
            false => lacking::accepted(raw, self.debuggee.session.stop.task),
        };
        Ok(match self.pass(machine, &accepted) {
            Passed::Answered(machine) => {
                self.answer(&packet);
                (machine, None)
            }
            Passed::Resumed(running) => {
                let stop = match asks_again {
                    true => self.debuggee.session.last_stop(),
                    false => self.resume(),
                };
                (self.report(running, &stop)?, None)
            }
            Passed::Over(DisconnectReason::Kill, machine) => (machine, Some(Ended::Killed)),
            Passed::Over(_, machine) => {
                self.answer(&packet);
                (machine, Some(Ended::Detached))
            }
            Passed::Refused => {
                self.replies.take();
                self.print();
                self.connection.send(REFUSED);
                (self.begin()?, None)
            }
        })
    }

    fn pass(&mut self, idle: Idle<'a>, packet: &[u8]) -> Passed<'a> {
        let mut machine = GdbStubStateMachine::Idle(idle);
        for byte in frame(packet) {
            let GdbStubStateMachine::Idle(idle) = machine else { return Passed::Refused };
            machine = match idle.incoming_data(&mut self.debuggee, byte) {
                Ok(machine) => machine,
                Err(_) => return Passed::Refused,
            };
        }
        match machine {
            GdbStubStateMachine::Idle(machine) => Passed::Answered(machine),
            GdbStubStateMachine::Running(machine) => Passed::Resumed(machine),
            GdbStubStateMachine::Disconnected(machine) => {
                let reason = machine.get_reason();
                match machine.return_to_idle() {
                    GdbStubStateMachine::Idle(machine) => Passed::Over(reason, machine),
                    _ => Passed::Refused,
                }
            }
            GdbStubStateMachine::CtrlCInterrupt(_) => Passed::Refused,
        }
    }

    /// Sends what gdbstub answered to a packet.
    fn answer(&mut self, packet: &[u8]) {
        let mut replies = self.replies.take();
        if packet.starts_with(b"qSupported") {
            self.hello = packet.to_vec();
            replies = completed(&replies, lacking::FEATURES);
        } else if packet == b"qfThreadInfo" && replies.starts_with(b"$m#") {
            // There are none any more.
            replies = frame(b"l");
        }
        self.print();
        self.connection.send_framed(replies);
        if packet == b"QStartNoAckMode" {
            // That was the answer, and it is acknowledged like all before it.
            self.connection.acknowledges = false;
        }
    }

    /// Does what the debugger wants to happen.
    fn resume(&mut self) -> Stop {
        let session = &mut self.debuggee.session;
        let done = match self.debuggee.wanted.clone() {
            Wanted::Forwards(forwards) => {
                let alone = forwards.is_alone();
                session.forwards(forwards.step, alone)
            }
            Wanted::StepBack(task) => session.back(Some(task), self.debuggee.one_alone),
            Wanted::ContinueBack => session.back(None, false),
        };
        let stop = done.unwrap_or_else(|error| {
            session.say(&format!("[sched] {error}\n"));
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
        self.debuggee.told = payload(&reply).to_vec();
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

    /// Tells the person what there is to tell, before the answer that it belongs to.
    fn print(&mut self) {
        let said = std::mem::take(&mut self.debuggee.session.said);
        if !said.is_empty() {
            self.connection.print(&said);
        }
    }
}

/// A framed reply with more text at its end.
fn completed(reply: &[u8], more: &str) -> Vec<u8> {
    frame(&[payload(reply), more.as_bytes()].concat())
}

/// What stands in a frame: without `$`, and `#` with two digits.
fn payload(reply: &[u8]) -> &[u8] {
    reply.get(1..reply.len().saturating_sub(3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_completed_with_its_checksum() {
        assert_eq!(completed(&frame(b"T05"), "core:0;"), frame(b"T05core:0;"));
        assert_eq!(completed(b"", ""), frame(b""));
    }
}
