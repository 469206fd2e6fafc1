//! The ribbon beside the schedule: for each step, which share of the schedules that may follow it
//! fails.

use crate::report::forecast;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::check::Check;

/// The sign beside a step: which share of the schedules that begin like this one up to and including
/// the step fails.
pub(super) fn sign(model: &Model, check: Option<&Check>, step: usize) -> (&'static str, Role) {
    let Some(check) = check else { return (" ", Role::Dim) };
    if check.forecast.no_return.is_some_and(|found| found.step() == Some(step)) {
        return (if model.ascii { "#" } else { "◆" }, Role::Bad);
    }
    let Some(prospect) = check.forecast.after(step + 1) else { return (" ", Role::Dim) };
    let role = match prospect.complete {
        true if prospect.is_lost() => Role::Bad,
        true => Role::Notice,
        false => Role::Dim,
    };
    (forecast::sign(prospect, model.ascii), role)
}
