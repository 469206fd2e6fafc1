//! Progress lines of `shrink`, `bisect` and `narrow`.

use crate::progress::Line;
use crate::report::text::{count, grouped};
use replay_core::shrink::Size;
use replay_core::{bisect, narrow, shrink};

/// The progress line of `shrink`.
pub(super) struct ShrinkProgress<'a>(pub(super) Line<'a>);

impl shrink::ProgressObserver for ShrinkProgress<'_> {
    fn progress(&mut self, size: Size, trying: &str) {
        self.0.show(&shrinking(size, trying));
    }
}

/// The progress line of `bisect`.
pub(super) struct BisectProgress<'a>(pub(super) Line<'a>);

impl bisect::ProgressObserver for BisectProgress<'_> {
    fn progress(&mut self, runs: usize, passing: usize) {
        self.0.show(&bisecting(runs, passing));
    }
}

/// The progress line of `narrow`.
pub(super) struct NarrowProgress<'a>(pub(super) Line<'a>);

impl narrow::ProgressObserver for NarrowProgress<'_> {
    fn progress(&mut self, proposals: usize, executions: u64) {
        self.0.show(&narrowing(proposals, executions));
    }
}

fn shrinking(smallest: Size, trying: &str) -> String {
    format!("smallest so far: {}; trying {trying}", sizes(smallest))
}

fn bisecting(runs: usize, passing: usize) -> String {
    format!("{} similar to the failing one run, {passing} pass", count(runs as u64, "schedule"))
}

fn narrowing(proposals: usize, executions: u64) -> String {
    let predicates = count(proposals as u64, "predicate");
    format!("{predicates} compared in {}", count(executions, "execution"))
}

pub(super) fn sizes(size: Size) -> String {
    let switches = match size.switches {
        1 => "1 switch".to_owned(),
        many => format!("{} switches", grouped(many as u64)),
    };
    format!(
        "{}, {switches}, {}",
        count(size.preemptions as u64, "preemption"),
        count(size.steps as u64, "step")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_lines() {
        let size = |switches| Size { preemptions: 1, switches, steps: 1_200 };
        assert_eq!(
            shrinking(size(1), "fewer switches"),
            "smallest so far: 1 preemption, 1 switch, 1,200 steps; trying fewer switches"
        );
        assert_eq!(
            shrinking(size(3), "fewer switches"),
            "smallest so far: 1 preemption, 3 switches, 1,200 steps; trying fewer switches"
        );
        assert_eq!(bisecting(12, 3), "12 schedules similar to the failing one run, 3 pass");
        assert_eq!(narrowing(1, 2_000), "1 predicate compared in 2,000 executions");
    }
}
