//! One source file around a line, with the positions of tasks and what the verdict names.

use super::pane::{Lines, one};
use crate::report::async_tasks::async_title;
use crate::report::names::{object_name, task_title};
use crate::report::source_line::pieces;
use crate::report::text::{clean, clip_front, fill};
use crate::tui::model::Model;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use crate::walk::place::failure_location;
use ratatui::layout::Size;
use ratatui::style::{Modifier, Style};
use replay_core::source::Source;
use std::collections::{BTreeSet, HashMap};
use traces::TaskId;

/// A source file that is displayed around a line.
#[derive(Debug)]
pub(super) struct View {
    /// The task whose position it is.
    pub(super) task: Option<TaskId>,
    /// The file.
    pub(super) path: String,
    /// The line.
    pub(super) line: u32,
    /// Whether it is the position of the selected step.
    pub(super) selected: bool,
}

/// Columns for the tasks whose next step is on a line.
const MARKS: usize = 6;

impl View {
    /// A title and the lines around the position. If several sources are displayed, the title begins
    /// with the task.
    pub(super) fn lines(&self, model: &Model, room: Size, several: bool) -> Lines {
        let Some(Some(file)) = model.sources.get(&self.path) else { return Lines::new() };
        let height = usize::from(room.height.saturating_sub(1)).max(1);
        let at = self.line.saturating_sub(1) as usize;
        let total = file.len() as usize;
        let top = at.saturating_sub(height / 2).min(total.saturating_sub(height));
        let digits = total.to_string().len();
        let marked = marks(model, &self.path);
        let shared = shared_names(model);
        let section = file.section(self.line).map(|section| section.lines);
        let mut lines = vec![self.title(model, file, usize::from(room.width), several)];
        for number in (top..total).take(height) {
            let line = number as u32 + 1;
            let mut row = self.tasks_at(model, line);
            row.push(match marked.get(&line) {
                Some(true) => (sign(model, true), model.theme.style(Role::Bad)),
                Some(false) => (sign(model, false), model.theme.style(Role::Notice)),
                None => (" ".to_owned(), model.theme.style(Role::Text)),
            });
            let current = number == at;
            let role = if current { Role::Notice } else { Role::Dim };
            row.push((format!("{line:>digits$}"), model.theme.style(role)));
            row.push(match section.as_ref().is_some_and(|lines| lines.contains(&line)) {
                true => (held(model).to_owned(), model.theme.style(Role::Notice)),
                false => (" ".to_owned(), model.theme.style(role)),
            });
            for (text, colour) in pieces(file, line) {
                let style = model.theme.style(colour.map_or(Role::Text, Role::Syntax));
                let bold = if current { Modifier::BOLD } else { Modifier::empty() };
                let named = model.theme.style(Role::Shared).add_modifier(bold);
                row.extend(with_names(&text, &shared, style.add_modifier(bold), named));
            }
            lines.push(row);
        }
        lines
    }

    /// The task, the file, the function, the critical section.
    fn title(
        &self,
        model: &Model,
        file: &Source,
        cells: usize,
        several: bool,
    ) -> Vec<(String, Style)> {
        let name = clean(&self.path);
        let mut title = one(model, " ", Role::Dim);
        if several && let Some(task) = self.task {
            let text = task_title(&model.loaded().trace, task) + "  ";
            let style = model.theme.style(Role::Task(task));
            let bold = if self.selected { Modifier::BOLD } else { Modifier::empty() };
            title.push((text, style.add_modifier(bold)));
            let short = name.rsplit('/').next().unwrap_or_default();
            title.push((format!("{short}:{}", self.line), model.theme.style(Role::Dim)));
        } else {
            // The end of a long path matters more than its beginning.
            let shown = clip_front(&name, cells / 2, glyphs(model).cut);
            title.push((shown, model.theme.style(Role::Dim)));
        }
        if let Some(function) = file.function(self.line, 0) {
            title.push((format!("  {}", clean(&function.name)), model.theme.style(Role::Title)));
        }
        let execution = &model.loaded().trace.execution;
        let executed = self.task.and_then(|task| execution.async_task_at(model.view.cursor, task));
        if let Some(executed) = executed {
            title.push((format!("  {}", async_title(executed)), model.theme.style(Role::Dim)));
        }
        if let Some(section) = file.section(self.line) {
            let (from, to) = (section.lines.start(), section.lines.end());
            let lock = clean(&section.lock);
            // Beside another source there is room for the name only; the lines are marked.
            let text = match several {
                true => format!("  holds {lock}"),
                false => format!("  in the critical section of {lock} ({from} to {to})"),
            };
            title.push((text, model.theme.style(Role::Dim)));
        }
        if file.newer {
            let text = "  changed since the program was built: lines may have moved";
            title.push((text.to_owned(), model.theme.style(Role::Bad)));
        }
        title
    }

