//! What is known about the program's memory accesses: which instructions at which addresses are
//! scheduling points.
//!
//! The lists are in the shared heap and only grow, between executions; each process has its own
//! tables of them. Code and data addresses are stored as module and offset, since modules may be at
//! different addresses in other processes.

use crate::detect::heap_words;
use crate::detect::shadow::Shadow;
use crate::detect::table::Table;
use crate::detect::waiting::WAITED_FOR;
use crate::memory::shared_views::canonical;
use crate::state::root::{Growing, Handled};
use crate::state::world::world;
use crate::steps::identity;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use traces::points::{Learned, ModuleAddress};

/// The most words that are noted as shared: it only matters in small programs.
const MOST_SHARED: usize = 1 << 12;

/// The sites that this process has adopted so far.
struct Known {
    sites: Table,
    /// The words that signal handlers accessed: [`is_handled`].
    handled: Table,
    /// The words that conditions of predicates read.
    watched: Table,
    /// By the identity of a word: the bytes at which it is split, as bits.
    splits: Table,
    /// By the identity of a word: the bytes at which locks of Rust's standard library begin, as bits.
    locks: Table,
    /// Whether there are such locks.
    have_locks: Cell<bool>,
    taken: Cell<(usize, usize, usize, usize)>,
    modules: RefCell<Vec<(u64, u64)>>,
    /// An address on main's stack, the same in every process of the program.
    main: Cell<u64>,
    /// Whether some task looks at data under a lock until another task changes it.
    lock_polls: Cell<bool>,
    /// Whether executions observe only the first accesses of each site.
    sampled: Cell<bool>,
    /// Whether few executions of the search observe all accesses.
    brief: Cell<bool>,
    /// Whether an execution of the learning phase was long.
    long: Cell<bool>,
    /// Whether there was no room for a learned word.
    is_full: Cell<bool>,
}
// SAFETY: the controlled process has one kernel thread. The list of modules is written once, in
// `map`, and otherwise only borrowed for reading.
unsafe impl Sync for Known {}
static KNOWN: Known = Known {
    sites: Table::new(),
    handled: Table::new(),
    watched: Table::new(),
    splits: Table::new(),
    locks: Table::new(),
    have_locks: Cell::new(false),
    taken: Cell::new((0, 0, 0, 0)),
    modules: RefCell::new(Vec::new()),
    main: Cell::new(0),
    lock_polls: Cell::new(false),
    sampled: Cell::new(false),
    brief: Cell::new(false),
    long: Cell::new(false),
    is_full: Cell::new(false),
};

impl Growing {
    pub(crate) fn new(known: Learned) -> Growing {
        let mut growing = Growing::default();
        growing.take_over(known);
        growing
    }

    /// The learned points that are in effect.
    pub(crate) fn known(&self) -> &Learned {
        &self.known
    }

    /// Adds the conflicts found to what is known. Whether anything was new, and how many sites
    /// were.
    pub(crate) fn settle(&mut self) -> (bool, u64) {
        let before = (self.known.sites.len(), self.known.words.len());
        self.put_off();
        let unsettled = self.take_unsettled();
        self.take_over(unsettled);
        if std::mem::take(&mut self.lock_polls) {
            self.add_word(ModuleAddress::LOCK_POLLS);
        }
        if std::mem::take(&mut self.sampled) {
            self.add_word(ModuleAddress::SAMPLED);
        }
        if std::mem::take(&mut self.stacks) {
            self.know_stacks();
        }
        if std::mem::take(&mut self.long) {
            self.add_word(ModuleAddress::LONG);
        }
        // These add no sites; what they conflict with does. A known site that accesses such a word is a point,
        // so that replays have to know the word as well.
        for handled in std::mem::take(&mut self.handled_found) {
            if self.handled_set.insert(handled) {
                self.handled.push(handled);
                self.add_word(handled.word);
            }
        }
        for watched in std::mem::take(&mut self.watched_found) {
            if self.watched_set.insert(watched) {
                self.watched.push(watched);
                self.add_word(watched);
            }
        }
        let now = (self.known.sites.len(), self.known.words.len());
        (before != now, (now.0 - before.0) as u64)
    }

    /// Whether the execution found something that must have an effect on the next one: without it
    /// that could run for long, or miss the writes that a predicate or a signal handler depends on.
    pub(crate) fn must_settle(&self) -> bool {
        self.lock_polls
            || self.sampled
            || self.stacks
            || !self.handled_found.is_empty()
            || !self.watched_found.is_empty()
    }

    /// Keeps the conflicts that the execution found, without effect until [`Growing::settle`].
    pub(crate) fn put_off(&mut self) {
        self.pairs.clear();
        for (site, word) in std::mem::take(&mut self.found) {
            let site = spot(site);
            if !self.sites.contains(&site) && self.unsettled_sites.insert(site) {
                self.unsettled.sites.push(site);
            }
            self.put_off_word(word);
        }
        for part in std::mem::take(&mut self.parts_found) {
            self.put_off_word(part);
        }
    }

