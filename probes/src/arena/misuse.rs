//! What is wrong with a block, and what happened to it before.

use super::{END, END_LEN, FIRST, Header, KEPT, USED, arena, headers, leaks, next};
use crate::backtrace;
use crate::channel;
use crate::failure::{self, End};
use crate::manager::root;
use crate::world::{on_fiber, world};
use std::cell::{Cell, RefCell};
use traces::FailureKind;
use traces::wire::Past;

/// So much of a freed block is filled, and looked at.
const POISONED: usize = 512;
/// The high bits of what a freed block is filled with: as an address it is none.
const POISON: u64 = 0xf5f5 << 48;
/// The low bits: a field of an object that a poisoned pointer names lies some way behind it, or a
/// little before.
const LOW: u64 = 0x0_f5f0;
const LOW_BITS: u32 = 20;
/// Between them stands which block it was.
const ORDINALS: u64 = (1 << 28) - 1;

/// What can happen to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Allocated,
    Freed,
}

/// The block whose past is kept, by its ordinal, and that past.
struct Watched {
    ordinal: Cell<u64>,
    past: RefCell<Vec<Past>>,
}
// SAFETY: there is one kernel thread, and nothing here calls back.
unsafe impl Sync for Watched {}
static WATCHED: Watched = Watched { ordinal: Cell::new(u64::MAX), past: RefCell::new(Vec::new()) };

/// Keeps what happens to the block with this ordinal, with stacks.
pub(crate) fn watch(ordinal: Option<u64>) {
    WATCHED.ordinal.set(ordinal.unwrap_or(u64::MAX));
}

/// Something happens to the block with this ordinal.
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
        return; // before main, where there is no step yet
    }
    let what = match step {
        Step::Allocated => "allocated",
        Step::Freed => "freed",
    };
    let world = world();
    let past = Past {
        what: what.to_owned(),
        task: world.current.get(),
        step: world.step.get(),
        stack: backtrace::take(),
    };
    WATCHED.past.borrow_mut().push(past);
}

/// Ends the execution with a failure of the heap. `places` are what is known of the block without
/// looking at it again: words and return addresses.
pub(super) fn end(
    kind: FailureKind,
    what: String,
    site: u64,
    block: Option<&Header>,
    places: Vec<(String, u64)>,
) -> ! {
    if !on_fiber() {
        channel::fail(&format!("the program's heap was misused before main: {what}"));
    }
    let mut found = failure::found(kind, site, what);
    let sites: Vec<u64> = places.iter().map(|(_, site)| *site).chain([site]).collect();
    found.key = failure::key(kind, &sites);
    found.places = places;
    if let Some(block) = block {
        found.block = Some(block.ordinal.into());
        found.past = past_of(block);
    }
    failure::end_here(End::Failed(Box::new(found)))
}

/// What was kept of a block, if it is the one that is watched.
fn past_of(block: &Header) -> Vec<Past> {
    if u64::from(block.ordinal) != WATCHED.ordinal.get() {
        return Vec::new();
    }
    WATCHED.past.take()
}

/// The pointer is none to a block.
pub(super) fn invalid(what: &str, site: u64) -> ! {
    end(FailureKind::DoubleFree, what.to_owned(), site, None, Vec::new())
}

/// A block is freed that was freed before.
pub(super) fn twice(header: &Header, site: u64) -> ! {
    let what = "a block was freed twice".to_owned();
    end(FailureKind::DoubleFree, what, site, Some(header), places(header, "it was freed before"))
}

/// A block is used after it was freed.
pub(crate) fn use_after_free(header: &Header, what: String, site: u64) -> ! {
    end(FailureKind::UseAfterFree, what, site, Some(header), places(header, "it was freed"))
}

pub(super) fn allocated(header: &Header) -> (String, u64) {
    (format!("the block of {} bytes was allocated", header.size), header.site)
}

/// Where a block was allocated and, while that is known, freed.
fn places(header: &Header, freed: &str) -> Vec<(String, u64)> {
    let mut places = vec![allocated(header)];
    if header.state == KEPT {
        places.push((freed.to_owned(), header.next));
    }
    places
}

/// A block that was freed, as a failure tells of it: its ordinal, its places, its past.
pub(crate) struct Freed {
    pub(crate) ordinal: u64,
    pub(crate) places: Vec<(String, u64)>,
    pub(crate) past: Vec<Past>,
}

