//! The line that says how far a search has come, rewritten in place; where nobody watches, one now and
//! then.

use crate::console::Console;
use crate::views::text::{clean, clip, count, grouped};
use crate::views::{Style, report};
use replay_core::{Observer, Progress};
use std::io::Write;
use std::time::Duration;
use traces::Trace;
use traces::report::Bug;

/// Shows progress on standard error: the line to a terminal, to anything else one now and then, and
/// everything else always.
#[derive(Debug)]
pub struct Line<'a> {
    console: &'a Console,
    /// Whether new failures are worth lines of their own while the search goes on.
    tell_bugs: bool,
    drawn: bool,
    /// When a line is due where nobody watches.
    due: Duration,
}

/// Where nobody watches: the first line after this time, and the next ones ever more rarely, up to
/// [`RAREST`].
const FIRST: Duration = Duration::from_secs(10);
const RAREST: Duration = Duration::from_secs(300);

impl<'a> Line<'a> {
    /// Nothing is drawn yet.
    #[must_use]
    pub fn new(console: &'a Console, tell_bugs: bool) -> Line<'a> {
        Line { console, tell_bugs, drawn: false, due: FIRST }
    }

    /// Shows this on the line, where somebody watches.
    pub fn say(&mut self, text: &str) {
        if self.console.watched {
            // One cell less than there is: some terminals wrap as soon as the last one is filled.
            let cells = self.console.width.saturating_sub(1);
            self.drawn = true;
            write(&format!("\r{}\x1b[K", clip(text, cells, "")));
        }
    }

    /// Takes the line away, so that what follows begins on a clean one.
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
        if self.console.watched {
            self.say(&text);
        } else if is_due(&mut self.due, progress.elapsed) {
            self.console.note(&text);
        }
    }

    fn bug(&mut self, bug: &Bug, _trace: &Trace) {
        self.clear();
        if self.tell_bugs {
            let text = report::bug(bug, &self.console.messages);
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

/// Whether a line for the record is due after this time; then the next is put off.
fn is_due(due: &mut Duration, elapsed: Duration) -> bool {
    let is_due = elapsed >= *due;
    if is_due {
        *due = elapsed + elapsed.min(RAREST);
    }
    is_due
}

/// What the line says.
#[must_use]
pub fn text(progress: &Progress, style: &Style) -> String {
    let seconds = progress.elapsed.as_secs_f64();
    let dot = format!(" {} ", style.glyphs().dot);
    if progress.executions == 0 && progress.learning > 0 {
        let learning = count(progress.learning, "execution");
        return format!("learning which accesses conflict{dot}{learning}{dot}{seconds:.0} s");
    }
    let rate = if seconds > 0.0 { progress.executions as f64 / seconds } else { 0.0 };
    let mut parts = vec![
        format!("{} executions", grouped(progress.executions)),
        format!("{}/s", grouped(rate as u64)),
        format!("{} distinct", grouped(progress.distinct)),
        format!("{} failing", grouped(progress.failing)),
    ];
    if progress.failures > 1 {
        parts.push(format!("{} different failures", grouped(progress.failures)));
    }
    if let Some(bound) = progress.bound {
        parts.push(format!("bound {bound}"));
    }
    if let Some(covered) = progress.covered {
        let (least, most) = (covered / 2.5 * 100.0, (covered * 2.5 * 100.0).min(100.0));
        // With bounds, of the one that is searched.
        let of = progress.bound.map_or("", |_| " of that");
        parts.push(format!("{:.0} %{of} covered ({least:.0} to {most:.0})", covered * 100.0));
    } else if progress.open > 0 {
        parts.push(format!("at least {} open branches", grouped(progress.open)));
    }
    parts.push(format!("{seconds:.0} s"));
    parts.join(&dot)
}

/// In one piece, so that nothing comes between; and never failing, see [`Console::note`].
fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_watches_there_is_a_line_now_and_then() {
        let mut due = FIRST;
        let told: Vec<u64> = (0..2000 * 5)
            .map(|fifth| Duration::from_millis(fifth * 200))
            .filter(|&elapsed| is_due(&mut due, elapsed))
            .map(|elapsed| elapsed.as_secs())
            .collect();
        assert_eq!(told, [10, 20, 40, 80, 160, 320, 620, 920, 1220, 1520, 1820]);
    }

    #[test]
    fn the_line_says_that_there_is_no_search_yet() {
        let progress =
            Progress { learning: 1, elapsed: Duration::from_secs(3), ..Progress::default() };
        assert_eq!(
            text(&progress, &Style::default()),
            "learning which accesses conflict · 1 execution · 3 s"
        );
    }

    #[test]
    fn the_line_says_rate_and_counts() {
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
}
