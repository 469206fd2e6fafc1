//! The table of how soon a failure is found: real programs, and how soon other tools find what was
//! written from the same description.

use crate::heddle::Home;
use crate::targets::program;
use traces::report::Report;

/// A program of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The target.
    pub target: &'static str,
    /// Its arguments.
    args: &'static [&'static str],
    /// The fewest executions of any other tool: medians of 20.
    pub best: f64,
}

const fn row(target: &'static str, args: &'static [&'static str], best: f64) -> Row {
    Row { target, args, best }
}

/// Those for which a figure was published or measured: of a systematic tester that rebuilds programs,
/// and of random and bounded searches by libraries that a test has to be written for. Where both are
/// there, the lower one counts.
pub const ROWS: &[Row] = &[
    row("account", &[], 10.0),
    row("abba", &[], 2.0),
    row("order", &[], 8.0),
    row("work_stealing", &["4"], 4.5),
    row("twostage", &[], 4.0),
    row("twostage", &["1", "reader first"], 4.0),
    row("twostage", &["20"], 76.0),
    row("twostage", &["50"], 286.0),
    row("twostage", &["100"], 690.0),
    row("reorder", &["2"], 6.0),
    row("reorder", &["2", "checker first"], 6.0),
    row("reorder", &["3"], 23.0),
    row("reorder", &["4"], 12.0),
    row("reorder", &["9"], 27.0),
    row("reorder", &["9", "checker first"], 27.0),
    row("wronglock", &["1"], 2.0),
    row("wronglock", &["3"], 2.0),
    row("lost_update", &["2"], 2.0),
    row("pipe_release", &[], 2.0),
    row("thread_pool", &["2", "5"], 14.0),
    row("thread_pool", &["3", "5"], 18.0),
    row("thread_pool", &["4", "5"], 22.0),
    row("thread_pool", &["5", "5"], 25.0),
    row("downloader", &["2"], 3.0),
    row("downloader", &["5"], 14.0),
    row("downloader", &["10"], 24.0),
    row("compressor", &[], 2.0),
    row("compressor_joined", &[], 8.0),
    row("scanner", &[], 28.0),
];

impl Row {
    /// How it is called.
    #[must_use]
    pub fn name(&self) -> String {
        [&[self.target], self.args].concat().join(" ")
    }

    /// A search for its first failure, with these options.
    ///
    /// # Panics
    /// Where the program cannot be built, or the search has no report.
    #[must_use]
    pub fn explore(&self, options: &[&str]) -> Report {
        let home = Home::new();
        let path = program(self.target).build().expect("targets compile");
        let path = path.to_string_lossy().into_owned();
        let args = [&["explore", "--json", "--workers", "1"], options, &["--", &path]].concat();
        home.heddle(args.iter().chain(self.args)).report()
    }

    /// The first of the search's own executions that failed. (A failure that learning met as well has
    /// number 0.)
    #[must_use]
    pub fn first(report: &Report) -> Option<u64> {
        report.bugs.iter().map(|bug| bug.found_at).filter(|&at| at > 0).min()
    }
}
