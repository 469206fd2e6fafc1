//! Computations on long schedules that do not run the target: finding text, comparing two
//! schedules.

use crate::report::diff;
use crate::report::style::Glyphs;
use crate::report::style::Style;
use crate::report::text::wrapped_lines;
use crate::walk::loaded_trace::LoadedTrace;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows searched between two checks for cancellation and two reports of progress.
const STRETCH: usize = 20_000;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// Find text in the rows.
    Find(TextSearch),
    /// Align two schedules side by side.
    Compare(Comparison),
}

/// A search for text in the rows of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSearch {
    /// The schedule.
    pub loaded: Arc<LoadedTrace>,
    /// The text; case does not matter.
    pub text: String,
    /// Forwards, the first step to search; backwards, the step after the first to search. The
    /// search wraps around.
    pub from: usize,
    /// Whether to search backwards.
    pub back: bool,
    /// The glyphs of the rows.
    pub glyphs: &'static Glyphs,
}

/// Two schedules to align.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The title of the page.
    pub title: String,
    /// The left schedule.
    pub first: Arc<LoadedTrace>,
    /// The right schedule.
    pub second: Arc<LoadedTrace>,
    /// Whether to use ASCII only.
    pub ascii: bool,
    /// The width of the page in columns.
    pub width: usize,
}

/// Progress or the result of a job.
#[derive(Debug)]
pub enum JobUpdate {
    /// The percentage done.
    Progress(usize),
    /// The step whose row holds the text, if there is one.
    Found(TextSearch, Option<usize>),
    /// Title and lines of the comparison.
    Compared(String, Arc<Vec<String>>),
    /// The job panicked.
    Failed(String),
}

impl Job {
    /// Whether the job takes no noticeable time, so that it can run at once.
    #[must_use]
    pub fn is_short(&self) -> bool {
        match self {
            Job::Find(search) => search.loaded.len() <= STRETCH,
            Job::Compare(pages) => pages.first.len() + pages.second.len() <= 1000,
        }
    }

    /// Runs the job; none if it was cancelled.
    #[must_use]
    pub fn run(self, cancelled: &AtomicBool, report: &dyn Fn(JobUpdate)) -> Option<JobUpdate> {
        match self {
            Job::Find(search) => {
                let found = search.run(cancelled, report)?;
                Some(JobUpdate::Found(search, found))
            }
            Job::Compare(pages) => {
                let style = Style { color: false, ascii: pages.ascii };
                let (first, second) = (&pages.first.trace, &pages.second.trace);
                let text = diff::render(first, second, 3, &style, pages.width);
                let lines = wrapped_lines(&text, pages.width);
                Some(JobUpdate::Compared(pages.title, Arc::new(lines)))
            }
        }
    }
}

impl TextSearch {
    /// The first step whose row holds the text, in search order; none if it was cancelled.
    fn run(&self, cancelled: &AtomicBool, report: &dyn Fn(JobUpdate)) -> Option<Option<usize>> {
        let loaded = &self.loaded;
        let end = loaded.len();
        let from = self.from.min(end);
        let wanted = self.text.to_lowercase();
        let holds = |&step: &usize| {
            let cell = loaded.reader.cell(&loaded.trace, step, self.glyphs);
            let row = format!("{} {} {}", cell.task, cell.label(usize::MAX, ""), cell.site);
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
                if cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                done += length;
                report(JobUpdate::Progress(done * 100 / end));
            }
        }
        Some(None)
    }
}