    fn put_off_word(&mut self, word: ModuleAddress) {
        if !self.words.contains(&word) && self.unsettled_words.insert(word) {
            self.unsettled.words.push(word);
        }
    }

    /// Removes the points that are not in effect yet. They go with the piece of work whose
    /// executions found them.
    pub(crate) fn take_unsettled(&mut self) -> Learned {
        self.unsettled_sites.clear();
        self.unsettled_words.clear();
        std::mem::take(&mut self.unsettled)
    }

    /// Continues a piece of work whose earlier executions found these points.
    pub(crate) fn set_unsettled(&mut self, unsettled: Learned) {
        self.unsettled_sites = unsettled.sites.iter().copied().collect();
        self.unsettled_words = unsettled.words.iter().copied().collect();
        self.unsettled = unsettled;
    }

    /// Adds what other processes know. The lists only grow.
    pub(crate) fn take_over(&mut self, known: Learned) {
        known.sites.into_iter().for_each(|site| self.add_site(site));
        known.words.into_iter().for_each(|word| self.add_word(word));
    }

    fn add_site(&mut self, site: ModuleAddress) {
        if self.sites.insert(site) {
            self.known.sites.push(site);
        }
    }

    fn add_word(&mut self, word: ModuleAddress) {
        if self.words.insert(word) {
            self.known.words.push(word);
        }
    }

    /// Discards the conflicts found in the execution that ended.
    pub(crate) fn drop_found(&mut self) {
        self.found.clear();
        self.pairs.clear();
        self.lock_polls = false;
        self.sampled = false;
        self.stacks = false;
        self.handled_found.clear();
        self.watched_found.clear();
        self.parts_found.clear();
        self.stops.clear();
    }

    /// Notes that several tasks access a word, of which one writes. On the manager's stack.
    pub(crate) fn find_shared(&mut self, word: ModuleAddress) {
        if self.shared.len() < MOST_SHARED {
            self.shared.insert(word);
        }
    }

    /// Notes a step that was one only because tasks share the word. On the manager's stack.
    pub(crate) fn find_stop(&mut self, site: u64, word: ModuleAddress) {
        self.stops.push((site, word));
    }

    /// The points of an execution with steps that others would not have; none if it had no such steps.
    pub(crate) fn take_stops(&mut self) -> Option<Learned> {
        let stops = std::mem::take(&mut self.stops);
        let mut learned = (!stops.is_empty()).then(|| self.known.clone())?;
        for (site, word) in stops {
            let site = spot(site);
            if !learned.sites.contains(&site) {
                learned.sites.push(site);
            }
            if !learned.words.contains(&word) {
                learned.words.push(word);
            }
        }
        Some(learned)
    }

    /// Whether no signal handler of the current execution accessed anything that was not known.
    pub(crate) fn has_found_no_handler(&self) -> bool {
        self.handled_found.is_empty()
    }

    /// Notes that a task looks at data under a lock until another task changes it.
    pub(crate) fn find_lock_poll(&mut self) {
        self.lock_polls = true;
    }

    /// Notes that the execution has more accesses than can be observed in a reasonable time.
    pub(crate) fn find_sampled(&mut self) {
        self.sampled = true;
    }

    /// Notes that tasks access other tasks' stacks.
    pub(crate) fn find_stacks(&mut self) {
        self.stacks |= !self.words.contains(&ModuleAddress::STACKS);
    }

    /// Tasks access other tasks' stacks: what observes that need not be begun again.
    pub(crate) fn know_stacks(&mut self) {
        self.add_word(ModuleAddress::STACKS);
    }

    /// Notes that the execution is so long that it ends here.
    pub(crate) fn find_long(&mut self) {
        self.long = true;
    }

    /// Whether the execution found conflicts that were not known.
    pub(crate) fn has_found(&self) -> bool {
        let is_new = |&(site, word): &(u64, ModuleAddress)| {
            !self.sites.contains(&spot(site)) || !self.words.contains(&word)
        };
        self.found.iter().any(is_new)
    }

    /// The sites at which the execution found conflicts at so few words that a task may wait there for a change.
    pub(crate) fn waiting_sites(&self) -> BTreeSet<u64> {
        let mut words = BTreeMap::<u64, usize>::new();
        for &(site, _) in &self.found {
            *words.entry(site).or_default() += 1;
        }
        words.into_iter().filter(|&(_, words)| words <= WAITED_FOR).map(|(site, _)| site).collect()
    }

