//! The search that was handed over to: how it goes, what it found, the tree of where it has been.

use super::{Lines, one};
use crate::app::hand::{Handed, State};
use crate::app::model::Model;
use crate::app::render::choices::way;
use crate::app::render::glyphs;
use crate::app::theme::Role;
use crate::views::text::{clean, count, grouped};
use replay_core::walk::{Estimate, Tree, Visits};

/// Nothing was handed over yet.
fn nothing(model: &Model) -> Lines {
    let text =
        " h hands over to a search from the step at the cursor: any strategy, within a bound";
    vec![one(model, text, Role::Dim)]
}

/// How the search goes.
pub(super) fn dashboard(model: &Model) -> Lines {
    let Some(handed) = &model.handed else { return nothing(model) };
    let progress = &handed.progress;
    let seconds = progress.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { progress.executions as f64 / seconds } else { 0.0 };
    let behind = handed.order.behind();
    let bound = match handed.order.bound {
        Some(bound) => format!(", at most {}", count(bound.into(), "preemption")),
        None => String::new(),
    };
    let (state, role) = match &handed.state {
        State::Running => ("runs".to_owned(), Role::Notice),
        State::Stopping => ("stops".to_owned(), Role::Notice),
        State::Ended { complete: true, what } => (clean(what), Role::Good),
        State::Ended { complete: false, what } => (clean(what), Role::Dim),
    };
    let mut lines = vec![
        vec![
            (format!(" {}", handed.order.strategy.name()), model.theme.style(Role::Title)),
            (format!("{bound} from step {}: ", behind + 1), model.theme.style(Role::Text)),
            (state, model.theme.style(role)),
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
        Some(bound) => format!(" within {} now; ", count(bound.into(), "preemption")),
        None => " ".to_owned(),
    };
    let waiting = match progress.open {
        1 => "1 branch waits".to_owned(),
        open => format!("{} branches wait", grouped(open)),
    };
    let failing = format!("{level}{waiting}; {} executions failed", grouped(progress.failing));
    lines.push(one(model, failing, Role::Text));
    if let Some(tree) = &handed.tree {
        lines.extend(by_depth(model, tree, behind));
    }
    if let Some(visits) = &handed.visits {
        lines.extend(coverage(model, visits, behind));
    }
    if let Some(estimate) = handed.estimate.as_ref().filter(|estimate| estimate.mean > 0.0) {
        lines.push(one(model, estimated(estimate), Role::Dim));
    }
    lines.extend(found(model, handed));
    lines
}

/// Where the branches wait that nobody has begun, by depth.
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
        (format!(" they wait at steps {first} to {last}: "), model.theme.style(Role::Dim)),
        (bars, model.theme.style(Role::Notice)),
    ])
}

/// Of the ways that there were at each depth, which share was gone.
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
        (format!(" ways gone at steps {first} to {last}: "), model.theme.style(Role::Dim)),
        (bars, model.theme.style(Role::Good)),
    ])
}

/// The most signs of a line of bars.
const BUCKETS: usize = 32;

