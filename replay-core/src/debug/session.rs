//! What a debugger asks and what it is answered, one packet after the other.
//!
//! Thread ids are task numbers plus one, in a process with a number that never changes. An error of
//! the user's is answered; only a lost connection or a dead machine ends a session.

use super::connection::Connection;
use super::execution::{Execution, Reason, Stop};
use super::files::{Files, PROCESS};
use super::machine::{Machine, SCRATCH, Stand};
use super::packet::{MOST, hex, number, pair, unhex};
use super::position::{Access, Position, Watch};
use super::registers::{self, RIP, Values};
use super::tracee::Halt;
use crate::Error;
use crate::symbols::Memory;

/// What the next resumption is to do instead of what it says: gdb reads registers and threads anew
/// only when the program seems to have run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seek {
    Step(u64),
    Position(Position),
    Failure,
    End,
    Next,
    Previous,
    StepBack,
    ResumeBack,
    Pick(u16),
    Rejoin,
    Explore,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The debugger let go, or is gone.
    Detached,
    /// It wants the program to be gone.
    Killed,
}

/// A copy of the process that was changed, in place of what stands aside.
pub(super) struct Diversion {
    pub(super) original: Machine,
    pub(super) at: Position,
    /// The registers when it began.
    pub(super) values: Values,
}

/// See the module.
pub(super) struct Session<'a> {
    pub(super) execution: &'a mut Execution,
    pub(super) connection: Connection,
    pub(super) files: Files,
    /// The thread whose registers are meant.
    pub(super) selected: u16,
    /// The thread that steps.
    pub(super) stepping: Option<u16>,
    pub(super) stop: Stop,
    pub(super) seek: Option<Seek>,
    pub(super) diversion: Option<Diversion>,
    /// Where the next memory of the debugger's own is.
    scratch: u64,
    /// What is said is kept here, to be a part of an answer.
    pub(super) said: Option<String>,
    /// The packet has its answer already.
    pub(super) answered: bool,
    /// The debugger is gdb, by what it says it supports.
    pub(super) is_gdb: bool,
    /// Where the user was before each seek, and where after going back.
    pub(super) history: Vec<Position>,
    pub(super) future: Vec<Position>,
    /// Positions with numbers.
    pub(super) kept: Vec<(u64, Position)>,
    pub(super) next_kept: u64,
}

const OK: &[u8] = b"OK";
const REFUSED: &[u8] = b"E01";

impl<'a> Session<'a> {
    pub(super) fn new(execution: &'a mut Execution, connection: Connection, stop: Stop) -> Self {
        Session {
            selected: stop.task,
            execution,
            connection,
            files: Files::default(),
            stepping: None,
            stop,
            seek: None,
            diversion: None,
            scratch: SCRATCH.start,
            said: None,
            answered: false,
            is_gdb: false,
            history: Vec::new(),
            future: Vec::new(),
            kept: Vec::new(),
            next_kept: 1,
        }
    }

    /// Serves until the debugger is done.
    pub(super) fn serve(mut self) -> Result<(Ended, Stop), Error> {
        loop {
            let Some(packet) = self.connection.next() else {
                self.undivert();
                self.forget();
                return Ok((Ended::Detached, self.stop));
            };
            let ended = match self.packet(&packet) {
                Ok(ended) => ended,
                Err(error) => {
                    // Nothing is lost: the execution can be begun again.
                    self.say(&format!("[sched] {error}\n"));
                    self.connection.send(REFUSED);
                    None
                }
            };
            if let Some(ended) = ended {
                self.undivert();
                self.forget();
                return Ok((ended, self.stop));
            }
        }
    }

    /// Tells the person something.
    pub(super) fn say(&mut self, text: &str) {
        match &mut self.said {
            Some(said) => said.push_str(text),
            None => self.connection.print(text),
        }
    }

    /// What a debugger armed goes with it.
    fn forget(&mut self) {
        self.execution.armed = super::execution::Armed::default();
        let _ = self.execution.interrupt.take();
    }

