//! Scheduling points in a program without compiler instrumentation: probes on its instructions.
//!
//! A probe is a jump that replaces the instruction and, if that is shorter than a jump, its
//! neighbours ([`plan`]), or else a breakpoint. In the learning phase, probes are on every
//! instruction that accesses memory which another task might access ([`decode`]); in the search, on
//! those that conflicted. A task that reaches a probe continues in a stub ([`stub`]), where the
//! access is monitored and may be a scheduling point; then a copy of the instruction runs
//! ([`trampoline`]).
//!
//! In x86-64 code a relaxed store, a releasing one and a plain one are the same instruction. So a
//! conflict here is not reported as a race, and for happens-before it counts as an atomic access: a
//! task that reads the value acquires what its writer did before.

mod bounded_spin;
pub(crate) mod branch_targets;
pub(crate) mod bulk;
pub(crate) mod bulk_functions;
pub(crate) mod calls;
pub(crate) mod catalogue;
pub(crate) mod constant_effect;
pub(crate) mod decode;
mod effective_address;
mod exports;
mod extents;
mod file_changes;
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
mod lock_sites;
pub(crate) mod module;
mod monitored;
pub(crate) mod open_files;
mod operand;
pub(crate) mod parts;
pub(crate) mod patch;
mod paths;
pub(crate) mod placement;
mod printed;
pub(crate) mod private_list;
pub(crate) mod probe_hit;
mod rust_library;
mod scan;
mod site;
mod snooze;
mod snooze_sites;
mod sockets;
mod spin_reads;
mod strings;
pub(crate) mod stub;
mod symbols;
mod targets;
mod tokens;
pub(crate) mod trampoline;
mod variable_arguments;
mod vector_operand;
mod word_locks;

pub(crate) use crate::instrument::binary::hot_probes::{
    about_to_change, is_own_file, remove_all, remove_from_copy, second_task,
};
pub(crate) use crate::instrument::binary::placement::{Wanted, refresh};
use crate::instrument::binary::probe_hit::{heddle_probe, heddle_probe_seen};
pub(crate) use crate::instrument::binary::probe_hit::{may_serve, on_breakpoint, original};

use crate::detect::access::{POINTS, note_gap};
use crate::instrument::binary::bounded_spin::BoundedSpin;
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::catalogue::Lasting;
use crate::instrument::binary::decode::Function;
use crate::instrument::binary::image::{Image, Instrumentation};
use crate::instrument::binary::lock_sites::{Exchange, LockPart};
use crate::instrument::binary::module::Module;
use crate::instrument::binary::operand::{Operand, Search, Target};
use crate::instrument::binary::private_list::PrivateList;
use crate::instrument::binary::rust_library::LibraryPart;
use crate::instrument::binary::stub::heddle_probe_stub;
use crate::instrument::binary::trampoline::Moved;
use crate::sys::raw;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;
use traces::wire::COPIES;

/// The most operands of an instruction.
const OPERANDS: usize = 2;

/// A probe on one instruction.
#[derive(Debug, Clone)]
struct Probe {
    address: u64,
    behind: u64,
    /// The address of its copy; 0 if the probe is not installed.
    copy: Cell<u64>,
    operands: [Operand; OPERANDS],
    count: u8,
    /// The further operands of a call, which may have many.
    further: &'static [Operand],
    /// The number of the function with unknown effects that it calls, or 0.
    unknown_call: u32,
    atomic: bool,
    /// Whether it is a jump: a call is a tail call then.
    jumps: bool,
    lasting: Option<Lasting>,
    target: Target,
    repeats: bool,
    search: Search,
    bulk: Bulk,
    string: bool,
    stack: bool,
    /// The loop that counts its reads, as an index plus one; 0 for none.
    spin: u32,
    /// Whether it is a breakpoint, as opposed to a jump.
    breakpoint: Cell<bool>,
    /// Whether it is the site of a predicate, and whether its accesses are also observed.
    predicate: bool,
    observes: bool,
    /// How it takes part in Rust's standard library.
    library: LibraryPart,
    /// Which exchange of a word of four bytes it is.
    exchange: Exchange,
    /// Whether its instruction is known to have conflicted.
    known: Cell<bool>,
    counts: hot_probes::Counts,
}

impl Probe {
    /// Whether the runtime needs it in each execution, whatever was learned.
    fn is_always_needed(&self) -> bool {
        self.predicate
            || !matches!(self.library, LibraryPart::None | LibraryPart::Lock(LockPart::Exchange))
    }

