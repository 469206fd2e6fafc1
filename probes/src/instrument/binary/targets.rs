//! Calls and jumps through registers and memory: what they lead to is known when they are reached.
//!
//! A function of the C library may be called through a pointer, from a table, or by an address of `dlsym`. Its
//! line in the [catalogue](super::catalogue) then says what the call does, as for a call by name. Code that
//! is neither instrumented nor in the catalogue is reported.

use crate::fiber::switch;
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::calls;
use crate::instrument::binary::catalogue::Catalogue;
use crate::instrument::binary::image::{Image, Instrumentation};
use crate::instrument::binary::operand::Operand;
use crate::memory::runtime_heap;
use crate::sys::real;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// How many targets without effects are found at once.
const QUICK: usize = 256;

/// What a target does beyond instrumented code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called {
    pub(super) operands: &'static [Operand],
    /// Whether it copies, fills or reads many bytes.
    pub(super) bulk: Bulk,
    /// The number of the unknown function, or 0.
    unknown: u32,
    /// Whether it is code that no file contains.
    generated: bool,
}

struct Targets {
    harmless: [Cell<u64>; QUICK],
    /// Whether any of them is set.
    is_used: Cell<bool>,
    known: RefCell<Option<Known>>,
}
// SAFETY: the controlled process has one kernel thread, and no function of this file holds a borrow of
// `known` while another runs.
unsafe impl Sync for Targets {}
static TARGETS: Targets = Targets {
    harmless: [const { Cell::new(0) }; QUICK],
    is_used: Cell::new(false),
    known: RefCell::new(None),
};

/// What was resolved so far.
struct Known {
    catalogue: &'static Catalogue,
    /// The modules with which the process began, and whether each is instrumented.
    modules: &'static [(Image, bool)],
    /// Those that it loaded later.
    loaded: Vec<(Image, bool)>,
    /// The functions of the catalogue, by the addresses of their implementations.
    names: HashMap<u64, &'static str>,
    is_listed: fn(u64) -> bool,
    called: HashMap<u64, Called>,
}

fn place(target: u64) -> &'static Cell<u64> {
    &TARGETS.harmless[(target >> 4 ^ target >> 12) as usize % QUICK]
}

/// An execution begins. Which path a probe takes must not depend on the executions before.
pub(super) fn begin() {
    if TARGETS.is_used.replace(false) {
        TARGETS.harmless.iter().for_each(|target| target.set(0));
    }
}

/// The targets that are known to need nothing; none if there are none.
pub(super) type Saved = Option<[u64; QUICK]>;

/// What is known in the middle of an execution.
pub(super) fn save() -> Saved {
    let known = || std::array::from_fn(|at| TARGETS.harmless[at].get());
    TARGETS.is_used.get().then(known)
}

/// An execution that has begun continues where `saved` was known.
pub(super) fn restore(saved: &Saved) {
    if let Some(saved) = saved {
        TARGETS.is_used.set(true);
        TARGETS.harmless.iter().zip(saved).for_each(|(target, &was)| target.set(was));
    }
}

/// Whether a target is known to need nothing.
#[inline]
pub(super) fn is_harmless(target: u64) -> bool {
    place(target).get() == target
}

/// A question to the manager, and its answer.
struct Request {
    target: u64,
    site: u64,
    called: Option<Called>,
}

/// What a call or jump to this target does; none if nothing. What is unknown is reported, as called from the
/// code before `site`.
///
/// All of it happens on the manager's stack. A lookup needs more stack than a task may have. And what it
/// leaves behind depends on whether an earlier execution of this process asked for the same target: on the
/// task's stack it would be part of the state in which a loop repeats ([`crate::schedule::stall`]).
pub(super) fn effects(target: u64, site: u64) -> Option<Called> {
    extern "C" fn on_manager(request: u64) -> u64 {
        // SAFETY: the caller passes the address of its local, which nothing else uses meanwhile.
        let request = unsafe { &mut *(request as *mut Request) };
        runtime_heap::in_private(|| answer(request));
        0
    }
    if is_harmless(target) {
        return None;
    }
    let mut request = Request { target, site, called: None };
    switch::on_manager(on_manager, &raw mut request as u64);
    request.called
}