    fn packet(&mut self, packet: &[u8]) -> Result<Option<Ended>, Error> {
        let Some((&kind, rest)) = packet.split_first() else {
            self.connection.send(b"");
            return Ok(None);
        };
        if kind == b'X' {
            let answer = self.write_binary(rest)?;
            self.connection.send(&answer);
            return Ok(None);
        }
        let text = String::from_utf8_lossy(rest).into_owned();
        let answer: Vec<u8> = match kind {
            b'?' => {
                // Where it begins is no end that somebody ran into.
                let stop = match self.stop.reason {
                    Reason::Begin | Reason::End => Stop { reason: Reason::Done, ..self.stop },
                    _ => self.stop,
                };
                self.stop_reply(stop)?
            }
            b'!' => OK.to_vec(),
            b'H' => self.select(&text),
            b'T' => match thread_number(&text) {
                Some(Some(task)) if self.execution.thread(task)?.is_some() => OK.to_vec(),
                _ => REFUSED.to_vec(),
            },
            b'g' => self.values()?.all_digits().into_bytes(),
            b'G' => {
                let mut values = self.values()?;
                let good = values.take_digits(&text);
                if good { self.change(&values)? } else { REFUSED.to_vec() }
            }
            b'p' => match number(&text) {
                Some(register) => match self.values()?.digits(register as usize) {
                    Some(digits) => digits.into_bytes(),
                    None => REFUSED.to_vec(),
                },
                None => REFUSED.to_vec(),
            },
            b'P' => {
                let mut values = self.values()?;
                let good = text.split_once('=').is_some_and(|(register, digits)| {
                    let register = number(register).map(|register| register as usize);
                    register
                        .zip(unhex(digits))
                        .is_some_and(|(number, bytes)| values.set(number, &bytes))
                });
                if good { self.change(&values)? } else { REFUSED.to_vec() }
            }
            b'm' => match pair(&text) {
                Some((address, len)) => self.read(address, len),
                None => REFUSED.to_vec(),
            },
            b'M' => {
                let parts = text.split_once(':');
                match parts.and_then(|(place, digits)| pair(place).zip(unhex(digits))) {
                    Some(((address, _), bytes)) => self.write(address, &bytes)?,
                    None => REFUSED.to_vec(),
                }
            }
            b'Z' => self.arm(&text, true),
            b'z' => self.arm(&text, false),
            b'c' | b'C' | b's' | b'S' => {
                let step = matches!(kind, b's' | b'S');
                if matches!(kind, b'C' | b'S') {
                    self.check_signal(&text);
                }
                let task = step.then(|| self.stepping.unwrap_or(self.selected));
                let stop = self.resume(task, 0..0)?;
                self.report(stop)?
            }
            b'b' => match text.as_str() {
                "s" => {
                    let task = self.stepping.unwrap_or(self.selected);
                    let stop = self.back(Some(task))?;
                    self.report(stop)?
                }
                "c" => {
                    let stop = self.back(None)?;
                    self.report(stop)?
                }
                _ => Vec::new(),
            },
            b'D' => {
                self.connection.send(OK);
                return Ok(Some(Ended::Detached));
            }
            b'k' => return Ok(Some(Ended::Killed)),
            b'R' => {
                self.restart("")?;
                return Ok(None);
            }
            b'q' | b'Q' => self.query(kind, &text)?,
            b'v' => return self.verbose(&text),
            b'_' => self.allocate(&text),
            _ => Vec::new(),
        };
        if !std::mem::take(&mut self.answered) {
            self.connection.send(&answer);
        }
        Ok(None)
    }

    fn verbose(&mut self, text: &str) -> Result<Option<Ended>, Error> {
        let answer = if text == "Cont?" {
            b"vCont;c;C;s;S;t;r".to_vec()
        } else if let Some(actions) = text.strip_prefix("Cont;") {
            let stop = self.vcont(actions)?;
            self.report(stop)?
        } else if let Some(rest) = text.strip_prefix("File:") {
            let pid = self.execution.live().tracee().pid();
            self.files.answer(rest, pid)
        } else if let Some(rest) = text.strip_prefix("Run;") {
            let stop = self.restart(rest)?;
            self.report(stop)?
        } else if text.starts_with("Kill") {
            self.restart("")?;
            OK.to_vec()
        } else {
            Vec::new()
        };
        self.connection.send(&answer);
        Ok(None)
    }

    fn vcont(&mut self, actions: &str) -> Result<Stop, Error> {
        let mut stepping = None;
        let mut range = 0..0;
        let mut alone = true;
        for action in actions.split(';') {
            let (what, thread) = action.split_once(':').unwrap_or((action, ""));
            let task = thread_number(thread).flatten();
            match what.as_bytes().first() {
                Some(b's' | b'S') if stepping.is_none() => {
                    stepping = task.or(Some(self.stop.task));
                }
                Some(b'r') if stepping.is_none() => {
                    stepping = task.or(Some(self.stop.task));
                    if let Some((start, end)) = pair(&what[1..]) {
                        range = start..end;
                    }
                }
                Some(b'c' | b'C') => alone = false,
                _ => {}
            }
            if let Some(signal) = what.strip_prefix(['C', 'S']) {
                self.check_signal(signal);
            }
        }
        // gdb steps over a breakpoint with the other threads held back, and is at a loss when it hears
        // of one. They do run, as the schedule says; but nothing of theirs is told.
        self.execution.only = stepping.filter(|_| alone);
        let stop = self.resume(stepping, range);
        self.execution.only = None;
        stop
    }

