//! The table of `monitor` commands: the dispatch, `monitor help`, and the `sched` commands of the
//! scripts for gdb and lldb follow from it.

use super::stop_on::StopOn;
use super::{Seek, Session};
use crate::Error;
use std::fmt::Write;
use std::ops::Deref;

/// Why a command gives no answer.
pub(super) enum Refusal {
    /// Its arguments are wrong.
    Arguments,
    /// It failed.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error)
    }
}

type Answer = Result<String, Refusal>;
type Run = fn(&mut Session<'_>, &Arguments<'_>) -> Answer;

/// The arguments of a command.
struct Arguments<'a> {
    words: Vec<&'a str>,
    /// All of them, with the space between.
    text: &'a str,
}

impl<'a> Deref for Arguments<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &[&'a str] {
        &self.words
    }
}

/// What a command does, for the scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It only prints something.
    Query,
    /// It changes the position.
    Move,
    /// It is part of the scripts, and in no help text.
    Internal,
}

/// A `monitor` command.
struct Command {
    name: &'static str,
    /// Its arguments, as in the help.
    arguments: &'static str,
    help: &'static str,
    kind: Kind,
    run: Run,
}

const fn query(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: Run,
) -> Command {
    Command { name, arguments, help, kind: Kind::Query, run }
}

const fn moves(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: Run,
) -> Command {
    Command { name, arguments, help, kind: Kind::Move, run }
}

const fn internal(name: &'static str, run: Run) -> Command {
    Command { name, arguments: "", help: "", kind: Kind::Internal, run }
}

/// Requests a move. It is executed when the program is resumed, or at once by the scripts.
fn seek(session: &mut Session<'_>, seek: Seek) -> Answer {
    Ok(session.seek(seek))
}

/// All commands, in the order of the help. A line for each: name, arguments, help, what it runs.
const COMMANDS: &[Command] = &[
    moves(
        "when",
        "[PREDICATE|again]",
        "the position; or a search: go to where the predicate is satisfied",
        |s, a| Ok(s.when_or_search(a.text)?),
    ),
    query("who", "[OBJECT]", "which task holds a lock, and which tasks wait for it", |s, a| {
        Ok(s.who(a.first().copied()))
    }),
    query("why", "[TASK]", "why a task is blocked", |s, a| Ok(s.why(a.first().copied())?)),
    query(
        "list",
        "[A [B]]",
        "the schedule around the current step, or from step A to B",
        |s, a| Ok(s.list(a)),
    ),
    query("threads", "", "every task with its next operation", |s, _| Ok(s.list_threads()?)),
    query("enabled", "", "the enabled tasks", |s, _| Ok(s.enabled()?)),
    query("preemptions", "", "the steps that preempt an enabled task", |s, _| Ok(s.preemptions())),
    query("hb", "", "the steps before, concurrent with and after the next step", |s, _| {
        Ok(s.happens_before())
    }),
    query("history", "EXPRESSION", "every write to it: step, task, place, value", |s, a| {
        Ok(s.history_of(a).ok_or(Refusal::Arguments)??)
    }),
    query("origin", "EXPRESSION", "where its value came from, through copies", |s, a| {
        Ok(s.origin_of(a).ok_or(Refusal::Arguments)??)
    }),
    query("schedule", "", "the tasks of all steps, on one line", |s, _| Ok(s.schedule())),
    query("output", "", "the program's output so far", |s, _| Ok(s.program_output())),
    query("diverge", "", "what happens to a change of memory or registers", |s, _| {
        Ok(s.describe_change())
    }),
    moves("goto", "POSITION", "go to a step, `start`, `end`, `failure`, or a position", |s, a| {
        let [position] = a[..] else { return Err(Refusal::Arguments) };
        Ok(s.seek_to(position))
    }),
    moves("next", "", "go to the next preemption", |s, _| seek(s, Seek::Next)),
    moves("prev", "", "go to the previous preemption", |s, _| seek(s, Seek::Previous)),
    moves("back", "", "return to the position before the last of these commands", |s, _| {
        Ok(s.go_in_history(true))
    }),
    moves("forward", "", "return to the position before the last `back`", |s, _| {
        Ok(s.go_in_history(false))
    }),
    query("stop-on", "WHAT", "stop at each preempt, switch, or step; `off`: at none", |s, a| {
        let [what] = a[..] else { return Err(Refusal::Arguments) };
        s.stop_on = StopOn::named(what).ok_or(Refusal::Arguments)?;
        Ok(String::new())
    }),
    moves("pick", "TASK", "let another task run next: `pick T2`; `pick back` returns", |s, a| {
        let ["back"] = a[..] else { return s.pick_named(a).ok_or(Refusal::Arguments) };
        seek(s, Seek::Rejoin)
    }),
    moves("explore", "", "search from here, and go to the first failure found", |s, _| {
        seek(s, Seek::Explore)
    }),
    moves("keep", "", "make the last change of memory part of another schedule", |s, _| {
        Ok(s.keep_changes()?)
    }),
    query("save", "[FILE]", "save the current schedule as a trace", |s, a| {
        Ok(s.save(a.first().copied())?)
    }),
    query("checkpoint", "", "save this position: `restart N` goes there", |s, _| {
        Ok(s.checkpoint()?)
    }),
    query("checkpoints", "", "list the saved positions", |s, _| Ok(s.checkpoints())),
    query("delete", "N", "delete a saved position", |s, a| {
        let [number] = a[..] else { return Err(Refusal::Arguments) };
        Ok(s.delete(number))
    }),
    moves("restart", "N", "go to a saved position", |s, a| {
        let [number] = a[..] else { return Err(Refusal::Arguments) };
        Ok(s.restart_at(number))
    }),
    moves("reverse", "step|continue", "go back by an instruction, or to the last event", |s, a| {
        match a.first() {
            Some(&"step") => seek(s, Seek::StepBack),
            Some(&"continue") => seek(s, Seek::ResumeBack),
            _ => Err(Refusal::Arguments),
        }
    }),
    internal("shown", |s, _| Ok(s.is_shown())),
    internal("help", |_, _| Ok(help())),
    internal("position", |s, _| Ok(format!("{}\n", s.execution.at))),
    internal("task", |s, _| Ok(format!("{}\n", s.stop.task))),
    internal("objects", |s, _| Ok(s.object_names())),
    internal("back-through", |s, a| {
        s.go_back_through(a).ok_or(Refusal::Arguments)?;
        Ok(String::new())
    }),
    internal("cancel", |s, _| {
        s.seek = None;
        Ok(String::new())
    }),
];

