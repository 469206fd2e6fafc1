//! The probes of this process.

use crate::detect::access::POINTS;
use crate::detect::learned_points;
use crate::instrument::binary::bounded_spin::BoundedSpin;
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::catalogue::Lasting;
use crate::instrument::binary::hot_probes;
use crate::instrument::binary::lock_sites::{Exchange, LockPart};
use crate::instrument::binary::module::Module;
use crate::instrument::binary::operand::{Operand, Search, Target};
use crate::instrument::binary::outline::Function;
use crate::instrument::binary::private_list::PrivateList;
use crate::instrument::binary::removal::Removal;
use crate::instrument::binary::rust_library::LibraryPart;
use crate::instrument::binary::slots::Slots;
use search::reduction::pending::Counting;
use std::cell::Cell;
use traces::wire::COPIES;

/// The most operands of an instruction.
pub(super) const OPERANDS: usize = 2;

/// A probe on one instruction.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub(super) address: u64,
    pub(super) behind: u64,
    /// The address of its copy; 0 if the probe is not installed.
    pub(super) copy: Cell<u64>,
    pub(super) operands: [Operand; OPERANDS],
    pub(super) count: u8,
    /// The further operands of a call, which may have many.
    pub(super) further: &'static [Operand],
    /// The number of the function with unknown effects that it calls, or 0.
    pub(super) unknown_call: u32,
    pub(super) atomic: bool,
    /// Whether it is a jump: a call is a tail call then.
    pub(super) jumps: bool,
    /// Whether its accesses are those of the instruction, and not those of a function that it calls.
    pub(super) is_single: bool,
    pub(super) lasting: Option<Lasting>,
    pub(super) target: Target,
    pub(super) repeats: bool,
    pub(super) search: Search,
    pub(super) bulk: Bulk,
    pub(super) string: bool,
    pub(super) stack: bool,
    /// The loop that counts its reads, as an index plus one; 0 for none.
    pub(super) spin: u32,
    /// Whether it is a breakpoint, as opposed to a jump.
    pub(super) breakpoint: Cell<bool>,
    /// Whether it is the site of a predicate, and whether its accesses are also observed.
    pub(super) predicate: bool,
    pub(super) observes: bool,
    /// How it takes part in Rust's standard library.
    pub(super) library: LibraryPart,
    /// Which exchange of a word of four bytes it is.
    pub(super) exchange: Exchange,
    /// Whether it counts.
    pub(super) counting: Counting,
    /// Whether its instruction is known to have conflicted.
    pub(super) known: Cell<bool>,
    pub(super) counts: hot_probes::Counts,
}

impl Probe {
    /// Whether the runtime needs it in each execution, whatever was learned.
    pub(super) fn is_always_needed(&self) -> bool {
        self.predicate
            || !matches!(self.library, LibraryPart::None | LibraryPart::Lock(LockPart::Exchange))
    }

    /// Whether its accesses count when a task is suspected of waiting. In a search that monitors
    /// more than the known conflicts, the additional accesses must make no difference, because a
    /// replay does not monitor them.
    pub(super) fn counts(&self) -> bool {
        self.known.get() || !POINTS.picky.get()
    }
}

/// A range of changed text.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    pub(super) address: u64,
    pub(super) len: u32,
    /// The index of its bytes in `written`.
    pub(super) written: Cell<u32>,
    /// Whether a site of a predicate is in it, which is not removed to save time.
    pub(super) predicate: bool,
}

