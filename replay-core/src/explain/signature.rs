//! Describes a failure: a message of one line, and a signature that is equal for all executions
//! that fail in the same way.

use super::{library_calls, locks};
use traces::wire::FoundFailure;
use traces::{Execution, Failure, FailureKind, Operation, TaskId};

/// The message for the user.
pub(crate) fn message(found: &FoundFailure, failure: &Failure, execution: &Execution) -> String {
    let detail = found.detail.as_str();
    // The object that the runtime referred to by number.
    let object = |otherwise: &'static str| {
        let index = usize::try_from(found.number).ok().and_then(|number| number.checked_sub(1));
        let object = index.and_then(|index| execution.objects.get(index));
        object.map_or(otherwise, |object| object.name.as_str())
    };
    let who = failure.task.map(|task| task.to_string()).unwrap_or_default();
    match found.kind {
        FailureKind::Deadlock | FailureKind::BarrierCount | FailureKind::ReadRecursion => {
            let inferred = locks::inferred_locks(execution);
            let all: Vec<String> = failure
                .waits
                .iter()
                .map(|edge| {
                    let plain = edge
                        .object
                        .and_then(|index| execution.objects.get(index as usize))
                        .map_or_else(
                            || wait_without_object(edge.task, execution),
                            |object| object.name.as_str(),
                        );
                    let is_inferred = edge.object.is_some_and(|object| inferred.contains(&object));
                    let object = match is_inferred {
                        true => format!("{} {plain}", locks::INFERRED),
                        false => plain.to_owned(),
                    };
                    match edge.holder {
                        None if let Some(what) =
                            library_calls::awaited(execution, &failure.stacks, edge) =>
                        {
                            format!("{} waits for {what}", edge.task)
                        }
                        Some(holder) if holder == edge.task => {
                            format!("{} waits for {object}, which it holds itself", edge.task)
                        }
                        Some(holder) if object == holder.to_string() => {
                            format!("{} waits for {holder} to end", edge.task)
                        }
                        Some(writer) if locks::waits_to_write(execution, writer, edge.object) => {
                            format!(
                                "{} waits for {object}, which {writer} waits to write",
                                edge.task
                            )
                        }
                        Some(holder) => {
                            format!("{} waits for {object}, held by {holder}", edge.task)
                        }
                        None => format!("{} waits for {object}", edge.task),
                    }
                })
                .collect();
            match detail {
                "" => all.join("; "),
                detail => format!("{}; {detail}", all.join("; ")),
            }
        }
        FailureKind::SelfDeadlock => {
            let object = failure
                .waits
                .first()
                .and_then(|edge| edge.object)
                .and_then(|index| execution.objects.get(index as usize))
                .map_or("a lock", |object| object.name.as_str());
            format!("{who} waits for {object}, which it holds itself")
        }
        FailureKind::Exit if detail.is_empty() => format!("exit status {}", found.number),
        FailureKind::Crash if found.number == 0 || !detail.is_empty() => detail.to_owned(),
        FailureKind::Crash => {
            let name = signal_name(found.number);
            match found.number {
                libc::SIGSEGV | libc::SIGBUS => {
                    format!("{name} at address {}", address(found.fault))
                }
                _ => name.to_owned(),
            }
        }
        FailureKind::StackOverflow => format!("{who} overflowed its stack"),
        FailureKind::Spin => {
            format!("{who} runs without reaching a scheduling point")
        }
        FailureKind::Abort if detail.is_empty() => "abort was called".to_owned(),
        FailureKind::Unsupported => format!("not supported yet: {detail}"),
        FailureKind::LockLeftHeld => {
            format!("{who} ended and left {} locked, taken", object("a lock"))
        }
        FailureKind::Race => {
            let object = object("memory");
            format!("nothing orders two accesses to {object}: {detail} at {}", failure.place)
        }
        _ => detail.to_owned(),
    }
}

/// What a task waits for if that is not an object.
fn wait_without_object(task: TaskId, execution: &Execution) -> &'static str {
    let pending = execution.tasks.get(task.index()).and_then(|task| task.pending);
    match pending.map(|next| next.operation) {
        Some(Operation::SignalWait) => "a signal",
        _ => "something",
    }
}

