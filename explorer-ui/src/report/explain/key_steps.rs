//! The key steps of a schedule: a column for each task, with the source text beside them.

use super::describe::Describer;
use crate::report::async_tasks::Changes;
use crate::report::columns::{finish, gutter, step_gutter};
use crate::report::names::task_title;
use crate::report::rows::{Cell, Mark, Row, Selection, rows};
use crate::report::style::{Role, Style};
use crate::report::text::{clean, clip, count, fill, width};
use std::collections::BTreeSet;
use traces::{Frame, TaskId, Trace};

/// Schedules with at most this many steps are shown completely.
pub(super) const SHORT: usize = 30;
/// With more tasks, a list replaces the columns.
const MAX_COLUMNS: usize = 5;
/// The minimum width of a statement.
const MIN_SOURCE: usize = 28;
/// Cells between two columns.
const GAP: usize = 2;
/// In a page of more lines than this, the iterations of a loop are shown by their first and their last.
const LONG: usize = 60;
/// The most lines of an iteration, and the fewest iterations of a loop that is shown so.
const LONGEST_ITERATION: usize = 8;
const FEWEST_ITERATIONS: usize = 4;

/// A line of output.
enum Line {
    /// A row with its source text.
    Row(Row, String),
    /// A number of omitted steps.
    Omitted(usize),
    /// Further iterations of the lines above: how many, and their first and last step.
    Repeated(usize, [usize; 2]),
}

impl Line {
    /// Whether both lines show the same, but for the numbers of the steps and the times.
    fn repeats(&self, other: &Line) -> bool {
        match (self, other) {
            (Line::Row(row, source), Line::Row(other, text)) => {
                fn shown(cell: &Cell) -> (TaskId, &str, &str, &str) {
                    (cell.task, &cell.sign, &cell.object, &cell.site)
                }
                source == text && row.cells.iter().map(shown).eq(other.cells.iter().map(shown))
            }
            (Line::Omitted(steps), Line::Omitted(others)) => steps == others,
            _ => false,
        }
    }
}

/// Replaces all iterations of a loop but the first and the last by one line.
fn fold_iterations(lines: Vec<Line>) -> Vec<Line> {
    if lines.len() <= LONG {
        return lines;
    }
    let repeated = |at: usize, length: usize| {
        let pairs = lines[at..].iter().zip(lines.get(at + length..).unwrap_or_default());
        1 + pairs.take_while(|(one, next)| next.repeats(one)).count() / length
    };
    // By the first line that is left out: the number of iterations and of their lines.
    let mut folds = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let mut loops = (1..=LONGEST_ITERATION).map(|length| (length, repeated(at, length)));
        match loops.find(|&(_, times)| times >= FEWEST_ITERATIONS) {
            Some((length, times)) => {
                folds.push((at + length, times - 2, length));
                at += length * times;
            }
            None => at += 1,
        }
    }
    let (mut folds, mut all) = (folds.into_iter().peekable(), Vec::new());
    let mut lines = lines.into_iter().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some((_, times, length)) = folds.next_if(|fold| fold.0 == at) else {
            all.push(line);
            continue;
        };
        let rest = lines.by_ref().take(times * length - 1).map(|(_, line)| line);
        let steps = std::iter::once(line).chain(rest).filter_map(|line| match line {
            Line::Row(row, _) => row.step,
            _ => None,
        });
        let steps: Vec<usize> = steps.collect();
        if let (Some(&first), Some(&last)) = (steps.first(), steps.last()) {
            all.push(Line::Repeated(times, [first, last]));
        }
    }
    all
}

