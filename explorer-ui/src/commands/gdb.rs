//! `heddle gdb`.

use super::runtime::target;
use super::trace_program::TraceProgram;
use crate::cli::arguments::GdbArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::text::quote;
use replay_core::debug::client::{self, Debugger};
use replay_core::debug::{Server, Start};
use replay_core::{Error, SearchOptions, StrategyChoice, Target, store};
use std::ffi::OsString;
use std::path::Path;
use traces::{FailureKind, Trace};

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, the program cannot be run or traced, or no debugger is installed.
pub fn main(args: &GdbArgs, console: &Console) -> Result<Status, Problem> {
    let (target, trace) = target_and_schedule(args, console)?;
    let start = args.at.unwrap_or(match args.trace {
        Some(_) => Start::Failure,
        None => Start::Main,
    });
    if let Start::Step(step) = start
        && step > trace.execution.steps.len() as u64
    {
        let steps = trace.execution.steps.len();
        return Err(Problem::Usage(format!("--at {step}: the schedule has only {steps} steps")));
    }
    match &args.server {
        Some(address) => serve(&target, trace, start, address, args.keep, console),
        None => debug(args, &target, trace, start),
    }
}

/// Runs `heddle gdbinit`.
///
/// # Errors
/// If standard output cannot be written.
pub fn print_helper(lldb: bool, console: &Console) -> Result<Status, Problem> {
    let debugger = if lldb { Debugger::Lldb } else { Debugger::Gdb };
    console.print(&client::script(debugger))?;
    Ok(Status::Fine)
}

/// The target and the schedule.
fn target_and_schedule(args: &GdbArgs, console: &Console) -> Result<(Target, Trace), Problem> {
    let Some(path) = &args.trace else {
        let target = target(&args.command, false, None, console)?;
        let options =
            SearchOptions { strategy: StrategyChoice::NON_PREEMPTIVE, ..SearchOptions::default() };
        let mut line = Line::new(console, false);
        let trace = interrupt::during(|interrupted| {
            let options = replay_core::record_clients(&target, &options, interrupted)?;
            let learned = replay_core::learn(&target, &options, interrupted, &mut line)?;
            let options = SearchOptions { fail_on: FailureKind::ALL.to_vec(), ..learned };
            replay_core::run(&target, &options, interrupted)
        })?;
        return Ok((target, trace));
    };
    let loaded = store::load(path)?;
    let trace_program = TraceProgram { trace: path, yes: args.yes, command: &args.command };
    let target = trace_program.recorded(&loaded, console)?;
    Ok((target, loaded.trace))
}

/// Serves a debugger that the user or an editor starts.
///
/// # Errors
/// If the program cannot be run or traced, or the address is not available.
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
    // Test first whether the debugger exists.
    let named = args.debugger.as_deref();
    debugger.command(named, &target.program, "", &[])?;
    let mut server = Server::start(target, trace, start, "")?;
    let mut command = debugger.command(named, &target.program, &server.address(), &more)?;
    interrupt::leave_to_debugger();
    let mut child = command
        .env("HEDDLE_DEBUG", "1")
        .spawn()
        .map_err(|error| Error::Usage(format!("cannot start {}: {error}", debugger.name())))?;
    let served = server.serve(true, &mut || matches!(child.try_wait(), Ok(None)));
    let status = child.wait();
    served?;
    match status {
        Ok(status) if status.success() => Ok(Status::Fine),
        _ => Ok(Status::Usage),
    }
}
