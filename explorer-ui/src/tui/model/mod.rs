//! The state of the explorer.

pub mod effect;
pub mod event;
pub mod folding;
pub mod found_rows;
pub mod job;
pub mod look_ahead;
pub mod message;
pub mod mode;
pub mod notes;
pub mod pane_sizes;

use super::capability::ColorDepth;
use super::keys::actions::Action;
use super::keys::bindings::Keys;
use super::keys::key::Key;
use super::panes::id::PaneId;
use super::theme::Theme;
use crate::walk::check::{Check, CheckState, Checks};
use crate::walk::inspection::Inspections;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::place::{SourcePosition, other_positions, source_line};
use crate::walk::search::SearchState;
use folding::Fold;
use found_rows::FoundRows;
use look_ahead::{ByTask, LookAheadMemory};
use message::Message;
use mode::Mode;
use notes::Notes;
use pane_sizes::{Divider, PaneSizes};
use ratatui::crossterm::event::KeyCode;
use replay_core::library_calls::last_own_step;
use replay_core::reverse::WishedOrder;
use replay_core::source::Source;
use replay_core::task_status::TaskStatus;
use replay_core::verdict::Verdict;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use traces::{Choice, TaskId};

/// A schedule with the cursor and the notes on it.
#[derive(Debug, Clone)]
pub struct ScheduleView {
    /// The execution.
    pub loaded: Arc<LoadedTrace>,
    /// The selected step, which is about to be executed; the number of steps at the end.
    pub cursor: usize,
    /// Bookmarks and notes by step.
    pub notes: Notes,
}

/// Steps to return to after jumps, as in an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JumpList {
    /// Steps before jumps; the last is returned to first.
    pub back: Vec<usize>,
    /// Steps that were returned from.
    pub forward: Vec<usize>,
}

/// An edited schedule of an earlier run of the explorer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedSchedule {
    /// Its choices.
    pub choices: Vec<Choice>,
    /// The step that was selected.
    pub cursor: usize,
}

/// Orders of steps that the user asked for.
#[derive(Debug, Default)]
pub struct Reversal {
    /// The step that is to change places with another one, and its schedule.
    pub marked: Option<(Arc<LoadedTrace>, usize)>,
    /// The orders that were asked for: they hold in the schedules that are asked for next.
    pub pinned: Vec<WishedOrder>,
}

