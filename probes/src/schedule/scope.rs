//! The code in which a running task may be preempted, if not everywhere.

use crate::state::root::root;
use crate::steps::identity;
use std::cell::RefCell;
use traces::points::{CodeRange, PreemptionScope};

/// Address ranges in this process, sorted.
type Ranges = Vec<(u64, u64)>;

/// The job's scope, as addresses of this process.
struct Here(RefCell<Option<(Ranges, Option<Ranges>)>>);
// SAFETY: the controlled process has one kernel thread. The contents are written once, in
// `prepare`, and afterwards only borrowed for reading.
unsafe impl Sync for Here {}
static HERE: Here = Here(RefCell::new(None));

/// Resolves the scope to addresses, before the first execution.
pub(crate) fn prepare(scope: &PreemptionScope) {
    if scope.is_everything() {
        return;
    }
    let modules = identity::named_modules();
    let focus = scope.focus.as_ref().map(|focus| ranges(focus, &modules));
    *HERE.0.borrow_mut() = Some((ranges(&scope.atomic, &modules), focus));
    root().scoped.set(true);
}

/// Whether a task at an operation at this site is not to be preempted.
#[cold]
pub(crate) fn keeps(site: u64) -> bool {
    // The site of a call is its return address, which may be behind the function.
    let at = site.wrapping_sub(1);
    let within = |ranges: &Ranges| {
        let after = ranges.partition_point(|&(start, _)| start <= at);
        ranges[..after].last().is_some_and(|&(_, end)| at < end)
    };
    match &*HERE.0.borrow() {
        Some((atomic, focus)) => within(atomic) || focus.as_ref().is_some_and(|f| !within(f)),
        None => false,
    }
}

fn ranges(stretches: &[CodeRange], modules: &[(String, u64)]) -> Ranges {
    // The loader and the memory map may use different paths for one file.
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let here = stretches.iter().filter_map(|stretch| {
        let known = modules.iter().find(|(name, _)| file(name) == file(&stretch.module))?;
        Some((known.1 + stretch.start, known.1.saturating_add(stretch.end)))
    });
    let mut all: Ranges = here.collect();
    all.sort_unstable();
    // Ranges that overlap or touch are joined, so that the last one that begins before an address
    // decides.
    all.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
    all
}
