//! Checks of heap blocks, and the history of a block.

use crate::fiber::backtrace;
use crate::memory::arena::{
    END, END_LEN, FIRST, Header, QUARANTINED, USED, arena, headers, leaks, next,
};
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::world::{on_fiber, world};
use crate::sys::channel;
use crate::sys::interpose::LiveFrames;
use std::cell::{Cell, RefCell};
use traces::FailureKind;
use traces::wire::{FoundFailure, HistoryEvent};

/// How much of a freed block is filled and checked.
const POISONED: usize = 512;
/// The high bits of the pattern in freed blocks: not a valid address.
const POISON: u64 = 0xf5f5 << 48;
/// The low bits of the pattern. An object's field is some distance behind a pointer to the object,
/// or a little before it.
const LOW: u64 = 0x0_f5f0;
const LOW_BITS: u32 = 20;
/// The bits between the low and the high pattern hold the ordinal of the block.
const ORDINALS: u64 = (1 << 28) - 1;

/// Events of a block's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Allocated,
    Freed,
}

/// The block whose history is recorded, by its ordinal, and that history.
struct Watched {
    ordinal: Cell<u64>,
    past: RefCell<Vec<HistoryEvent>>,
}
// SAFETY: the controlled process has one kernel thread. The `RefCell` is borrowed only to push or
// take, neither of which calls back into this module.
unsafe impl Sync for Watched {}
static WATCHED: Watched = Watched { ordinal: Cell::new(u64::MAX), past: RefCell::new(Vec::new()) };

/// Records what happens to the block with this ordinal, with stacks.
pub(crate) fn watch(ordinal: Option<u64>) {
    WATCHED.ordinal.set(ordinal.unwrap_or(u64::MAX));
}

/// An event of the block with this ordinal.
#[inline]
pub(super) fn note(step: Step, ordinal: u64) {
    if ordinal == WATCHED.ordinal.get() {
        remember(step);
    }
}

#[cold]
#[inline(never)]
fn remember(step: Step) {
    if !on_fiber() {
        return; // before main, where there are no steps
    }
    let what = match step {
        Step::Allocated => "allocated",
        Step::Freed => "freed",
    };
    let world = world();
    let past = HistoryEvent {
        what: what.to_owned(),
        task: world.current.get(),
        step: world.step.get(),
        stack: backtrace::take(),
    };
    WATCHED.past.borrow_mut().push(past);
}

/// Ends the execution with a failure of the heap.
pub(super) fn end(
    kind: FailureKind,
    what: String,
    site: u64,
    block: Option<&Header>,
    places: Vec<(String, u64)>,
) -> ! {
    outcome::end_here(End::Failed(Box::new(misused(kind, what, site, block, places))))
}

/// A failure of the heap. `places` are descriptions and return addresses that need no further reads of
/// the block.
fn misused(
    kind: FailureKind,
    what: String,
    site: u64,
    block: Option<&Header>,
    places: Vec<(String, u64)>,
) -> FoundFailure {
    if !on_fiber() {
        channel::fail(&format!("the program's heap was misused before main: {what}"));
    }
    let mut found = outcome::found(kind, site, what);
    let sites: Vec<u64> = places.iter().map(|(_, site)| *site).chain([site]).collect();
    found.key = outcome::key(kind, &sites);
    found.places = places;
    if let Some(block) = block {
        found.block = Some(block.ordinal.into());
        found.past = past_of(block);
    }
    found
}

/// The history of a block, if it is the recorded one.
fn past_of(block: &Header) -> Vec<HistoryEvent> {
    if u64::from(block.ordinal) != WATCHED.ordinal.get() {
        return Vec::new();
    }
    WATCHED.past.take()
}

/// Reports a pointer that is not a block.
pub(super) fn invalid(what: &str, site: u64) -> ! {
    end(FailureKind::DoubleFree, what.to_owned(), site, None, Vec::new())
}

/// Reports that a block is freed a second time.
pub(super) fn twice(header: &Header, site: u64) -> ! {
    let what = "a block was freed twice".to_owned();
    end(FailureKind::DoubleFree, what, site, Some(header), places(header, "it was freed before"))
}

/// Reports that a block is used after it was freed.
pub(super) fn use_after_free(header: &Header, what: String, site: u64) -> ! {
    outcome::end_here(End::Failed(Box::new(used_freed(header, what, site))))
}

/// The failure of a task that uses a block after it was freed.
pub(super) fn used_freed(header: &Header, what: String, site: u64) -> FoundFailure {
    let mut found = misused(
        FailureKind::UseAfterFree,
        what,
        site,
        Some(header),
        places(header, "it was freed"),
    );
    found.key = use_after_free_key(header);
    found
}

/// Identifies uses of a freed block by where it was allocated and freed. The same bug shows as a read, a
/// write, or the use of a pointer that was read, depending on what is observed.
fn use_after_free_key(header: &Header) -> u64 {
    let freed = if header.state.get() == QUARANTINED { header.next.get() } else { 0 };
    outcome::key(FailureKind::UseAfterFree, &[header.site, freed])
}

pub(super) fn allocated(header: &Header) -> (String, u64) {
    (format!("the block of {} bytes was allocated", header.size.get()), header.site)
}

/// Where a block was allocated and, while that is known, freed.
fn places(header: &Header, freed: &str) -> Vec<(String, u64)> {
    let mut places = vec![allocated(header)];
    if header.state.get() == QUARANTINED {
        places.push((freed.to_owned(), header.next.get()));
    }
    places
}

/// A freed block for reports: its ordinal, sites and history.
pub(crate) struct Freed {
    pub(crate) ordinal: u64,
    /// Identifies the failure of a task that uses it.
    pub(crate) key: u64,
    pub(crate) places: Vec<(String, u64)>,
    pub(crate) past: Vec<HistoryEvent>,
}

