//! The table of executions to the first failure: real programs, compared with other tools on
//! programs written from the same description.

use crate::heddle::{Home, run};
use crate::hostile::BOUND;
use crate::targets::{Program, program};
use traces::report::Report;

/// A program of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The target.
    pub target: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// The maximum number of tasks, including main.
    pub threads: u32,
    /// The fewest executions of any other tool: medians of 20.
    pub best: f64,
}

const fn row(target: &'static str, args: &'static [&'static str], threads: u32, best: f64) -> Row {
    Row { target, args, threads, best }
}

/// The programs with published or measured figures: of a systematic tester that rebuilds programs,
/// and of random and bounded searches by libraries for which a test must be written. If both exist,
/// the lower one is used.
pub const ROWS: &[Row] = &[
    row("account", &[], 4, 10.0),
    row("abba", &[], 3, 2.0),
    row("order", &[], 4, 8.0),
    row("work_stealing", &["4"], 4, 4.5),
    row("twostage", &[], 3, 4.0),
    row("twostage", &["1", "reader first"], 3, 4.0),
    row("twostage", &["20"], 22, 76.0),
    row("twostage", &["50"], 52, 286.0),
    row("twostage", &["100"], 102, 690.0),
    row("reorder", &["2"], 4, 6.0),
    row("reorder", &["2", "checker first"], 4, 6.0),
    row("reorder", &["3"], 5, 23.0),
    row("reorder", &["4"], 6, 12.0),
    row("reorder", &["9"], 11, 27.0),
    row("reorder", &["9", "checker first"], 11, 27.0),
    row("wronglock", &["1"], 3, 2.0),
    row("wronglock", &["3"], 5, 2.0),
    row("lost_update", &["2"], 3, 2.0),
    row("pipe_release", &[], 3, 2.0),
    row("thread_pool", &["2", "5"], 3, 14.0),
    row("thread_pool", &["3", "5"], 4, 18.0),
    row("thread_pool", &["4", "5"], 5, 22.0),
    row("thread_pool", &["5", "5"], 6, 25.0),
    row("downloader", &["2"], 4, 3.0),
    row("downloader", &["5"], 7, 14.0),
    row("downloader", &["10"], 12, 24.0),
    row("compressor", &[], 4, 2.0),
    row("compressor_joined", &[], 4, 8.0),
    row("scanner", &[], 3, 28.0),
];

/// The number of other creation orders that are tried: the reverse order, and random ones.
pub const ORDERS: u64 = 5;

/// A creation order of this many threads, in the format that the programs read.
fn order(threads: u32, number: u64) -> String {
    let mut order: Vec<u32> = (0..threads).rev().collect();
    let mut drawn = number;
    for left in (2..=order.len()).rev().filter(|_| number > 0) {
        drawn =
            drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(left - 1, (drawn >> 33) as usize % left);
    }
    order.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Row {
    /// The name of the row: the program with its arguments.
    #[must_use]
    pub fn name(&self) -> String {
        [&[self.target], self.args].concat().join(" ")
    }

    /// Whether the program creates its threads in the order in which it is written.
    #[must_use]
    pub fn creates_as_written(&self) -> bool {
        self.args.iter().all(|argument| !argument.ends_with(" first"))
    }

    /// A search for its first failure, with these options.
    ///
    /// # Panics
    /// If the program cannot be built, or the search has no report.
    #[must_use]
    pub fn explore(&self, options: &[&str]) -> Report {
        Self::search(&Home::new(), &self.command(program(self.target)), None, options)
    }

    /// The same with the points that an earlier search stored.
    ///
    /// # Panics
    /// As [`Row::explore`].
    #[must_use]
    pub fn explore_again(&self, options: &[&str]) -> Report {
        self.again(program(self.target), None, options)
    }

    /// The same with the threads created in another order: the reverse one, or (from 1 on) a random
    /// one with this seed.
    ///
    /// # Panics
    /// As [`Row::explore`].
    #[must_use]
    pub fn explore_in_order(&self, number: u64, options: &[&str]) -> Report {
        let program = program(self.target).in_another_order();
        self.again(&program, Some(&order(self.threads - 1, number)), options)
    }

    /// A search for its first failure, with the threads created in another order and nothing known.
    ///
    /// # Panics
    /// As [`Row::explore`].
    #[must_use]
    pub fn explore_in_order_from_nothing(&self, number: u64, options: &[&str]) -> Report {
        let program = self.command(&program(self.target).in_another_order());
        let order = order(self.threads - 1, number);
        Self::search(&Home::new(), &program, Some(&order), options)
    }

    /// The program with its arguments.
    fn command(&self, program: &Program) -> Vec<String> {
        let path = program.build().expect("targets compile").to_string_lossy().into_owned();
        std::iter::once(path).chain(self.args.iter().map(|&word| word.to_owned())).collect()
    }

    fn search(home: &Home, program: &[String], order: Option<&str>, options: &[&str]) -> Report {
        let always = ["explore", "--json", "--workers", "1"];
        let options = always.iter().chain(options).chain(&["--"]).map(|&word| word.to_owned());
        let mut command = home.command(options.chain(program.iter().cloned()));
        command.envs(order.map(|order| ("ORDER", order)));
        run(command, BOUND).report()
    }

    /// A search whose learning phase has at most one execution.
    fn again(&self, program: &Program, order: Option<&str>, options: &[&str]) -> Report {
        let (home, command) = (Home::new(), self.command(program));
        Self::search(&home, &command, order, &["--keep-going", "--max-executions", "200"]);
        let points = [&["--points", program.points.name()], options].concat();
        Self::search(&home, &command, order, &points)
    }

    /// The first failing execution, not counting those of a learning phase that found nothing.
    #[must_use]
    pub fn first(report: &Report) -> Option<u64> {
        let first = report.bugs.iter().map(|bug| bug.found_at).min()?;
        Some(if first > report.learning { first - report.learning } else { first })
    }
}