/// Executes a command and returns its answer.
pub(super) fn run(session: &mut Session<'_>, line: &str) -> String {
    let line = line.trim();
    let (name, text) = line.split_once(|it: char| it.is_ascii_whitespace()).unwrap_or((line, ""));
    let name = if name.is_empty() { "help" } else { name };
    let arguments = Arguments { words: text.split_ascii_whitespace().collect(), text: text.trim() };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return format!("no such command: {line}\n{}", help());
    };
    match (command.run)(session, &arguments) {
        Ok(answer) => answer,
        Err(Refusal::Arguments) => format!("wrong arguments: {line}\n{}", command.line()),
        Err(Refusal::Failed(error)) => format!("{error}\n"),
    }
}

impl Command {
    /// Its line of the help.
    fn line(&self) -> String {
        let usage = format!("{} {}", self.name, self.arguments);
        format!("{usage:<22} {}\n", self.help)
    }
}

fn listed() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.kind != Kind::Internal)
}

fn help() -> String {
    let mut text: String = listed().map(Command::line).collect();
    text.push_str(
        "A command that moves does so when the program is resumed next: enter `stepi` or\n\
         `thread step-inst -m all-threads` after it. In gdb, `sched` commands do both.\n",
    );
    text
}

/// The table in Python: for each command its name, its help, and whether it moves.
pub(in crate::debug) fn python_table() -> String {
    let mut text = "COMMANDS = (\n".to_owned();
    for command in listed() {
        let usage = format!("sched {} {}", command.name, command.arguments);
        // lldb evaluates what is in backticks.
        let help = format!("{}: {}.", usage.trim_end(), command.help).replace('`', "'");
        let moves = if command.kind == Kind::Move { "True" } else { "False" };
        let _ = writeln!(text, "    ({:?}, {help:?}, {moves}),", command.name);
    }
    text + ")\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_helps_fit_on_a_line() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS[..at].iter().all(|other| other.name != command.name));
            assert!(command.line().len() <= 90, "{}", command.line());
        }
    }

    #[test]
    fn the_table_is_valid_python() {
        // A string in Rust's notation is one in Python's if it is plain ASCII.
        assert!(python_table().is_ascii());
        assert!(python_table().contains("    (\"delete\", \"sched delete N: delete a saved"));
    }
}
