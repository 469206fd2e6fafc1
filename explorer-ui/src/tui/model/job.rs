//! Computations on long schedules that do not run the target: finding text, comparing two
//! schedules.

use crate::report::diff;
use crate::report::filter::{Filter, Matcher};
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
    /// Find the rows that match a filter.
    Find(RowSearch),
    /// Align two schedules side by side.
    Compare(Comparison),
}

/// A search for the rows of a schedule that match a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSearch {
    /// The schedule.
    pub loaded: Arc<LoadedTrace>,
    /// The filter as typed.
    pub text: String,
    /// The filter.
    pub filter: Filter,
    /// What to do with the rows.
    pub purpose: Purpose,
    /// The glyphs of the rows.
    pub glyphs: &'static Glyphs,
}

/// What the matching rows are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To move to the next one or, with `true`, to the previous one.
    Move(bool),
    /// To show no others.
    Show,
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
    /// The steps whose rows match, in ascending order.
    Found(RowSearch, Arc<Vec<usize>>),
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

impl RowSearch {
    /// The steps whose rows match; none if the search was cancelled.
    fn run(&self, cancelled: &AtomicBool, report: &dyn Fn(JobUpdate)) -> Option<Arc<Vec<usize>>> {
        let loaded = &self.loaded;
        let mut matcher = Matcher::new(&self.filter, &loaded.trace, &loaded.reader, self.glyphs);
        let mut found = Vec::new();
        for from in (0..loaded.len()).step_by(STRETCH) {
            if cancelled.load(Ordering::Relaxed) {
                return None;
            }
            let to = loaded.len().min(from + STRETCH);
            found.extend((from..to).filter(|&step| matcher.matches(step)));
            report(JobUpdate::Progress(to * 100 / loaded.len()));
        }
        Some(Arc::new(found))
    }
}
