//! Runs a search that was handed over to, in a thread of its own, and tells of it.

use super::engine::Reply;
use super::hand::News;
use super::loaded::Loaded;
use super::screen::guarded;
use replay_core::walk::{HandOver, Tree, Visits, Walk};
use replay_core::{Observer, Progress, store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use traces::Trace;
use traces::report::{Bug, Report};

/// How many random walks say how many schedules there are.
const WALKS: u64 = 16;

/// A search that runs, or ran. It ends with this.
pub(super) struct Search {
    pub(super) stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Search {
    pub(super) fn start(
        number: u64,
        walk: Walk,
        order: HandOver,
        replies: Arc<dyn Fn(Reply) + Send + Sync>,
    ) -> Search {
        let stop = Arc::<AtomicBool>::default();
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let tell = |news| replies(Reply::Search { number, news });
            match guarded(|| run(&walk, &order, &flag, &tell)).and_then(|ran| ran) {
                Ok(report) => tell(News::Over(Box::new(report))),
                Err(why) => tell(News::Failed(why)),
            }
        });
        Search { stop, thread: Some(thread) }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    walk: &Walk,
    order: &HandOver,
    stop: &AtomicBool,
    tell: &dyn Fn(News),
) -> Result<Report, String> {
    if let Ok(Some(estimate)) = walk.estimate(&order.beginning, WALKS, stop) {
        tell(News::Estimate(estimate));
    }
    // What is found is kept only if the person says so.
    let out = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut told = Told { tell };
    let report =
        walk.search(order, out.path(), stop, &mut told).map_err(|error| error.to_string())?;
    // The simplest schedule of each failure: it may be another than the first.
    for bug in &report.bugs {
        if let Some(Ok(loaded)) = bug.trace.as_ref().map(|path| store::load(Path::new(path))) {
            tell(News::Found(bug.clone(), Arc::new(Loaded::of(loaded.trace))));
        }
    }
    Ok(report)
}

/// Tells what the search tells.
struct Told<'a> {
    tell: &'a dyn Fn(News),
}

impl Observer for Told<'_> {
    fn progress(&mut self, _: &Progress) {}

    fn bug(&mut self, bug: &Bug, trace: &Trace) {
        (self.tell)(News::Found(bug.clone(), Arc::new(Loaded::of(trace.clone()))));
    }

    fn note(&mut self, line: &str) {
        (self.tell)(News::Note(line.to_owned()));
    }

    fn tree(&mut self, progress: &Progress, look: &dyn Fn() -> (Option<Tree>, Option<Visits>)) {
        let (tree, visits) = look();
        (self.tell)(News::Progress(*progress, tree, visits));
    }
}
