//! Two schedules side by side: common steps are folded, different steps are in their own column.

use crate::report::rows::{Mark, Row, Selection, rows};
use crate::report::style::{Role, Style};
use crate::report::text::{clip, count, fill, width};
use replay_core::graph::compare::{Aligned, Comparison, Reversed, compare};
use traces::Trace;

/// The maximum number of reversed orders to list.
const MAX_REVERSED: usize = 12;

/// The comparison as text, with `context` common steps around each difference.
#[must_use]
pub fn render(
    first: &Trace,
    second: &Trace,
    context: usize,
    style: &Style,
    cells: usize,
) -> String {
    let comparison = compare(&first.execution, &second.execution);
    let sides = [Side::new("A", first, style), Side::new("B", second, style)];
    let mut text = String::new();
    for side in &sides {
        text.push_str(&side.summary());
    }
    text.push('\n');
    let differs = comparison.rows.iter().any(|row| !matches!(row, Aligned::Both(..)));
    if !differs {
        text.push_str("the schedules are identical\n");
        return text;
    }
    text.push_str(&divergence(&comparison, &sides, style));
    text.push_str(&orders(&comparison.reversed, &sides, style));
    text.push('\n');
    let half = cells.saturating_sub(3) / 2;
    let heading = |side: &Side<'_>| {
        let title = format!("{}: {}", side.letter, side.outcome());
        let title = clip(&title, half, style.glyphs().cut);
        style.paint(Role::Title, &title) + &fill(width(&title), half)
    };
    let line = format!("{} | {}", heading(&sides[0]), heading(&sides[1]));
    text.push_str(&format!("{}\n", line.trim_end()));
    let shown = shown(&comparison.rows, context);
    let mut hidden = 0;
    for (row, shown) in comparison.rows.iter().zip(shown) {
        if !shown {
            hidden += 1;
            continue;
        }
        text.push_str(&folded(hidden, style));
        hidden = 0;
        let (left, right) = match *row {
            Aligned::Both(a, b) => (sides[0].cell(a, half, None), sides[1].cell(b, half, None)),
            Aligned::First(a, elsewhere) => {
                (sides[0].cell(a, half, Some(elsewhere)), fill(0, half))
            }
            Aligned::Second(b, elsewhere) => {
                (fill(0, half), sides[1].cell(b, half, Some(elsewhere)))
            }
        };
        text.push_str(&format!("{}\n", format!("{left} | {right}").trim_end()));
    }
    text.push_str(&folded(hidden, style));
    text
}

struct Side<'a> {
    letter: &'static str,
    trace: &'a Trace,
    rows: Vec<Row>,
    style: &'a Style,
}

impl<'a> Side<'a> {
    fn new(letter: &'static str, trace: &'a Trace, style: &'a Style) -> Side<'a> {
        let rows = rows(trace, Selection::default(), style.glyphs());
        Side { letter, trace, rows, style }
    }

    fn outcome(&self) -> String {
        match &self.trace.failure {
            Some(failure) => failure.kind.name().to_owned(),
            None => crate::report::summary::cut(self.trace).unwrap_or_else(|| "passes".to_owned()),
        }
    }

    fn summary(&self) -> String {
        let execution = &self.trace.execution;
        format!(
            "{} {}: {}, {}, {}\n",
            self.style.paint(Role::Title, self.letter),
            self.outcome(),
            count(execution.steps.len() as u64, "step"),
            count(execution.switches() as u64, "switch"),
            count(execution.preemptions().len() as u64, "preemption"),
        )
    }

    /// `T1 lock m (queue.c:12)`.
    fn event(&self, step: usize) -> String {
        let task = self.trace.execution.steps[step].task;
        let Some(cell) = self.rows.get(step).and_then(|row| row.cells.first()) else {
            return task.to_string();
        };
        let place = if cell.site.is_empty() { String::new() } else { format!(" ({})", cell.site) };
        format!("{task} {} {}{place}", cell.operation, cell.object).replace("  ", " ")
    }

    /// A step in `cells` cells. For a step that differs, `elsewhere` is the step at which the other side
    /// executes it, if it does.
    fn cell(&self, step: usize, cells: usize, elsewhere: Option<Option<usize>>) -> String {
        let mark = match self.rows.get(step).map(|row| row.mark) {
            Some(Mark::Preemption) => self.style.glyphs().preemption,
            Some(Mark::Switch) => self.style.glyphs().switch,
            _ => " ",
        };
        let moved = match elsewhere {
            Some(Some(other)) => format!(" {} {}", self.style.glyphs().arrow, other + 1),
            _ => String::new(),
        };
        let room = cells.saturating_sub(width(&moved));
        let text = format!("{:>5}{mark}{}", step + 1, self.event(step));
        let text = clip(&text, room, self.style.glyphs().cut) + &moved;
        let used = width(&text);
        let role = match elsewhere {
            None => Role::Dim,
            Some(_) => Role::Task(self.trace.execution.steps[step].task),
        };
        self.style.paint(role, &text) + &fill(used, cells)
    }
}

/// The point where the schedules diverge.
fn divergence(comparison: &Comparison, sides: &[Side<'_>; 2], style: &Style) -> String {
    let at = comparison.common;
    let here = |side: &Side<'_>| {
        let steps = side.trace.execution.steps.len();
        if at < steps { side.event(at) } else { "the program ends".to_owned() }
    };
    format!(
        "{} after {}: in A {}; in B {}\n",
        style.paint(Role::Title, "The schedules diverge"),
        count(at as u64, "common step"),
        here(&sides[0]),
        here(&sides[1]),
    )
}

/// The orders that differ between the schedules.
fn orders(reversed: &[Reversed], sides: &[Side<'_>; 2], style: &Style) -> String {
    if reversed.is_empty() {
        return "No two events on the same object are in a different order.\n".to_owned();
    }
    let mut text = style.paint(Role::Title, "Reversed orders") + " (as in A; B has the reverse)\n";
    for one in reversed.iter().take(MAX_REVERSED) {
        let (earlier, later) = (sides[0].event(one.first.0), sides[0].event(one.first.1));
        text.push_str(&format!("  {earlier} before {later}\n"));
    }
    if let Some(more) = reversed.len().checked_sub(MAX_REVERSED).filter(|&more| more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

/// Which rows are shown: those that differ, and `context` rows around them.
fn shown(rows: &[Aligned], context: usize) -> Vec<bool> {
    let mut shown = vec![false; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        if !matches!(row, Aligned::Both(..)) {
            let end = (at + context + 1).min(rows.len());
            shown[at.saturating_sub(context)..end].fill(true);
        }
    }
    shown
}

fn folded(hidden: usize, style: &Style) -> String {
    if hidden == 0 {
        return String::new();
    }
    let text = format!("      {} {}", style.glyphs().fold, count(hidden as u64, "common step"));
    style.paint(Role::Dim, &text) + "\n"
}