    /// Signals are part of the recorded execution: those that came are delivered, and no others.
    fn check_signal(&mut self, digits: &str) {
        let wanted = number(digits.split(';').next().unwrap_or_default()).unwrap_or(0);
        let pending = self.execution.live().signal().map(protocol_signal).map(u64::from);
        if wanted != 0 && pending != Some(wanted) {
            self.say(
                "[sched] a signal that the recorded execution does not have is not delivered\n",
            );
        }
    }

    fn resume(
        &mut self,
        stepping: Option<u16>,
        range: std::ops::Range<u64>,
    ) -> Result<Stop, Error> {
        if let Some(seek) = self.seek.take() {
            return self.perform(seek);
        }
        if self.diversion.is_some() {
            return self.resume_diverted(stepping);
        }
        if self.stop.reason == Reason::End && stepping.is_none() {
            return Ok(Stop { task: self.stop.task, reason: self.exit() });
        }
        match stepping {
            None => self.execution.resume(),
            Some(task) => {
                // One that has ended since, or never began.
                let there = self.execution.thread(task)?.is_some();
                let task = if there { task } else { self.execution.current() };
                let blocked = self.execution.thread(task)?.filter(|t| t.is_blocked()).cloned();
                if let Some(thread) = blocked {
                    let state = thread.state(&self.execution.trace.execution);
                    self.say(&format!("[sched] T{task} is {state}\n"));
                }
                let stop = self.execution.step(task, &range)?;
                if stop.reason == Reason::End && stop.task != task {
                    self.say(&format!("[sched] T{task} never runs again\n"));
                    return Ok(Stop { task, ..stop });
                }
                Ok(stop)
            }
        }
    }

    fn back(&mut self, stepping: Option<u16>) -> Result<Stop, Error> {
        if let Some(seek) = self.seek.take() {
            return self.perform(seek);
        }
        self.discard();
        match stepping {
            Some(task) => self.execution.step_back(task),
            None => self.execution.resume_back(),
        }
    }

    /// How the process ends when it goes on from its end.
    fn exit(&self) -> Reason {
        let live = self.execution.live();
        if let Stand::Gone(halt) = live.stand() {
            return Reason::Gone(halt);
        }
        let (how, kind, number, _) = live.end();
        use traces::FailureKind as K;
        let halt = match traces::FailureKind::from_code(kind) {
            _ if how != traces::wire::ended::FAILED => Halt::Exited(0),
            Some(K::Exit) => Halt::Exited(number),
            Some(K::Panic) => Halt::Exited(101),
            Some(K::Crash | K::StackOverflow | K::UseAfterFree) if number > 0 => {
                Halt::Killed(number)
            }
            Some(K::Deadlock | K::SelfDeadlock | K::Spin) => Halt::Killed(libc::SIGKILL),
            _ => Halt::Killed(libc::SIGABRT),
        };
        Reason::Gone(halt)
    }

    /// Back to main's first instruction.
    pub(super) fn restart(&mut self, rest: &str) -> Result<Stop, Error> {
        self.discard();
        // `run N`: to a step.
        let argument = rest.split(';').nth(1).and_then(unhex);
        let argument = argument.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let position = argument.and_then(|text| text.trim().parse().ok());
        let position = position.map_or_else(|| Position::entry(0), Position::chosen);
        self.execution.go_to(&position)?;
        self.stop = Stop { task: self.execution.current(), reason: Reason::Done };
        self.selected = self.stop.task;
        Ok(self.stop)
    }

    /// Remembers where it stopped, and says so.
    fn report(&mut self, stop: Stop) -> Result<Vec<u8>, Error> {
        self.stop = stop;
        self.selected = stop.task;
        let said = match stop.reason {
            Reason::End => Some(format!("[sched] {}\n", self.outcome())),
            _ => None,
        };
        if let Some(said) = said {
            self.say(&said);
        }
        let reply = self.stop_reply(stop);
        // A Ctrl-C that came while it was stopping already.
        let _ = self.execution.interrupt.take();
        reply
    }

