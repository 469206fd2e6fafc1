//! Where a running task may be preempted, if not everywhere.

use crate::manager::root;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use traces::points::{Scope, Stretch};

/// Addresses in this process, sorted.
type Ranges = Vec<(u64, u64)>;

/// What the job says, for this process.
struct Here(RefCell<Option<(Ranges, Option<Ranges>)>>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Here {}
static HERE: Here = Here(RefCell::new(None));

/// Looks where the modules lie. Before the first execution.
pub(crate) fn prepare(scope: &Scope) {
    if scope.is_everything() {
        return;
    }
    let modules = modules();
    let focus = scope.focus.as_ref().map(|focus| ranges(focus, &modules));
    *HERE.0.borrow_mut() = Some((ranges(&scope.atomic, &modules), focus));
    root().scoped = true;
}

/// Whether a task that stands before an operation at this site is to go on.
#[cold]
pub(crate) fn keeps(site: u64) -> bool {
    // A call is told by the address behind it, which may lie behind the function.
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

/// The loaded modules: their files' paths, and what is to be added to addresses in them.
fn modules() -> Vec<(String, u64)> {
    let mut modules: Vec<(String, u64)> = Vec::new();
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader's tables, and our own list.
        unsafe {
            let name = match (*info).dlpi_name.is_null() {
                true => String::new(),
                false => CStr::from_ptr((*info).dlpi_name).to_string_lossy().into_owned(),
            };
            (*to.cast::<Vec<(String, u64)>>()).push((name, (*info).dlpi_addr));
        }
        0
    }
    // SAFETY: the callback only adds to the list.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut modules).cast()) };
    modules
}

fn ranges(stretches: &[Stretch], modules: &[(String, u64)]) -> Ranges {
    // The loader and the memory map may call a file by different names.
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let here = stretches.iter().filter_map(|stretch| {
        let known = modules.iter().find(|(name, _)| file(name) == file(&stretch.module))?;
        Some((known.1 + stretch.start, known.1.saturating_add(stretch.end)))
    });
    let mut all: Ranges = here.collect();
    all.sort_unstable();
    // Those that overlap or touch become one, so that the last that begins before a place decides.
    all.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
    all
}
