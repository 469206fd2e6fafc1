//! The schedule: time runs down. If the tasks fit, each has a column; otherwise it is a list.

use super::columns::{Activity, Columns, GAP};
use super::layout::Areas;
use super::paint::{glyphs, put};
use super::ribbon;
use crate::report::names::short_title;
use crate::report::rows::{Cell, Mark, waiting};
use crate::report::summary::cut;
use crate::report::text::{clip, count, fill, width};
use crate::report::verdict::short_message;
use crate::tui::model::Model;
use crate::tui::model::folding::Fold;
use crate::tui::theme::Role;
use crate::walk::loaded_trace::LoadedTrace;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use replay_core::graph::Relation;
use std::collections::BTreeSet;
use std::ops::Range;
use traces::TaskId;

/// The first visible line, so that the cursor is in the middle.
pub(in crate::tui) fn top_line(model: &Model, height: u16) -> usize {
    let cursor = model.line_of(model.view.cursor);
    let height = usize::from(height);
    let last = (model.lines.len() + 1).saturating_sub(height);
    cursor.saturating_sub(height / 2).min(last)
}

/// The layout of the rows.
struct Sheet<'a> {
    model: &'a Model,
    loaded: &'a LoadedTrace,
    gutter: usize,
    /// The tasks' columns; none for a list.
    columns: Option<Columns>,
    width: usize,
    /// The direct predecessors and successors of the selected step.
    causes: Vec<usize>,
    effects: Vec<usize>,
}

pub(super) fn draw(model: &Model, buffer: &mut Buffer, areas: &Areas) {
    let loaded = model.loaded();
    let gutter = (loaded.len() + 1).to_string().len().max(4);
    let cells = usize::from(areas.rows.width);
    let tasks = loaded.tasks().max(1);
    let top = top_line(model, areas.rows.height);
    let able = if model.show_enabled { able_cells(tasks).min(cells / 4) } else { 0 };
    let room = cells.saturating_sub(gutter + 5 + able);
    let selected = model.view.cursor;
    let linked = |links: Vec<replay_core::graph::Link>| links.iter().map(|l| l.step).collect();
    let inside = selected < loaded.len();
    let sheet = Sheet {
        model,
        loaded,
        gutter,
        columns: Columns::of(&activities(model, top, areas.rows.height), room),
        width: cells - able,
        causes: if inside { linked(loaded.graph().causes(selected)) } else { Vec::new() },
        effects: if inside { linked(loaded.graph().effects(selected)) } else { Vec::new() },
    };
    put(buffer, areas.schedule, 0, sheet.head());
    for line in 0..areas.rows.height {
        let at = top + usize::from(line);
        let pieces = match model.lines.get(at) {
            Some(&step) => {
                let next = model.lines.get(at + 1).copied().unwrap_or(loaded.len());
                sheet.row(step, next - step)
            }
            None if at == model.lines.len() => sheet.end(),
            None => continue,
        };
        put(buffer, areas.rows, line, pieces);
        if at == model.line_of(selected) {
            let row = Rect { y: areas.rows.y + line, height: 1, ..areas.rows };
            buffer.set_style(row, model.theme.style(Role::Selected));
        }
    }
    sheet.arrows(buffer, areas, top);
    minimap(model, buffer, areas.minimap);
}

/// The activity of each task in the visible rows.
fn activities(model: &Model, top: usize, height: u16) -> Vec<Activity> {
    let loaded = model.loaded();
    let shown = model.lines.iter().skip(top).take(usize::from(height));
    let (mut first, mut last) = (loaded.len(), 0);
    let mut tasks = vec![Activity::Absent; loaded.tasks()];
    for &step in shown {
        (first, last) = (first.min(step), step);
        let task = loaded.trace.execution.steps[step].task;
        if let Some(activity) = tasks.get_mut(task.index()) {
            *activity = Activity::Active;
        }
    }
    for (number, activity) in tasks.iter_mut().enumerate() {
        let task = TaskId(number as u16);
        if model.hidden.contains(&task) {
            *activity = Activity::Hidden;
            continue;
        }
        if model.pinned.contains(&task) {
            *activity = Activity::Active;
            continue;
        }
        let there = loaded.is_alive(task, first) || loaded.is_alive(task, last);
        if there && *activity == Activity::Absent {
            *activity = Activity::Idle;
        }
    }
    tasks
}

/// The columns of the names of all tasks.
fn able_cells(tasks: usize) -> usize {
    (0..tasks).map(|task| width(&TaskId(task as u16).to_string()) + 1).sum()
}

