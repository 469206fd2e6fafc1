//! gdb and lldb on a schedule, forwards and backwards.
//!
//! `process` is what is held: by ptrace, its fibers shown as threads. `execution` goes through an
//! execution of it, and back to any position. `session` is what a person does with that: steps,
//! seeks, changes, other schedules. `protocol` speaks of it with gdb and lldb, and `client` starts
//! one of them. Each uses those before it. `sight` needs no debugger: it looks at stacks and values at
//! the steps of an execution.
//!
//! One thread does all of it: ptrace wants the one that started the process.

pub mod client;
mod execution;
mod process;
mod protocol;
mod session;
mod sight;

use crate::{Error, Target};
use execution::position::Position;
use execution::{Execution, Reason, Stop};
use protocol::Listener;
use session::{Ended, Session};
pub use sight::{Seen, Sight, Stop as StopSight};
use std::sync::Arc;
use traces::Trace;

/// Where a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At main's first instruction.
    Main,
    /// Where the failure shows; at main where there is none.
    Failure,
    /// Where the execution is over.
    End,
    /// Where this step is about to begin, from 1.
    Step(u64),
}

/// A program on a schedule, and an address where debuggers find it.
pub struct Server {
    execution: Execution,
    listener: Listener,
    start: Start,
}

impl Server {
    /// Starts the program of a trace and opens the address: `PORT`, `HOST:PORT`, `unix:PATH`; port 0
    /// is any that is free.
    ///
    /// # Errors
    /// Where the program cannot be run or traced, or the address cannot be had.
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

    /// The address, as gdb wants to have it.
    #[must_use]
    pub fn address(&self) -> String {
        self.listener.address()
    }

    /// Serves debuggers, one after the other with `keep`, as long as `expected` says that one may
    /// come.
    ///
    /// # Errors
    /// Where the program cannot be run or traced any more.
    pub fn serve(&mut self, keep: bool, expected: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let mut stop = self.go_to_start()?;
        loop {
            let interrupt = self.execution.interrupt.clone();
            let connection = self
                .listener
                .accept(interrupt, expected)
                .map_err(Error::system("no debugger can be waited for"))?;
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