    /// Whether the execution found anything that is not in effect yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.has_found() || !self.parts_found.is_empty() || self.must_settle()
    }

    /// Notes that the learning phase ended before it found nothing new.
    pub(crate) fn end_briefly(&mut self) {
        self.add_word(ModuleAddress::BRIEF);
    }

    /// Notes an access by a signal handler. On the manager's stack.
    pub(crate) fn find_handled(&mut self, word: ModuleAddress, signal: u8, writes: bool) {
        let handled = Handled { word, signal, writes };
        if !self.handled_set.contains(&handled) {
            self.handled_found.push(handled);
        }
    }

    /// Notes that a condition of a predicate read a word: from the next execution on, each write to it
    /// is a scheduling point. On the manager's stack.
    pub(crate) fn find_watched(&mut self, word: u64) {
        let watched = spot(canonical(word));
        if !self.watched_set.contains(&watched) && !self.watched_found.contains(&watched) {
            self.watched_found.push(watched);
        }
    }

    /// Notes that an access begins or ends at a byte of a word, or that a lock begins there. The word
    /// is given by its identity. On the manager's stack.
    pub(crate) fn find_part(&mut self, part: ModuleAddress) {
        if !self.words.contains(&part) && !self.parts_found.contains(&part) {
            self.parts_found.push(part);
        }
    }

    /// Notes a conflict at a word ([`word_spot`]). On the manager's stack.
    pub(crate) fn find(&mut self, site: u64, word: ModuleAddress) {
        if self.pairs.insert((site, word)) {
            self.found.push((site, word));
        }
    }
}

pub(crate) fn map() -> bool {
    let modules = identity::modules();
    // This runs on main's stack, called from the same site in every process, with no frame of the
    // program below.
    KNOWN.main.set(&raw const modules as u64 & !7);
    *KNOWN.modules.borrow_mut() = modules;
    let tables = [&KNOWN.handled, &KNOWN.watched, &KNOWN.splits, &KNOWN.locks];
    heap_words::map()
        && KNOWN.sites.map(18)
        && tables.iter().zip([14, 14, 16, 14]).all(|(table, bits)| table.map(bits))
}

pub(crate) fn ranges() -> impl Iterator<Item = (u64, u64)> {
    let tables = [&KNOWN.sites, &KNOWN.handled, &KNOWN.watched, &KNOWN.splits, &KNOWN.locks];
    tables.into_iter().map(Table::range).chain(heap_words::ranges())
}

/// A word of the program's memory in terms that are valid in every execution.
pub(crate) fn word_spot(word: u64) -> ModuleAddress {
    let word = canonical(word);
    heap_words::spot(word).unwrap_or_else(|| spot(word))
}

/// An address in terms that are valid in every process.
pub(crate) fn spot(address: u64) -> ModuleAddress {
    let modules = KNOWN.modules.borrow();
    if let Some((module, offset)) = identity::within(&modules, address) {
        return ModuleAddress { module: module as u16, offset };
    }
    let main = world().tasks[0].stack.get();
    if (main.low..main.high).contains(&address) {
        return ModuleAddress {
            module: ModuleAddress::MAIN_STACK,
            offset: KNOWN.main.get().wrapping_sub(address),
        };
    }
    ModuleAddress { module: ModuleAddress::FIXED, offset: address }
}

/// Whether an address is in the C library's code.
pub(crate) fn is_in_libc(address: u64) -> bool {
    spot(address).module == spot(libc::getline as *const () as u64).module
}

pub(crate) fn address(spot: ModuleAddress) -> u64 {
    match spot.module {
        ModuleAddress::FIXED => spot.offset,
        ModuleAddress::MAIN_STACK => KNOWN.main.get().wrapping_sub(spot.offset),
        module => {
            let modules = KNOWN.modules.borrow();
            modules.get(usize::from(module)).map_or(0, |(base, _)| base + spot.offset)
        }
    }
}

/// The addresses behind the known instructions, ascending.
pub(crate) fn addresses() -> Vec<u64> {
    let learned = crate::state::root::root().learned.borrow();
    let sites = &learned.known().sites;
    let mut addresses: Vec<u64> = sites.iter().map(|&site| address(site)).collect();
    addresses.sort_unstable();
    addresses
}

