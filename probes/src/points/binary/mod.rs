//! Scheduling points in a program as it is: probes on its own instructions.
//!
//! A probe is a jump in the place of the instruction and, where it is too short, of its neighbours
//! ([`plan`]), or else a breakpoint. While it is learned what conflicts they stand on every instruction
//! that touches memory which another task might touch ([`decode`]); in the search on those that
//! conflicted. A task that comes to one goes on in a stub ([`stub`]), where the access is looked at and may be a scheduling point; then a copy of
//! the instruction runs ([`trampoline`]).
//!
//! In x86-64 code a relaxed store, a releasing one and a plain one are one and the same instruction. So
//! what conflicts here is no race, and for the order of what follows it counts as an atomic: whoever
//! reads it knows what its writer did before.

mod arriving;
mod decode;
mod image;
mod kept;
mod module;
mod patch;
mod plan;
mod routines;
mod setting;
mod stub;
mod targets;
mod tiring;
mod trampoline;

use arriving::{heddle_probe, heddle_probe_seen};
pub(crate) use arriving::{may_serve, on_breakpoint, original};
pub(in crate::points) use setting::{Wanted, refresh};
pub(in crate::points) use tiring::{about_to_change, is_own_file, rest};

use super::POINTS;
use crate::raw;
use decode::{Function, Measure, NONE, Operand};
use kept::Kept;
use module::Module;
use std::cell::Cell;
use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use stub::heddle_probe_stub;
use traces::points::Unseen;
use traces::wire::COPIES;
use trampoline::Moved;

/// Operands that an instruction has at most.
const OPERANDS: usize = 2;

/// One instruction.
#[derive(Debug, Clone, Copy)]
struct Probe {
    address: u64,
    behind: u64,
    /// Where its copy lies; 0 where it is not set.
    copy: u64,
    operands: [Operand; OPERANDS],
    count: u8,
    atomic: bool,
    repeats: bool,
    string: bool,
    stack: bool,
    /// Whether a breakpoint stands there, and no jump.
    breakpoint: bool,
    /// Whether it is known to have conflicted.
    known: bool,
    /// How often it was come to since this step.
    hits: u32,
    step: u64,
}

impl Probe {
    /// Whether its accesses count when a task is suspected of waiting. In a search that looks at more than
    /// what conflicted, the rest must make no difference: whoever runs a schedule again looks at less.
    fn counts(&self) -> bool {
        self.known || !POINTS.picky.get()
    }
}

/// What was changed in the text at one place.
#[derive(Debug, Clone, Copy)]
struct Patch {
    address: u64,
    len: u32,
    /// Where its bytes are among those that were written.
    written: u32,
}

/// The probes of this process.
struct Probes {
    /// Ascending by address.
    probes: Kept<Probe>,
    functions: Kept<Function>,
    /// Where branches lead, ascending.
    targets: Kept<u64>,
    /// The program itself and its libraries, ascending; the first so many count.
    modules: [Module; COPIES],
    len: Cell<usize>,
    /// The instructions that have a copy, ascending by that.
    moved: Kept<Moved>,
    /// What was changed in the text, and the bytes that stand there instead, one after the other.
    patched: Kept<Patch>,
    written: Kept<u8>,
    /// What is set now: so many sites were known, and these were wanted.
    state: Cell<Option<(usize, Wanted)>>,
    /// Whether some were taken out in the execution that runs.
    tired: Cell<bool>,
    hits: Cell<u64>,
    /// Those of breakpoints.
    stops: Cell<u64>,
    /// What the watchdog was told last, and how often in a row.
    beats: Cell<(u64, u64)>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Probes {}
static PROBES: Probes = Probes {
    probes: Kept::new(),
    functions: Kept::new(),
    targets: Kept::new(),
    modules: [const { Module::new() }; COPIES],
    len: Cell::new(0),
    moved: Kept::new(),
    patched: Kept::new(),
    written: Kept::new(),
    state: Cell::new(None),
    tired: Cell::new(false),
    hits: Cell::new(0),
    stops: Cell::new(0),
    beats: Cell::new((0, 0)),
};

impl Probes {
    fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules[..self.len.get()].iter()
    }
}