pub(super) fn render(
    trace: &Trace,
    describer: &Describer<'_>,
    key_steps: &BTreeSet<usize>,
    style: &Style,
    cells: usize,
) -> String {
    let lines = lines(trace, describer, key_steps, style);
    let tasks = trace.execution.tasks.len().max(1);
    let margin = gutter(trace.execution.steps.len()) + 3;
    let label = |task: usize| {
        let of = |line: &Line| match line {
            Line::Row(row, _) => {
                let own = row.cells.iter().filter(|cell| cell.task.index() == task);
                own.map(Cell::label_width).max().unwrap_or(0)
            }
            Line::Omitted(_) | Line::Repeated(..) => 0,
        };
        let title = width(&task_title(trace, TaskId(task as u16)));
        lines.iter().map(of).max().unwrap_or(0).max(title)
    };
    let widths: Vec<usize> = (0..tasks).map(label).collect();
    let used = margin + widths.iter().map(|cells| cells + GAP).sum::<usize>();
    let columns = tasks <= MAX_COLUMNS && used + MIN_SOURCE <= cells.max(60);
    let table = Table { trace, style, margin, widths, columns, cells };
    let mut text = style.paint(Role::Title, "What happens") + "\n" + &table.head();
    for line in &lines {
        text.push_str(&match line {
            Line::Row(row, source) => table.row(row, source),
            Line::Omitted(steps) => table.fold(&count(*steps as u64, "step")),
            Line::Repeated(times, steps) => table.fold(&repeated(*times, *steps)),
        });
    }
    text
}

/// The line in place of further iterations, which have these first and last steps.
fn repeated(times: usize, [first, last]: [usize; 2]) -> String {
    let times = count(times as u64, "more time");
    format!("the same {times}, steps {} to {}", first + 1, last + 1)
}

fn lines(
    trace: &Trace,
    describer: &Describer<'_>,
    key_steps: &BTreeSet<usize>,
    style: &Style,
) -> Vec<Line> {
    let all = rows(trace, Selection::default(), style.glyphs());
    let mut lines = Vec::new();
    let mut omitted = 0;
    let mut changes = Changes::of(&trace.execution);
    for mut row in all {
        let Some(step) = row.step else {
            lines.extend((omitted > 0).then_some(Line::Omitted(omitted)));
            omitted = 0;
            // The row of deadlocked tasks: a line for each task with its source text.
            for cell in std::mem::take(&mut row.cells) {
                let site = describer.next_site(cell.task, trace.execution.steps.len());
                let source = site.map(|site| describer.statement_at(site)).unwrap_or_default();
                lines.push(Line::Row(Row { cells: vec![cell], ..row.clone() }, source));
            }
            continue;
        };
        if !key_steps.contains(&step) {
            omitted += 1;
            continue;
        }
        lines.extend((omitted > 0).then_some(Line::Omitted(omitted)));
        omitted = 0;
        // The failure has a separate line.
        for cell in row.cells.iter_mut().filter(|cell| cell.failed) {
            cell.failed = false;
            cell.sign = "·".into();
        }
        let mut source = describer.statement_at(trace.execution.steps[step].site);
        let task = trace.execution.steps[step].task;
        if let Some(above) = changes.above(step, task) {
            source = format!("{above}: {source}");
        }
        lines.push(Line::Row(row, source));
    }
    lines.extend((omitted > 0).then_some(Line::Omitted(omitted)));
    lines.extend(failure(trace, describer));
    fold_iterations(lines)
}

/// The line of the failure, if it occurred in one task.
fn failure(trace: &Trace, describer: &Describer<'_>) -> Option<Line> {
    let failure = trace.failure.as_ref().filter(|failure| failure.waits.is_empty())?;
    let task = failure.task?;
    let frames = failure.stacks.iter().find(|stack| stack.task == task);
    let frame: Option<&Frame> =
        frames.and_then(|stack| stack.frames.iter().find(|frame| frame.place() == failure.place));
    let statement = match frame {
        Some(frame) => describer.statement(frame),
        None => describer.statement_of_place(&failure.place),
    };
    let cell = Cell {
        task,
        sign: "!".into(),
        operation: failure.kind.name().into(),
        object: String::new(),
        value: String::new(),
        site: String::new(),
        failed: true,
    };
    let row = Row { step: None, mark: Mark::None, cells: vec![cell], enabled: Vec::new() };
    Some(Line::Row(row, format!("{}  {statement}", clean(&failure.place)).trim().to_owned()))
}

struct Table<'a> {
    trace: &'a Trace,
    style: &'a Style,
    margin: usize,
    widths: Vec<usize>,
    columns: bool,
    cells: usize,
}

