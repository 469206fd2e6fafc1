//! All that the explorer knows.

use super::action::{Action, Keys};
use super::aside::Task;
use super::hand::Handed;
use super::lines::{self, Fold};
use super::loaded::Loaded;
use super::notes::Notes;
use super::render::{Divider, Division};
use super::sight::{Asked, Sights};
use super::theme::Theme;
use replay_core::source::Source;
use replay_core::walk::standing::Standing;
use replay_core::walk::{Ahead, HandOver};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use traces::{Choice, Frame, Site, TaskId, Trace};

/// What the lower right pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The source around the step.
    Source,
    /// Who has which lock and who waits.
    Locks,
    /// What the step follows from and what follows from it.
    Causes,
    /// The same over other steps, as a graph.
    Graph,
    /// Shared variables and what is watched, with what changed.
    Values,
    /// The stack of every task at the step.
    Stacks,
    /// What the program printed.
    Output,
    /// The failure, races and other findings.
    Findings,
    /// How the search goes.
    Search,
    /// Which ways the search has been, step by step.
    Tree,
}

impl Pane {
    /// All of them, in order.
    pub const ALL: [Pane; 10] = [
        Pane::Source,
        Pane::Locks,
        Pane::Causes,
        Pane::Graph,
        Pane::Values,
        Pane::Stacks,
        Pane::Output,
        Pane::Findings,
        Pane::Search,
        Pane::Tree,
    ];

    /// Its heading.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pane::Source => "source",
            Pane::Locks => "locks",
            Pane::Causes => "causes",
            Pane::Graph => "graph",
            Pane::Values => "values",
            Pane::Stacks => "stacks",
            Pane::Output => "output",
            Pane::Findings => "findings",
            Pane::Search => "search",
            Pane::Tree => "tree",
        }
    }
}

/// What keys mean now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Actions.
    Walk,
    /// The list of keys, from this line on.
    Help(usize),
    /// Reading a text: its title, its lines, the first line that is shown.
    Text(String, Arc<Vec<String>>, usize),
    /// Choosing an action by name.
    Palette {
        /// What was typed.
        typed: String,
        /// Which of the matching ones is selected.
        selected: usize,
    },
    /// Typing an answer to a question.
    Prompt(Ask, String),
    /// Choosing what to hand over to: the strategy's place in the list, and the bound.
    HandOver {
        /// Which of [`STRATEGIES`](super::hand::STRATEGIES).
        strategy: usize,
        /// The most preemptions.
        bound: Option<u32>,
    },
}

/// What a typed text answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// What to look for in the rows.
    Text,
    /// The same, backwards.
    TextBefore,
    /// The number of a step.
    Step,
    /// The name of an object.
    Object,
    /// A line of the source.
    Line,
    /// Who is to move.
    Task,
    /// A note on the selected step.
    Note,
    /// An expression to be watched.
    Expression,
}

impl Ask {
    /// What stands before the text.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Ask::Text => "look for",
            Ask::TextBefore => "look back for",
            Ask::Step => "go to step",
            Ask::Object => "on until this object is touched",
            Ask::Line => "on until this line is come to",
            Ask::Expression => "watch (q->len, accounts[1].balance, T2:i)",
            Ask::Task => "who moves (12, T12, or a name)",
            Ask::Note => "note on this step (empty: none)",
        }
    }
}

/// A line for the person, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub bad: bool,
}

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run these choices, and stand at this step then.
    Run {
        /// What is to happen first.
        choices: Vec<Choice>,
        /// Where to stand.
        cursor: usize,
    },
    /// Find the smallest schedule that fails like the one that is shown.
    Shrink,
    /// Find out why the schedule that is shown fails.
    Explain,
    /// Look ahead from a step, for each task that may move there.
    Look {
        /// Answers to anything older are thrown away.
        generation: u64,
        /// Of which schedule.
        loaded: Arc<Loaded>,
        /// From which step.
        step: usize,
        /// The tasks.
        moves: Vec<TaskId>,
    },
    /// Do something that takes long, beside.
    Aside {
        /// Which: what comes of others is thrown away.
        number: u64,
        /// What.
        task: Task,
    },
    /// Hand over to a search.
    Search {
        /// Answers to others are thrown away.
        number: u64,
        /// What it is asked to do.
        order: HandOver,
    },
    /// Stop the search.
    StopSearch,
    /// Give up what is being waited for.
    GiveUp,
    /// Open a debugger at this step of the schedule that is shown.
    Debug(usize, Debugging),
    /// Look into the program at a step of the schedule that is shown.
    See(Asked),
    /// Read a source file.
    Source(String),
    /// Write the schedule to a file.
    Save,
    /// Put a text on the clipboard.
    Copy(String),
    /// Write the notes to the file beside the trace.
    KeepNotes,
    /// Have the terminal tell of the mouse, or not.
    Mouse(bool),
    /// The program was rebuilt: try the schedule again.
    Reload,
    /// Draw everything anew.
    Redraw,
    /// Stop this process for a while.
    Suspend,
}

