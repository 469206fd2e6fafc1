//! The list of tasks: the next step of each, whether it is enabled, and its look-ahead.

use super::paint::{glyphs, heading, put};
use crate::report::calls::requested;
use crate::report::names::{object_name, short_name, short_title, site_name};
use crate::report::text::{clean, clip, fill, grouped, width};
use crate::report::verdict::short_message;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use replay_core::runner::{BranchState, LookAhead};
use replay_core::{blocked::BlockedText, task_status::TaskStatus};
use traces::TaskId;

/// Below this width the names of tasks are shorter.
const NARROW: u16 = 60;
/// The minimum width of the look-ahead.
const OUTLOOK: usize = 24;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    if area.height == 0 {
        return;
    }
    let more = match &model.can_run {
        Ok(()) if model.looking_ahead => "looking ahead",
        Ok(()) => "",
        Err(_) => "cannot be run",
    };
    heading(model, buffer, area, "next to run", Role::Title, more);
    let cut = glyphs(model).cut;
    let most = if area.width < NARROW { 14 } else { 18 };
    let title = |one: &TaskStatus| short_title(&model.loaded().trace, one.task, most, cut);
    let titles: Vec<String> = model.task_states.iter().map(title).collect();
    let widest = |texts: &[String], most: usize| {
        texts.iter().map(|text| width(text)).max().unwrap_or(0).min(most)
    };
    let places: Vec<String> = model
        .task_states
        .iter()
        .map(|one| one.site.map(|site| site_name(&model.loaded().trace.execution, site)))
        .map(Option::unwrap_or_default)
        .collect();
    // In little room the look-ahead matters more than the source location.
    let place_cells = if area.width >= 76 { widest(&places, 24) } else { 0 };
    let title_cells = widest(&titles, most);
    // The look-ahead matters more than the end of a long name.
    let beside = 5 + title_cells + 2 + 2 + OUTLOOK;
    let most = usize::from(area.width).saturating_sub(beside).clamp(12, 24);
    let moves: Vec<String> =
        model.task_states.iter().map(|one| what(model, one, most, cut)).collect();
    let cells = [title_cells, widest(&moves, most), place_cells];
    if let Some(text) = data(model) {
        let key = model.keys.name_of(Action::OtherData, " ");
        let line = model.task_states.len() as u16 + 1;
        put(
            buffer,
            area,
            line,
            vec![
                (format!(" {key} "), model.theme.style(Role::Key)),
                (format!("  {text}"), model.theme.style(Role::Dim)),
            ],
        );
    }
    let room = usize::from(area.height.saturating_sub(1));
    let listed = listed(model, room);
    if listed < model.task_states.len() && room > 0 {
        let more = grouped((model.task_states.len() - listed) as u64);
        let key = model.keys.name_of(Action::PickTask, " ");
        let pieces = vec![
            (format!(" {key} "), model.theme.style(Role::Key)),
            (format!("  and {more} more: run one by its number"), model.theme.style(Role::Dim)),
        ];
        put(buffer, area, room as u16, pieces);
    }
    for (line, one) in model.task_states.iter().enumerate().take(listed) {
        let texts = [&titles[line], &moves[line], &places[line]];
        let mut padded = texts.into_iter().zip(cells).map(|(text, cells)| {
            let text = clip(text, cells, cut);
            text.clone() + &fill(width(&text), cells)
        });
        let texts = [(); 3].map(|()| padded.next().unwrap_or_default());
        row(model, buffer, area, line, one, &texts);
    }
}

/// The number of tasks that are listed in this many lines. If not all fit, the last line is used
/// for the number of those that are missing.
fn listed(model: &Model, room: usize) -> usize {
    match model.task_states.len() {
        tasks if tasks <= room => tasks,
        _ => room.saturating_sub(1),
    }
}

/// The index of the task that is listed on a line of the area.
pub(in crate::tui) fn listed_at(model: &Model, area: Rect, line: u16) -> Option<usize> {
    let place = usize::from(line.checked_sub(1)?);
    let room = usize::from(area.height.saturating_sub(1));
    (place < listed(model, room)).then_some(place)
}

/// The number of lines below the heading.
pub(super) fn lines(model: &Model) -> u16 {
    model.task_states.len() as u16 + u16::from(data(model).is_some())
}

