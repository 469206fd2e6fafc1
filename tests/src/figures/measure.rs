//! Times of executions, without the start of the program and the learning phase.

use crate::heddle::Home;
use traces::report::Report;

/// Seconds that differ by more than what the start of a search varies.
const ENOUGH: f64 = 0.4;

/// A search of a program with one worker.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Where it runs.
    pub home: &'a Home,
    /// Options of `explore`, beside the limit on executions.
    pub options: &'a [&'a str],
    /// The program with its arguments.
    pub command: &'a [&'a str],
}

impl Search<'_> {
    /// Its report after so many executions.
    #[must_use]
    pub fn run(&self, executions: u64) -> Report {
        let number = executions.to_string();
        let always = ["--workers", "1", "--max-executions", &number];
        self.home.explore(&[&always[..], self.options].concat(), self.command)
    }

    /// Seconds for an execution: the time that a search takes more than a short one, by its additional
    /// executions. The least of several measurements, since other load of the machine only adds to one.
    /// Begins with this number of executions, and has more until they take long enough to be measured.
    /// `None` if the search is over before that.
    #[must_use]
    pub fn seconds_each(&self, executions: u64, times: u32) -> Option<f64> {
        let least = |executions: u64| {
            let reports = (0..times.max(1)).map(|_| self.run(executions));
            let time = |report: Report| (report.elapsed_s, report.executions);
            reports.map(time).min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, 0))
        };
        let (begun, few) = least((executions / 100).max(2));
        let mut wanted = executions;
        loop {
            let (took, many) = least(wanted);
            let (more, additional) = (took - begun, many.saturating_sub(few));
            if more >= ENOUGH || (many < wanted && more > 0.2 * begun) {
                return Some(more / additional.max(1) as f64);
            }
            if many < wanted {
                return None;
            }
            wanted *= 4;
        }
    }
}

/// The median; of an even number of values the mean of the two in the middle, as in published
/// tables. `None` stands for a value beyond the limit: "-" if the median is one.
#[must_use]
pub fn median(all: &[Option<u64>]) -> String {
    let mut all: Vec<u64> = all.iter().map(|value| value.unwrap_or(u64::MAX)).collect();
    all.sort_unstable();
    let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
    match high {
        u64::MAX => "-".to_owned(),
        _ if (low + high) % 2 == 1 => format!("{}.5", (low + high) / 2),
        _ => ((low + high) / 2).to_string(),
    }
}
