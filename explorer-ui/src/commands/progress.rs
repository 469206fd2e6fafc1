//! Progress lines of `shrink`, `bisect` and `narrow`.

use crate::progress::Line;
use crate::report::text::{count, grouped};
use replay_core::shrink::Size;
use replay_core::{bisect, narrow, shrink};

/// The progress line of `shrink`.
pub(super) struct ShrinkProgress<'a>(pub(super) Line<'a>);

impl shrink::ProgressObserver for ShrinkProgress<'_> {
    fn progress(&mut self, size: Size, trying: &str) {
        self.0.show(&format!("{}; trying {trying}", sizes(size)));
    }
}

/// The progress line of `bisect`.
pub(super) struct BisectProgress<'a>(pub(super) Line<'a>);

impl bisect::ProgressObserver for BisectProgress<'_> {
    fn progress(&mut self, runs: usize, passing: usize) {
        self.0
            .show(&format!("{} similar to it run, {passing} pass", count(runs as u64, "schedule")));
    }
}

/// The progress line of `narrow`.
pub(super) struct NarrowProgress<'a>(pub(super) Line<'a>);

impl narrow::ProgressObserver for NarrowProgress<'_> {
    fn progress(&mut self, proposals: usize, executions: u64) {
        self.0.show(&format!(
            "{} compared in {}",
            count(proposals as u64, "predicate"),
            count(executions, "execution")
        ));
    }
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
