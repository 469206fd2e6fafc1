//! The ribbon beside the schedule: for each step, which share of the schedules that may follow it
//! fails.

use crate::report::forecast;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::check::Check;
use std::ops::Range;

/// The sign beside a line of steps: which share of the schedules that begin like this one up to and
/// including the last of the steps fails. The mark of the point of no return precedes it.
pub(super) fn sign(
    model: &Model,
    check: Option<&Check>,
    steps: Range<usize>,
) -> (&'static str, Role) {
    let Some(check) = check else { return (" ", Role::Dim) };
    let lost = check.forecast.no_return.and_then(|found| found.step());
    if lost.is_some_and(|lost| steps.contains(&lost)) {
        return (if model.ascii { "#" } else { "◆" }, Role::Bad);
    }
    let Some(prospect) = check.forecast.latest(steps.start + 1..=steps.end) else {
        return (" ", Role::Dim);
    };
    let role = match prospect.complete {
        true if prospect.is_lost() => Role::Bad,
        true => Role::Notice,
        false => Role::Dim,
    };
    (forecast::sign(prospect, model.ascii), role)
}
