//! Scheduling points in a program without compiler instrumentation: probes on its instructions.
//!
//! A probe is a jump that replaces the instruction and, if that is shorter than a jump, its
//! neighbours ([`jump_plan`]), or else a breakpoint. In the learning phase, probes are on every
//! instruction that accesses memory which another task might access ([`decode`]), in each function that the
//! program executes ([`demand`]); in the search, on those that conflicted. A task that reaches a probe continues in a stub ([`stub`]), where the
//! access is monitored and may be a scheduling point; then a copy of the instruction runs
//! ([`trampoline`]).
//!
//! In x86-64 code a relaxed store, a releasing one and a plain one are the same instruction. So a
//! conflict here is not reported as a race, and for happens-before it counts as an atomic access: a
//! task that reads the value acquires what its writer did before.

mod address_set;
mod bounded_spin;
pub(crate) mod branch_targets;
pub(crate) mod bulk;
pub(crate) mod bulk_functions;
pub(crate) mod calls;
pub(crate) mod catalogue;
pub(crate) mod constant_effect;
mod counting;
pub(crate) mod decode;
mod demand;
mod effective_address;
mod exports;
mod extents;
pub(crate) mod file_changes;
mod filling;
mod format;
pub(crate) mod hidden_state;
pub(crate) mod hot_probes;
pub(crate) mod image;
pub(crate) mod imports;
pub(crate) mod jump_plan;
pub(crate) mod keys;
mod known_files;
mod lanes;
pub(crate) mod libc_variables;
pub(crate) mod library_states;
mod lists;
mod lock_sites;
pub(crate) mod module;
mod monitored;
pub(crate) mod open_files;
mod operand;
mod outline;
mod pages;
pub(crate) mod parts;
pub(crate) mod patch;
mod paths;
pub(crate) mod placement;
mod printed;
mod printing;
pub(crate) mod private_list;
pub(crate) mod probe;
pub(crate) mod probe_hit;
mod removal;
mod rust_library;
pub(crate) mod rust_threads;
mod scan;
mod site;
mod slots;
mod snooze;
mod snooze_sites;
mod sockets;
mod spin_reads;
mod streams;
mod string_instructions;
mod strings;
pub(crate) mod stub;
mod symbols;
mod targets;
mod tokens;
mod touch;
pub(crate) mod trampoline;
mod variable_arguments;
mod vector_operand;
mod word_locks;

pub(crate) use crate::instrument::binary::demand::{on_execution, refresh};
pub(crate) use crate::instrument::binary::hot_probes::{
    about_to_change, is_own_file, remove_from_copy, second_task,
};
pub(crate) use crate::instrument::binary::probe::{are_any, are_there};
pub(crate) use crate::instrument::binary::probe_hit::{may_serve, on_breakpoint, original};

use crate::detect::access::note_gap;
use crate::instrument::binary::calls::Calls;
use crate::instrument::binary::catalogue::Catalogue;
use crate::instrument::binary::image::{Image, Instrumentation};
use crate::instrument::binary::module::Module;
use crate::instrument::binary::operand::Target;
use crate::instrument::binary::outline::Outline;
use crate::instrument::binary::probe::PROBES;
use crate::instrument::binary::stub::heddle_probe_stub;
use crate::sys::raw;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;
use traces::wire::COPIES;

/// The program's code from an address on, without probes: at least a byte, and no more than its page has.
pub(crate) fn original_code(address: u64) -> &'static [u8] {
    const PAGE: u64 = 4096;
    let end = (address | (PAGE - 1)) + 1;
    if let Some(module) = PROBES.modules().find(|module| module.has(address)) {
        let end = end.min(module.text().1);
        return module.pristine(address, (end - address) as usize);
    }
    // SAFETY: the caller follows code that the program runs, so the page at the address is mapped and readable;
    // nothing changes it meanwhile.
    unsafe { std::slice::from_raw_parts(address as *const u8, (end - address) as usize) }
}