/// The freed blocks that are kept. What was written over the account of them names no block.
fn kept() -> impl Iterator<Item = &'static Header> {
    let blocks = FIRST..next();
    let kept = arena().kept;
    // SAFETY: within the part of the arena that is in use.
    kept.into_iter()
        .filter(move |at| blocks.contains(at))
        .map(|at| unsafe { &*(at as *const Header) })
}

/// The freed block that a value was read from, if it can only come from one.
pub(crate) fn freed_block(poison: u64) -> Option<Freed> {
    let mut named = kept().filter(|header| u64::from(header.ordinal) & ORDINALS == poison);
    let header = named.next()?;
    Some(Freed {
        ordinal: header.ordinal.into(),
        places: places(header, "it was freed"),
        past: past_of(header),
    })
}

/// The pointer that the program has or had to a block.
fn block_of(header: &Header) -> u64 {
    &raw const *header as u64 + u64::from(header.distance)
}

/// Ends the execution if something was written past a block.
pub(super) unsafe fn check_end(header: &Header, block: u64, site: u64) {
    let within = header.size < header.extent && block + header.size <= next() - END_LEN as u64;
    // SAFETY: within the part of the arena that is in use.
    let word = within.then(|| unsafe { ((block + header.size) as *const u64).read_unaligned() });
    if word != Some(END) {
        let what = match within {
            true => {
                format!("something was written past the end of a block of {} bytes", header.size)
            }
            false => {
                "what is known of a block was overwritten: something was written in front of it, \
                      or past the end of the block before"
                    .to_owned()
            }
        };
        let site = if site == 0 { header.site } else { site };
        end(FailureKind::Overflow, what, site, Some(header), vec![allocated(header)]);
    }
}

/// What a freed block is filled with.
fn word(header: &Header) -> u64 {
    POISON | (u64::from(header.ordinal) & ORDINALS) << LOW_BITS | LOW
}

/// The parts of a freed block that are filled: whole words, and the bytes behind them.
unsafe fn poisoned<'a>(header: &Header) -> (&'a mut [u64], &'a mut [u8]) {
    let block = block_of(header);
    let len = (header.size as usize).min(POISONED);
    // SAFETY: within the block, which starts at a multiple of 16.
    unsafe {
        let words = std::slice::from_raw_parts_mut(block as *mut u64, len / 8);
        let rest = (block as usize + len / 8 * 8) as *mut u8;
        (words, std::slice::from_raw_parts_mut(rest, len % 8))
    }
}

/// Fills a freed block.
pub(super) unsafe fn fill(header: &Header) {
    let word = word(header);
    // SAFETY: nobody else may use it any more.
    let (words, rest) = unsafe { poisoned(header) };
    words.fill(word);
    rest.copy_from_slice(&word.to_ne_bytes()[..rest.len()]);
}

/// Ends the execution if a block that is kept was written to after it was freed.
pub(super) unsafe fn check_poison(header: &Header) {
    let word = word(header);
    // SAFETY: as when it was filled.
    let (words, rest) = unsafe { poisoned(header) };
    let differs = |bytes: &[u8]| bytes.iter().zip(word.to_ne_bytes()).position(|(a, b)| *a != b);
    let written = match words.iter().position(|&now| now != word) {
        Some(at) => differs(&words[at].to_ne_bytes()).map(|byte| at * 8 + byte),
        None => differs(rest).map(|byte| words.len() * 8 + byte),
    };
    if let Some(offset) = written {
        let size = header.size;
        let what = format!(
            "a block of {size} bytes was written to after it was freed, at offset {offset}"
        );
        use_after_free(header, what, header.next);
    }
}

/// The block (the low bits of its ordinal) that a value was read from after it was freed.
pub(crate) fn poison_of(value: u64) -> Option<u64> {
    // So much lies before an object that a pointer to it names.
    const BEFORE: u64 = LOW;
    let above = value.wrapping_sub(LOW).wrapping_add(BEFORE);
    (above >> 48 == POISON >> 48).then_some(above >> LOW_BITS & ORDINALS)
}

/// Looks at every block at the end of an execution, and ends it as failed where one was misused or,
/// if that is asked for, lost.
pub(crate) fn check_all() {
    /// With more blocks than this, the end of an execution is not the moment to look at each.
    const MOST: usize = 20_000;
    for header in kept() {
        // SAFETY: a block that is kept.
        unsafe { check_poison(header) };
    }
    for header in headers().take(MOST) {
        if header.state == USED {
            // SAFETY: a block that is in use.
            unsafe { check_end(header, block_of(header), 0) };
        }
    }
    if root().fail_on.contains(&FailureKind::Leak.code()) {
        leaks::check();
    }
}