type Pieces = Vec<(String, Style)>;

impl Sheet<'_> {
    fn style(&self, role: Role) -> Style {
        self.model.theme.style(role)
    }

    fn head(&self) -> Pieces {
        let mut pieces = vec![(format!("{:>1$}     ", "step", self.gutter), self.style(Role::Dim))];
        let Some(columns) = &self.columns else {
            pieces.push(("operation".to_owned(), self.style(Role::Dim)));
            return pieces;
        };
        for task in 0..self.loaded.tasks() {
            let Some((_, column)) = columns.column(task) else { continue };
            let id = TaskId(task as u16);
            let title = match Columns::is_lane(column) {
                // The lane has room for one digit.
                true => (task % 10).to_string(),
                false => short_title(&self.loaded.trace, id, column, glyphs(self.model).cut),
            };
            let style = self.style(Role::Task(id)).add_modifier(Modifier::BOLD);
            pieces.push((title.clone() + &fill(width(&title), column + GAP), style));
        }
        pieces
    }

    /// The number of a step, the sign of a switch, and the relation to the selected step.
    fn margin(&self, step: usize, length: usize) -> Pieces {
        let steps = step..step + length.max(1);
        let selected = self.model.view.cursor;
        // A line of several steps has the relation of the one that matters most.
        let nearest = |links: &[usize]| links.iter().copied().find(|link| steps.contains(link));
        let linked_step = nearest(&self.causes).or_else(|| nearest(&self.effects));
        let inside = steps.contains(&selected).then_some(selected);
        let related = inside.or(linked_step).unwrap_or(step);
        let signs = glyphs(self.model);
        let (mark, role) = match self.loaded.mark(step) {
            Mark::Preemption => (signs.preemption, Role::Bad),
            Mark::Switch => (signs.switch, Role::Dim),
            Mark::None => (" ", Role::Dim),
        };
        let ascii = self.model.ascii;
        let relation = if self.causes.contains(&related) {
            if ascii { "^" } else { "▲" }
        } else if self.effects.contains(&related) {
            if ascii { "v" } else { "▼" }
        } else {
            match self.loaded.relation(related, selected) {
                Some(Relation::Same) => {
                    if ascii {
                        ">"
                    } else {
                        "▶"
                    }
                }
                Some(Relation::Before) => {
                    if ascii {
                        "'"
                    } else {
                        "△"
                    }
                }
                Some(Relation::After) => {
                    if ascii {
                        ","
                    } else {
                        "▽"
                    }
                }
                Some(Relation::Concurrent) => {
                    if ascii {
                        "="
                    } else {
                        "‖"
                    }
                }
                None => " ",
            }
        };
        let (ribbon, ribbon_role) = ribbon::sign(self.model, self.model.check(), steps.clone());
        let linked = linked_step.is_some();
        let same = inside.is_some();
        let marked = self.model.marked_step().is_some_and(|at| steps.contains(&at));
        let number = match marked || self.model.view.notes.range(steps).next().is_some() {
            true => self.style(Role::Notice).add_modifier(Modifier::REVERSED),
            false => self.style(Role::Dim),
        };
        vec![
            (format!("{:>1$}", step + 1, self.gutter), number),
            (format!("{mark} "), self.style(role)),
            (
                relation.to_owned(),
                self.style(if linked || same { Role::Notice } else { Role::Border }),
            ),
            (format!("{ribbon} "), self.style(ribbon_role)),
        ]
    }

    /// The row of `length` steps.
    fn row(&self, step: usize, length: usize) -> Pieces {
        let mut pieces = self.margin(step, length);
        if !self.model.shows(step) {
            pieces.push((self.hidden(step..step + length), self.style(Role::Border)));
            return pieces;
        }
        let task = self.loaded.trace.execution.steps[step].task;
        let signs = glyphs(self.model);
        let own = self.loaded.reader.cell(&self.loaded.trace, step, signs);
        let run = self
            .loaded
            .folded(step)
            .filter(|run| self.model.fold == Fold::Silent && run.length == length);
        let cell = match (run, length) {
            (Some(run), _) => self.loaded.reader.run_cell(&self.loaded.trace, step, run, signs),
            (None, 0 | 1) => own,
            _ => Cell {
                sign: signs.fold.to_owned(),
                operation: count(length as u64, "step"),
                object: String::new(),
                value: String::new(),
                site: own.site,
                failed: self.failed_in(step..step + length),
                task,
            },
        };
        // Steps after the cursor have not been executed yet at the cursor's position.
        let ahead = step > self.model.view.cursor;
        self.cells(&mut pieces, &[cell], step, ahead);
        if self.model.show_enabled {
            let able = self.loaded.enabled(step);
            let names: Vec<String> = able.iter().map(ToString::to_string).collect();
            pieces.push((format!(" {}", names.join(" ")), self.style(Role::Dim)));
        }
        pieces
    }

    /// Whether the failing step is in this range of steps.
    fn failed_in(&self, steps: Range<usize>) -> bool {
        let (trace, signs) = (&self.loaded.trace, glyphs(self.model));
        let last = steps.end - 1;
        // A failing step is the last of the execution or of its task.
        trace.failure.is_some() && self.loaded.reader.cell(trace, last, signs).failed
    }

    /// The text for steps that are hidden.
    fn hidden(&self, steps: Range<usize>) -> String {
        let signs = glyphs(self.model);
        let length = count(steps.len() as u64, "step");
        // More tasks would not fit; a hidden stretch can have millions of steps.
        let seen = self.loaded.trace.execution.steps[steps].iter().take(1000).map(|step| step.task);
        let tasks: BTreeSet<TaskId> = seen.collect();
        let names: Vec<String> = tasks.iter().take(8).map(ToString::to_string).collect();
        let more =
            if tasks.len() > names.len() { format!(" {}", signs.cut) } else { String::new() };
        let text = format!("{} {length} of {}{more} hidden", signs.fold, names.join(" "));
        clip(&text, self.width.saturating_sub(self.gutter + 5), signs.cut)
    }

    fn cells(&self, pieces: &mut Pieces, cells: &[Cell], step: usize, ahead: bool) {
        let Some(columns) = &self.columns else {
            let last = TaskId(self.loaded.tasks().saturating_sub(1) as u16);
            let names = (width(&last.to_string()) + 1).max(4);
            for cell in cells {
                let room = match cells.len() {
                    1 => self.width.saturating_sub(self.gutter + 5 + names + 1),
                    _ => cell.label_width() + 2,
                };
                let task = cell.task.to_string();
                pieces.push((format!("{task:<names$}"), self.style(Role::Task(cell.task))));
                self.cell(pieces, cell, room, ahead);
            }
            return;
        };
        for task in 0..self.loaded.tasks() {
            let Some((_, column)) = columns.column(task) else { continue };
            let id = TaskId(task as u16);
            match cells.iter().find(|cell| cell.task == id) {
                Some(cell) => self.cell(pieces, cell, column, ahead),
                None => {
                    let sign = match self.loaded.is_enabled(id, step) {
                        _ if !self.loaded.is_alive(id, step) => " ",
                        true => glyphs(self.model).lane,
                        false => glyphs(self.model).waiting,
                    };
                    let style = self.style(Role::Task(id)).add_modifier(Modifier::DIM);
                    pieces.push((sign.to_owned() + &fill(1, column), style));
                }
            }
            pieces.push((fill(0, GAP), self.style(Role::Text)));
        }
    }

    /// The operation at the left of the column, its location at the right.
    fn cell(&self, pieces: &mut Pieces, cell: &Cell, room: usize, ahead: bool) {
        let cut = glyphs(self.model).cut;
        // Without room for the file name, the line number alone distinguishes locations.
        let line = cell.site.rfind(':').map_or("", |colon| &cell.site[colon..]);
        let fits =
            |shown: &&str| !shown.is_empty() && width(shown) + 1 + cell.least_width() <= room;
        let shown = [cell.site.as_str(), line].into_iter().find(fits);
        let place = shown.map_or(0, width);
        let roomy = shown.is_some();
        let label = cell.label(if roomy { room - place - 1 } else { room }, cut);
        let mut style = self.style(if cell.failed { Role::Bad } else { Role::Task(cell.task) });
        if ahead && !cell.failed {
            style = style.add_modifier(Modifier::DIM);
        }
        let used = width(&label);
        pieces.push((label, style));
        if roomy {
            pieces.push((fill(used + place, room), style));
            pieces.push((shown.unwrap_or_default().to_owned(), self.style(Role::Dim)));
        } else {
            pieces.push((fill(used, room), style));
        }
    }

    /// Draws arrows from the direct predecessors to the selected step and from it to its direct
    /// successors, each in the row of the later step.
    fn arrows(&self, buffer: &mut Buffer, areas: &Areas, top: usize) {
        let Some(columns) = &self.columns else { return };
        let selected = self.model.view.cursor;
        let steps = &self.loaded.trace.execution.steps;
        let Some(own) = steps.get(selected).map(|step| step.task) else { return };
        let into = self.causes.iter().map(|&cause| (steps[cause].task, selected));
        let out = self.effects.iter().map(|&effect| (own, effect));
        for (from, step) in into.chain(out) {
            let to = steps[step].task;
            let line = self.model.line_of(step);
            if from == to || line < top || line - top >= usize::from(areas.rows.height) {
                continue;
            }
            let y = areas.rows.y + (line - top) as u16;
            let (Some(left), Some(right)) =
                (columns.column(from.index()), columns.column(to.index()))
            else {
                continue;
            };
            let lane = |at: usize| (self.gutter + 5 + at) as u16;
            let ((left, _), (right, column)) = (left, right);
            let (from_lane, to_lane) = (lane(left), lane(right));
            let signs = if self.model.ascii {
                ["-", ">", "<", "+", "+"]
            } else {
                ["╌", "►", "◄", "╰", "╯"]
            };
            // From the lane of the earlier task, across the columns between, to the later step.
            let (begin, cells, end) = if from < to {
                (from_lane, from_lane + 1..to_lane - 1, (to_lane - 1, signs[1]))
            } else {
                let right = to_lane + column as u16;
                (from_lane, right + 1..from_lane, (right, signs[2]))
            };
            let corner = if from < to { signs[3] } else { signs[4] };
            let inside = |x: u16| x < areas.rows.width;
            let style = self.style(Role::Notice);
            let mut put = |x: u16, sign: &str| {
                if inside(x) {
                    buffer.set_string(areas.rows.x + x, y, sign, style);
                }
            };
            cells.for_each(|x| put(x, signs[0]));
            put(begin, corner);
            put(end.0, end.1);
        }
    }

    /// The line below the last step: how the execution ended.
    fn end(&self) -> Pieces {
        let mut pieces = vec![(fill(0, self.gutter + 5), self.style(Role::Text))];
        let trace = &self.loaded.trace;
        match (&trace.failure, waiting(trace, glyphs(self.model))) {
            (_, Some(row)) => self.cells(&mut pieces, &row.cells, self.loaded.len(), false),
            (Some(failure), None) => {
                let text = format!("{}: {}", failure.kind, short_message(&failure.message));
                let room = self.width.saturating_sub(self.gutter + 5);
                let text = clip(&text, room, glyphs(self.model).cut);
                pieces.push((text, self.style(Role::Bad)));
            }
            (None, None) => pieces.push(match cut(trace) {
                Some(cut) => (format!("{cut}: its end is unknown"), self.style(Role::Bad)),
                None => ("the program ends without a failure".into(), self.style(Role::Good)),
            }),
        }
        pieces
    }
}