/// The bytes of code that would have to be decoded.
pub(crate) fn code_len() -> u64 {
    let observed = decode::modules().into_iter().filter(|(_, is_observed)| *is_observed);
    observed.filter_map(|(image, _)| image.text()).map(|(start, end)| end - start).sum()
}

/// Finds the functions that can be probed; whether there are any. `observes`: whether accesses are
/// to be probed, and not only the sites of predicates.
pub(crate) fn prepare(observes: bool) -> bool {
    // A replay monitors only known sites; to decode the rest of a large program would take most of
    // its time.
    let predicates = crate::schedule::predicates::addresses();
    let repeats = crate::state::root::root().repeats();
    let wanted = repeats.then(|| {
        let mut wanted = crate::detect::learned_points::addresses();
        wanted.extend(predicates.iter().map(|at| at + 1));
        wanted.sort_unstable();
        wanted
    });
    // Functions are decoded while the program runs, so all that this needs stays.
    let modules: &'static [(Image, bool)] = decode::modules().leak();
    let catalogue: &'static Catalogue = Box::leak(Box::new(libc_variables::catalogue(modules)));
    let mut all = Vec::new();
    for (image, _) in modules.iter().filter(|(_, is_observed)| *is_observed) {
        let listed = image.text().and_then(|text| image.functions(text)).unwrap_or_default();
        let calls = Calls::of(image, listed.leak(), catalogue, modules);
        let within = (observes, wanted.as_deref(), &*predicates);
        all.extend(decode::module(image, calls, within));
    }
    let instrumentation = &crate::sys::channel::header().instrumentation;
    let sum = |of: fn(&Outline) -> u64| all.iter().map(|(_, outline, _)| of(outline)).sum();
    let all_bytes = sum(|outline| outline.bytes);
    instrumentation.code.store(all_bytes, Relaxed);
    instrumentation.covered.store(sum(|outline| outline.covered), Relaxed);
    all.iter().for_each(|(_, one, _)| _ = instrumentation.unseen.fetch_or(one.unseen, Relaxed));
    all.retain(|(_, outline, _)| outline.room > 0);
    all.sort_unstable_by_key(|(text, ..)| *text);
    let stub = heddle_probe_stub as *const () as u64;
    // If one module cannot be probed the others still are, and the report says what is missing.
    let found = all.len();
    all.truncate(COPIES);
    let mut next = 0;
    all.retain(|(text, outline, _)| {
        let there = PROBES.modules[next].prepare(*text, outline.room as usize, stub);
        next += usize::from(there);
        there
    });
    PROBES.len.set(next);
    if next < found {
        note_gap(InstrumentationGap::Libraries);
    }
    let room = all.iter().map(|(_, outline, _)| outline.room as usize).sum::<usize>();
    let bytes = all.iter().map(|((start, end), ..)| (end - start) as usize).sum();
    let functions = all.iter().map(|(_, outline, _)| outline.functions.len()).sum();
    let stored = PROBES.functions.map(functions)
        && PROBES.filled.map(functions)
        && PROBES.probes.map(room)
        && PROBES.patched.map(room)
        && PROBES.spins.map(room)
        && PROBES.written.map(bytes)
        && PROBES.frequent.map(room);
    // The report must mention it if nothing is observed for lack of code or memory. A program that was
    // decoded and has no access that could be shared loses nothing.
    let is_lost = (observes && all_bytes == 0) || (room > 0 && !stored);
    if is_lost && !repeats {
        note_gap(InstrumentationGap::Undecoded);
    }
    if room == 0 || !stored {
        return false;
    }
    let mut sources = Vec::new();
    let mut first = 0;
    for (module, (_, outline, source)) in PROBES.modules().zip(all) {
        PROBES.observes.set(PROBES.observes.get() || !repeats && source.observes);
        *module.targets.borrow_mut() = outline.targets;
        for mut function in outline.functions {
            function.first += first;
            PROBES.functions.push(function);
        }
        first += outline.room;
        sources.push(source);
    }
    filling::prepare(sources);
    for (number, function) in PROBES.functions.all().iter().enumerate() {
        // A replay has only functions that it needs.
        if function.is_always_needed || repeats {
            filling::fill(number, function);
        }
    }
    if PROBES.all().filter(|probe| probe.predicate).count() < predicates.len() {
        note_gap(InstrumentationGap::Sites);
    }
    if repeats && PROBES.all().next().is_none() {
        return false;
    }
    if !repeats || PROBES.all().any(|probe| probe.target != Target::Fixed) {
        targets::prepare(catalogue, modules, is_listed);
    }
    true
}

