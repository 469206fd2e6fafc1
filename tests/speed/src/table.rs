//! The measurements, as the table of docs/figures.md.

use crate::size::Size;
use std::fmt::Write;

pub(crate) struct Row {
    pub(crate) size: Size,
    /// Executions a second: Heddle on C, C++ and Rust; shuttle; loom.
    pub(crate) rates: [f64; 5],
    /// The share of executions that lost an update: Heddle on C; shuttle.
    pub(crate) lost: [f64; 2],
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn thousands(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut out = String::from(
        "| threads x rounds | Heddle, C | Heddle, C++ | Heddle, Rust | shuttle | loom \
         | to shuttle | to loom | lost updates: Heddle, shuttle |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let _ = write!(out, "| {} |", row.size);
        for rate in row.rates {
            let _ = write!(out, " {} |", thousands(rate));
        }
        let [ours, _, _, shuttle, loom] = row.rates;
        let [ours_lost, shuttle_lost] = row.lost.map(|share| share * 100.0);
        let _ = writeln!(
            out,
            " {:.1} times | {:.0} times | {ours_lost:.0} %, {shuttle_lost:.0} % |",
            ours / shuttle,
            ours / loom,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_middles_found() {
        assert_eq!(thousands(7.4), "7");
        assert_eq!(thousands(123_456.0), "123,456");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
        assert!((median(&mut [3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&mut [4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }
}