    /// The tasks whose next operation is on a line.
    fn tasks_at(&self, model: &Model, line: u32) -> Vec<(String, Style)> {
        let loaded = model.loaded();
        let here: Vec<TaskId> = model
            .task_states
            .iter()
            .filter(|state| {
                let frame = state.site.and_then(|site| loaded.frames(site).first());
                frame.is_some_and(|frame| frame.file == self.path && frame.line == line)
            })
            .map(|state| state.task)
            .collect();
        let mut pieces = Vec::new();
        let mut used = 0;
        for (place, &task) in here.iter().enumerate() {
            let tag = task.to_string();
            // Leaves room for a sign that there are more tasks.
            let last = place + 1 == here.len();
            if used + tag.len() + usize::from(!last) > MARKS {
                used += 1;
                pieces.push(("+".into(), model.theme.style(Role::Dim)));
                break;
            }
            used += tag.len();
            pieces.push((tag, model.theme.style(Role::Task(task))));
        }
        pieces.push((fill(used, MARKS), model.theme.style(Role::Text)));
        pieces
    }
}

/// The lines of a file that the verdict names and, with `true`, the one at which the execution
/// failed.
fn marks(model: &Model, path: &str) -> HashMap<u32, bool> {
    let loaded = model.loaded();
    let steps = &loaded.trace.execution.steps;
    let mut marked = HashMap::new();
    let Some(verdict) = model.verdict() else { return marked };
    let named = verdict.steps().into_iter().filter_map(|at| steps.get(at)).map(|step| step.site);
    let named = named.chain(verdict.moments().into_iter().map(|moment| moment.site));
    let waiting = loaded.trace.failure.iter().flat_map(|failure| &failure.waits);
    for site in named.chain(waiting.filter_map(|wait| wait.site)) {
        let frame = loaded.frames(site).iter().find(|frame| frame.file == path);
        marked.extend(frame.map(|frame| (frame.line, false)));
    }
    if let Some((file, line)) = failure_location(&loaded.trace)
        && file == path
    {
        marked.insert(line, true);
    }
    marked
}

/// The sign of the failing line, or of one that the verdict names.
fn sign(model: &Model, fails: bool) -> String {
    let sign = match (fails, model.ascii) {
        (true, true) => "!",
        (true, false) => "✗",
        (false, true) => "*",
        (false, false) => "●",
    };
    sign.to_owned()
}

/// The sign of a line in the critical section.
fn held(model: &Model) -> &'static str {
    if model.ascii { "|" } else { "┃" }
}

/// The names in the source of the objects that tasks share at this point: those of the operations
/// that the verdict names, and that of the selected step.
fn shared_names(model: &Model) -> BTreeSet<String> {
    let trace = &model.loaded().trace;
    let steps = &trace.execution.steps;
    let mut objects: Vec<Option<u32>> =
        steps.get(model.view.cursor).map(|step| step.object).into_iter().collect();
    if let Some(verdict) = model.verdict() {
        objects.extend(verdict.moments().iter().map(|moment| moment.object));
        let at_steps = verdict.steps().into_iter().filter_map(|at| steps.get(at));
        objects.extend(at_steps.map(|step| step.object));
    }
    let waits = trace.failure.iter().flat_map(|failure| &failure.waits);
    objects.extend(waits.map(|wait| wait.object));
    let names = objects.into_iter().filter_map(|object| object_name(trace, object));
    names.filter_map(|name| last_identifier(&name).map(str::to_owned)).collect()
}

/// The identifier of a variable or field that ends an expression: `total` of `bank->total[2]`.
fn last_identifier(name: &str) -> Option<&str> {
    let name = name.split('[').next().unwrap_or_default();
    let start = name
        .rfind(|letter: char| !is_of_identifier(letter))
        .map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
    let word = &name[start..];
    word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_').then_some(word)
}

fn is_of_identifier(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A piece of source text, in which these names have another style.
fn with_names(
    text: &str,
    names: &BTreeSet<String>,
    style: Style,
    named: Style,
) -> Vec<(String, Style)> {
    let mut pieces: Vec<(String, Style)> = Vec::new();
    let mut push = |text: &str, style: Style| match pieces.last_mut() {
        Some(last) if last.1 == style => last.0.push_str(text),
        _ => pieces.push((text.to_owned(), style)),
    };
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let same = |other: char| is_of_identifier(other) == is_of_identifier(letter);
        let end = rest.find(|other| !same(other)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        push(word, if names.contains(word) { named } else { style });
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_identifier_names_the_variable() {
        for (name, wanted) in [
            ("total", Some("total")),
            ("queue->len", Some("len")),
            ("bank.accounts[1].sum", Some("accounts")),
            ("ACCOUNTS[2]", Some("ACCOUNTS")),
            ("main::BANK", Some("BANK")),
            ("0x7f00", None),
            ("[heap 3]", None),
            ("", None),
        ] {
            assert_eq!(last_identifier(name), wanted, "{name}");
        }
    }

    #[test]
    fn whole_words_are_marked() {
        let names = BTreeSet::from(["len".to_owned()]);
        let (plain, named) = (Style::new(), Style::new().add_modifier(Modifier::UNDERLINED));
        let marked = with_names("q->len == length", &names, plain, named);
        let texts: Vec<&str> = marked.iter().map(|piece| piece.0.as_str()).collect();
        assert_eq!(texts, ["q->", "len", " == length"]);
        assert_eq!(marked[1].1, named);
    }
}