/// Whether an address is in a function that can be probed.
fn is_listed(address: u64) -> bool {
    PROBES.function(address).is_some()
}

/// Memory ranges of the runtime.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    let lists = [
        PROBES.functions.range(),
        PROBES.filled.range(),
        PROBES.probes.range(),
        PROBES.patched.range(),
        PROBES.spins.range(),
        PROBES.written.range(),
        PROBES.frequent.range(),
    ];
    lists.into_iter().chain(PROBES.modules().flat_map(Module::ranges)).collect()
}

/// Whether some accesses of the program's own modules are not instrumented by the compiler.
pub(crate) fn is_mixed() -> bool {
    let is_partial = |image: &Image| image.instrumentation() != Instrumentation::Full;
    Image::own().iter().any(|image| image.text().is_some() && is_partial(image))
}

/// Whether the compiler instrumented accesses in any of the program's own modules.
pub(crate) fn has_compiled_accesses() -> bool {
    Image::own().iter().any(|image| image.instrumentation() != Instrumentation::None)
}

/// See [`crate::instrument::monitoring::libraries`].
pub(crate) fn libraries() -> u64 {
    let mut hasher = DefaultHasher::new();
    for library in Image::all().iter().skip(1).filter(|image| image.is_observed()) {
        library.identity().hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether an address is in probed code of the program or its libraries.
pub(crate) fn has_code(address: u64) -> bool {
    PROBES.modules().any(|module| module.has(address))
}

/// How many times probes were reached in this execution.
pub(crate) fn hits() -> u64 {
    PROBES.hits.get()
}

/// Gives a debugger the list of installed probes, so that it can hide them. Under a debugger every
/// probe is a breakpoint, as the debugger cannot hide jumps.
pub(crate) fn show(debug: &traces::wire::Debug) {
    let functions = PROBES.functions.all();
    let all = || functions.iter().flat_map(|function| PROBES.of(function));
    let set = || all().filter(|probe| probe.copy.get() != 0);
    let pristine = |address: u64| {
        let module = PROBES.modules().find(|module| module.has(address));
        module.map_or(0, |module| module.pristine(address, 1)[0])
    };
    let (count, size) = (set().count(), size_of::<traces::wire::Probe>());
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    if count == 0 {
        return;
    }
    let Some(table) = raw::map(0, count * size, prot, libc::MAP_NORESERVE) else {
        crate::sys::channel::fail("no memory for the table of probes")
    };
    for (at, probe) in set().enumerate() {
        let shown = traces::wire::Probe {
            address: probe.address,
            behind: probe.behind,
            copy: probe.copy.get(),
            original: u64::from(pristine(probe.address)),
        };
        // SAFETY: the table was just mapped with room for `count` entries, and `at` is below that.
        unsafe { (table as *mut traces::wire::Probe).add(at).write(shown) };
    }
    debug.probes.store(table as u64, Relaxed);
    debug.probes_len.store(count as u64, Relaxed);
    for (module, [start, end]) in PROBES.modules().zip(&debug.copies) {
        let copies = module.copies();
        start.store(copies.0, Relaxed);
        end.store(copies.1, Relaxed);
    }
}