/// So much of so much, as one sign; only nothing is shown as nothing.
fn bar(model: &Model, height: u64, most: u64) -> char {
    let signs: &[char] = if model.ascii {
        &['.', '1', '2', '3', '4', '5', '6', '7', '8']
    } else {
        &['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    };
    signs[(height * 8).div_ceil(most).min(8) as usize]
}

/// How many schedules there are; what is so rough says how rough.
fn estimated(estimate: &Estimate) -> String {
    let power = |power: f64| match power {
        ..4.0 => grouped(10_f64.powf(power).round() as u64),
        _ => format!("10^{power:.0}"),
    };
    format!(
        " some {} schedules from there, whatever their preemptions ({} walks said {} to {})",
        power(estimate.mean),
        estimate.walks,
        power(estimate.least),
        power(estimate.most)
    )
}

fn found(model: &Model, handed: &Handed) -> Lines {
    if handed.found.is_empty() {
        return vec![one(model, " no failure yet", Role::Dim)];
    }
    let mut lines = vec![one(
        model,
        format!(" {} (f and F show them)", count(handed.found.len() as u64, "different failure")),
        Role::Title,
    )];
    for (at, (bug, _)) in handed.found.iter().enumerate() {
        let sign = match (handed.shown == Some(at), model.ascii) {
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

/// Everything that is known to be wrong: with this schedule, and by the search.
pub(super) fn findings(model: &Model) -> Lines {
    let mut lines = Lines::new();
    if let Some(failure) = &model.loaded().trace.failure {
        lines.push(vec![
            (format!(" {}: ", failure.kind), model.theme.style(Role::Bad)),
            (clean(&failure.message), model.theme.style(Role::Text)),
            (format!("  {}", clean(&failure.place)), model.theme.style(Role::Dim)),
        ]);
        for past in &failure.past {
            let text =
                format!("   {} {} in step {}", past.task, clean(&past.words()), past.step + 1);
            lines.push(one(model, text, Role::Dim));
        }
    }
    if let Some(handed) = &model.handed {
        if !handed.found.is_empty() {
            lines.extend(found(model, handed));
        }
        for remark in &handed.remarks {
            lines.push(one(model, format!(" {}", clean(remark)), Role::Notice));
        }
    }
    if lines.is_empty() {
        let text = " this schedule passes, and no search was told to look for more (h)";
        lines.push(one(model, text, Role::Dim));
    }
    lines
}

/// Each step at which another task could have moved, around the cursor, with what the search did about
/// each way: to be walked with the keys that go to such steps, and the numbers that take a way.
pub(super) fn tree(model: &Model, height: u16) -> Lines {
    let loaded = model.loaded();
    let cursor = model.spot.cursor;
    let chosen = |step: &usize| loaded.enabled(*step).len() > 1;
    let room = usize::from(height.saturating_sub(1)).max(1);
    let before: Vec<usize> =
        (0..cursor.min(loaded.len())).rev().filter(chosen).take(room / 2).collect();
    let after = (cursor..loaded.len()).filter(chosen).take(room - before.len());
    let steps: Vec<usize> = before.iter().rev().copied().chain(after).collect();
    if steps.is_empty() {
        return vec![one(
            model,
            " no step of this schedule could have gone another way",
            Role::Dim,
        )];
    }
    let title = match &model.handed {
        None => {
            " steps that could go otherwise (J, K; h searches, and this shows where it was)".into()
        }
        Some(handed) => match (&handed.tree, &handed.visits) {
            (Some(tree), _) if tree.gaps => {
                " where the search was (J, K); it gave some executions up, so there are gaps".into()
            }
            (Some(_), _) => " where the search was (J, K go along, a number takes a way)".into(),
            (None, visits) => match visits.as_ref().and_then(Visits::end) {
                None => {
                    " how often it went each way (J, K go along, a number takes one)".to_owned()
                }
                Some(end) => format!(
                    " how often it went each way (J, K); not counted from step {} on",
                    handed.order.behind() + end + 1
                ),
            },
        },
    };
    let mut lines = vec![one(model, title, Role::Dim)];
    let digits = (loaded.len() + 1).to_string().len().max(4);
    for step in steps {
        let here = if step == cursor { glyphs(model).arrow } else { " " };
        let moved = loaded.trace.execution.steps[step].task;
        let mut pieces = vec![
            (format!(" {here:<2}"), model.theme.style(Role::Notice)),
            (format!("{:>digits$}  ", step + 1), model.theme.style(Role::Dim)),
        ];
        for task in loaded.enabled(step) {
            let taken = if task == moved { "=" } else { " " };
            let style = model.theme.style(Role::Task(task));
            pieces.push((format!("{taken}{task} "), style));
            match way(model, step, task) {
                Some((sign, text, role)) => {
                    pieces.push((format!("{sign} {text:<10}"), model.theme.style(role)));
                }
                None => pieces.push((" ".into(), style)),
            }
        }
        lines.push(pieces);
    }
    lines
}