/// The probes of this process.
pub(super) struct Probes {
    /// The functions that have room for probes, ascending.
    pub(super) functions: PrivateList<Function>,
    /// Those whose instructions were decoded, by their index.
    pub(super) filled: PrivateList<u32>,
    /// The probes of each such function, from its first number on, ascending by address.
    pub(super) probes: Slots<Probe>,
    /// The changed ranges of its text, with the same numbers, ascending.
    pub(super) patched: Slots<Patch>,
    pub(super) spins: PrivateList<BoundedSpin>,
    /// The executable and the program's libraries, ascending; the first `len` are in use.
    pub(super) modules: [Module; COPIES],
    pub(super) len: Cell<usize>,
    /// The bytes that were written to the changed ranges, one range after the other.
    pub(super) written: PrivateList<u8>,
    /// How many probes are installed, and how many of them are jumps.
    pub(super) installed: Cell<u64>,
    pub(super) jumps: Cell<u64>,
    /// The probes that were reached often in the execution with this number, by their index.
    pub(super) frequent: PrivateList<u32>,
    pub(super) frequent_in: Cell<u32>,
    /// Whether there are probes on accesses, and not only on sites of predicates.
    pub(super) observes: Cell<bool>,
    /// What is installed now: the number of known sites, and the kind of probes.
    pub(super) state: Cell<Option<(usize, Wanted)>>,
    /// How often the probes in the program's text were changed.
    pub(super) version: Cell<u64>,
    /// Which probes were removed during the current execution.
    pub(super) removal: Cell<Removal>,
    pub(super) hits: Cell<u64>,
    /// The number of hits while main was the only task.
    pub(super) hits_alone: Cell<u64>,
    /// Whether the probes were removed until main creates another task.
    pub(super) absent_alone: Cell<bool>,
    /// The number of breakpoint hits.
    pub(super) stops: Cell<u64>,
    /// The heartbeat that the watchdog saw last, and how many times in a row.
    pub(super) beats: Cell<(u64, u64)>,
}
// SAFETY: the fields are `Cell`s or lists of raw memory with a separate contract ([`PrivateList`]),
// and the controlled process has one kernel thread.
unsafe impl Sync for Probes {}
pub(super) static PROBES: Probes = Probes {
    functions: PrivateList::new(),
    filled: PrivateList::new(),
    probes: Slots::new(),
    patched: Slots::new(),
    spins: PrivateList::new(),
    modules: [const { Module::new() }; COPIES],
    len: Cell::new(0),
    written: PrivateList::new(),
    installed: Cell::new(0),
    jumps: Cell::new(0),
    frequent: PrivateList::new(),
    frequent_in: Cell::new(0),
    observes: Cell::new(false),
    state: Cell::new(None),
    version: Cell::new(0),
    removal: Cell::new(Removal::None),
    hits: Cell::new(0),
    hits_alone: Cell::new(0),
    absent_alone: Cell::new(false),
    stops: Cell::new(0),
    beats: Cell::new((0, 0)),
};

impl Probes {
    pub(super) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules[..self.len.get()].iter()
    }

    /// The function that contains an address, and its index.
    pub(super) fn function(&self, address: u64) -> Option<(usize, &'static Function)> {
        let functions = self.functions.all();
        let at = functions.partition_point(|function| function.start <= address).checked_sub(1)?;
        (address < functions[at].end).then_some((at, &functions[at]))
    }

    /// The probes of a function; none if it was not decoded.
    pub(super) fn of(&self, function: &Function) -> &'static [Probe] {
        let len = function.probes.get().unwrap_or(0);
        // SAFETY: `fill` wrote so many, and writes none of them again.
        unsafe { self.probes.all(function.first as usize, len as usize) }
    }

    /// The changed ranges of a function's text.
    pub(super) fn patches_of(&self, function: &Function) -> &'static [Patch] {
        // SAFETY: `place` wrote so many. It writes them again only after their number was reset, when no slice is in
        // use.
        unsafe { self.patched.all(function.first as usize, function.patches.get() as usize) }
    }

    /// The functions that were decoded.
    pub(super) fn filled(&self) -> impl Iterator<Item = &'static Function> + Clone + use<> {
        let functions = self.functions.all();
        self.filled.all().iter().map(|&at| &functions[at as usize])
    }

    /// All probes that were made.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Probe> {
        self.filled().flat_map(|function| self.of(function))
    }

    /// All changed ranges of a module's text.
    pub(super) fn patches_in(&self, module: &Module) -> impl Iterator<Item = &'static Patch> {
        let functions = self.filled().filter(|function| module.has(function.start));
        functions.flat_map(|function| self.patches_of(function))
    }

    /// The probe with this number.
    ///
    /// # Safety
    /// A copy with a call of the runtime for this probe was made.
    #[inline]
    pub(super) unsafe fn probe(&self, number: u64) -> &'static Probe {
        // SAFETY: the probe was written before its copy was made, by this function's contract.
        unsafe { &self.probes.all(number as usize, 1)[0] }
    }
}

/// Which probes are to be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Probes on instructions that have conflicted.
    Learned,
    /// All probes except those on instructions that address memory by the stack pointer.
    All,
    /// All: some task accesses another task's stack.
    WithStacks,
}

impl Wanted {
    /// Whether a probe is wanted.
    pub(super) fn has(self, probe: &Probe) -> bool {
        match self {
            _ if probe.is_always_needed() => true,
            Wanted::Learned => learned_points::is_site(probe.behind),
            Wanted::All => !probe.stack,
            Wanted::WithStacks => true,
        }
    }
}

/// The probe at an address, and its number.
pub(super) fn find(address: u64) -> Option<(usize, &'static Probe)> {
    let (_, function) = PROBES.function(address)?;
    let probes = PROBES.of(function);
    let at = probes.binary_search_by_key(&address, |probe| probe.address).ok()?;
    Some((function.first as usize + at, &probes[at]))
}

/// Whether this process has probes on accesses.
pub(crate) fn are_there() -> bool {
    PROBES.observes.get()
}

/// Whether this process has probes, be it only on sites of predicates.
pub(crate) fn are_any() -> bool {
    !PROBES.functions.all().is_empty()
}
