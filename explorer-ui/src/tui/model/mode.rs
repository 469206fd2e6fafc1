//! Modes: the meaning of key presses.

use std::sync::Arc;

/// Which window or prompt receives key presses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// No window is open: keys perform the actions they are bound to.
    Normal,
    /// The list of keys, with the first visible line.
    Help(usize),
    /// A text window: title, lines, first visible line.
    Text(String, Arc<Vec<String>>, usize),
    /// The command palette.
    Palette {
        /// The typed text.
        typed: String,
        /// The selected entry among those that match.
        selected: usize,
    },
    /// A prompt in the footer, with the text typed so far.
    Prompt(Question, String),
    /// The dialog that starts a search.
    StartSearch {
        /// Index into [`strategies`](crate::walk::search::strategies).
        strategy: usize,
        /// The bound on preemptions or delays; none for no bound.
        bound: Option<u32>,
    },
}

/// The kind of input that a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Text to find in the rows.
    Text,
    /// Text to find in the rows, backwards.
    TextBefore,
    /// A filter for the rows to show.
    Filter,
    /// A step number.
    Step,
    /// An object's name.
    Object,
    /// A source line.
    Line,
    /// The task that runs next.
    Task,
    /// What a schedule is to satisfy.
    Wish,
    /// A note on the selected step.
    Note,
    /// An expression to watch.
    Expression,
}

impl Question {
    /// The prompt's label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Question::Text => "find (t:2 o:queue w, or text)",
            Question::Filter => "show only rows with (t:2 o:queue w; empty: all)",
            Question::TextBefore => "find backwards (t:2 o:queue w, or text)",
            Question::Step => "go to step",
            Question::Object => "continue until a step on this object",
            Question::Line => "continue until this source line",
            Question::Expression => "watch (q->len, accounts[1].balance, T2:i)",
            Question::Wish => "make this happen (T1@queue.c:9 && T2@pop: q->len == 0)",
            Question::Task => "run next (12, T12, or a name)",
            Question::Note => "note on this step (empty: none)",
        }
    }
}