impl Table<'_> {
    fn head(&self) -> String {
        let mut line = self.style.paint(Role::Dim, &format!("{:>1$}   ", "step", self.margin - 3));
        if !self.columns {
            return finish(line);
        }
        for (task, &cells) in self.widths.iter().enumerate() {
            let id = TaskId(task as u16);
            let title = task_title(self.trace, id);
            line.push_str(&self.style.paint(Role::TaskTitle(id), &title));
            line.push_str(&fill(width(&title), cells + GAP));
        }
        finish(line)
    }

    fn row(&self, row: &Row, source: &str) -> String {
        let cut = self.style.glyphs().cut;
        let mut line = step_gutter(row, self.margin - 3, self.style);
        let mut used = self.margin;
        if self.columns {
            for (task, &cells) in self.widths.iter().enumerate() {
                let cell = row.cells.iter().find(|cell| cell.task.index() == task);
                let label = cell.map(|cell| cell.label(cells, cut)).unwrap_or_default();
                line.push_str(&self.cell(cell, &label));
                line.push_str(&fill(width(&label), cells + GAP));
                used += cells + GAP;
            }
        } else {
            let widest = self.widths.iter().copied().max().unwrap_or(0).min(40);
            for cell in &row.cells {
                let label = cell.label(widest, cut);
                let task = format!("{:<5}", cell.task.to_string());
                line.push_str(&self.style.paint(Role::TaskTitle(cell.task), &task));
                line.push_str(&self.cell(Some(cell), &label));
                line.push_str(&fill(width(&label), widest + GAP));
                used += 5 + widest + GAP;
            }
        }
        let source = clip(source, self.cells.saturating_sub(used).max(MIN_SOURCE), cut);
        line.push_str(&self.style.paint(Role::Dim, &source));
        finish(line)
    }

    fn cell(&self, cell: Option<&Cell>, label: &str) -> String {
        let Some(cell) = cell else { return String::new() };
        let role = if cell.failed { Role::Bad } else { Role::Task(cell.task) };
        self.style.paint(role, label)
    }

    fn fold(&self, what: &str) -> String {
        let text = format!("{} {what}", self.style.glyphs().fold);
        finish(fill(0, self.margin) + &self.style.paint(Role::Dim, &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: usize, site: &str) -> Line {
        let cell = Cell {
            task: TaskId(0),
            sign: "z".into(),
            operation: format!("sleep [T1 is {step} s late]"),
            object: String::new(),
            value: String::new(),
            site: site.into(),
            failed: false,
        };
        let row =
            Row { step: Some(step), mark: Mark::None, cells: vec![cell], enabled: Vec::new() };
        Line::Row(row, "text".into())
    }

    fn shown(lines: Vec<Line>) -> Vec<String> {
        let show = |line: &Line| match line {
            Line::Row(row, _) => format!("{} {}", row.step.unwrap_or(0), row.cells[0].site),
            Line::Omitted(steps) => format!("{steps} omitted"),
            Line::Repeated(times, steps) => repeated(*times, *steps),
        };
        fold_iterations(lines).iter().map(show).collect()
    }

    #[test]
    fn a_loop_of_a_thousand_iterations_is_two_and_a_line() {
        let mut lines = vec![row(0, "a.c:1")];
        for turn in 0..1000 {
            lines.extend([
                row(3 * turn + 1, "a.c:2"),
                Line::Omitted(1),
                row(3 * turn + 3, "a.c:3"),
            ]);
        }
        lines.push(row(3001, "a.c:4"));
        assert_eq!(
            shown(lines),
            [
                "0 a.c:1",
                "1 a.c:2",
                "1 omitted",
                "3 a.c:3",
                "the same 998 more times, steps 5 to 2998",
                "2998 a.c:2",
                "1 omitted",
                "3000 a.c:3",
                "3001 a.c:4"
            ]
        );
    }

    #[test]
    fn short_pages_and_few_iterations_are_shown_completely() {
        let turns = |turns: usize| {
            (0..turns).flat_map(|turn| [row(2 * turn, "b.c:1"), row(2 * turn + 1, "b.c:2")])
        };
        assert_eq!(shown(turns(LONG / 2).collect()).len(), LONG);
        let different = (0..LONG).map(|step| row(step, &format!("c.c:{step}")));
        let lines: Vec<Line> = different.chain(turns(FEWEST_ITERATIONS - 1)).collect();
        let all = lines.len();
        assert_eq!(shown(lines).len(), all);
    }
}
