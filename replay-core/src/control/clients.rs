//! Records what the clients of a program do (`--client`), in an execution with the clients themselves.

use crate::control::command::{saved_clients, single_job};
use crate::control::ending::Ending;
use crate::control::worker::{Event, Worker};
use crate::{Error, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Granularity;
use traces::wire::{FoundFailure, Job, RecordedClient, RuntimeMessage};
use traces::{FailureKind, clients::Client};

/// Returns the options with what the program's clients do: runs the program once with the clients, unless it has none, or
/// that is known already. A resumed search has the clients that it had. Where clients run in each execution, that only
/// shows that they work.
///
/// # Errors
/// If the program cannot be run under control, or a client fails or does nothing.
pub fn record_clients(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<SearchOptions, Error> {
    if options.client_commands.is_empty() || !options.clients.is_empty() {
        return Ok(options.clone());
    }
    let clients = match options.resume {
        true => saved_clients(target, options)?,
        false => record(target, options, interrupt)?,
    };
    let clients = if options.live_clients { Vec::new() } else { clients };
    Ok(SearchOptions { clients, ..options.clone() })
}

/// Runs the program once with its clients.
fn record(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Vec<Client>, Error> {
    let job = Job {
        live: options.client_commands.clone(),
        points: Granularity::Api,
        full: false,
        ..single_job(options)
    };
    let mut found: Option<FoundFailure> = None;
    let mut recorded = None;
    let mut worker = Worker::start(target, job.clone(), options.spin_after)?;
    loop {
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(RuntimeMessage::Recorded(clients)) => recorded = Some(clients),
            Event::RuntimeMessage(RuntimeMessage::Found(news)) => found = Some(news),
            Event::Idle if interrupt.load(Relaxed) => break,
            Event::RuntimeMessage(_) | Event::Tick | Event::Idle => {}
            Event::Held => worker = Worker::start(target, job.clone(), options.spin_after)?,
            Event::Parked => {
                worker.channel().resume();
                break;
            }
            Event::Done => break,
            Event::Died(_) if worker.is_stopping() => break,
            Event::Died(Ending { how, .. }) => {
                return Err(Error::Runtime(format!(
                    "{} died while its clients were recorded: {how}",
                    target.program.display()
                )));
            }
        }
    }
    if interrupt.load(Relaxed) {
        return Err(Error::Runtime("interrupted".into()));
    }
    let recorded = recorded.unwrap_or_default();
    match problem(&recorded, found.as_ref()) {
        Some(what) => Err(Error::Target(what)),
        None => Ok(recorded.into_iter().map(|it| it.client).collect()),
    }
}

/// Why what was recorded cannot be used. `found`: how the execution failed.
fn problem(recorded: &[RecordedClient], found: Option<&FoundFailure>) -> Option<String> {
    let unsupported =
        found.filter(|found| found.kind == FailureKind::Unsupported).map(|found| &found.detail);
    let named =
        |number: usize| format!("client {} (`{}`)", number + 1, recorded[number].client.command);
    if recorded.is_empty() {
        return Some(match unsupported {
            Some(what) => format!("the clients could not be recorded: {what}"),
            None if let Some(found) = found => failed_first("it listened for connections", found),
            None => "the program ended before it listened for connections: its clients (--client) were not \
                     started"
                .to_owned(),
        });
    }
    for (number, it) in recorded.iter().enumerate() {
        if let Some(status) = it.status.filter(|status| *status != 0) {
            return Some(format!(
                "{} ended with status {status} when its connections were recorded: run the command beside \
                 the program without Heddle first",
                named(number)
            ));
        }
        let crash = found.filter(|found| found.kind == FailureKind::Crash);
        let ending = it
            .client
            .signals()
            .find(|signal| crash.is_some_and(|found| found.number == i32::from(*signal)));
        if let Some(signal) = ending {
            return Some(format!(
                "{} sent signal {signal}, which ended the program: it had no handler for it, and did not \
                 block it",
                named(number)
            ));
        }
        if it.client.actions.is_empty() && unsupported.is_none() {
            let named = named(number);
            return Some(match (it.status, found) {
                (None, Some(found)) => failed_first(&format!("{named} made a connection"), found),
                (None, None) => {
                    format!(
                        "the program ended before {named} made a connection to a stream socket of it"
                    )
                }
                (Some(_), _) => format!(
                    "{named} made no connection to a stream socket of the program, and sent it no signal: \
                     check the address that it uses"
                ),
            });
        }
    }
    unsupported.map(|what| format!("the clients could not be recorded: {what}"))
}

/// The program failed before this.
fn failed_first(what: &str, found: &FoundFailure) -> String {
    let how = match (found.kind, found.detail.as_str()) {
        (FailureKind::Exit, "") => format!("exit status {}", found.number),
        (kind, "") => kind.to_string(),
        (kind, detail) => format!("{kind}: {detail}"),
    };
    format!("the program failed before {what} ({how}): `heddle run` without --client shows how")
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::clients::{Action, ActionKind, Answer};

    fn recorded(status: Option<i32>, connects: bool) -> RecordedClient {
        let connect = Action { received: Vec::new(), kind: ActionKind::Connect(vec![2, 0]) };
        let (actions, answers) = match connects {
            true => (vec![connect], vec![Answer::default()]),
            false => (Vec::new(), Vec::new()),
        };
        RecordedClient {
            status,
            client: Client {
                command: "ask".into(),
                actions,
                answers,
                saw_end: false,
                together: false,
                waits: false,
                failed: 0,
            },
        }
    }

    #[test]
    fn clients_that_fail_or_do_nothing_are_named() {
        assert_eq!(problem(&[recorded(Some(0), true)], None), None);
        // The program ended first.
        assert_eq!(problem(&[recorded(None, true)], None), None);
        let cases = [
            (
                &[recorded(Some(0), true), recorded(Some(7), true)][..],
                None,
                "client 2 (`ask`) ended with status 7 when its connections were recorded: run the command \
                 beside the program without Heddle first",
            ),
            (
                &[recorded(Some(0), false)],
                None,
                "client 1 (`ask`) made no connection to a stream socket of the program, and sent it no \
                 signal: check the address that it uses",
            ),
            (
                &[],
                None,
                "the program ended before it listened for connections: its clients (--client) were not \
                 started",
            ),
            (
                &[recorded(None, false)],
                None,
                "the program ended before client 1 (`ask`) made a connection to a stream socket of it",
            ),
        ];
        for (all, found, expected) in cases {
            assert_eq!(problem(all, found).as_deref(), Some(expected));
        }
    }
}