/// Determines what a target does, and reports what is unknown.
fn answer(request: &mut Request) {
    let target = request.target;
    let called = {
        let mut known = TARGETS.known.borrow_mut();
        let Some(known) = known.as_mut() else { return };
        match known.called.get(&target) {
            Some(&called) => called,
            None => {
                known.load(target);
                let called = known.of(target);
                known.called.insert(target, called);
                called
            }
        }
    };
    if called.generated {
        calls::report_unexplored("generated code", "the program's memory", request.site);
    }
    if called.unknown != 0 && !calls::is_known(called.unknown) {
        calls::report(called.unknown, request.site);
    }
    if called.operands.is_empty() && calls::is_known(called.unknown) {
        place(target).set(target);
        TARGETS.is_used.set(true);
    }
    request.called = Some(called);
}

/// Determines where the functions of the catalogue are. Done before there are executions, since the loader is
/// asked for those of which it chose the implementation. Nothing here allocates memory of the program's heap:
/// a replay may have no such calls, and its blocks have to be where those of the search were.
///
/// `is_listed` says whether an address is in a function that was decoded.
pub(super) fn prepare(
    catalogue: &'static Catalogue,
    modules: &'static [(Image, bool)],
    is_listed: fn(u64) -> bool,
) {
    let mut found: Vec<(&'static str, u64)> = Vec::new();
    let base = modules.iter().filter(|(_, is_observed)| !is_observed);
    for export in base.flat_map(|(image, _)| image.exports()) {
        let Some(name) = export.name.to_str().ok().filter(|name| catalogue.has(name)) else {
            continue;
        };
        let address = export.address.unwrap_or_else(|| real::find(export.name, None) as u64);
        found.push((name, address));
    }
    // A function may have several names with different lines: the choice must be the same in every run.
    found.sort_unstable();
    let mut names = HashMap::new();
    found.into_iter().for_each(|(name, address)| _ = names.entry(address).or_insert(name));
    let (loaded, called) = (Vec::new(), HashMap::new());
    let known = Known { catalogue, modules, loaded, names, is_listed, called };
    *TARGETS.known.borrow_mut() = Some(known);
}

impl Known {
    fn modules(&self) -> impl Iterator<Item = &(Image, bool)> {
        self.modules.iter().chain(&self.loaded)
    }

    /// The module that contains an address, and whether it is instrumented.
    fn module(&self, address: u64) -> Option<&(Image, bool)> {
        self.modules().find(|(image, _)| image.bytes(address).is_some())
    }

    /// Adds modules that the program loaded itself, when code of theirs is first called.
    fn load(&mut self, target: u64) {
        if self.module(target).is_some() {
            return;
        }
        for image in Image::all() {
            if self.modules().all(|(known, _)| known.base() != image.base()) {
                // The path is taken as it is: the C library would resolve it in memory of the program's heap.
                let is_observed = image.is_observed_by_name();
                self.loaded.push((image, is_observed));
            }
        }
    }

    fn of(&self, target: u64) -> Called {
        let bulk = Bulk::None;
        let nothing = Called { operands: &[], bulk, unknown: 0, generated: false };
        if calls::entries().contains(&target) {
            return nothing;
        }
        let Some((image, is_observed)) = self.module(target) else {
            return Called { generated: true, ..nothing };
        };
        if *is_observed {
            let target = match calls::linkage(image, target) {
                None if self.is_instrumented(image, target) => return nothing,
                None => {
                    let unknown = calls::unknown_function(target, None, image.file_name());
                    return Called { unknown, ..nothing };
                }
                // The linker's entry for a function of another module.
                Some(slot) => match image.bytes(slot).and_then(|bytes| bytes.first_chunk()) {
                    Some(entry) => u64::from_le_bytes(*entry),
                    None => return nothing,
                },
            };
            return self.of(target);
        }
        let (text, len) = crate::sys::own_image::text();
        let is_modelled = (text..text + len).contains(&target);
        let name = self.names.get(&target).copied();
        let effects = name.and_then(|name| self.catalogue.effects(name));
        let unknown = match &effects {
            Some(effects) if effects.are_complete() => 0,
            None if is_modelled => 0,
            _ if is_modelled => calls::unknown_function(target, name, calls::C_LIBRARY.to_owned()),
            _ => calls::unknown_function(target, name, image.file_name()),
        };
        let operands = effects.unwrap_or_default().operands.leak();
        let bulk = name.map_or(bulk, Bulk::of_function);
        Called { operands, bulk, unknown, generated: false }
    }

    /// Whether a function of a module is instrumented. A replay decodes only what it needs.
    fn is_instrumented(&self, image: &Image, target: u64) -> bool {
        image.instrumentation() == Instrumentation::Full
            || (self.is_listed)(target)
            || crate::state::root::root().repeats()
    }
}