/// The outcome of the previous step, if it had several.
fn data(model: &Model) -> Option<String> {
    let before = model.view.cursor.checked_sub(1)?;
    let execution = &model.loaded().trace.execution;
    let choice = execution.data.iter().rfind(|choice| choice.step == before as u64)?;
    let operation = execution.steps.get(before)?.operation.name();
    let (taken, of) = (choice.taken + 1, choice.of);
    Some(format!("the previous {operation} had outcome {taken} of {of}: run the next one"))
}

/// The next operation of a task, in at most this many cells.
fn what(model: &Model, one: &TaskStatus, cells: usize, cut: &str) -> String {
    let trace = &model.loaded().trace;
    let asked = match (one.operation, one.site) {
        (Some(operation), Some(site)) => Some(requested(&trace.execution, site, operation)),
        (operation, _) => operation,
    };
    let operation = asked.map_or("", |operation| operation.name());
    let target = object_name(trace, one.object).unwrap_or_default();
    let target = if target == one.task.to_string() { String::new() } else { target };
    let target = short_name(&target, cells.saturating_sub(width(operation) + 1), cut);
    format!("{operation} {target}").trim().to_owned()
}

fn row(
    model: &Model,
    buffer: &mut Buffer,
    area: Rect,
    line: usize,
    one: &TaskStatus,
    [title, what, at]: &[String; 3],
) {
    let theme = model.theme;
    let trace = &model.loaded().trace;
    let key = if line < 9 { (line + 1).to_string() } else { " ".into() };
    let moves = one.next == Some(model.view.cursor);
    let sign = match (moves, one.enabled, model.ascii) {
        (true, _, true) => ">",
        (true, _, false) => "▶",
        (false, true, _) => " ",
        (false, false, true) => "x",
        (false, false, false) => "✗",
    };
    let style = theme.style(Role::Task(one.task));
    let mut pieces = vec![
        (format!(" {key} "), theme.style(if one.enabled { Role::Key } else { Role::Dim })),
        (format!("{sign} "), theme.style(if moves { Role::Notice } else { Role::Dim })),
        (format!("{title}  "), style),
        (format!("{what}  "), theme.style(if one.enabled { Role::Text } else { Role::Dim })),
        (if at.is_empty() { String::new() } else { format!("{at}  ") }, theme.style(Role::Dim)),
    ];
    let been = way(model, model.view.cursor, one.task).filter(|_| one.enabled);
    if let Some((sign, _, role)) = been {
        // Only the sign: the tree pane has the words.
        pieces.push((format!("{sign} "), theme.style(role)));
    }
    let used: usize = pieces.iter().map(|(text, _)| width(text)).sum();
    let room = usize::from(area.width).saturating_sub(used);
    if let Some(why) = &one.why {
        let why = clean(&BlockedText(why, &trace.execution).to_string());
        pieces.push((clip(&why, room, glyphs(model).cut), theme.style(Role::Notice)));
    } else if let Some(why) = failing(model, one.task) {
        pieces.push((clip(&why, room, glyphs(model).cut), theme.style(Role::Bad)));
    } else if let Some(ahead) = model.ahead.get(&one.task) {
        let (mut texts, role) = outlook(ahead, glyphs(model).preemption);
        let fits = texts.iter().position(|text| width(text) <= room);
        let text = texts.swap_remove(fits.unwrap_or(texts.len() - 1));
        pieces.push((clip(&text, room, glyphs(model).cut), theme.style(role)));
    }
    put(buffer, area, line as u16 + 1, pieces);
}

/// What failed, at the end of the failing task.
fn failing(model: &Model, task: TaskId) -> Option<String> {
    let loaded = model.loaded();
    let failure = loaded.trace.failure.as_ref()?;
    let here = model.view.cursor >= loaded.len() && failure.task == Some(task);
    here.then(|| format!("failed: {}", short_message(&failure.message)))
}