/// Finds what there is to probe; whether there is anything.
pub(super) fn prepare() -> bool {
    // Whoever repeats a schedule looks at what is known and no more; to decode the rest of a large program
    // would take most of the time.
    let wanted = crate::manager::root().repeats().then(super::learned::addresses);
    let mut all = decode::program(wanted.as_deref());
    let sight = &crate::channel::header().sight;
    let sum = |of: fn(&decode::Code) -> u64| all.iter().map(of).sum();
    sight.code.store(sum(|code| code.bytes), Relaxed);
    sight.covered.store(sum(|code| code.covered), Relaxed);
    all.iter().for_each(|code| _ = sight.unseen.fetch_or(code.unseen, Relaxed));
    all.retain(|code| !code.sites.is_empty());
    all.sort_unstable_by_key(|code| code.text);
    let stub = heddle_probe_stub as *const () as u64;
    // Where one module cannot be probed the others can, and what is missing is said.
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
        super::out_of_sight(Unseen::Libraries);
    }
    let len = all.iter().map(|code| code.sites.len()).sum::<usize>();
    let bytes = all.iter().map(|code| (code.text.1 - code.text.0) as usize).sum();
    let functions: Vec<Function> = all.iter().flat_map(|code| &code.functions).copied().collect();
    let mut targets: Vec<u64> = all.iter().flat_map(|code| &code.targets).copied().collect();
    targets.sort_unstable();
    let kept = PROBES.functions.keep(&functions)
        && PROBES.targets.keep(&targets)
        && PROBES.moved.map(len * 6)
        && PROBES.patched.map(len)
        && PROBES.written.map(bytes)
        && PROBES.probes.map(len);
    if len == 0 || !kept {
        return false;
    }
    for site in all.iter().flat_map(|code| &code.sites) {
        let nothing = Operand {
            base: NONE,
            index: NONE,
            scale: 1,
            displacement: 0,
            size: 0,
            measure: Measure::Element,
            reads: false,
            writes: false,
        };
        let mut operands = [nothing; OPERANDS];
        let count = site.operands.len().min(OPERANDS);
        operands[..count].copy_from_slice(&site.operands[..count]);
        let probe = Probe {
            address: site.address,
            behind: site.behind,
            copy: 0,
            operands,
            count: count as u8,
            atomic: site.atomic,
            repeats: site.repeats,
            string: site.string,
            stack: site.stack,
            breakpoint: false,
            known: false,
            hits: 0,
            step: 0,
        };
        PROBES.probes.push(probe);
    }
    true
}

/// Memory of the runtime's own.
pub(super) fn ranges() -> Vec<(u64, u64)> {
    let lists = [
        PROBES.probes.range(),
        PROBES.functions.range(),
        PROBES.targets.range(),
        PROBES.moved.range(),
        PROBES.patched.range(),
        PROBES.written.range(),
    ];
    lists.into_iter().chain(PROBES.modules().flat_map(Module::ranges)).collect()
}

/// The number of the probe at an address.
fn find(address: u64) -> Option<usize> {
    PROBES.probes.all().binary_search_by_key(&address, |probe| probe.address).ok()
}

/// Whether some of the program's own modules tell of their accesses, and others do not.
pub(super) fn is_mixed() -> bool {
    image::Image::own().iter().any(|image| image.text().is_some() && !image.tells())
}

/// In modules that tell of their accesses: the words through which they call what others have, each with
/// the name, and whether nothing can be written there.
pub(super) fn slots() -> Vec<(&'static CStr, u64, bool)> {
    let own = image::Image::own();
    let tell = own.iter().filter(|image| image.tells());
    let slots = tell.flat_map(|image| {
        image.slots().into_iter().map(|(name, at)| (name, at, image.is_constant(at)))
    });
    slots.collect()
}

/// See [`super::libraries`].
pub(super) fn libraries() -> u64 {
    let mut hasher = DefaultHasher::new();
    for library in image::Image::own().iter().skip(1) {
        library.identity().hash(&mut hasher);
    }
    hasher.finish()
}

/// How often probes were come to in this execution.
pub(super) fn hits() -> u64 {
    PROBES.hits.get()
}

/// Whether this process has probes.
pub(super) fn are_there() -> bool {
    !PROBES.probes.all().is_empty()
}

/// Tells a debugger of the probes that are set, so that it can hide them. Under one every probe is a
/// breakpoint: it knows of no other.
pub(crate) fn show(debug: &traces::wire::Debug) {
    let set = || PROBES.probes.all().iter().filter(|probe| probe.copy != 0);
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
        crate::channel::fail("no memory for the table of probes")
    };
    for (at, probe) in set().enumerate() {
        let shown = traces::wire::Probe {
            address: probe.address,
            behind: probe.behind,
            copy: probe.copy,
            original: u64::from(pristine(probe.address)),
        };
        // SAFETY: within the table, which is large enough.
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