/// The state of the explorer.
#[derive(Debug)]
pub struct Model {
    /// The displayed schedule.
    pub view: ScheduleView,
    /// The schedule that was opened.
    pub original: Arc<LoadedTrace>,
    /// The choices of the edited schedule that was displayed when the explorer was left last, and
    /// its cursor. They are run only on request.
    pub saved: Option<SavedSchedule>,
    /// The schedule to fit to the next build, if it is not the displayed one: a failing schedule is
    /// fitted to each new build until one fails again.
    pub rebuild_from: Option<Arc<LoadedTrace>>,
    /// Schedules that can be returned to by undo.
    pub past: Vec<ScheduleView>,
    /// Schedules that can be returned to by redo.
    pub future: Vec<ScheduleView>,
    /// Steps to return to after jumps.
    pub jumps: JumpList,
    /// For each line of the schedule, the number of its first step.
    pub lines: Arc<Vec<usize>>,
    /// The state of every task at the cursor.
    pub task_states: Vec<TaskStatus>,
    /// The look-ahead of each enabled task, as far as it is known.
    pub ahead: ByTask,
    /// Finished look-aheads at other steps.
    pub ahead_elsewhere: LookAheadMemory,
    /// Counts cursor movements. Replies for earlier positions are dropped.
    pub generation: u64,
    /// Whether the look-ahead is running.
    pub looking_ahead: bool,
    /// The selected information pane.
    pub pane: PaneId,
    /// The panes that are displayed beside the selected one, if there is room, from top to bottom.
    pub open_panes: Vec<PaneId>,
    /// The first visible line of each pane that was scrolled.
    pub pane_tops: HashMap<PaneId, usize>,
    /// Which window or prompt receives key presses.
    pub mode: Mode,
    /// Whether the cursor goes to the deciding step when a check finds it: until the first key.
    pub follows_verdict: bool,
    /// The message in the footer.
    pub message: Option<Message>,
    /// The running request, as the footer names it.
    pub busy: Option<String>,
    /// The number of the last background job. Updates of earlier ones are dropped.
    pub job_number: u64,
    /// Which steps are folded.
    pub fold: Fold,
    /// The tasks whose columns are hidden.
    pub hidden: BTreeSet<TaskId>,
    /// The tasks that have a column even while they are idle.
    pub pinned: BTreeSet<TaskId>,
    /// Whether the overview of the whole schedule is shown; none: if there is room.
    pub lanes: Option<bool>,
    /// Pane sizes set by the user.
    pub pane_sizes: PaneSizes,
    /// The border the mouse is dragging, and whether it has moved.
    pub dragged: Option<(Divider, bool)>,
    /// Whether `n` and `N` move between matches of the text search.
    pub matches: bool,
    /// Whether each row lists the enabled tasks.
    pub show_enabled: bool,
    /// The colours.
    pub theme: Theme,
    /// The colours that the terminal displays.
    pub color_depth: ColorDepth,
    /// Whether to use ASCII only.
    pub ascii: bool,
    /// The key bindings.
    pub keys: Keys,
    /// The last search.
    pub search: Option<SearchState>,
    /// Whether the pane fills the screen.
    pub zoomed: bool,
    /// Whether the explorer handles the mouse.
    pub mouse: bool,
    /// The page of the tour, while it is running.
    pub tour: Option<usize>,
    /// The names of the watched objects.
    pub watched: Vec<String>,
    /// The watched expressions.
    pub expressions: Vec<String>,
    /// The step for which the user wants to know where their values came from.
    pub origins_at: Option<usize>,
    /// Stacks and values read from the target.
    pub inspections: Inspections,
    /// The number of processes that search in parallel.
    pub workers: u32,
    /// A failing schedule and the nearest schedule that passes.
    pub nearest_passing: Option<(Arc<LoadedTrace>, Arc<LoadedTrace>)>,
    /// A schedule before and after it was shrunk.
    pub shrunk: Option<(Arc<LoadedTrace>, Arc<LoadedTrace>)>,
    /// Source files by path; none for files that cannot be read.
    pub sources: HashMap<String, Option<Arc<Source>>>,
    /// The verdicts that were checked by running other schedules.
    pub checks: Checks,
    /// The tasks and lines to bring together, as a predicate.
    pub wish: String,
    /// The predicate that the schedule satisfies that is run next.
    pub happened: Option<String>,
    /// The steps to bring into another order.
    pub reversal: Reversal,
    /// The text searched for last.
    pub search_text: String,
    /// The rows that the last search found.
    pub found_rows: Option<FoundRows>,
    /// The only rows that are shown; none: all.
    pub shown_rows: Option<FoundRows>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The trace file that was opened.
    pub path: Option<PathBuf>,
    /// Whether the target can be run; the error says why not.
    pub can_run: Result<(), String>,
    /// Whether to quit.
    pub quit: bool,
}

impl Model {
    /// A model at the start of an execution.
    #[must_use]
    pub fn new(loaded: Arc<LoadedTrace>, size: (u16, u16), pane: PaneId, keys: Keys) -> Model {
        let mut model = Model {
            view: ScheduleView { loaded: Arc::clone(&loaded), cursor: 0, notes: Notes::new() },
            original: loaded,
            saved: None,
            rebuild_from: None,
            past: Vec::new(),
            future: Vec::new(),
            jumps: JumpList::default(),
            lines: Arc::new(Vec::new()),
            task_states: Vec::new(),
            ahead: ByTask::new(),
            ahead_elsewhere: LookAheadMemory::default(),
            generation: 0,
            looking_ahead: false,
            pane,
            open_panes: Vec::new(),
            pane_tops: HashMap::new(),
            mode: Mode::Normal,
            follows_verdict: false,
            message: None,
            busy: None,
            job_number: 0,
            fold: Fold::default(),
            hidden: BTreeSet::new(),
            pinned: BTreeSet::new(),
            lanes: None,
            pane_sizes: PaneSizes::default(),
            dragged: None,
            matches: false,
            show_enabled: false,
            theme: Theme::Dark,
            color_depth: ColorDepth::True,
            ascii: false,
            keys,
            search: None,
            zoomed: false,
            mouse: true,
            tour: None,
            watched: Vec::new(),
            expressions: Vec::new(),
            origins_at: None,
            inspections: Inspections::default(),
            workers: 1,
            nearest_passing: None,
            shrunk: None,
            sources: HashMap::new(),
            checks: Checks::default(),
            wish: String::new(),
            happened: None,
            reversal: Reversal::default(),
            search_text: String::new(),
            found_rows: None,
            shown_rows: None,
            size,
            path: None,
            can_run: Ok(()),
            quit: false,
        };
        model.update_lines();
        model
    }