/// The minimap: the whole schedule in one column, with preemptions, the visible part and the cursor.
fn minimap(model: &Model, buffer: &mut Buffer, area: Rect) {
    let lines = model.lines.len() + 1;
    let height = usize::from(area.height);
    if height == 0 || lines <= height {
        return;
    }
    let theme = model.theme;
    let at = |line: usize| (line * height / lines).min(height - 1) as u16;
    let top = top_line(model, area.height);
    let (first, last) = (at(top), at(top + height - 1));
    let signs = if model.ascii { [".", "#", "!", "o"] } else { ["·", "█", "‼", "●"] };
    for y in 0..area.height {
        let inside = (first..=last).contains(&y);
        let (sign, role) = if inside { (signs[1], Role::Border) } else { (signs[0], Role::Border) };
        buffer.set_string(area.x, area.y + y, sign, theme.style(role));
    }
    // At most one mark for each cell, however many preemptions it stands for.
    let loaded = model.loaded();
    let mut drawn = None;
    for cell in 0..height {
        let from = cell * lines / height;
        let to = ((cell + 1) * lines / height).min(model.lines.len());
        let (Some(&from), to) = (model.lines.get(from), model.lines.get(to)) else { continue };
        let to = to.copied().unwrap_or(loaded.len());
        let marks = loaded.preemptions();
        let next = marks.partition_point(|&step| step < from);
        if marks.get(next).is_some_and(|&step| step < to) && drawn != Some(cell) {
            drawn = Some(cell);
            buffer.set_string(area.x, area.y + cell as u16, signs[2], theme.style(Role::Bad));
        }
    }
    let cursor = at(model.line_of(model.view.cursor));
    buffer.set_string(area.x, area.y + cursor, signs[3], theme.style(Role::Notice));
}