/// The quarantined blocks. If the program overwrote the arena's list, entries that are no block are
/// skipped.
fn quarantined() -> impl Iterator<Item = &'static Header> {
    let blocks = FIRST..next();
    let quarantine = &arena().quarantine;
    // SAFETY: the address is in the used part of the arena; headers are plain data, valid with any
    // bytes, and only read here.
    quarantine
        .iter()
        .map(std::cell::Cell::get)
        .filter(move |at| blocks.contains(at))
        .map(|at| unsafe { &*(at as *const Header) })
}

/// The freed block from which a value was read, if there is exactly one candidate.
pub(crate) fn freed_block(poison: u64) -> Option<Freed> {
    let mut named = quarantined().filter(|header| u64::from(header.ordinal) & ORDINALS == poison);
    let header = named.next()?;
    Some(Freed {
        ordinal: header.ordinal.into(),
        key: use_after_free_key(header),
        places: places(header, "it was freed"),
        past: past_of(header),
    })
}

/// The program's pointer to a block.
fn block_of(header: &Header) -> u64 {
    &raw const *header as u64 + u64::from(header.distance)
}

/// Ends the execution if the program wrote past the end of a block.
///
/// # Safety
/// `block` is the address of the block with this header.
pub(super) unsafe fn check_end(header: &Header, block: u64, site: u64) {
    let within =
        header.size.get() < header.extent && block + header.size.get() <= next() - END_LEN as u64;
    // SAFETY: `within` says that the word is in the used part of the arena.
    let word =
        within.then(|| unsafe { ((block + header.size.get()) as *const u64).read_unaligned() });
    if word != Some(END) {
        let what = match within {
            true => {
                format!(
                    "something was written past the end of a block of {} bytes",
                    header.size.get()
                )
            }
            false => {
                "the header of a block was overwritten: something was written in front of the \
                      block, or past the end of the one before"
                    .to_owned()
            }
        };
        let site = if site == 0 { header.site } else { site };
        end(FailureKind::Overflow, what, site, Some(header), vec![allocated(header)]);
    }
}

/// The pattern for a freed block.
fn word(header: &Header) -> u64 {
    POISON | (u64::from(header.ordinal) & ORDINALS) << LOW_BITS | LOW
}

/// The parts of a freed block that are filled: whole words, and the bytes behind them.
///
/// # Safety
/// The block is freed, and no other reference to its contents is used while these are.
unsafe fn poisoned<'a>(header: &Header) -> (&'a mut [u64], &'a mut [u8]) {
    let block = block_of(header);
    let len = (header.size.get() as usize).min(POISONED);
    // SAFETY: both ranges are within the block, which starts at a multiple of 16; the caller
    // guarantees that no other reference is used.
    unsafe {
        let words = std::slice::from_raw_parts_mut(block as *mut u64, len / 8);
        let rest = (block as usize + len / 8 * 8) as *mut u8;
        (words, std::slice::from_raw_parts_mut(rest, len % 8))
    }
}

/// Fills a freed block with the pattern.
///
/// # Safety
/// The block is being freed, and its header is valid.
pub(super) unsafe fn fill(header: &Header) {
    let word = word(header);
    // SAFETY: the block is freed (the caller's contract), and the references end with this
    // function.
    let (words, rest) = unsafe { poisoned(header) };
    words.fill(word);
    rest.copy_from_slice(&word.to_ne_bytes()[..rest.len()]);
}

/// Ends the execution if the program wrote to a quarantined block.
///
/// # Safety
/// The block was filled with the pattern, and its header is valid.
pub(super) unsafe fn check_poison(header: &Header) {
    let word = word(header);
    // SAFETY: as in `fill`.
    let (words, rest) = unsafe { poisoned(header) };
    let differs = |bytes: &[u8]| bytes.iter().zip(word.to_ne_bytes()).position(|(a, b)| *a != b);
    let written = match words.iter().position(|&now| now != word) {
        Some(at) => differs(&words[at].to_ne_bytes()).map(|byte| at * 8 + byte),
        None => differs(rest).map(|byte| words.len() * 8 + byte),
    };
    if let Some(offset) = written {
        let size = header.size.get();
        let what = format!(
            "a block of {size} bytes was written to after it was freed, at offset {offset}"
        );
        use_after_free(header, what, header.next.get());
    }
}

/// The block (the low bits of its ordinal) from which a value was read after it was freed.
pub(crate) fn poison_of(value: u64) -> Option<u64> {
    // The address may be this far below an object to which the pointer points.
    const BEFORE: u64 = LOW;
    let above = value.wrapping_sub(LOW).wrapping_add(BEFORE);
    (above >> 48 == POISON >> 48).then_some(above >> LOW_BITS & ORDINALS)
}

/// Checks every block at the end of an execution; ends it as failed if one was misused or, if that
/// is asked for, leaked. `live` is what the running task had not left.
pub(crate) fn check_all(live: &LiveFrames) {
    /// Of more blocks than this, the rest is not checked: that would take too long in every
    /// execution.
    const MOST: usize = 20_000;
    for header in quarantined() {
        // SAFETY: `quarantined` returns quarantined blocks, which `free_at` has filled.
        unsafe { check_poison(header) };
    }
    for header in headers().take(MOST) {
        if header.state.get() == USED {
            // SAFETY: the address is computed from the header of a block in use.
            unsafe { check_end(header, block_of(header), 0) };
        }
    }
    if root().fail_on.contains(&FailureKind::Leak.code()) {
        leaks::check(live);
    }
}