    /// Whether its accesses count when a task is suspected of waiting. In a search that monitors
    /// more than the known conflicts, the additional accesses must make no difference, because a
    /// replay does not monitor them.
    fn counts(&self) -> bool {
        self.known.get() || !POINTS.picky.get()
    }
}

/// A range of changed text.
#[derive(Debug, Clone)]
struct Patch {
    address: u64,
    len: u32,
    /// The index of its bytes in `written`.
    written: Cell<u32>,
    /// Whether a site of a predicate is in it, which is not removed to save time.
    predicate: bool,
}

/// The probes of this process.
struct Probes {
    /// Ascending by address.
    probes: PrivateList<Probe>,
    spins: PrivateList<BoundedSpin>,
    functions: PrivateList<Function>,
    /// Branch targets, ascending.
    targets: PrivateList<u64>,
    /// The executable and the program's libraries, ascending; the first `len` are in use.
    modules: [Module; COPIES],
    len: Cell<usize>,
    /// The instructions that have a copy, ascending by the copy's address.
    moved: PrivateList<Moved>,
    /// The changed ranges of text, ascending, and the bytes written there, one range after the other.
    patched: PrivateList<Patch>,
    written: PrivateList<u8>,
    /// The probes that were reached often in the execution with this number, by their index.
    frequent: PrivateList<u32>,
    frequent_in: Cell<u32>,
    /// Whether there are probes on accesses, and not only on sites of predicates.
    observes: Cell<bool>,
    /// What is installed now: the number of known sites, and the kind of probes.
    state: Cell<Option<(usize, Wanted)>>,
    /// How often the probes in the program's text were changed.
    version: Cell<u64>,
    /// Whether probes were removed during the current execution.
    removed: Cell<bool>,
    hits: Cell<u64>,
    /// The number of hits while main was the only task.
    hits_alone: Cell<u64>,
    /// Whether the probes were removed until main creates another task.
    absent_alone: Cell<bool>,
    /// The number of breakpoint hits.
    stops: Cell<u64>,
    /// The heartbeat that the watchdog saw last, and how many times in a row.
    beats: Cell<(u64, u64)>,
}
// SAFETY: the fields are `Cell`s or lists of raw memory with a separate contract ([`PrivateList`]),
// and the controlled process has one kernel thread.
unsafe impl Sync for Probes {}
static PROBES: Probes = Probes {
    probes: PrivateList::new(),
    spins: PrivateList::new(),
    functions: PrivateList::new(),
    targets: PrivateList::new(),
    modules: [const { Module::new() }; COPIES],
    len: Cell::new(0),
    moved: PrivateList::new(),
    patched: PrivateList::new(),
    written: PrivateList::new(),
    frequent: PrivateList::new(),
    frequent_in: Cell::new(0),
    observes: Cell::new(false),
    state: Cell::new(None),
    version: Cell::new(0),
    removed: Cell::new(false),
    hits: Cell::new(0),
    hits_alone: Cell::new(0),
    absent_alone: Cell::new(false),
    stops: Cell::new(0),
    beats: Cell::new((0, 0)),
};

impl Probes {
    fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules[..self.len.get()].iter()
    }
}

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

