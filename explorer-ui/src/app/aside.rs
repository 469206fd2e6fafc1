//! What takes long on a long schedule and runs nothing: looking for a text, comparing two schedules.
//! In a thread of its own, so that no key waits for it.

use super::loaded::Loaded;
use super::screen::guarded;
use super::update::Event;
use crate::views::style::Glyphs;
use crate::views::text::wrapped_lines;
use crate::views::{Style, diff};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// How many rows are looked at between two looks at whether anybody still wants to know.
const STRETCH: usize = 20_000;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Look for a text.
    Find(Search),
    /// Put two schedules side by side.
    Compare(Comparison),
}

/// A text that is looked for in the rows of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The schedule.
    pub loaded: Arc<Loaded>,
    /// The text, in whatever case.
    pub text: String,
    /// The first step to look at; after the last, the first of all follows. Backwards the step before
    /// which to begin; before the first, the last of all follows.
    pub from: usize,
    /// Whether to look backwards.
    pub back: bool,
    /// With the signs of rows.
    pub glyphs: &'static Glyphs,
}

/// Two schedules that are put side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What stands over them.
    pub title: String,
    /// On the left.
    pub first: Arc<Loaded>,
    /// On the right.
    pub second: Arc<Loaded>,
    /// With signs of ASCII alone.
    pub ascii: bool,
    /// How wide the page may be.
    pub width: usize,
}

/// What came of it.
#[derive(Debug)]
pub enum Came {
    /// A part is done: so many of a hundred.
    Progress(usize),
    /// The step whose row holds the text, if one does.
    Found(Search, Option<usize>),
    /// The page.
    Compared(String, Arc<Vec<String>>),
    /// It broke.
    Broke(String),
}

impl Task {
    /// Whether it is over before anybody would notice.
    #[must_use]
    pub fn is_short(&self) -> bool {
        match self {
            Task::Find(search) => search.loaded.len() <= STRETCH,
            Task::Compare(pages) => pages.first.len() + pages.second.len() <= 1000,
        }
    }

    /// Does it; nothing comes of it if it is given up.
    #[must_use]
    pub fn run(self, given_up: &AtomicBool, told: &dyn Fn(Came)) -> Option<Came> {
        match self {
            Task::Find(search) => {
                let found = search.run(given_up, told)?;
                Some(Came::Found(search, found))
            }
            Task::Compare(pages) => {
                let style = Style { color: false, ascii: pages.ascii };
                let (first, second) = (&pages.first.trace, &pages.second.trace);
                let text = diff::render(first, second, 3, &style, pages.width);
                let lines = wrapped_lines(&text, pages.width);
                Some(Came::Compared(pages.title, Arc::new(lines)))
            }
        }
    }
}

impl Search {
    /// The first step from there on (or the last before it), and round, whose row holds the text; none
    /// if it is given up.
    fn run(&self, given_up: &AtomicBool, told: &dyn Fn(Came)) -> Option<Option<usize>> {
        let loaded = &self.loaded;
        let end = loaded.len();
        let from = self.from.min(end);
        let wanted = self.text.to_lowercase();
        let holds = |&step: &usize| {
            let cell = loaded.reader.cell(&loaded.trace, step, self.glyphs);
            let row = format!("{} {} {}", cell.task, cell.label(usize::MAX, ""), cell.place);
            row.to_lowercase().contains(&wanted)
        };
        let mut done = 0;
        let parts = if self.back { [0..from, from..end] } else { [from..end, 0..from] };
        for mut left in parts {
            while !left.is_empty() {
                let length = left.len().min(STRETCH);
                let found = if self.back {
                    let stretch = left.end - length..left.end;
                    left.end -= length;
                    stretch.rev().find(holds)
                } else {
                    let stretch = left.start..left.start + length;
                    left.start += length;
                    { stretch }.find(holds)
                };
                if found.is_some() {
                    return Some(found);
                }
                if given_up.load(Ordering::Relaxed) {
                    return None;
                }
                done += length;
                told(Came::Progress(done * 100 / end));
            }
        }
        Some(None)
    }
}

/// Does one task at a time; what another is asked for while it lasts, it gives up.
pub(super) struct Aside {
    events: Sender<Event>,
    given_up: RefCell<Arc<AtomicBool>>,
}

impl Aside {
    /// What comes of tasks goes there.
    pub(super) fn telling(events: Sender<Event>) -> Aside {
        Aside { events, given_up: RefCell::default() }
    }

    /// Begins a task.
    pub(super) fn begin(&self, number: u64, task: Task) {
        self.give_up();
        let given_up = Arc::<AtomicBool>::default();
        self.given_up.replace(Arc::clone(&given_up));
        let events = self.events.clone();
        std::thread::spawn(move || {
            // Whoever is gone wants no answer.
            let tell = |came| drop(events.send(Event::Aside { number, came }));
            match guarded(|| task.run(&given_up, &tell)) {
                Ok(Some(came)) => tell(came),
                Ok(None) => {}
                Err(why) => tell(Came::Broke(why)),
            }
        });
    }

    /// Nobody wants to know any more.
    pub(super) fn give_up(&self) {
        self.given_up.borrow().store(true, Ordering::Relaxed);
    }
}
