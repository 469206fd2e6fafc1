//! The ribbon beside the schedule: for each step, which share of the schedules that may follow it
//! fails. Counted and sampled shares look different.

use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::check::Check;
use replay_core::runner::Prospect;

/// The sign beside a step: which share of the schedules that begin like this one up to and including
/// the step fails.
pub(super) fn sign(model: &Model, check: Option<&Check>, step: usize) -> (&'static str, Role) {
    let Some(check) = check else { return (" ", Role::Dim) };
    if check.no_return.is_some_and(|found| found.step() == Some(step)) {
        return (if model.ascii { "#" } else { "◆" }, Role::Bad);
    }
    match check.prospect(step + 1) {
        Some(prospect) => of(prospect, model.ascii),
        None => (" ", Role::Dim),
    }
}

fn of(prospect: Prospect, ascii: bool) -> (&'static str, Role) {
    /// Eighths of all schedules, counted. The full block is only for all of them.
    const COUNTED: [&str; 9] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    const COUNTED_ASCII: [&str; 9] = [".", "1", "2", "3", "4", "5", "6", "7", "8"];
    /// Thirds of a sample.
    const SAMPLED: [&str; 4] = ["∙", "░", "▒", "▓"];
    const SAMPLED_ASCII: [&str; 4] = ["'", "-", "=", "%"];
    let Prospect { executions, failing, complete } = prospect;
    let executions = executions.max(1);
    if complete {
        let signs = if ascii { COUNTED_ASCII } else { COUNTED };
        let level = (failing * 8).div_ceil(executions).min(8);
        let level = if failing < executions { level.min(7) } else { level };
        let role = if level == 8 { Role::Bad } else { Role::Notice };
        return (signs[level as usize], role);
    }
    let signs = if ascii { SAMPLED_ASCII } else { SAMPLED };
    (signs[(failing * 3).div_ceil(executions).min(3) as usize], Role::Dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_and_sampled_shares_look_different_and_full_means_all() {
        let prospect = |failing, complete| Prospect { executions: 1000, failing, complete };
        for ascii in [false, true] {
            let mut seen = Vec::new();
            for complete in [true, false] {
                for failing in [0, 1, 400, 999, 1000] {
                    seen.push(of(prospect(failing, complete), ascii).0);
                }
            }
            let (counted, sampled) = seen.split_at(5);
            assert!(counted.iter().all(|sign| !sampled.contains(sign)), "{seen:?}");
            let full = counted[4];
            assert_eq!(seen.iter().filter(|sign| **sign == full).count(), 1, "{seen:?}");
        }
    }
}