/// Which debugger is opened, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debugging {
    /// gdb, in the place of the screen.
    Gdb,
    /// lldb, in the place of the screen.
    Lldb,
    /// gdb, in a split of the terminal beside the explorer.
    Split,
}

/// A schedule and a place in it.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The execution.
    pub loaded: Arc<Loaded>,
    /// The step that is about to move; the number of steps at the end.
    pub cursor: usize,
    /// Bookmarks and notes on its steps.
    pub notes: Notes,
}

/// Places in a schedule that one went away from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// The last of them first to go back to.
    pub back: Vec<usize>,
    /// Those that one came back from.
    pub forward: Vec<usize>,
}

/// All that the explorer knows.
#[derive(Debug)]
pub struct Model {
    /// The execution that is shown, and where in it.
    pub spot: Spot,
    /// The one that this began with.
    pub original: Arc<Loaded>,
    /// Schedules before the last choices.
    pub past: Vec<Spot>,
    /// Schedules that were left by going back.
    pub future: Vec<Spot>,
    /// Where one was before jumps, and where one came back from.
    pub trail: Trail,
    /// The first steps of the lines of the schedule.
    pub lines: Arc<Vec<usize>>,
    /// Every task at the cursor.
    pub standing: Vec<Standing>,
    /// What lies ahead of each move, as far as it is known.
    pub ahead: HashMap<TaskId, Ahead>,
    /// Counts positions, so that late answers are known.
    pub generation: u64,
    /// Whether somebody looks ahead.
    pub looking: bool,
    /// The lower right pane.
    pub pane: Pane,
    /// The first of its lines that is shown.
    pub pane_top: usize,
    /// What keys mean.
    pub mode: Mode,
    /// The last thing to say.
    pub message: Option<Message>,
    /// What is being waited for.
    pub busy: Option<String>,
    /// Counts what is done beside, so that late answers are known.
    pub aside: u64,
    /// How much is folded.
    pub fold: Fold,
    /// The tasks that nobody wants to see.
    pub hidden: BTreeSet<TaskId>,
    /// The tasks that keep their columns.
    pub pinned: BTreeSet<TaskId>,
    /// Whether the whole schedule stands over its rows, a lane for each task; none: where there is room.
    pub lanes: Option<bool>,
    /// How a person wants the room divided.
    pub division: Division,
    /// The line between two parts that the mouse holds, and whether it was moved since.
    pub dragged: Option<(Divider, bool)>,
    /// Whether the rows that hold a text are gone through.
    pub matches: bool,
    /// Whether rows name who could have moved.
    pub enabled: bool,
    /// The colours.
    pub theme: Theme,
    /// Whether to keep to ASCII.
    pub ascii: bool,
    /// Which key does what.
    pub keys: Keys,
    /// The search that was handed over to last.
    pub handed: Option<Handed>,
    /// Whether the pane has the whole screen.
    pub zoomed: bool,
    /// Whether the terminal tells of the mouse.
    pub mouse: bool,
    /// The page of the tour, while there is one.
    pub tour: Option<usize>,
    /// The names of the objects that are watched.
    pub watched: Vec<String>,
    /// The expressions that are watched.
    pub expressions: Vec<String>,
    /// What was seen in the program.
    pub sights: Sights,
    /// How many processes may search at a time.
    pub workers: u32,
    /// The nearest schedule that passes, and the one that it is near to.
    pub nearest: Option<(Arc<Loaded>, Arc<Loaded>)>,
    /// A schedule that was shrunk, and what became of it.
    pub shrunk: Option<(Arc<Loaded>, Arc<Loaded>)>,
    /// Source files by path; none where one cannot be read.
    pub sources: HashMap<String, Option<Arc<Source>>>,
    /// What was looked for last.
    pub looked_for: String,
    /// The size of the screen.
    pub size: (u16, u16),
    /// The trace file that this began with.
    pub path: Option<PathBuf>,
    /// Whether choices can be made: not where the program cannot be run.
    pub live: Result<(), String>,
    /// Whether to leave.
    pub quit: bool,
}