    /// Shows a message in the footer until the next key press.
    pub(super) fn notify(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), bad: false });
    }

    /// Shows an error in the footer until the next key press.
    pub(super) fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), bad: true });
    }

    /// The displayed execution.
    #[must_use]
    pub fn loaded(&self) -> &LoadedTrace {
        &self.view.loaded
    }

    /// Whether the displayed schedule is another one than the one that was opened.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        let (shown, opened) = (&self.view.loaded, &self.original);
        !Arc::ptr_eq(shown, opened) && !shown.same_schedule(opened)
    }

    /// The verdict on the displayed schedule: the checked one, if there is one.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match self.check().map(|check| &check.state) {
            Some(CheckState::Done(verdict)) => Some(verdict),
            _ => self.view.loaded.verdict(),
        }
    }

    /// The check of the displayed schedule.
    #[must_use]
    pub fn check(&self) -> Option<&Check> {
        self.checks.of(&self.view.loaded)
    }

    /// The step that decides that the displayed schedule fails; its end if that is unknown, and
    /// its beginning if it passes.
    #[must_use]
    pub fn decisive_step(&self) -> usize {
        let loaded = self.loaded();
        match self.verdict() {
            Some(verdict) => verdict.decisive_in(&loaded.trace).unwrap_or(loaded.len()),
            None => 0,
        }
    }

    /// Recomputes what depends on the execution, the folding and the hidden tasks.
    pub fn update_lines(&mut self) {
        let only = self.shown_rows.as_ref().filter(|rows| rows.is_of(&self.view.loaded));
        self.lines = folding::lines(&self.view.loaded, self.fold, &self.hidden, only);
        self.task_states = self.view.loaded.task_statuses(self.view.cursor);
    }

    /// Whether the row of a step is shown: its task is not hidden, and the filter selects it.
    #[must_use]
    pub fn shows(&self, step: usize) -> bool {
        let steps = &self.view.loaded.trace.execution.steps;
        let only = self.shown_rows.as_ref().filter(|rows| rows.is_of(&self.view.loaded));
        steps.get(step).is_none_or(|it| !self.hidden.contains(&it.task))
            && only.is_none_or(|rows| rows.contains(step))
    }

    /// The line of a step; the number of lines at the end.
    #[must_use]
    pub fn line_of(&self, step: usize) -> usize {
        if step >= self.loaded().len() {
            return self.lines.len();
        }
        self.lines.partition_point(|&first| first <= step).saturating_sub(1)
    }

    /// The step of the displayed schedule that is to change places with another one.
    #[must_use]
    pub fn marked_step(&self) -> Option<usize> {
        let (of, step) = self.reversal.marked.as_ref()?;
        Arc::ptr_eq(of, &self.view.loaded).then_some(*step)
    }

    /// Whether `n` and `N` move between matches of the text search, as in pagers and editors. They
    /// do not if the user bound these keys to other actions.
    #[must_use]
    pub fn match_keys_active(&self) -> bool {
        let usual = [('n', Action::BestMove), ('N', Action::ShowMe)];
        let unchanged = |&(letter, action): &(char, Action)| {
            self.keys.action(Key::of(KeyCode::Char(letter))) == Some(action)
        };
        self.matches && usual.iter().all(unchanged)
    }

    /// The file and line that the source pane shows. At the end of a failing execution that is the
    /// location of the failure, not the last step: the target may have run on to exit.
    #[must_use]
    pub fn shown_source(&self) -> Option<(String, u32)> {
        let unreadable = |file: &str| matches!(self.sources.get(file), Some(None));
        source_line(&self.view.loaded, self.view.cursor, &unreadable)
    }

    /// The last line in user code before the selected step, if the step is in a library alone.
    #[must_use]
    pub fn last_own_source(&self) -> Option<(String, u32)> {
        let loaded = &self.view.loaded;
        let own = last_own_step(&loaded.trace.execution, self.view.cursor)?;
        source_line(loaded, own, &|_| false)
    }

    /// The positions of the other tasks that take part, the most important first.
    #[must_use]
    pub fn other_sources(&self) -> Vec<SourcePosition> {
        let unreadable = |file: &str| matches!(self.sources.get(file), Some(None));
        let (loaded, at) = (&self.view.loaded, self.view.cursor);
        other_positions(loaded, at, &self.task_states, self.verdict(), &unreadable)
    }
}
