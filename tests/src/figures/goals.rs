//! What the figures are to be, as data, and whether a run reached it.

use super::calibration;
use super::markdown::{Printed, figure, grouped};

/// How a figure follows from the cells of a table.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// The cell in this column.
    Cell(&'static str),
    /// The cell in the first column divided by that in the second one.
    Ratio(&'static str, &'static str),
}

/// What is asked of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Asked {
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
    /// At least this rate on the machine to which the rates refer; on another one, as much more or
    /// less as the same walk over fibers takes less or more time there, in the same run.
    Rate(f64),
}

/// A row below which the figures are not to fall.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    /// The table, by its name on the command line.
    pub table: &'static str,
    /// The first cell of the row.
    pub row: &'static str,
    /// The figure.
    pub figure: Figure,
    /// What is asked of it.
    pub asked: Asked,
    /// What it is compared with.
    pub compared: &'static str,
}

const fn goal(
    table: &'static str,
    row: &'static str,
    figure: Figure,
    asked: Asked,
    compared: &'static str,
) -> Requirement {
    Requirement { table, row, figure, asked, compared }
}

const SHUTTLE: Figure = Figure::Ratio("Heddle, C", "shuttle");
const LOOM: Figure = Figure::Ratio("Heddle, C", "loom");
const RATE: Figure = Figure::Cell("executions a second");
const TIMES: Figure = Figure::Cell("times");
const RATIO: Figure = Figure::Cell("ratio");
const FROM_IDLE: Figure = Figure::Cell("from idle");

/// All goals.
pub const GOALS: &[Requirement] = &[
    goal("speed", "2x1", SHUTTLE, Asked::Least(2.0), "shuttle"),
    goal("speed", "2x5", SHUTTLE, Asked::Least(2.5), "shuttle"),
    goal("speed", "3x5", SHUTTLE, Asked::Least(4.0), "shuttle"),
    goal("speed", "4x25", SHUTTLE, Asked::Least(6.0), "shuttle"),
    goal("speed", "2x1", LOOM, Asked::Least(10.0), "loom"),
    goal("speed", "2x5", LOOM, Asked::Least(10.0), "loom"),
    goal("speed", "3x5", LOOM, Asked::Least(10.0), "loom"),
    goal("speed", "4x25", LOOM, Asked::Least(10.0), "loom"),
    goal("complete", "readers 13", RATE, Asked::Rate(70_000.0), "walks over fibers"),
    goal("complete", "lastzero 10", RATE, Asked::Rate(20_000.0), "walks over fibers"),
    goal("complete", "lastzero 15", RATE, Asked::Rate(12_300.0), "walks over fibers"),
    goal("complete", "indexer 15", RATE, Asked::Rate(4_400.0), "walks over fibers"),
    goal("complete", "locks 7", RATE, Asked::Rate(23_000.0), "walks over fibers"),
    goal("checkpoints", "200 ms of common work", TIMES, Asked::Least(500.0), "from main"),
    goal("checkpoints", "2,000 steps, the last 20 differ", TIMES, Asked::Least(20.0), "from main"),
    goal("checkpoints", "dfs, readers 13", TIMES, Asked::Least(4.0), "from main"),
    goal("checkpoints", "dfs, lastzero 10", TIMES, Asked::Least(4.0), "from main"),
    goal("checkpoints", "dfs, indexer 15", TIMES, Asked::Least(4.0), "from main"),
    goal("checkpoints", "dfs, locks 7", TIMES, Asked::Least(4.0), "from main"),
    goal("checkpoints", "dpor, readers 13", TIMES, Asked::Least(1.5), "from main"),
    goal("checkpoints", "dpor, lastzero 10", TIMES, Asked::Least(1.5), "from main"),
    goal("checkpoints", "dpor, indexer 15", TIMES, Asked::Least(1.5), "from main"),
    goal("checkpoints", "dpor, locks 7", TIMES, Asked::Least(1.5), "from main"),
    goal("safestack", "safestack", Figure::Cell("median"), Asked::Most(500_000.0), "nothing"),
    goal("workers", "random, 2", Figure::Cell("times"), Asked::Least(1.9), "one worker"),
    goal("workers", "dfs, 2", Figure::Cell("times"), Asked::Least(1.9), "one worker"),
    goal("workers", "dpor, 2", Figure::Cell("times"), Asked::Least(1.9), "one worker"),
    goal("failing", "an exit status", RATIO, Asked::Most(1.2), "a passing execution"),
    goal("failing", "an assertion", RATIO, Asked::Most(1.2), "a passing execution"),
    goal("failing", "a crash", RATIO, Asked::Most(1.2), "a passing execution"),
    goal(
        "accesses",
        "points, without a switch",
        Figure::Cell("monitored by probes, ns"),
        Asked::Most(80.0),
        "nothing",
    ),
    goal(
        "accesses",
        "bytes of one task",
        Figure::Cell("monitored by compiled code, ns"),
        Asked::Most(5.0),
        "nothing",
    ),
    goal("servers", "redis-server", FROM_IDLE, Asked::Least(100.0), "nothing"),
    goal("races", "packs and unpacks text", RATIO, Asked::Most(3.0), "without detection"),
    goal("races", "zstd", RATIO, Asked::Most(3.0), "without detection"),
];