/// Where a failure is in the source. It is told by the file's name and the line; which file of that name
/// it is says a stack, or whatever else was done there or in that file.
fn failed_at(trace: &Trace) -> Option<(String, u32)> {
    let failure = trace.failure.as_ref()?;
    let (name, line) = failure.place.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let stacks = failure.stacks.iter().flat_map(|stack| &stack.frames);
    let places = trace.execution.places.iter().flat_map(|(_, frames)| frames);
    let named = |frame: &&Frame| frame.file.rsplit('/').next() == Some(name);
    let frames: Vec<&Frame> = stacks.chain(places).filter(named).collect();
    let frame = frames.iter().find(|frame| frame.line == line).or(frames.first())?;
    Some((frame.file.clone(), line))
}

impl Model {
    /// At the start of an execution, or at its failure if it has one.
    #[must_use]
    pub fn new(loaded: Arc<Loaded>, size: (u16, u16)) -> Model {
        let mut model = Model {
            spot: Spot { loaded: Arc::clone(&loaded), cursor: 0, notes: Notes::new() },
            original: loaded,
            past: Vec::new(),
            future: Vec::new(),
            trail: Trail::default(),
            lines: Arc::new(Vec::new()),
            standing: Vec::new(),
            ahead: HashMap::new(),
            generation: 0,
            looking: false,
            pane: Pane::Source,
            pane_top: 0,
            mode: Mode::Walk,
            message: None,
            busy: None,
            aside: 0,
            fold: Fold::default(),
            hidden: BTreeSet::new(),
            pinned: BTreeSet::new(),
            lanes: None,
            division: Division::default(),
            dragged: None,
            matches: false,
            enabled: false,
            theme: Theme::Dark,
            ascii: false,
            keys: Keys::default(),
            handed: None,
            zoomed: false,
            mouse: true,
            tour: None,
            watched: Vec::new(),
            expressions: Vec::new(),
            sights: Sights::default(),
            workers: 1,
            nearest: None,
            shrunk: None,
            sources: HashMap::new(),
            looked_for: String::new(),
            size,
            path: None,
            live: Ok(()),
            quit: false,
        };
        model.relay();
        model
    }

    /// The execution that is shown.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.spot.loaded
    }

    /// Works out the lines anew.
    pub fn relay(&mut self) {
        self.lines = lines::of(&self.spot.loaded, self.fold, &self.hidden);
        self.standing = self.spot.loaded.standing(self.spot.cursor);
    }

    /// The line on which a step stands; one more than there are at the end.
    #[must_use]
    pub fn line_of(&self, step: usize) -> usize {
        if step >= self.loaded().len() {
            return self.lines.len();
        }
        self.lines.partition_point(|&first| first <= step).saturating_sub(1)
    }

    /// Whether `n` and `N` go from match to match, as everywhere else: not where a person gave them to
    /// something of their own.
    #[must_use]
    pub fn keys_of_matches(&self) -> bool {
        let own = [("n", Action::BestMove), ("N", Action::ShowMe)];
        self.matches && own.iter().all(|&(key, usual)| self.keys.action(key) == Some(usual))
    }

    /// The place of the source that is shown: file and line. At a failure that is where it failed, and
    /// not where the program came to on its way out.
    #[must_use]
    pub fn shown_source(&self) -> Option<(String, u32)> {
        let loaded = self.loaded();
        let steps = &loaded.trace.execution.steps;
        let last = steps.len().checked_sub(1)?;
        // What a library's code was compiled from is seldom here: then whoever it is inlined into is.
        let known = |site: Site| {
            let mut frames = loaded.frames(site).iter().filter(|frame| !frame.file.is_empty());
            let readable = |frame: &&Frame| !matches!(self.sources.get(&frame.file), Some(None));
            let frame = frames.clone().find(readable).or(frames.next())?;
            Some((frame.file.clone(), frame.line))
        };
        if self.spot.cursor <= last {
            return known(steps[self.spot.cursor].site);
        }
        failed_at(&loaded.trace).or_else(|| known(steps[last].site))
    }
}