/// Finds the instructions that can be probed; whether there are any. `observes`: whether accesses are
/// to be probed, and not only the sites of predicates.
pub(crate) fn prepare(observes: bool) -> bool {
    // A replay monitors only known sites; to decode the rest of a large program would take most of
    // its time.
    let predicates = crate::schedule::predicates::addresses();
    let wanted = crate::state::root::root().repeats().then(|| {
        let mut wanted = crate::detect::learned_points::addresses();
        wanted.extend(predicates.iter().map(|at| at + 1));
        wanted.sort_unstable();
        wanted
    });
    let modules = decode::modules();
    let catalogue = libc_variables::catalogue(&modules);
    let mut all = decode::program(wanted.as_deref(), &predicates, observes, &modules, &catalogue);
    let sites = all.iter().flat_map(|code| &code.sites);
    if sites.filter(|site| site.predicate).count() < predicates.len() {
        note_gap(InstrumentationGap::Sites);
    }
    let instrumentation = &crate::sys::channel::header().instrumentation;
    let sum = |of: fn(&decode::Code) -> u64| all.iter().map(of).sum();
    let all_bytes = sum(|code| code.bytes);
    instrumentation.code.store(all_bytes, Relaxed);
    instrumentation.covered.store(sum(|code| code.covered), Relaxed);
    all.iter().for_each(|code| _ = instrumentation.unseen.fetch_or(code.unseen, Relaxed));
    all.retain(|code| !code.sites.is_empty());
    all.sort_unstable_by_key(|code| code.text);
    let stub = heddle_probe_stub as *const () as u64;
    // If one module cannot be probed the others still are, and the report says what is missing.
    let found = all.len();
    all.truncate(COPIES);
    let mut next = 0;
    all.retain(|code| {
        let there = PROBES.modules[next].prepare(code.text, code.sites.len(), stub);
        next += usize::from(there);
        there
    });
    PROBES.len.set(next);
    if next < found {
        note_gap(InstrumentationGap::Libraries);
    }
    let len = all.iter().map(|code| code.sites.len()).sum::<usize>();
    let bytes = all.iter().map(|code| (code.text.1 - code.text.0) as usize).sum();
    let functions: Vec<Function> = all.iter().flat_map(|code| &code.functions).copied().collect();
    let mut targets: Vec<u64> = all.iter().flat_map(|code| &code.targets).copied().collect();
    targets.sort_unstable();
    let spins: HashMap<u64, BoundedSpin> =
        all.iter().flat_map(|code| &code.spins).copied().collect();
    let stored = PROBES.functions.keep(&functions)
        && PROBES.spins.map(spins.len())
        && PROBES.targets.keep(&targets)
        && PROBES.moved.map(len * 6)
        && PROBES.patched.map(len)
        && PROBES.written.map(bytes)
        && PROBES.frequent.map(len)
        && PROBES.probes.map(len);
    // The report must mention it if nothing is observed for lack of code or memory. A program that was
    // decoded and has no access that could be shared loses nothing.
    let is_lost = (observes && all_bytes == 0) || (len > 0 && !stored);
    if is_lost && !crate::state::root::root().repeats() {
        note_gap(InstrumentationGap::Undecoded);
    }
    if len == 0 || !stored {
        return false;
    }
    if all.iter().flat_map(|code| &code.sites).any(|site| site.target != Target::Fixed) {
        targets::prepare(catalogue, modules, is_listed);
    }
    for site in all.iter().flat_map(|code| &code.sites) {
        let mut operands = [Operand::NOTHING; OPERANDS];
        let count = site.operands.len().min(OPERANDS);
        operands[..count].copy_from_slice(&site.operands[..count]);
        let probe = Probe {
            address: site.address,
            behind: site.behind,
            copy: Cell::new(0),
            operands,
            count: count as u8,
            further: site.operands[count..].to_vec().leak(),
            jumps: site.jumps,
            lasting: site.lasting,
            unknown_call: site.unknown_call,
            atomic: site.atomic,
            target: site.target,
            repeats: site.repeats,
            search: site.search,
            bulk: site.bulk,
            string: site.string,
            stack: site.stack,
            spin: spins.get(&site.address).map_or(0, |&spin| {
                PROBES.spins.push(spin);
                PROBES.spins.all().len() as u32
            }),
            breakpoint: Cell::new(false),
            predicate: site.predicate,
            library: site.library,
            exchange: site.exchange,
            observes: count > 0
                || site.library != LibraryPart::None
                || site.unknown_call != 0
                || site.target != Target::Fixed
                || site.lasting.is_some(),
            known: Cell::new(false),
            counts: hot_probes::Counts::default(),
        };
        PROBES.observes.set(PROBES.observes.get() || !probe.predicate || probe.observes);
        PROBES.probes.push(probe);
    }
    true
}

/// Whether an address is in a function that was decoded.
fn is_listed(address: u64) -> bool {
    let functions = PROBES.functions.all();
    let next = functions.partition_point(|function| function.start <= address);
    next > 0 && address < functions[next - 1].end
}

/// Memory ranges of the runtime.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    let lists = [
        PROBES.probes.range(),
        PROBES.spins.range(),
        PROBES.functions.range(),
        PROBES.targets.range(),
        PROBES.moved.range(),
        PROBES.patched.range(),
        PROBES.written.range(),
        PROBES.frequent.range(),
    ];
    lists.into_iter().chain(PROBES.modules().flat_map(Module::ranges)).collect()
}

/// The index of the probe at an address.
fn find(address: u64) -> Option<usize> {
    PROBES.probes.all().binary_search_by_key(&address, |probe| probe.address).ok()
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

/// Whether this process has probes on accesses.
pub(crate) fn are_there() -> bool {
    PROBES.observes.get()
}

/// Whether this process has probes, be it only on sites of predicates.
pub(crate) fn are_any() -> bool {
    !PROBES.probes.all().is_empty()
}

/// Gives a debugger the list of installed probes, so that it can hide them. Under a debugger every
/// probe is a breakpoint, as the debugger cannot hide jumps.
pub(crate) fn show(debug: &traces::wire::Debug) {
    let set = || PROBES.probes.all().iter().filter(|probe| probe.copy.get() != 0);
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
