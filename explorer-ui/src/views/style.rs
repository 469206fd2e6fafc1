//! How text looks: colours and glyphs. A view asks here and never writes an escape itself.

use anstyle::{AnsiColor, Color, Effects};
use traces::TaskId;

/// How a view is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Whether to write colours. Nothing is told by colour alone.
    pub color: bool,
    /// Whether to keep to ASCII.
    pub ascii: bool,
}

/// What a piece of text is, as far as its colour goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Plain,
    /// A heading.
    Title,
    /// Secondary text: where in the source, numbers of steps.
    Dim,
    /// A failure, a preemption.
    Bad,
    /// Something that went well.
    Good,
    /// A task's own colour.
    Task(TaskId),
    /// A task's name at the head of its column.
    TaskTitle(TaskId),
}

/// The signs that views draw with.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// The lane of a task that may move.
    pub lane: &'static str,
    /// The lane of a task that waits.
    pub waiting: &'static str,
    /// A switch to another task.
    pub switch: &'static str,
    /// A switch away from a task that could have gone on.
    pub preemption: &'static str,
    /// A task begins to wait.
    pub wait: &'static str,
    /// Steps that are folded away.
    pub fold: &'static str,
    /// Text that was cut off.
    pub cut: &'static str,
    /// From one to another.
    pub arrow: &'static str,
    /// Between two facts on a line.
    pub dot: &'static str,
}

const UNICODE: Glyphs = Glyphs {
    lane: "│",
    waiting: "┆",
    switch: "»",
    preemption: "‼",
    wait: "…",
    fold: "⋮",
    cut: "…",
    arrow: "→",
    dot: "·",
};

const ASCII: Glyphs = Glyphs {
    lane: "|",
    waiting: ":",
    switch: ">",
    preemption: "!",
    wait: "~",
    fold: "=",
    cut: "~",
    arrow: "->",
    dot: "-",
};

/// Red is kept for failures.
const TASK_COLORS: [AnsiColor; 10] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightYellow,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightGreen,
    AnsiColor::BrightBlue,
];

impl Style {
    /// The signs to draw with.
    #[must_use]
    pub fn glyphs(&self) -> &'static Glyphs {
        if self.ascii { &ASCII } else { &UNICODE }
    }

    /// `text` in the colour of its role.
    #[must_use]
    pub fn paint(&self, role: Role, text: &str) -> String {
        let look = look(role);
        if !self.color || text.is_empty() || look.is_plain() {
            return text.to_owned();
        }
        format!("{look}{text}{look:#}")
    }
}

fn look(role: Role) -> anstyle::Style {
    let plain = anstyle::Style::new();
    let color = |color: AnsiColor| plain.fg_color(Some(Color::Ansi(color)));
    let task = |task: TaskId| color(TASK_COLORS[task.index() % TASK_COLORS.len()]);
    match role {
        Role::Plain => plain,
        Role::Title => plain.effects(Effects::BOLD),
        Role::Dim => plain.effects(Effects::DIMMED),
        Role::Bad => color(AnsiColor::Red).effects(Effects::BOLD),
        Role::Good => color(AnsiColor::Green),
        Role::Task(id) => task(id),
        Role::TaskTitle(id) => task(id).effects(Effects::BOLD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_is_added() {
        let style = Style { color: false, ascii: false };
        assert_eq!(style.paint(Role::Bad, "x"), "x");
        let style = Style { color: true, ascii: false };
        assert_eq!(style.paint(Role::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
    }

    #[test]
    fn ascii_signs_are_ascii() {
        for sign in [ASCII.lane, ASCII.waiting, ASCII.switch, ASCII.preemption, ASCII.wait] {
            assert!(sign.is_ascii());
        }
        for sign in [ASCII.fold, ASCII.cut, ASCII.arrow, ASCII.dot] {
            assert!(sign.is_ascii());
        }
    }
}