/// What the search knows about running a task next: a sign, a word and a colour.
pub(in crate::tui) fn way(
    model: &Model,
    step: usize,
    task: TaskId,
) -> Option<(&'static str, String, Role)> {
    let way = model.search.as_ref()?.way(model.loaded(), step, task);
    let (signs, word, role) = match way {
        BranchState::Outside | BranchState::Unknown => return None,
        BranchState::Explored => (["●", "+"], "explored", Role::Good),
        BranchState::Partly => (["◐", "~"], "partly", Role::Notice),
        BranchState::Pending => (["○", "."], "pending", Role::Dim),
        BranchState::Pruned => (["◌", "-"], "pruned", Role::Dim),
        BranchState::Beyond => (["✗", "x"], "over bound", Role::Dim),
        BranchState::Met(0) => (["○", "."], "not run", Role::Dim),
        BranchState::Met(times) => {
            let sign = if model.ascii { "~" } else { "◐" };
            return Some((sign, format!("{}x", grouped(times)), Role::Notice));
        }
    };
    Some((signs[usize::from(model.ascii)], word.to_owned(), role))
}

/// The look-ahead in words, from the longest to the shortest text.
fn outlook(ahead: &LookAhead, preemption: &str) -> (Vec<String>, Role) {
    let runs = grouped(ahead.executions);
    let failing = grouped(ahead.failing);
    // Preemptions from here, with the sign that marks them in the schedule.
    let [near, sooner] = match &ahead.nearest {
        Some(nearest) if nearest.preemptions != u32::MAX => {
            let near = format!("{}{preemption}", nearest.preemptions);
            [format!(", nearest {near}"), format!(" {near}")]
        }
        _ => [String::new(), String::new()],
    };
    match (ahead.failing, ahead.exhausted) {
        (0, true) => (vec![format!("safe: all {runs} pass"), "safe".into()], Role::Good),
        (_, true) => {
            let full = format!("{failing} of {runs} fail{near}");
            let shorter = format!("{failing}/{runs} fail{near}");
            let short = format!("{failing}/{runs} fail{sooner}");
            (vec![full, shorter, short, format!("{failing}/{runs} fail")], Role::Bad)
        }
        (0, false) if ahead.nearest.is_some() => {
            (vec![format!("fails{near}"), format!("fails{sooner}")], Role::Bad)
        }
        (0, false) => {
            let full = format!("none of {runs} samples fails");
            (vec![full, format!("0/{runs} samples fail")], Role::Dim)
        }
        (sampled, false) => {
            let share = sampled_share(sampled, ahead.executions);
            let full = format!("{share} fail{near} ({runs} samples)");
            let shorter = format!("{share} fail{near}");
            (vec![full, shorter, format!("{share} fail{sooner}")], Role::Bad)
        }
    }
}

/// The share of failing random executions. It is marked as an estimate; a sample in which all
/// executions fail proves no more than a lower bound, at 95 % confidence about 1 - 3/n.
fn sampled_share(failing: u64, executions: u64) -> String {
    let executions = executions.max(1) as f64;
    let share = failing as f64 * 100.0 / executions;
    let at_most = (100.0 - 300.0 / executions).clamp(0.0, 99.0).floor();
    if failing as f64 >= executions {
        format!(">{at_most:.0} %")
    } else if share < 1.0 {
        "<1 %".to_owned()
    } else {
        format!("~{:.0} %", share.min(99.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_never_100_percent_and_looks_unlike_a_count() {
        for executions in [1, 10, 100, 2000, 1_000_000] {
            for failing in [executions, executions - 1] {
                let share = sampled_share(failing, executions);
                assert!(!share.contains("100"), "{failing} of {executions}: {share}");
            }
        }
        assert_eq!(sampled_share(28, 100), "~28 %");
        assert_eq!(sampled_share(100, 100), ">97 %");
        assert_eq!(sampled_share(1, 2000), "<1 %");
        let ahead = |exhausted| LookAhead {
            executions: 194,
            failing: 10,
            exhausted,
            ..LookAhead::default()
        };
        assert_eq!(outlook(&ahead(true), "!").0[0], "10 of 194 fail");
        assert_eq!(outlook(&ahead(false), "!").0[0], "~5 % fail (194 samples)");
        let none = LookAhead { executions: 20, ..LookAhead::default() };
        assert_eq!(outlook(&none, "!").0, ["none of 20 samples fails", "0/20 samples fail"]);
        let all = LookAhead { executions: 20, exhausted: true, ..LookAhead::default() };
        assert_eq!(outlook(&all, "!").0, ["safe: all 20 pass", "safe"]);
    }
}
