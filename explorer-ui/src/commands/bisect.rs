//! `heddle bisect`.

use super::chosen::Chosen;
use super::explain::sources;
use super::json;
use super::shrink::beside;
use crate::cli::BisectArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::views::explain;
use crate::views::style::Style;
use crate::views::text::{count, quote};
use crate::views::{diff, next};
use replay_core::bisect::{self, BUDGET, Bisected, Event, Kind, Watch, classify};
use replay_core::shrink::{Refused, walk_for};
use replay_core::store;
use serde_json::{Value, json as value};

/// Runs the verb.
///
/// # Errors
/// Where a trace is no good, passes where it is to fail, or does not come again.
pub fn main(args: &BisectArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let known = args.passing.as_ref().map(|path| store::load(path)).transpose()?;
    let known = known.map(|known| known.trace);
    if let (Some(known), Some(path)) = (&known, &args.passing) {
        let wrong = if known.failure.is_some() {
            Some("fails, too: name one that passes")
        } else if known.header.build_id != loaded.trace.header.build_id {
            Some("is of another program, or of another build of it: record it again")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(Problem::Usage(format!("{} {wrong}", path.display())));
        }
    }
    let chosen = Chosen { trace: &args.trace, yes: args.yes, command: &args.command };
    let target = chosen.recorded(&loaded, console)?;
    let walk = walk_for(target, &loaded.trace);
    let interrupted = interrupt::flag();
    let bisected = {
        let mut line = Progress(Line::new(console, false));
        bisect::bisect(&walk, &loaded.trace, known.as_ref(), BUDGET, &interrupted, &mut line)
    };
    let bisected = bisected.map_err(|refused| match refused {
        Refused::Core(error) => Problem::Core(error),
        other => Problem::Usage(format!("{}: {other}", args.trace.display())),
    })?;
    let path = args.output.clone().unwrap_or_else(|| beside(&args.trace, "pass"));
    if let Some(passing) = &bisected.passing {
        store::save_as(passing, &path)?;
    }
    let kind = classify(&bisected.failing, Some(&bisected));
    if args.json {
        let mut object = learned(Some(&bisected), kind);
        object["passing"] = bisected.passing.as_ref().map(|_| path.display().to_string()).into();
        console.print(&json(&object))?;
        return Ok(Status::Fine);
    }
    let style = Style { ascii: args.ascii, ..console.style };
    let mut text = format!("{kind}: {}\n\n", kind.meaning());
    text.push_str(&explain::difference(&bisected, &sources(&bisected.failing).0, &style));
    let trace = args.trace.display().to_string();
    let mut commands = Vec::new();
    if let Some(passing) = &bisected.passing {
        text.push('\n');
        text.push_str(&format!("{}\n\n", explain::nearest(&bisected)));
        text.push_str(&diff::render(&bisected.failing, passing, 2, &style, console.width));
        let both = [quote(&trace), quote(&path.display().to_string())];
        commands.push((format!("heddle ui {}", both[1]), "walk through the one that passes"));
        commands.push((format!("heddle diff {} {}", both[0], both[1]), "the two side by side"));
    }
    commands.push((format!("heddle explain {}", quote(&trace)), "the whole story on one page"));
    text.push('\n');
    text.push_str(&next::render(&commands, &style));
    console.print(&text)?;
    Ok(Status::Fine)
}

/// How far it has come, on the line that is rewritten.
pub(super) struct Progress<'a>(pub(super) Line<'a>);

impl Watch for Progress<'_> {
    fn progress(&mut self, runs: usize, passing: usize) {
        self.0.say(&format!("{} near it run, {passing} pass", count(runs as u64, "schedule")));
    }
}

/// What was found out, as an object.
pub(super) fn learned(bisected: Option<&Bisected>, kind: Kind) -> Value {
    let Some(bisected) = bisected else {
        return value!({ "heddle": 1, "kind": kind.to_string(), "orders": [] });
    };
    let execution = &bisected.failing.execution;
    let event = |event: Event| {
        value!({
            "task": event.task.0,
            "number": event.number,
            "operation": event.operation.name(),
            "object": event.object.and_then(|object| execution.objects.get(object as usize)).map(|o| &o.name),
            "site": execution.place(event.site),
            "step": event.step.map(|step| step + 1),
        })
    };
    let orders: Vec<Value> = bisected
        .cause
        .iter()
        .flat_map(|cause| &cause.orders)
        .map(|order| value!({ "before": event(order.before), "after": event(order.after) }))
        .collect();
    let evidence = &bisected.evidence;
    value!({
        "heddle": 1,
        "kind": kind.to_string(),
        "orders": orders,
        "exact": evidence.is_exact(),
        "always": bisected.always,
        "reversed": bisected.reversed,
        "runs": {
            "with_failing": evidence.with_failing,
            "with_passing": evidence.with_passing,
            "without_failing": evidence.without_failing,
            "without_passing": evidence.without_passing,
            "other": evidence.other,
        },
    })
}
