//! When functions are decoded and probed.
//!
//! While accesses are observed, that happens when the program executes code in a page for the first time: all pages
//! that it has not executed are [closed](super::pages), so that the processor faults. A program executes a small part
//! of its code and of its libraries, and to decode and probe the rest would take most of its start. While only known
//! conflicts are observed, all pages are open.

use crate::detect::learned_points;
use crate::instrument::binary::outline::Function;
use crate::instrument::binary::pages::PAGE;
use crate::instrument::binary::placement::{place, restore, write_again};
use crate::instrument::binary::probe::{PROBES, Wanted, are_any};
use crate::instrument::binary::removal::Removal;
use crate::instrument::binary::{calls, filling, spin_reads, targets};
use crate::memory::runtime_heap;
use crate::state::root::root;
use crate::sys::stops;
use std::sync::atomic::Ordering::Relaxed;

/// Installs exactly the wanted probes for the execution that begins.
pub(crate) fn refresh(wanted: Wanted, known: usize) {
    if !are_any() {
        return;
    }
    targets::begin();
    calls::begin();
    spin_reads::forget();
    PROBES.hits.set(0);
    PROBES.hits_alone.set(0);
    PROBES.absent_alone.set(false);
    PROBES.stops.set(0);
    let before = PROBES.state.replace(Some((known, wanted)));
    let removal = PROBES.removal.replace(Removal::None);
    let entered = root().entered.take();
    let is_same = before == Some((known, wanted)) && removal == Removal::None;
    if is_same && entered.is_empty() {
        return;
    }
    let done = runtime_heap::in_private(|| {
        (is_same || change(wanted, known, before, removal))
            // Forks executed code in these pages.
            && entered.iter().all(|&address| enter(address))
    });
    finish(done);
}

/// Changes which probes are installed; false if the system refuses to change the text.
fn change(wanted: Wanted, known: usize, before: Option<(usize, Wanted)>, removal: Removal) -> bool {
    PROBES.version.set(PROBES.version.get() + 1);
    PROBES.all().for_each(|probe| probe.known.set(learned_points::is_site(probe.behind)));
    // The same probes are wanted as before: only the known sites have changed, or some probes were
    // removed.
    let is_same = |(old, same)| same == wanted && (wanted != Wanted::Learned || old == known);
    if before.is_some_and(is_same) {
        if removal != Removal::None {
            write_again();
        }
    } else {
        fill(wanted);
        restore();
        let mut modules = PROBES.modules();
        if !modules.all(|module| place(module, module.text(), PROBES.filled(), wanted)) {
            return false;
        }
    }
    let closes = wanted != Wanted::Learned && !is_eager();
    PROBES.modules().all(|module| module.pages.set_closing(closes))
}

/// Whether all functions are decoded before an execution. A debugger shows the program's own text, without later
/// changes, and a replay has only functions that it needs.
fn is_eager() -> bool {
    stops::is_there() || root().repeats()
}

/// Decodes the functions that need probes before the execution begins.
fn fill(wanted: Wanted) {
    if wanted == Wanted::Learned {
        for behind in learned_points::addresses() {
            if let Some((number, function)) = PROBES.function(behind - 1) {
                filling::fill(number, function);
            }
        }
    } else if is_eager() {
        let functions = PROBES.functions.all().iter().enumerate();
        functions.for_each(|(number, function)| filling::fill(number, function));
    }
}

/// The program executes code at this address, in a page that may not be executed: whether that is because the page
/// was closed. The signal handler calls this.
pub(crate) fn on_execution(address: u64) -> bool {
    let is_closed = PROBES.modules().any(|module| module.pages.is_closed(address));
    if is_closed {
        finish(runtime_heap::in_private(|| enter(address)));
        root().entered.borrow().push(address);
    }
    is_closed
}

/// Opens the page of an address, if it is closed, with the probes of all functions in it; false if the system refuses
/// that.
fn enter(address: u64) -> bool {
    let closed = PROBES.modules().find(|module| module.pages.is_closed(address));
    let (Some(module), Some((_, wanted))) = (closed, PROBES.state.get()) else { return true };
    let page = address & !(PAGE - 1);
    let functions = PROBES.functions.all();
    let first = functions.partition_point(|function| function.end <= page);
    let within = |function: &&Function| function.start < page + PAGE;
    let here = || functions[first..].iter().take_while(within);
    here().enumerate().for_each(|(at, function)| filling::fill(first + at, function));
    module.pages.enter(address);
    let start = here().map(|function| function.start).min().unwrap_or(page).min(page);
    let end = here().map(|function| function.end).max().unwrap_or(page).max(page + PAGE);
    place(module, (start, end), here(), wanted)
}

/// Ends with an error if the text could not be changed.
fn finish(is_done: bool) {
    if !is_done {
        crate::sys::channel::fail(
            "the system refuses to make the program's code writable: use --points api",
        );
    }
    let instrumentation = &crate::sys::channel::header().instrumentation;
    // The report names the most probes of an execution.
    if PROBES.installed.get() > instrumentation.probes.load(Relaxed) {
        instrumentation.probes.store(PROBES.installed.get(), Relaxed);
        instrumentation.jumps.store(PROBES.jumps.get(), Relaxed);
    }
}
