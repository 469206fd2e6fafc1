//! Removes from a recorded trace the values of variables that the program does not read.

use super::execution::{Outcome, run_single, single_job};
use super::replay::{difference, plan};
use crate::control::environment_use;
use crate::{SearchOptions, Target};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::AtomicBool;
use traces::Trace;
use traces::trace::{EnvironmentUse, UNREAD};
use traces::wire::Job;

/// Replaces the values of variables that the program does not read, if the execution is the same
/// without them, which one more execution shows. Otherwise the trace keeps all values and says why.
///
/// `options` are those that the trace was recorded with.
pub fn reduce_environment(
    trace: &mut Trace,
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) {
    let header = &mut trace.header;
    let is_reduced = header.environment_use != EnvironmentUse::Unknown;
    if is_reduced || header.env.is_empty() || trace.execution.steps.is_empty() {
        return;
    }
    let names = header.env.iter().filter(|(_, value)| !value.is_empty());
    let names = names.map(|(name, _)| OsString::from_vec(name.clone()));
    let Some(unread) = environment_use::unread(names, &trace.execution.modules) else {
        header.environment_use = EnvironmentUse::Whole;
        return;
    };
    let without = Target {
        env: target.env.iter().cloned().map(|variable| replaced(variable, &unread)).collect(),
        ..target.clone()
    };
    let job = Job { plan: plan(trace), ..single_job(options) };
    let is_same = match run_single(&without, job, options, interrupt) {
        Ok(Outcome::Recorded(now)) => {
            difference(trace, &now).is_none() && trace.output == now.output
        }
        // Nothing is known about the program then.
        Ok(Outcome::Interrupted) => return,
        _ => false,
    };
    let header = &mut trace.header;
    if !is_same {
        header.environment_use = EnvironmentUse::Differs;
        return;
    }
    header.environment_use = EnvironmentUse::Named;
    for (name, value) in &mut header.env {
        if unread.contains(OsStr::from_bytes(name)) {
            value.fill(UNREAD);
            header.unread.push(String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// The variable, with another value of the same length if its name is one of these.
fn replaced(
    (name, value): (OsString, OsString),
    unread: &BTreeSet<OsString>,
) -> (OsString, OsString) {
    let value = match unread.contains(&name) {
        true => OsString::from_vec(vec![UNREAD; value.len()]),
        false => value,
    };
    (name, value)
}
