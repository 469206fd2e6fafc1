//! The code in which a running task may be preempted, if not everywhere.

use crate::fiber::{backtrace, switch};
use crate::state::root::root;
use crate::state::task::Task;
use crate::steps::identity;
use std::cell::RefCell;
use traces::points::{CodeRange, PreemptionScope, SerialTasks};

/// Address ranges in this process, sorted.
type Ranges = Vec<(u64, u64)>;

/// Tasks that run serially: by number, or by name and the code in which they begin.
enum Serial {
    Numbers(u16, u16),
    Named(String, Ranges),
}

/// The job's scope, as addresses of this process.
struct Scope {
    atomic: Ranges,
    focus: Option<Ranges>,
    own: Ranges,
    serial: Vec<Serial>,
}

struct Here(RefCell<Option<Scope>>);
// SAFETY: the controlled process has one kernel thread. The contents are written once, in
// `prepare`, and afterwards only borrowed for reading.
unsafe impl Sync for Here {}
static HERE: Here = Here(RefCell::new(None));

/// Resolves the scope to addresses, before the first execution.
pub(crate) fn prepare(scope: &PreemptionScope) {
    if !scope.limits_preemptions() {
        return;
    }
    let modules = identity::named_modules();
    let focus = scope.focus.as_ref().map(|focus| ranges(focus, &modules));
    let serial = scope.serial.iter().map(|tasks| match tasks {
        SerialTasks::Numbers(first, last) => Serial::Numbers(*first, *last),
        SerialTasks::Named { name, functions } => {
            Serial::Named(name.clone(), ranges(functions, &modules))
        }
    });
    let serial = serial.collect();
    let atomic = ranges(&scope.atomic, &modules);
    let own = ranges(&scope.own, &modules);
    *HERE.0.borrow_mut() = Some(Scope { atomic, focus, own, serial });
    root().scoped.set(true);
}

/// Whether a task at its operation is not to be preempted: because of the operation's site, or of the place
/// in the user's code from which it was called.
#[cold]
pub(crate) fn keeps(task: &Task) -> bool {
    let site = task.site.get();
    let (of, caller) = task.own_site.get();
    let places = [site, if of == site { caller } else { site }];
    // The site of a call is its return address, which may be behind the function.
    let is_in = |ranges| places.iter().any(|place| is_within(place.wrapping_sub(1), ranges));
    match &*HERE.0.borrow() {
        Some(Scope { atomic, focus, .. }) => {
            is_in(atomic) || focus.as_ref().is_some_and(|focus| !is_in(focus))
        }
        None => false,
    }
}

/// Notes where the user's code called the function with the running task's next operation, unless the
/// operation is in the user's code itself.
#[cold]
#[inline(never)]
pub(crate) fn note_caller(task: &Task) {
    let site = task.site.get();
    let is_elsewhere = match &*HERE.0.borrow() {
        Some(Scope { own, .. }) => !own.is_empty() && !is_within(site.wrapping_sub(1), own),
        None => false,
    };
    // On the manager's stack, as for the callers of recorded steps.
    let caller = if is_elsewhere { switch::on_manager(own_caller, site) } else { site };
    task.own_site.set((site, caller));
}

/// The innermost call in the user's code, or the site if there is none.
extern "C" fn own_caller(site: u64) -> u64 {
    /// Library code is rarely nested deeper.
    const DEEPEST: usize = 32;
    let mut addresses = [0; DEEPEST];
    let found = backtrace::innermost(&mut addresses);
    let scope = HERE.0.borrow();
    let Some(Scope { own, .. }) = &*scope else { return site };
    let is_own = |address: &&u64| is_within(address.wrapping_sub(1), own);
    addresses[..found].iter().find(is_own).copied().unwrap_or(site)
}

/// Whether a task runs serially.
#[cold]
pub(crate) fn is_serial(number: u16, task: &Task) -> bool {
    let scope = HERE.0.borrow();
    let Some(scope) = &*scope else { return false };
    scope.serial.iter().any(|tasks| match tasks {
        Serial::Numbers(first, last) => (*first..=*last).contains(&number),
        Serial::Named(name, functions) => {
            let own = task.name.get();
            let len = own.iter().position(|&byte| byte == 0).unwrap_or(own.len());
            own[..len] == *name.as_bytes() || is_within(task.start.get(), functions)
        }
    })
}

fn is_within(at: u64, ranges: &Ranges) -> bool {
    let after = ranges.partition_point(|&(start, _)| start <= at);
    ranges[..after].last().is_some_and(|&(_, end)| at < end)
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
