//! `heddle gdb`.

use super::chosen::Chosen;
use super::target;
use crate::cli::GdbArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::views::text::quote;
use replay_core::debug::client::{self, Debugger};
use replay_core::debug::{Server, Start};
use replay_core::{Error, SearchOptions, StrategyName, Target, store};
use std::ffi::OsString;
use std::path::Path;
use traces::{FailureKind, Trace};

/// Runs the verb.
///
/// # Errors
/// Where the trace is no good, the program cannot be run or traced, or there is no debugger.
pub fn main(args: &GdbArgs, console: &Console) -> Result<Status, Problem> {
    let (target, trace) = what(args, console)?;
    let start = args.at.unwrap_or(match args.trace {
        Some(_) => Start::Failure,
        None => Start::Main,
    });
    if let Start::Step(step) = start
        && step > trace.execution.steps.len() as u64
    {
        let steps = trace.execution.steps.len();
        return Err(Problem::Usage(format!("--at {step}: the schedule has {steps} steps")));
    }
    match &args.server {
        Some(address) => serve(&target, trace, start, address, args.keep, console),
        None => debug(args, &target, trace, start),
    }
}

/// What `heddle gdbinit` prints.
///
/// # Errors
/// Where it cannot be written.
pub fn print_helper(lldb: bool, console: &Console) -> Result<Status, Problem> {
    console.print(if lldb { client::LLDB_HELPER } else { client::GDB_HELPER })?;
    Ok(Status::Fine)
}

/// The schedule that is asked for, and the program.
fn what(args: &GdbArgs, console: &Console) -> Result<(Target, Trace), Problem> {
    let Some(path) = &args.trace else {
        let target = target(&args.command)?;
        let plainly = SearchOptions { strategy: StrategyName::Default, ..SearchOptions::default() };
        let mut line = Line::new(console, false);
        let trace = interrupt::during(|interrupted| {
            let learned = replay_core::learn(&target, &plainly, interrupted, &mut line)?;
            let options = SearchOptions { fail_on: FailureKind::ALL.to_vec(), ..learned };
            replay_core::run(&target, &options, interrupted)
        })?;
        return Ok((target, trace));
    };
    let loaded = store::load(path)?;
    let chosen = Chosen { trace: path, yes: args.yes, command: &args.command };
    let target = chosen.recorded(&loaded, console)?;
    Ok((target, loaded.trace))
}

/// Waits for a debugger that somebody else starts.
///
/// # Errors
/// Where the program cannot be run or traced, or the address cannot be had.
pub(super) fn serve(
    target: &Target,
    trace: Trace,
    start: Start,
    address: &str,
    keep: bool,
    console: &Console,
) -> Result<Status, Problem> {
    interrupt::end_at_once();
    let mut server = Server::start(target, trace, start, address)?;
    let address = server.address();
    for debugger in [Debugger::Gdb, Debugger::Lldb] {
        let helper = debugger.helper()?;
        let line = command_line(debugger, &target.program, &address, &helper);
        console.print(&format!("{line}\n"))?;
    }
    server.serve(keep, &mut || true)?;
    Ok(Status::Fine)
}

fn command_line(debugger: Debugger, program: &Path, address: &str, helper: &Path) -> String {
    let arguments = debugger.arguments(program, address, helper);
    let words = arguments.iter().map(|argument| quote(&argument.to_string_lossy()));
    std::iter::once(debugger.name().to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Starts a debugger and serves it.
fn debug(args: &GdbArgs, target: &Target, trace: Trace, start: Start) -> Result<Status, Problem> {
    let debugger = if args.lldb { Debugger::Lldb } else { Debugger::Gdb };
    let mut more: Vec<OsString> = Vec::new();
    for file in &args.commands {
        let option = if args.lldb { "-s" } else { "-x" };
        more.extend([option.into(), file.clone().into_os_string()]);
    }
    more.extend(args.with.iter().cloned());
    // Before anything runs: without a debugger nothing else is of use.
    let named = args.debugger.as_deref();
    debugger.command(named, &target.program, "", &[])?;
    let mut server = Server::start(target, trace, start, "127.0.0.1:0")?;
    let mut command = debugger.command(named, &target.program, &server.address(), &more)?;
    interrupt::leave();
    let mut child = command
        .env("HEDDLE_DEBUG", "1")
        .spawn()
        .map_err(|error| Error::Usage(format!("{} cannot be started: {error}", debugger.name())))?;
    let served = server.serve(true, &mut || matches!(child.try_wait(), Ok(None)));
    let status = child.wait();
    served?;
    match status {
        Ok(status) if status.success() => Ok(Status::Fine),
        _ => Ok(Status::Usage),
    }
}
