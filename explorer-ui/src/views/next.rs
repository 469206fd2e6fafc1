//! The commands that make sense next, ready to be typed.

use super::style::{Role, Style};
use super::text::{fill, quote, width};

/// What to do with a trace. `own` is the verb that is speaking: it does not name itself.
#[must_use]
pub fn trace_commands(path: &str, own: &str, style: &Style) -> String {
    let path = quote(path);
    let mut commands = vec![
        (format!("heddle explain {path}"), "one page: what happens, why it fails, what decides"),
        (format!("heddle show {path}"), "every step, a column for each task"),
        (format!("heddle show --enabled {path}"), "and who could have moved at each step"),
        (format!("heddle ui {path}"), "walk through it, let others move, look ahead"),
        (format!("heddle shrink {path}"), "the fewest preemptions that still cause it"),
        (format!("heddle replay {path}"), "this very schedule again, each step compared"),
        (format!("heddle replay --times 100 {path}"), "the same a hundred times"),
    ];
    match own {
        "show" => drop(commands.remove(1)),
        "replay" => drop(commands.drain(5..)),
        "shrink" => drop(commands.drain(4..5)),
        _ => drop(commands.remove(2)),
    }
    render(&commands, style)
}

/// Commands with what they do, one on a line.
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