    /// What a debugger is told of a stop.
    fn stop_reply(&mut self, stop: Stop) -> Result<Vec<u8>, Error> {
        let thread = format!("thread:{};core:0;", thread_id(stop.task));
        let (signal, more) = match stop.reason {
            Reason::Breakpoint if self.is_gdb => (5, "swbreak:;".to_owned()),
            Reason::Breakpoint => (5, "reason:breakpoint;".to_owned()),
            Reason::Touched(watch) => {
                let what = match watch.kind {
                    Access::Write => "watch",
                    Access::Read => "rwatch",
                    Access::Both => "awatch",
                };
                (5, format!("{what}:{:x};", watch.address))
            }
            Reason::Done if self.is_gdb => (5, String::new()),
            Reason::Done => (5, "reason:trace;".to_owned()),
            Reason::Call(number) => (5, format!("syscall_entry:{number:x};")),
            Reason::Returned(number) => (5, format!("syscall_return:{number:x};")),
            Reason::Signal(signal) => (protocol_signal(signal), String::new()),
            Reason::Begin if self.is_gdb => (5, "replaylog:begin;".to_owned()),
            Reason::End if self.is_gdb => (5, "replaylog:end;".to_owned()),
            Reason::Begin | Reason::End => {
                let text = if stop.reason == Reason::Begin {
                    "the schedule begins here".to_owned()
                } else {
                    self.outcome()
                };
                (5, format!("reason:trace;description:{};", hex(text.as_bytes())))
            }
            Reason::Interrupted => (2, String::new()),
            Reason::Gone(Halt::Exited(status)) => {
                return Ok(format!("W{:02x};process:{PROCESS:x}", status & 0xff).into_bytes());
            }
            Reason::Gone(Halt::Killed(signal) | Halt::Signal(signal)) => {
                let signal = protocol_signal(signal);
                return Ok(format!("X{signal:02x};process:{PROCESS:x}").into_bytes());
            }
            Reason::Gone(Halt::Forked(_)) => return Ok(b"X09".to_vec()),
        };
        Ok(format!("T{signal:02x}{more}{thread}").into_bytes())
    }

    /// How the schedule ends, in words.
    pub(super) fn outcome(&self) -> String {
        use traces::wire::ended;
        let live = self.execution.live();
        let (how, kind, ..) = live.end();
        let what = match how {
            ended::PASSED => "the program ends without a failure".to_owned(),
            ended::DIVERGED => format!("the replay went another way: {}", live.message()),
            ended::CUT => "the limit of steps is reached".to_owned(),
            _ => match &self.execution.trace.failure {
                Some(failure) if failure.kind.code() == kind => failure.message.clone(),
                _ => {
                    let kind = traces::FailureKind::from_code(kind);
                    kind.map_or_else(|| "it failed".to_owned(), |kind| kind.to_string())
                }
            },
        };
        format!("end of the schedule: {what}")
    }

    fn select(&mut self, text: &str) -> Vec<u8> {
        let Some((&what, id)) = text.as_bytes().split_first() else { return REFUSED.to_vec() };
        let Some(task) = thread_number(&String::from_utf8_lossy(id)) else {
            return REFUSED.to_vec();
        };
        match what {
            b'g' => self.selected = task.unwrap_or(self.stop.task),
            b'c' => self.stepping = task,
            _ => return REFUSED.to_vec(),
        }
        OK.to_vec()
    }

    /// The registers of the selected thread.
    fn values(&mut self) -> Result<Values, Error> {
        let selected = self.selected;
        Ok(match self.execution.thread(selected)? {
            Some(thread) => thread.values.clone(),
            None => Values::unknown(),
        })
    }

