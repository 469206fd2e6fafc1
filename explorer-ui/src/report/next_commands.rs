//! Suggestions for the next command, ready to paste.

use crate::report::style::{Role, Style};
use crate::report::text::{fill, quote, width};

/// The commands for a trace. `own` is the verb that prints them; it does not suggest itself.
#[must_use]
pub fn trace_commands(path: &str, own: &str, style: &Style) -> String {
    let path = quote(path);
    let mut commands = vec![
        (format!("heddle explain {path}"), "one page: what happens, why it fails, the cause"),
        (format!("heddle show {path}"), "every step, a column for each task"),
        (format!("heddle show --enabled {path}"), "also the enabled tasks at each step"),
        (format!("heddle ui {path}"), "explore it interactively"),
        (format!("heddle shrink {path}"), "find the fewest preemptions that cause the failure"),
        (format!("heddle replay {path}"), "run this schedule again, compare each step"),
        (format!("heddle replay --times 100 {path}"), "the same, 100 times"),
    ];
    match own {
        "show" => drop(commands.remove(1)),
        "replay" => drop(commands.drain(5..)),
        "shrink" => drop(commands.drain(4..5)),
        _ => drop(commands.remove(2)),
    }
    render(&commands, style)
}

/// Commands with their descriptions, one per line.
#[must_use]
pub fn render(commands: &[(String, &str)], style: &Style) -> String {
    let widest = commands.iter().map(|(command, _)| width(command)).max().unwrap_or(0);
    let mut text = style.paint(Role::Title, "Next") + "\n";
    for (command, what) in commands {
        let gap = fill(width(command), widest) + "   ";
        text.push_str(&format!("  {command}{gap}{}\n", style.paint(Role::Dim, what)));
    }
    text
}