/// A small address is meaningful (a null pointer plus an offset); a large one differs from run to
/// run.
fn address(fault: u64) -> String {
    if fault < 1 << 16 { format!("0x{fault:x}") } else { "outside its memory".to_owned() }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE (a division by zero)",
        libc::SIGILL => "SIGILL (an invalid instruction)",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL, which it sent itself",
        libc::SIGTERM => "SIGTERM, which it sent itself",
        libc::SIGHUP => "SIGHUP, which it sent itself",
        libc::SIGINT => "SIGINT, which it sent itself",
        libc::SIGPIPE => "SIGPIPE (a pipe or socket without a reader)",
        _ => "a fatal signal",
    }
}

/// The kind and code locations of the failure, without anything that differs between equal
/// failures.
pub(crate) fn signature(found: &FoundFailure, failure: &Failure, execution: &Execution) -> String {
    let mut parts = vec![found.kind.name().to_owned()];
    match found.kind {
        FailureKind::Exit if !found.detail.is_empty() => parts.push(found.detail.clone()),
        FailureKind::Exit => parts.push(found.number.to_string()),
        kind if kind.is_deadlock() => {
            let mut places: Vec<String> = failure
                .waits
                .iter()
                .map(|edge| {
                    edge.site.map(|site| innermost_user_site(failure, execution, edge.task, site))
                })
                .map(Option::unwrap_or_default)
                .collect();
            places.sort();
            parts.extend(places);
        }
        FailureKind::Unsupported => parts.push(found.detail.clone()),
        // Where the loop was interrupted differs from execution to execution.
        FailureKind::Spin => parts.extend(last_step_place(failure.task, execution)),
        // The predicate, without the tasks that satisfied it.
        FailureKind::Satisfied => {
            let predicate = found.detail.rsplit_once(" (T").map(|(text, _)| text);
            parts.push(predicate.unwrap_or(&found.detail).to_owned());
        }
        // The condition, without the task that broke it.
        FailureKind::BrokenCondition => {
            let condition = found.detail.split_once(" breaks ").map(|(_, text)| text);
            parts.push(condition.unwrap_or(&found.detail).to_owned());
            parts.push(failure.place.clone());
        }
        FailureKind::SignalUnsafe | FailureKind::ThreadMisuse => {
            parts.push(found.detail.clone());
            parts.push(failure.place.clone());
        }
        kind if kind.is_lock_misuse() => {
            parts.push(found.detail.clone());
            parts.push(failure.place.clone());
        }
        _ => parts.push(failure.place.clone()),
    }
    parts.join(" ")
}

/// Where a task made its last step.
fn last_step_place(task: Option<TaskId>, execution: &Execution) -> Option<String> {
    let step = execution.steps.iter().rfind(|step| Some(step.task) == task)?;
    Some(format!("after {}", execution.place(step.site)))
}

/// The innermost user frame of a waiting task, or its site.
fn innermost_user_site(
    failure: &Failure,
    execution: &Execution,
    task: traces::TaskId,
    site: traces::Site,
) -> String {
    let stack = failure.stacks.iter().find(|stack| stack.task == task);
    let own = stack.and_then(|stack| {
        stack
            .frames
            .iter()
            .find(|frame| !frame.file.is_empty() && !crate::symbols::is_library(&frame.file))
    });
    own.map_or_else(|| execution.place(site), traces::Frame::place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_and_addresses_are_named() {
        for (signal, name) in [
            (libc::SIGSEGV, "SIGSEGV"),
            (libc::SIGBUS, "SIGBUS"),
            (libc::SIGFPE, "SIGFPE (a division by zero)"),
            (libc::SIGILL, "SIGILL (an invalid instruction)"),
            (libc::SIGTRAP, "SIGTRAP"),
            (libc::SIGKILL, "SIGKILL, which it sent itself"),
            (libc::SIGTERM, "SIGTERM, which it sent itself"),
            (libc::SIGHUP, "SIGHUP, which it sent itself"),
            (libc::SIGINT, "SIGINT, which it sent itself"),
            (libc::SIGPIPE, "SIGPIPE (a pipe or socket without a reader)"),
            (libc::SIGXCPU, "a fatal signal"),
        ] {
            assert_eq!(signal_name(signal), name);
        }
        assert_eq!(address(0x10), "0x10");
        assert_eq!(address(0x7fff_0000_0000), "outside its memory");
    }
}