    fn read(&self, address: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; (len as usize).min(MOST / 2 - 16)];
        let read = self.execution.live().tracee().read(address, &mut bytes);
        match read {
            0 if len > 0 => REFUSED.to_vec(),
            _ => hex(&bytes[..read]).into_bytes(),
        }
    }

    fn write_binary(&mut self, rest: &[u8]) -> Result<Vec<u8>, Error> {
        let Some(colon) = rest.iter().position(|&byte| byte == b':') else {
            return Ok(REFUSED.to_vec());
        };
        let place = String::from_utf8_lossy(&rest[..colon]).into_owned();
        match pair(&place) {
            // Asked for nothing to see whether it is supported.
            Some((_, 0)) => Ok(OK.to_vec()),
            Some((address, _)) => self.write(address, &rest[colon + 1..]),
            None => Ok(REFUSED.to_vec()),
        }
    }

    /// Memory of lldb's own in the process, for what it evaluates.
    fn allocate(&mut self, text: &str) -> Vec<u8> {
        let Some(size) = text.strip_prefix('M').and_then(|text| number(text.split(',').next()?))
        else {
            return if text.starts_with('m') { OK.to_vec() } else { Vec::new() };
        };
        let start = self.scratch.next_multiple_of(4096);
        match start.checked_add(size).filter(|end| *end <= SCRATCH.end) {
            Some(end) => {
                self.scratch = end;
                format!("{start:x}").into_bytes()
            }
            None => REFUSED.to_vec(),
        }
    }

    fn arm(&mut self, text: &str, on: bool) -> Vec<u8> {
        let (place, more) = text.split_once(';').map_or((text, ""), |(place, more)| (place, more));
        let mut fields = place.split(',');
        let kind = fields.next();
        let (Some(kind), Some(address), Some(len)) =
            (kind, fields.next().and_then(number), fields.next().and_then(number))
        else {
            return REFUSED.to_vec();
        };
        let armed = &mut self.execution.armed;
        match kind {
            "0" | "1" => {
                if !on {
                    armed.breakpoints.remove(&address);
                    return OK.to_vec();
                }
                let mut byte = [0];
                if self.execution.live().tracee().read(address, &mut byte) == 0 {
                    return b"E0e".to_vec();
                }
                if self.execution.live().is_runtime(address) {
                    // What the runtime does is never shown.
                    return OK.to_vec();
                }
                let conditions = conditions(more);
                self.execution.armed.breakpoints.insert(address, conditions);
                OK.to_vec()
            }
            "2" | "3" | "4" => {
                let kind = match kind {
                    "2" => Access::Write,
                    "3" => Access::Read,
                    _ => Access::Both,
                };
                let Some(pieces) = pieces(address, len, kind) else { return REFUSED.to_vec() };
                armed.watches.retain(|watch| !pieces.contains(watch));
                if on {
                    // The processor has four.
                    if armed.watches.len() + pieces.len() > 4 {
                        return REFUSED.to_vec();
                    }
                    armed.watches.extend(pieces);
                }
                OK.to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn change(&mut self, values: &Values) -> Result<Vec<u8>, Error> {
        if matches!(self.execution.live().stand(), Stand::Gone(_)) {
            return Ok(REFUSED.to_vec());
        }
        self.divert()?;
        self.put(values)?;
        Ok(OK.to_vec())
    }

    /// Puts registers into the process, whichever task runs there.
    fn put(&mut self, values: &Values) -> Result<(), Error> {
        let live = self.execution.live_mut();
        let mut general = live.tracee().registers()?;
        let mut vector = live.tracee().vector()?;
        values.write_to(&mut general, &mut vector);
        general.orig_rax = u64::MAX;
        live.tracee().set_registers(&general)?;
        live.tracee().set_vector(&mut vector)?;
        live.leave_hook();
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        if matches!(self.execution.live().stand(), Stand::Gone(_)) {
            return Ok(REFUSED.to_vec());
        }
        // Its own memory a debugger may write as it likes.
        if !SCRATCH.contains(&address) {
            self.divert()?;
        }
        Ok(match self.execution.live().tracee().write(address, bytes) {
            Ok(()) => OK.to_vec(),
            Err(_) => b"E0e".to_vec(),
        })
    }

    /// From here on a copy of the process is looked at, which may be changed.
    fn divert(&mut self) -> Result<(), Error> {
        if self.diversion.is_some() {
            return Ok(());
        }
        let selected = self.selected;
        let values = self.values()?;
        let running = self.execution.live().stand() == Stand::Program
            && self.execution.live().current() == selected;
        let (original, at) = self.execution.divert()?;
        self.diversion = Some(Diversion { original, at, values: values.clone() });
        if !running {
            // The copy's one kernel thread becomes this task, wherever it was.
            self.put(&values)?;
        }
        Ok(())
    }

    /// Throws the copy away.
    pub(super) fn undivert(&mut self) -> bool {
        let Some(diversion) = self.diversion.take() else { return false };
        self.execution.rejoin(diversion.original, diversion.at);
        true
    }

    fn discard(&mut self) {
        if self.undivert() {
            self.say(
                "[sched] changes discarded: they were made in a copy of the process, not in the \
                 recorded execution\n",
            );
        }
    }

    /// A resumption of a changed copy: a call from the debugger, if it goes on somewhere else.
    fn resume_diverted(&mut self, stepping: Option<u16>) -> Result<Stop, Error> {
        let now = self.values()?;
        let same = match &self.diversion {
            Some(diversion) => {
                now.word(RIP) == diversion.values.word(RIP)
                    && now.word(registers::RSP) == diversion.values.word(registers::RSP)
            }
            None => true,
        };
        if same {
            self.discard();
            return self.resume(stepping, 0..0);
        }
        let task = self.selected;
        let stop = match stepping {
            Some(_) => self
                .execution
                .step_one(self.execution.live().current(), super::execution::Notice::Stop)?,
            None => self.execution.resume()?,
        };
        if matches!(stop.reason, Reason::End | Reason::Gone(_)) {
            self.say(
                "[sched] the call came to a scheduling point, where the recorded schedule has \
                 nothing to say; it was broken off\n",
            );
            if let Some(diversion) = &self.diversion {
                self.execution.at = diversion.at.clone();
            }
            // A debugger takes a call back that a signal ended.
            return Ok(Stop { task, reason: Reason::Signal(libc::SIGABRT) });
        }
        Ok(Stop { task, reason: stop.reason })
    }
}

/// The pieces of at most eight bytes, each aligned to its size, of watched memory.
fn pieces(address: u64, len: u64, kind: Access) -> Option<Vec<Watch>> {
    let end = address.checked_add(len)?;
    let (mut at, mut pieces) = (address, Vec::new());
    while at < end {
        let fits = |size: &u64| at % size == 0 && at + size <= end;
        let size = [8, 4, 2, 1].into_iter().find(fits)?;
        pieces.push(Watch { address: at, len: size as u8, kind });
        at += size;
        if pieces.len() > 4 {
            return None;
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// The agent expressions of a breakpoint: `X` length `,` bytes, one after the other.
fn conditions(text: &str) -> Vec<Vec<u8>> {
    let mut conditions = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.strip_prefix('X').or_else(|| rest.strip_prefix(";X")) {
        let Some((len, bytes)) = start.split_once(',') else { break };
        let Some(len) = number(len).map(|len| 2 * len as usize) else { break };
        let Some(code) = bytes.get(..len).and_then(unhex) else { break };
        conditions.push(code);
        rest = &bytes[len..];
    }
    conditions
}

/// A task as the protocol names threads.
pub(super) fn thread_id(task: u16) -> String {
    format!("p{PROCESS:x}.{:x}", u32::from(task) + 1)
}

/// The task of a thread id; `Some(None)` for any or all of them.
pub(super) fn thread_number(text: &str) -> Option<Option<u16>> {
    let id = match text.strip_prefix('p') {
        Some(both) => both.split_once('.').map_or("-1", |(_, thread)| thread),
        None => text,
    };
    match id {
        "" | "0" | "-1" => Some(None),
        id => {
            let number = number(id)?.checked_sub(1)?;
            Some(Some(u16::try_from(number).ok()?))
        }
    }
}

/// A signal's number in the protocol, which has its own for some.
fn protocol_signal(signal: i32) -> u8 {
    match signal {
        libc::SIGBUS => 10,
        libc::SIGUSR1 => 30,
        libc::SIGUSR2 => 31,
        libc::SIGCHLD => 20,
        libc::SIGCONT => 19,
        libc::SIGSTOP => 17,
        libc::SIGTSTP => 18,
        libc::SIGURG => 16,
        libc::SIGIO => 23,
        libc::SIGSYS => 12,
        other => u8::try_from(other).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_ids_of_process_and_task() {
        assert_eq!(thread_id(0), "p1.1");
        for (text, expected) in [
            ("p1.3", Some(Some(2))),
            ("a", Some(Some(9))),
            ("p1.-1", Some(None)),
            ("-1", Some(None)),
            ("0", Some(None)),
            ("", Some(None)),
            ("p1.zz", None),
            ("ffffffff", None),
        ] {
            assert_eq!(thread_number(text), expected, "{text}");
        }
    }

    #[test]
    fn conditions_are_cut_by_their_lengths() {
        assert_eq!(conditions("X3,2a0127;X1,27"), [vec![0x2a, 1, 0x27], vec![0x27]]);
        assert_eq!(conditions("X3,2a0127X1,27"), [vec![0x2a, 1, 0x27], vec![0x27]]);
        assert_eq!(conditions("Xz"), Vec::<Vec<u8>>::new());
        assert_eq!(conditions("X9,27"), Vec::<Vec<u8>>::new());
    }

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
