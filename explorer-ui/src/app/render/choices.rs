//! The choice at a step: every task with what it would do, whether it may, and what lies ahead.

use super::{glyphs, heading, put};
use crate::app::action::Action;
use crate::app::model::Model;
use crate::app::theme::Role;
use crate::views::rows::{object, place};
use crate::views::task_title;
use crate::views::text::{clean, clip, fill, grouped, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use replay_core::walk::standing::{Reason, Standing};
use replay_core::walk::{Ahead, Way};
use traces::TaskId;

/// The cells that what lies ahead is to have at the least.
const OUTLOOK: usize = 24;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    if area.height == 0 {
        return;
    }
    let more = if model.looking { "looking ahead" } else { "" };
    heading(model, buffer, area, "who may move", more);
    let titles: Vec<String> =
        model.standing.iter().map(|one| task_title(&model.loaded().trace, one.task)).collect();
    let cut = glyphs(model).cut;
    let widest = |texts: &[String], most: usize| {
        texts.iter().map(|text| width(text)).max().unwrap_or(0).min(most)
    };
    let moves: Vec<String> = model.standing.iter().map(|one| what(model, one)).collect();
    let places: Vec<String> = model
        .standing
        .iter()
        .map(|one| one.site.map(|site| place(&model.loaded().trace.execution, site)))
        .map(Option::unwrap_or_default)
        .collect();
    // Where there is little room, what lies ahead matters more than where the code is.
    let place_cells = if area.width >= 76 { widest(&places, 24) } else { 0 };
    let title_cells = widest(&titles, 18);
    // What stands beside is worth more than the end of a long name.
    let beside = 5 + title_cells + 2 + 2 + OUTLOOK;
    let most = usize::from(area.width).saturating_sub(beside).clamp(12, 24);
    let cells = [title_cells, widest(&moves, most), place_cells];
    if let Some(text) = data(model) {
        let key = model.keys.of(Action::OtherData).first().copied().unwrap_or(" ");
        let line = model.standing.len() as u16 + 1;
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
    if listed < model.standing.len() && room > 0 {
        let more = grouped((model.standing.len() - listed) as u64);
        let key = model.keys.of(Action::PickTask).first().copied().unwrap_or(" ");
        let pieces = vec![
            (format!(" {key} "), model.theme.style(Role::Key)),
            (format!("  and {more} more: any by its number"), model.theme.style(Role::Dim)),
        ];
        put(buffer, area, room as u16, pieces);
    }
    for (line, one) in model.standing.iter().enumerate().take(listed) {
        let texts = [&titles[line], &moves[line], &places[line]];
        let mut padded = texts.into_iter().zip(cells).map(|(text, cells)| {
            let text = clip(text, cells, cut);
            text.clone() + &fill(width(&text), cells)
        });
        let texts = [(); 3].map(|()| padded.next().unwrap_or_default());
        row(model, buffer, area, line, one, &texts);
    }
}

/// How many of the tasks are listed in so many lines: where they do not fit, the last line says so.
fn listed(model: &Model, room: usize) -> usize {
    match model.standing.len() {
        tasks if tasks <= room => tasks,
        _ => room.saturating_sub(1),
    }
}

/// The place in the list of tasks that stands on a line of the area.
pub(in crate::app) fn listed_at(model: &Model, area: Rect, line: u16) -> Option<usize> {
    let place = usize::from(line.checked_sub(1)?);
    let room = usize::from(area.height.saturating_sub(1));
    (place < listed(model, room)).then_some(place)
}

/// How many lines there are below the heading.
pub(super) fn lines(model: &Model) -> u16 {
    model.standing.len() as u16 + u16::from(data(model).is_some())
}

/// The choice that the step before made by itself, if it made one.
fn data(model: &Model) -> Option<String> {
    let before = model.spot.cursor.checked_sub(1)?;
    let execution = &model.loaded().trace.execution;
    let choice = execution.data.iter().rfind(|choice| choice.step == before as u64)?;
    let operation = execution.steps.get(before)?.operation.name();
    let (taken, of) = (choice.taken + 1, choice.of);
    Some(format!("the {operation} before went way {taken} of {of}: the next one"))
}

/// What a task would do.
fn what(model: &Model, one: &Standing) -> String {
    let operation = one.operation.map_or("", |operation| operation.name());
    let target = object(&model.loaded().trace, one.object).unwrap_or_default();
    let target = if target == one.task.to_string() { String::new() } else { target };
    format!("{operation} {target}").trim().to_owned()
}

fn row(
    model: &Model,
    buffer: &mut Buffer,
    area: Rect,
    line: usize,
    one: &Standing,
    [title, what, at]: &[String; 3],
) {
    let theme = model.theme;
    let trace = &model.loaded().trace;
    let key = if line < 9 { (line + 1).to_string() } else { " ".into() };
    let moves = one.next == Some(model.spot.cursor);
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
    let been = way(model, model.spot.cursor, one.task).filter(|_| one.enabled);
    if let Some((sign, _, role)) = been {
        // Only the sign: the pane of the tree has the words.
        pieces.push((format!("{sign} "), theme.style(role)));
    }
    let used: usize = pieces.iter().map(|(text, _)| width(text)).sum();
    let room = usize::from(area.width).saturating_sub(used);
    if let Some(why) = &one.why {
        let why = clean(&Reason(why, &trace.execution).to_string());
        pieces.push((clip(&why, room, glyphs(model).cut), theme.style(Role::Notice)));
    } else if let Some(ahead) = model.ahead.get(&one.task) {
        let (mut texts, role) = outlook(ahead, glyphs(model).preemption);
        let fits = texts.iter().position(|text| width(text) <= room);
        let text = texts.swap_remove(fits.unwrap_or(texts.len() - 1));
        pieces.push((text, theme.style(role)));
    }
    put(buffer, area, line as u16 + 1, pieces);
}

/// How the search stands to a move: a sign, a word and a colour.
pub(super) fn way(
    model: &Model,
    step: usize,
    task: TaskId,
) -> Option<(&'static str, String, Role)> {
    let way = model.handed.as_ref()?.way(model.loaded(), step, task);
    let (signs, word, role) = match way {
        Way::Outside | Way::Unknown => return None,
        Way::Explored => (["●", "+"], "explored", Role::Good),
        Way::Partly => (["◐", "~"], "partly", Role::Notice),
        Way::Pending => (["○", "."], "waits", Role::Dim),
        Way::Pruned => (["◌", "-"], "pruned", Role::Dim),
        Way::Beyond => (["✗", "x"], "beyond", Role::Dim),
        Way::Met(0) => (["○", "."], "not met", Role::Dim),
        Way::Met(times) => {
            let sign = if model.ascii { "~" } else { "◐" };
            return Some((sign, format!("{}x", grouped(times)), Role::Notice));
        }
    };
    Some((signs[usize::from(model.ascii)], word.to_owned(), role))
}

/// What lies ahead, in a few words, and in fewer and fewer.
fn outlook(ahead: &Ahead, preemption: &str) -> (Vec<String>, Role) {
    let runs = grouped(ahead.executions);
    let failing = grouped(ahead.failing);
    // So many preemptions from here, with the sign that marks them in the schedule.
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
            (vec![full, shorter, format!("{failing}/{runs} fail{sooner}")], Role::Bad)
        }
        (0, false) if ahead.nearest.is_some() => {
            (vec![format!("fails{near}"), format!("fails{sooner}")], Role::Bad)
        }
        (0, false) => {
            (vec![format!("none of {runs} tried fails"), format!("0/{runs} fail")], Role::Dim)
        }
        (failing, false) => {
            let share = failing as f64 * 100.0 / ahead.executions.max(1) as f64;
            let share = if share < 1.0 { "under 1".to_owned() } else { format!("{share:.0}") };
            let full = format!("{share} % of {runs} fail{near}");
            let shorter = format!("{share} % fail{near}");
            (vec![full, shorter, format!("{share} % fail{sooner}")], Role::Bad)
        }
    }
}
