//! Debugging a schedule with gdb or lldb, forwards and backwards.
//!
//! `process` is the traced process, whose fibers appear as threads. `execution` moves through an
//! execution of it to any position. `session` implements the user's commands: steps, seeks,
//! changes, other schedules. `protocol` talks to gdb and lldb, and `client` starts one of them.
//! Each module uses those before it. `described_origin` writes down
//! where a value came from. `inspector` needs no debugger: it reads stacks and values at
//! the steps of an execution.
//!
//! One thread does all of it, because ptrace requires the thread that started the process.

pub mod client;
mod dataflow;
mod described_origin;
mod execution;
mod inspector;
mod process;
mod protocol;
mod session;

use crate::{Error, Target};
pub use described_origin::{OriginEvent, OriginLine, OriginPlace, ValuePlace};
use execution::position::Position;
use execution::{Execution, Reason, Stop};
pub use inspector::{Evaluated, Inspector, StopInspector, ValueWrite};
use protocol::Listener;
use session::{Ended, Session};
use std::sync::Arc;
use traces::Trace;

/// The position where a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Main's first instruction.
    Main,
    /// The failure; main if there is none.
    Failure,
    /// The end of the execution.
    End,
    /// The choice of this step, from 1.
    Step(u64),
}

/// A program on a schedule, with an address for debuggers.
pub struct Server {
    execution: Execution,
    listener: Listener,
    start: Start,
}

impl Server {
    /// Starts the program of a trace and opens the address: `PORT` or `HOST:PORT` of the loopback
    /// interface (port 0 is any free port), `unix:PATH`, or nothing for a private socket.
    ///
    /// # Errors
    /// If the program cannot be run or traced, or the address cannot be used.
    pub fn start(
        target: &Target,
        trace: Trace,
        start: Start,
        address: &str,
    ) -> Result<Server, Error> {
        let listener = Listener::bind(address)?;
        let execution = Execution::start(target, trace, Arc::default())?;
        Ok(Server { execution, listener, start })
    }

    /// The address, in gdb's form.
    #[must_use]
    pub fn address(&self) -> String {
        self.listener.address()
    }

    /// Serves one debugger; with `keep`, one after the other, as long as `expected` returns true.
    ///
    /// # Errors
    /// If the program can no longer be run or traced.
    pub fn serve(&mut self, keep: bool, expected: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let mut stop = self.go_to_start()?;
        loop {
            let interrupt = self.execution.interrupt.clone();
            let connection = self
                .listener
                .accept(interrupt, expected)
                .map_err(Error::system("cannot wait for a debugger"))?;
            let Some(connection) = connection else { return Ok(()) };
            let session = Session::new(&mut self.execution, stop);
            let (ended, last) = protocol::serve(session, connection)?;
            if !keep {
                return Ok(());
            }
            stop = match ended {
                Ended::Detached if !matches!(last.reason, Reason::Gone(_)) => last,
                _ => self.go_to_start()?,
            };
        }
    }

    fn go_to_start(&mut self) -> Result<Stop, Error> {
        let failed = self.execution.trace.failure.is_some();
        let stop = match self.start {
            Start::Failure if failed => self.execution.go_to_failure()?,
            Start::Main | Start::Failure => self.execution.go_to(&Position::entry(0))?,
            Start::End => self.execution.go_to_end()?,
            Start::Step(step) => self.execution.go_to_step(step)?,
        };
        Ok(stop)
    }
}
