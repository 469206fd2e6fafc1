//! What is known of the program's accesses to memory: which instructions at which addresses are
//! scheduling points.
//!
//! The lists lie in the shared heap and only grow, between executions; each process keeps them in
//! tables of its own. Places are kept as module and offset, since addresses may differ between
//! processes.

use super::shadow::Shadow;
use super::table::Table;
use crate::identity;
use crate::world::world;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use traces::points::{Learned, Spot};

/// Sites, as far as this process has taken them over.
struct Known {
    sites: Table,
    taken: Cell<(usize, usize)>,
    modules: RefCell<Vec<(u64, u64)>>,
    /// An address on main's stack, the same in every process of the program.
    main: Cell<u64>,
}
// SAFETY: there is one kernel thread, and the modules are listed once.
unsafe impl Sync for Known {}
static KNOWN: Known = Known {
    sites: Table::new(),
    taken: Cell::new((0, 0)),
    modules: RefCell::new(Vec::new()),
    main: Cell::new(0),
};

/// What grows, in the shared heap.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    /// What is in effect, from the execution on that runs.
    known: Learned,
    /// What conflicted in the execution that runs: address behind the instruction, word.
    found: Vec<(u64, u64)>,
    /// The same as in `known` and in `found`, to look something up in: tasks that work on one array conflict
    /// on each word of it.
    sites: BTreeSet<Spot>,
    words: BTreeSet<Spot>,
    pairs: BTreeSet<(u64, u64)>,
}

impl Growing {
    pub(crate) fn new(known: Learned) -> Growing {
        let mut growing = Growing::default();
        growing.take_over(known);
        growing
    }

    /// What is in effect.
    pub(crate) fn known(&self) -> &Learned {
        &self.known
    }

    /// Takes over what was found; whether anything was new, and how many sites were.
    pub(crate) fn settle(&mut self) -> (bool, u64) {
        let before = (self.known.sites.len(), self.known.words.len());
        self.pairs.clear();
        for (site, word) in std::mem::take(&mut self.found) {
            self.add_site(spot(site));
            self.add_word(spot(word));
        }
        let now = (self.known.sites.len(), self.known.words.len());
        (before != now, (now.0 - before.0) as u64)
    }

    /// Takes over what others know. The lists only grow.
    pub(crate) fn take_over(&mut self, known: Learned) {
        known.sites.into_iter().for_each(|site| self.add_site(site));
        known.words.into_iter().for_each(|word| self.add_word(word));
    }

    fn add_site(&mut self, site: Spot) {
        if self.sites.insert(site) {
            self.known.sites.push(site);
        }
    }

    fn add_word(&mut self, word: Spot) {
        if self.words.insert(word) {
            self.known.words.push(word);
        }
    }

    /// Forgets what was found in the execution that ended.
    pub(crate) fn drop_found(&mut self) {
        self.found.clear();
        self.pairs.clear();
    }

    /// Notes a conflict. On the manager's stack.
    pub(super) fn find(&mut self, site: u64, word: u64) {
        if self.pairs.insert((site, word)) {
            self.found.push((site, word));
        }
    }
}

pub(super) fn map() -> bool {
    let modules = identity::modules();
    // This runs on main's stack, called from the same place with nothing of the program's on it.
    KNOWN.main.set(&raw const modules as u64 & !7);
    *KNOWN.modules.borrow_mut() = modules;
    KNOWN.sites.map(18)
}

pub(super) fn ranges() -> [(u64, u64); 1] {
    [KNOWN.sites.range()]
}

/// An address in terms that hold in every process.
pub(super) fn spot(address: u64) -> Spot {
    let modules = KNOWN.modules.borrow();
    if let Some((module, offset)) = identity::within(&modules, address) {
        return Spot { module: module as u16, offset };
    }
    let main = world().tasks[0].stack.get();
    if (main.low..main.high).contains(&address) {
        return Spot { module: Spot::MAIN_STACK, offset: KNOWN.main.get().wrapping_sub(address) };
    }
    Spot { module: Spot::FIXED, offset: address }
}

/// Whether code lies in the C library.
pub(super) fn is_in_libc(address: u64) -> bool {
    spot(address).module == spot(libc::getline as *const () as u64).module
}

pub(super) fn address(spot: Spot) -> u64 {
    match spot.module {
        Spot::FIXED => spot.offset,
        Spot::MAIN_STACK => KNOWN.main.get().wrapping_sub(spot.offset),
        module => {
            let modules = KNOWN.modules.borrow();
            modules.get(usize::from(module)).map_or(0, |(base, _)| base + spot.offset)
        }
    }
}

/// The addresses behind the instructions that are known, ascending.
pub(super) fn addresses() -> Vec<u64> {
    let sites = &crate::manager::root().learned.known().sites;
    let mut addresses: Vec<u64> = sites.iter().map(|&site| address(site)).collect();
    addresses.sort_unstable();
    addresses
}

/// Takes over what was learned since the last call.
/// How many sites are known.
pub(super) fn refresh(shadow: &Shadow) -> usize {
    let known = crate::manager::root().learned.known();
    let (sites, words) = KNOWN.taken.get();
    for &site in &known.sites[sites..] {
        KNOWN.sites.insert(address(site), 1);
    }
    for &word in &known.words[words..] {
        if let Some(word) = shadow.word(address(word)) {
            word.hot = true;
        }
    }
    KNOWN.taken.set((known.sites.len(), known.words.len()));
    known.sites.len()
}

/// Whether the instruction before this address conflicted.
#[inline]
pub(super) fn is_site(address: u64) -> bool {
    KNOWN.sites.get(address).is_some()
}
