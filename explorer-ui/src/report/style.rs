//! Colours and glyphs of text. Reports take both from here and write no escape sequences themselves.

use anstyle::{AnsiColor, Color, Effects};
use traces::TaskId;

/// The style of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Whether to write colours. No information is in the colour alone.
    pub color: bool,
    /// Whether to use ASCII characters only.
    pub ascii: bool,
}

/// The role of a piece of text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Plain,
    /// A heading.
    Title,
    /// Secondary text: code locations, step numbers.
    Dim,
    /// A failure, a preemption.
    Bad,
    /// A success.
    Good,
    /// Text in the colour of a task.
    Task(TaskId),
    /// The name of a task.
    TaskTitle(TaskId),
}

/// The glyphs of reports.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// The lane of an enabled task.
    pub lane: &'static str,
    /// The lane of a blocked task.
    pub waiting: &'static str,
    /// A switch to another task.
    pub switch: &'static str,
    /// A switch away from an enabled task.
    pub preemption: &'static str,
    /// A task blocks.
    pub wait: &'static str,
    /// Folded steps.
    pub fold: &'static str,
    /// Clipped text.
    pub cut: &'static str,
    /// An arrow.
    pub arrow: &'static str,
    /// A separator between two facts on a line.
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

/// Without red, which marks failures.
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
    /// The glyphs of this style.
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
    fn escape_sequences_are_written_only_with_colour() {
        let style = Style { color: false, ascii: false };
        assert_eq!(style.paint(Role::Bad, "x"), "x");
        let style = Style { color: true, ascii: false };
        assert_eq!(style.paint(Role::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
    }

    #[test]
    fn ascii_glyphs_are_ascii() {
        for sign in [ASCII.lane, ASCII.waiting, ASCII.switch, ASCII.preemption, ASCII.wait] {
            assert!(sign.is_ascii());
        }
        for sign in [ASCII.fold, ASCII.cut, ASCII.arrow, ASCII.dot] {
            assert!(sign.is_ascii());
        }
    }
}
