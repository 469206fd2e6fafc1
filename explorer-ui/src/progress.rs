//! The progress line of a search: rewritten in place on a terminal, otherwise a new line at growing
//! intervals.

use crate::console::Console;
use crate::report::search;
use crate::report::style::Style;
use crate::report::text::{clean, clip, count, grouped};
use replay_core::{Observer, Progress};
use std::io::Write;
use std::time::Duration;
use traces::Trace;
use traces::report::Bug;

/// Shows progress, failures and notes on standard error.
#[derive(Debug)]
pub struct Line<'a> {
    console: &'a Console,
    /// Whether to print each new failure while the search continues.
    print_bugs: bool,
    drawn: bool,
    /// When the next line is due if standard error is not a terminal.
    due: Duration,
}

/// If standard error is not a terminal, the first line is due after this time. Each interval is twice
/// the one before, up to [`LONGEST_INTERVAL`].
const FIRST: Duration = Duration::from_secs(10);
const LONGEST_INTERVAL: Duration = Duration::from_secs(300);

impl<'a> Line<'a> {
    /// A line that is not drawn yet.
    #[must_use]
    pub fn new(console: &'a Console, print_bugs: bool) -> Line<'a> {
        Line { console, print_bugs, drawn: false, due: FIRST }
    }

    /// Shows this text on the line, on a terminal only.
    pub fn show(&mut self, text: &str) {
        if self.console.stderr_is_terminal {
            // One cell less than the width: some terminals wrap once the last cell is filled.
            let cells = self.console.width.saturating_sub(1);
            self.drawn = true;
            write(&format!("\r{}\x1b[K", clip(text, cells, "")));
        }
    }

    /// Erases the line, so that the following output starts on an empty one.
    pub fn clear(&mut self) {
        if self.drawn {
            self.drawn = false;
            write("\r\x1b[2K");
        }
    }
}

impl Observer for Line<'_> {
    fn progress(&mut self, progress: &Progress) {
        let text = text(progress, &self.console.messages);
        if self.console.stderr_is_terminal {
            self.show(&text);
        } else if is_due(&mut self.due, progress.elapsed) {
            self.console.note(&text);
        }
    }

    fn bug(&mut self, bug: &Bug, _trace: &Trace) {
        self.clear();
        if self.print_bugs {
            let text = search::bug(bug, &self.console.messages);
            self.console.note(text.trim_end());
        }
    }

    fn note(&mut self, line: &str) {
        self.clear();
        self.console.note(&format!("heddle: {}", clean(line)));
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Whether a line is due after this time; if so, schedules the next one.
fn is_due(due: &mut Duration, elapsed: Duration) -> bool {
    let is_due = elapsed >= *due;
    if is_due {
        *due = elapsed + elapsed.min(LONGEST_INTERVAL);
    }
    is_due
}

/// The text of the line.
#[must_use]
pub fn text(progress: &Progress, style: &Style) -> String {
    let seconds = progress.elapsed.as_secs_f64();
    let dot = format!(" {} ", style.glyphs().dot);
    if progress.executions == progress.learning && progress.learning > 0 {
        let learning = count(progress.learning, "execution");
        return format!("learning conflicting accesses{dot}{learning}{dot}{seconds:.0} s");
    }
    let rate = if seconds > 0.0 { progress.executions as f64 / seconds } else { 0.0 };
    let mut parts = vec![
        format!("{} executions", grouped(progress.executions)),
        format!("{}/s", grouped(rate as u64)),
        format!("{} distinct", grouped(progress.distinct)),
        format!("{} failing", grouped(progress.failing)),
    ];
    if progress.failures > 1 {
        parts.push(format!("{} distinct failures", grouped(progress.failures)));
    }
    if let Some(bound) = progress.bound {
        parts.push(format!("bound {bound}"));
    }
    if let Some(covered) = progress.covered {
        let (least, most) = (covered / 2.5 * 100.0, (covered * 2.5 * 100.0).min(100.0));
        // A bounded search estimates the coverage of the current bound.
        let of = progress.bound.map_or("", |_| " of this bound");
        parts.push(format!("{:.0} %{of} covered ({least:.0} to {most:.0})", covered * 100.0));
    } else if progress.open > 0 {
        parts.push(format!("at least {} open branches", grouped(progress.open)));
    }
    if let Some(machines) = progress.machines {
        let lost =
            if machines.lost > 0 { format!(", {} lost", machines.lost) } else { String::new() };
        let present = count(machines.present.into(), "machine");
        parts.push(format!("{present} with {}{lost}", count(machines.workers.into(), "worker")));
    }
    parts.push(format!("{seconds:.0} s"));
    parts.join(&dot)
}

/// Writes in one piece, so that no other output comes between. Ignores errors, as [`Console::note`].
fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_lines_come_at_growing_intervals() {
        let mut due = FIRST;
        let lines: Vec<u64> = (0..2000 * 5)
            .map(|fifth| Duration::from_millis(fifth * 200))
            .filter(|&elapsed| is_due(&mut due, elapsed))
            .map(|elapsed| elapsed.as_secs())
            .collect();
        assert_eq!(lines, [10, 20, 40, 80, 160, 320, 620, 920, 1220, 1520, 1820]);
    }

    #[test]
    fn the_line_reports_the_learning_phase() {
        let progress = Progress {
            learning: 1,
            executions: 1,
            elapsed: Duration::from_secs(3),
            ..Progress::default()
        };
        assert_eq!(
            text(&progress, &Style::default()),
            "learning conflicting accesses · 1 execution · 3 s"
        );
    }

    #[test]
    fn the_line_reports_rate_and_counts() {
        let progress = Progress {
            executions: 12_345,
            distinct: 5_120,
            failing: 0,
            elapsed: Duration::from_secs(2),
            ..Progress::default()
        };
        assert_eq!(
            text(&progress, &Style::default()),
            "12,345 executions · 6,172/s · 5,120 distinct · 0 failing · 2 s"
        );
    }

    #[test]
    fn the_line_reports_failures_coverage_and_machines() {
        use replay_core::Machines;
        let line = |progress| text(&progress, &Style { color: false, ascii: true });
        let progress = Progress {
            executions: 100,
            failing: 5,
            failures: 3,
            elapsed: Duration::from_secs(1),
            ..Progress::default()
        };
        assert_eq!(
            line(Progress { covered: Some(0.2), bound: Some(1), ..progress }),
            "100 executions - 100/s - 0 distinct - 5 failing - 3 distinct failures - bound 1 - \
             20 % of this bound covered (8 to 50) - 1 s"
        );
        assert_eq!(
            line(Progress { covered: Some(0.5), ..progress }),
            "100 executions - 100/s - 0 distinct - 5 failing - 3 distinct failures - \
             50 % covered (20 to 100) - 1 s"
        );
        let machines = Some(Machines { present: 2, workers: 8, lost: 1 });
        assert_eq!(
            line(Progress { open: 12_000, machines, ..progress }),
            "100 executions - 100/s - 0 distinct - 5 failing - 3 distinct failures - at least 12,000 \
             open branches - 2 machines with 8 workers, 1 lost - 1 s"
        );
    }
}
