//! The happens-before graph around the selected step, reduced to the steps at which one task
//! synchronises with another.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::names::object_name;
use crate::report::text::fill;
use crate::tui::model::Model;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use ratatui::layout::Size;
use ratatui::style::Style;
use replay_core::graph::{Cause, Link};
use traces::TaskId;

/// The pane.
pub(super) struct Graph;

impl Pane for Graph {
    fn id(&self) -> PaneId {
        PaneId("graph")
    }

    fn help(&self) -> &'static str {
        "the happens-before graph around the selected step"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-4"]
    }

    fn lines(&self, model: &Model, room: Size) -> Lines {
        graph(model, room.height)
    }
}

/// The width of a lane.
const LANE: usize = 4;

fn graph(model: &Model, height: u16) -> Lines {
    let loaded = model.loaded();
    let at = model.view.cursor;
    if at >= loaded.len() {
        return vec![one(model, " select a step to see its happens-before graph", Role::Dim)];
    }
    let execution = &loaded.trace.execution;
    let room = usize::from(height).saturating_sub(2);
    let steps = loaded.graph().cone(execution, at, room / 2, room - room / 2);
    let mut tasks: Vec<TaskId> = steps.iter().map(|&step| execution.steps[step].task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let digits = loaded.len().to_string().len().max(4);
    let mut head = vec![(fill(0, digits + 4), model.theme.style(Role::Dim))];
    for task in &tasks {
        let name = format!("{:<LANE$}", task.to_string());
        head.push((name, model.theme.style(Role::Task(*task))));
    }
    let mut lines = vec![head];
    if steps.len() == 1 {
        let text = " this step is not ordered with steps of other tasks";
        lines.push(one(model, text, Role::Dim));
    }
    lines.extend(steps.iter().map(|&step| {
        let heard = from_others(model, step, &steps);
        row(model, step, &steps, &tasks, &heard, digits)
    }));
    lines
}

/// The direct predecessors of a step in other tasks, among the steps that are shown.
fn from_others(model: &Model, step: usize, shown: &[usize]) -> Vec<Link> {
    let loaded = model.loaded();
    let steps = &loaded.trace.execution.steps;
    let mut links = loaded.graph().causes(step);
    links.retain(|link| {
        steps[link.step].task != steps[step].task && shown.binary_search(&link.step).is_ok()
    });
    links
}

fn row(
    model: &Model,
    step: usize,
    shown: &[usize],
    tasks: &[TaskId],
    heard: &[Link],
    digits: usize,
) -> Vec<(String, Style)> {
    let loaded = model.loaded();
    let steps = &loaded.trace.execution.steps;
    let own = steps[step].task;
    let lane = |task: TaskId| tasks.iter().position(|known| *known == task).unwrap_or(0);
    let selected = step == model.view.cursor;
    let arrow = if selected { glyphs(model).arrow } else { " " };
    let role = if selected { Role::Notice } else { Role::Dim };
    let mut pieces = vec![
        (format!(" {arrow:<1}"), model.theme.style(Role::Notice)),
        (format!("{:>digits$}  ", step + 1), model.theme.style(role)),
    ];
    let signs = match model.ascii {
        true => ['|', '*', '-', '>', '<', '+', '+', '@'],
        false => ['│', '●', '─', '►', '◄', '╰', '╯', '◉'],
    };
    // The arrow starts at the last predecessor; the others are named.
    let from = heard.iter().max_by_key(|link| link.step).map(|link| steps[link.step].task);
    let across = from.map(|from| (lane(from).min(lane(own)), lane(from).max(lane(own))));
    for (at, task) in tasks.iter().enumerate() {
        let alive = |other: &&usize| steps[**other].task == *task;
        let first = shown.iter().find(alive).is_some_and(|&first| first <= step);
        let last = shown.iter().rfind(alive).is_some_and(|&last| last >= step);
        let (begins, inside) = match across {
            Some((left, right)) => (at == lane(from.unwrap_or(own)), left <= at && at < right),
            None => (false, false),
        };
        let leftwards = across.is_some_and(|(left, _)| left == lane(own));
        let sign = match () {
            () if *task == own && selected => signs[7],
            () if *task == own => signs[1],
            () if begins && leftwards => signs[6],
            () if begins => signs[5],
            () if inside => signs[2],
            () if first && last => signs[0],
            () => ' ',
        };
        let role = if inside || begins { Role::Notice } else { Role::Task(*task) };
        pieces.push((sign.to_string(), model.theme.style(role)));
        let mut gap: Vec<char> = vec![if inside { signs[2] } else { ' ' }; LANE - 1];
        if inside && leftwards && *task == own {
            gap[0] = signs[4];
        }
        if inside && !leftwards && across.is_some_and(|(_, right)| at + 1 == right) {
            gap[LANE - 2] = signs[3];
        }
        pieces.push((gap.into_iter().collect(), model.theme.style(Role::Notice)));
    }
    let cell = loaded.reader.cell(&loaded.trace, step, glyphs(model));
    let label = cell.label(usize::MAX, "");
    pieces.push((format!(" {label}  "), model.theme.style(Role::Task(own))));
    for link in heard {
        let why = match link.cause {
            Cause::Program => String::new(),
            Cause::Creation => "created by".to_owned(),
            Cause::Join => "after the end of".to_owned(),
            Cause::Object(index) => {
                let name = object_name(&loaded.trace, Some(index)).unwrap_or_default();
                format!("by {name} from")
            }
        };
        let text = format!("{why} {} ({})  ", steps[link.step].task, link.step + 1);
        pieces.push((text, model.theme.style(Role::Dim)));
    }
    pieces
}
