//! Progress, coverage and results of the search.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::text::{clean, count, grouped};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::search::{SearchState, SearchStatus};
use ratatui::layout::Size;
use replay_core::runner::{Estimate, Tree, Visits};
use traces::FailureKind;
use traces::report::Bug;

/// The pane.
pub(super) struct Search;

impl Pane for Search {
    fn id(&self) -> PaneId {
        PaneId("search")
    }

    fn help(&self) -> &'static str {
        "progress, coverage and failures of the search"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-9"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        dashboard(model)
    }

    fn wraps(&self) -> bool {
        true
    }
}

/// The contents of the pane before the first search.
fn nothing(model: &Model) -> Lines {
    let text = " h starts a search from the selected step, with any strategy and bound";
    vec![one(model, text, Role::Dim)]
}

/// Progress and results.
fn dashboard(model: &Model) -> Lines {
    let Some(search) = &model.search else { return nothing(model) };
    let progress = &search.progress;
    let seconds = progress.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { progress.executions as f64 / seconds } else { 0.0 };
    let behind = search.order.behind();
    let bound = match search.order.bound {
        Some(bound) => format!(", at most {}", count(bound.into(), "preemption")),
        None => String::new(),
    };
    let (status, role) = match &search.status {
        SearchStatus::Running => ("running".to_owned(), Role::Notice),
        SearchStatus::Stopping => ("stopping".to_owned(), Role::Notice),
        SearchStatus::Ended { complete: true, what } => (clean(what), Role::Good),
        SearchStatus::Ended { complete: false, what } => (clean(what), Role::Dim),
    };
    let mut lines = vec![
        vec![
            (format!(" {}", search.order.strategy.name()), model.theme.style(Role::Title)),
            (format!("{bound} from step {}: ", behind + 1), model.theme.style(Role::Text)),
            (status, model.theme.style(role)),
        ],
        one(
            model,
            format!(
                " {}   {}/s   {} distinct   {seconds:.1} s",
                count(progress.executions, "execution"),
                grouped(rate as u64),
                grouped(progress.distinct),
            ),
            Role::Text,
        ),
    ];
    let level = match progress.bound {
        Some(bound) => format!(" exploring {}; ", count(bound.into(), "preemption")),
        None => " ".to_owned(),
    };
    // The tree, from which the depths below are, is read at another moment than the progress.
    let open = match &search.tree {
        Some(tree) => tree.by_depth().values().sum(),
        None => progress.open,
    };
    let waiting = match open {
        1 => "1 branch unexplored".to_owned(),
        open => format!("{} branches unexplored", grouped(open)),
    };
    let failing = match search.order.wishes.is_empty() {
        true => format!("{level}{waiting}; {} executions failed", grouped(progress.failing)),
        false => format!(
            "{level}{waiting}; {} executions satisfied it or failed",
            grouped(progress.failing)
        ),
    };
    lines.push(one(model, failing, Role::Text));
    if let Some(tree) = &search.tree {
        lines.extend(by_depth(model, tree, behind));
    }
    if let Some(visits) = &search.visits {
        lines.extend(coverage(model, visits, behind));
    }
    if let Some(estimate) = search.estimate.as_ref().filter(|estimate| estimate.mean > 0.0) {
        lines.push(one(model, estimated(estimate), Role::Dim));
    }
    lines.extend(found(model, search));
    lines
}

/// The unexplored branches by depth.
fn by_depth(
    model: &Model,
    tree: &Tree,
    behind: usize,
) -> Option<Vec<(String, ratatui::style::Style)>> {
    let depths = tree.by_depth();
    let (&deepest, _) = depths.last_key_value()?;
    let per = deepest / BUCKETS + 1;
    let mut heights = vec![0_u64; deepest / per + 1];
    for (depth, waiting) in depths {
        heights[depth / per] += waiting;
    }
    let most = heights.iter().copied().max().unwrap_or(1).max(1);
    let bars: String = heights.iter().map(|&height| bar(model, height, most)).collect();
    let (first, last) = (behind + 1, behind + deepest + 1);
    Some(vec![
        (format!(" unexplored at steps {first} to {last}: "), model.theme.style(Role::Dim)),
        (bars, model.theme.style(Role::Notice)),
    ])
}

/// The share of choices that were made, by depth.
fn coverage(
    model: &Model,
    visits: &Visits,
    behind: usize,
) -> Option<Vec<(String, ratatui::style::Style)>> {
    let depths = visits.by_depth();
    let (&first, _) = depths.first_key_value()?;
    let (&last, _) = depths.last_key_value()?;
    let per = (last - first) / BUCKETS + 1;
    let mut shares = vec![(0_u64, 0_u64); (last - first) / per + 1];
    for (depth, (gone, met)) in depths {
        let share = &mut shares[(depth - first) / per];
        *share = (share.0 + gone, share.1 + met);
    }
    let bars: String = shares.iter().map(|&(gone, met)| bar(model, gone, met.max(1))).collect();
    let (first, last) = (behind + first + 1, behind + last + 1);
    Some(vec![
        (format!(" choices made at steps {first} to {last}: "), model.theme.style(Role::Dim)),
        (bars, model.theme.style(Role::Good)),
    ])
}

/// The most bars in a line.
const BUCKETS: usize = 32;

/// A bar of height `height` of `most`; only 0 is shown as empty.
fn bar(model: &Model, height: u64, most: u64) -> char {
    let signs: &[char] = if model.ascii {
        &['.', '1', '2', '3', '4', '5', '6', '7', '8']
    } else {
        &['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    };
    signs[(height * 8).div_ceil(most).min(8) as usize]
}

/// The estimated number of schedules with its range.
fn estimated(estimate: &Estimate) -> String {
    let power = |power: f64| match power {
        ..4.0 => grouped(10_f64.powf(power).round() as u64),
        _ => format!("10^{power:.0}"),
    };
    format!(
        " about {} schedules from there with any number of preemptions ({} random walks: {} to {})",
        power(estimate.mean),
        estimate.walks,
        power(estimate.least),
        power(estimate.most)
    )
}

pub(super) fn found(model: &Model, search: &SearchState) -> Lines {
    if search.found.is_empty() {
        return vec![one(model, " no failure yet", Role::Dim)];
    }
    let satisfied = |it: &&(Bug, _)| it.0.kind == FailureKind::Satisfied;
    let satisfied = search.found.iter().filter(satisfied).count();
    let others = search.found.len() - satisfied;
    let failures = count(others as u64, "different failure");
    let title = match (satisfied, others) {
        (0, _) => failures,
        (_, 0) => "satisfied".to_owned(),
        _ => format!("satisfied; {failures}"),
    };
    let mut lines = vec![one(model, format!(" {title} (f and F show them)"), Role::Title)];
    for (at, (bug, _)) in search.found.iter().enumerate() {
        let sign = match (search.shown == Some(at), model.ascii) {
            (true, true) => ">",
            (true, false) => "▶",
            (false, _) => " ",
        };
        let preemptions = count(bug.preemptions, "preemption");
        lines.push(vec![
            (format!(" {sign} {}: ", bug.kind), model.theme.style(Role::Bad)),
            (format!("{}  ", clean(&bug.message)), model.theme.style(Role::Text)),
            (
                format!("{preemptions}, first in execution {}", grouped(bug.found_at)),
                model.theme.style(Role::Dim),
            ),
        ]);
    }
    lines
}