/// Adopts what was learned since the last call. Returns how many sites are known.
pub(crate) fn refresh(shadow: &Shadow) -> usize {
    let learned = crate::state::root::root().learned.borrow();
    let known = learned.known();
    let (sites, words, handled, watched) = KNOWN.taken.get();
    for &site in &known.sites[sites..] {
        KNOWN.sites.insert(address(site), 1);
    }
    let mut is_any_in_block = false;
    for &word in &known.words[words..] {
        if word == ModuleAddress::LOCK_POLLS {
            KNOWN.lock_polls.set(true);
        } else if word == ModuleAddress::STACKS {
            crate::state::root::root().stacks_touched.set(true);
        } else if word == ModuleAddress::SAMPLED {
            KNOWN.sampled.set(true);
        } else if word == ModuleAddress::BRIEF {
            KNOWN.brief.set(true);
        } else if word == ModuleAddress::LONG {
            KNOWN.long.set(true);
        } else if let Some((word, byte)) = word.as_split() {
            // Without room the word has fewer objects: more operations count as dependent.
            KNOWN.splits.insert(word, KNOWN.splits.get(word).unwrap_or(0) | 1 << byte);
        } else if let Some((word, byte)) = word.as_lock() {
            KNOWN.locks.insert(word, KNOWN.locks.get(word).unwrap_or(0) | 1 << byte);
            KNOWN.have_locks.set(true);
        } else if let Some(parts) = word.as_in_block() {
            is_any_in_block = true;
            KNOWN.is_full.set(KNOWN.is_full.get() | !heap_words::add(word, parts));
        } else if let Some(word) = shadow.word(address(word)) {
            word.set_hot();
        }
    }
    if is_any_in_block {
        heap_words::mark_all(shadow);
    }
    for handled in &learned.handled[handled..] {
        let at = address(handled.word);
        if let Some(word) = shadow.word(at) {
            word.set_hot();
        }
        let before = KNOWN.handled.get(at);
        let others = before.is_some_and(|before| before >> SIGNAL != u64::from(handled.signal));
        let flags = before.unwrap_or(0) & (HANDLER_WRITES | SEVERAL_HANDLERS)
            | if handled.writes { HANDLER_WRITES } else { 0 }
            | if others { SEVERAL_HANDLERS } else { 0 };
        KNOWN.handled.insert(at, flags | u64::from(handled.signal) << SIGNAL);
    }
    for &word in &learned.watched[watched..] {
        KNOWN.watched.insert(address(word), 1);
    }
    let taken =
        (known.sites.len(), known.words.len(), learned.handled.len(), learned.watched.len());
    KNOWN.taken.set(taken);
    known.sites.len()
}

/// Whether several tasks access the word, of which one writes, in whatever order.
pub(crate) fn is_shared(word: u64) -> bool {
    crate::state::root::root().learned.borrow().shared.contains(&word_spot(word))
}

/// The bytes at which the word with this identity is split into objects, as bits 1 to 7.
#[inline]
pub(crate) fn splits(word: u64) -> u8 {
    KNOWN.splits.get(word).unwrap_or(0) as u8
}

/// Whether a lock of Rust's standard library is known.
#[inline]
pub(crate) fn have_locks() -> bool {
    KNOWN.have_locks.get()
}

/// Whether a lock of Rust's standard library begins at this byte of the word with this identity.
pub(crate) fn is_lock(word: u64, byte: u64) -> bool {
    KNOWN.locks.get(word).is_some_and(|bytes| bytes & 1 << byte != 0)
}

/// Whether it is known that some task looks at data under a lock until another task changes it.
pub(crate) fn has_lock_polls() -> bool {
    KNOWN.lock_polls.get()
}

/// Whether executions observe only the first accesses of each site ([`ModuleAddress::SAMPLED`]).
pub(crate) fn is_sampled() -> bool {
    KNOWN.sampled.get()
}

/// Whether few executions of the search observe all accesses ([`ModuleAddress::BRIEF`]).
pub(crate) fn is_brief() -> bool {
    KNOWN.brief.get()
}

/// Whether an execution of the learning phase was long ([`ModuleAddress::LONG`]).
pub(crate) fn is_long() -> bool {
    KNOWN.long.get()
}

/// Whether there was no room for a learned word: it is no scheduling point.
pub(crate) fn is_full() -> bool {
    KNOWN.is_full.get()
}

/// What is stored for a word that signal handlers accessed: whether one wrote, whether the handlers of
/// several signals did, and the signal.
const HANDLER_WRITES: u64 = 1;
const SEVERAL_HANDLERS: u64 = 2;
const SIGNAL: u32 = 8;

/// Whether a signal handler accessed the word in an earlier execution so that it matters whether that
/// happens before or after this access. The handler of the signal `blocked` cannot run then, if that is not 0.
pub(crate) fn is_handled(word: u64, writes: bool, blocked: u8) -> bool {
    KNOWN.handled.get(canonical(word)).is_some_and(|handled| {
        let others = handled & SEVERAL_HANDLERS != 0 || handled >> SIGNAL != u64::from(blocked);
        others && (writes || handled & HANDLER_WRITES != 0)
    })
}

/// Whether the condition of a predicate read the word in an earlier execution.
pub(crate) fn is_watched(word: u64) -> bool {
    KNOWN.watched.get(canonical(word)).is_some()
}

/// Whether the instruction before this address is known to conflict.
#[inline]
pub(crate) fn is_site(address: u64) -> bool {
    KNOWN.sites.get(address).is_some()
}