/// What a table printed, or why it printed nothing.
pub type Measured = Result<Vec<Printed>, String>;

/// The verdict on a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Reached.
    Met,
    /// Not reached.
    Below,
    /// Not known.
    NotMeasured(String),
}

impl Requirement {
    /// The figure, what is asked of it on this machine, and the verdict.
    #[must_use]
    pub fn judge(&self, measured: Option<&Measured>) -> (Option<f64>, f64, Verdict) {
        let mut asked = match self.asked {
            Asked::Least(value) | Asked::Most(value) | Asked::Rate(value) => value,
        };
        let why_not = |why: String, asked| (None, asked, Verdict::NotMeasured(why));
        let tables = match measured {
            None => return why_not("the table was not asked for".to_owned(), asked),
            Some(Err(why)) => return why_not(why.clone(), asked),
            Some(Ok(tables)) => tables,
        };
        let value = match self.figure {
            Figure::Cell(column) => figure(tables, self.row, column),
            Figure::Ratio(of, to) => {
                let both = figure(tables, self.row, of).zip(figure(tables, self.row, to));
                both.map(|(of, to)| of / to)
            }
        };
        let Some(value) = value else {
            return why_not("the table has no such figure".to_owned(), asked);
        };
        if matches!(self.asked, Asked::Rate(_)) {
            match figure(tables, calibration::ROW, calibration::COLUMN) {
                Some(walk) => asked *= calibration::REFERENCE / walk,
                None => return why_not("the walk over fibers was not measured".to_owned(), asked),
            }
        }
        let met = match self.asked {
            Asked::Most(_) => value <= asked,
            Asked::Least(_) | Asked::Rate(_) => value >= asked,
        };
        (Some(value), asked, if met { Verdict::Met } else { Verdict::Below })
    }

    /// Its row in the list at the end.
    #[must_use]
    pub fn row(&self, measured: Option<&Measured>) -> String {
        let (value, asked, verdict) = self.judge(measured);
        let short = |number: f64| match number {
            large if large >= 1000.0 => grouped(large),
            _ => format!("{number:.1}"),
        };
        let bound = if matches!(self.asked, Asked::Most(_)) { "at most" } else { "at least" };
        let (value, asked) = (value.map_or("-".to_owned(), short), short(asked));
        let verdict = match verdict {
            Verdict::Met => "met".to_owned(),
            Verdict::Below => "below".to_owned(),
            Verdict::NotMeasured(why) => format!("not measured: {why}"),
        };
        format!(
            "| {}: {} | {} | {value} | {bound} {asked} | {verdict} |",
            self.table, self.row, self.compared
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::markdown::tables;
    use super::*;

    const GOAL: Requirement =
        goal("complete", "locks 7", RATE, Asked::Rate(1000.0), "walks over fibers");

    #[test]
    fn a_rate_is_asked_by_the_speed_of_the_machine() {
        let walk = calibration::REFERENCE / 2.0;
        let text = |rate: u64| {
            let walk = calibration::table(walk);
            format!("| p | executions a second |\n|-|-|\n| locks 7 | {rate} |\n\n{walk}")
        };
        let verdict = |rate| GOAL.judge(Some(&Ok(tables(&text(rate)))));
        assert_eq!(verdict(1500).2, Verdict::Below);
        let (value, asked, met) = verdict(2500);
        assert_eq!((value, met), (Some(2500.0), Verdict::Met));
        assert!((asked - 2000.0).abs() < 10.0, "{asked}");
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_below() {
        let no_row = Ok(tables("| p | executions a second |\n|-|-|\n| other | 7 |\n"));
        let failed = Err("it failed".to_owned());
        for measured in [None, Some(&no_row), Some(&failed)] {
            assert!(matches!(GOAL.judge(measured).2, Verdict::NotMeasured(_)), "{measured:?}");
        }
    }
}
