//! Learned words in blocks of the heap.
//!
//! A block has another address if another task allocated first. So a word of a block is learned by the
//! identity of its block and its offset: the same access is then a scheduling point in each execution,
//! and equivalent executions have the same steps.
//!
//! Shadow memory marks the words by their addresses ([`Word::may_be_hot`]), so that most accesses cost one
//! comparison. A mark is set when a block with learned words is allocated. It outlives the block, so that
//! the heap has to confirm it.

use crate::detect::shadow::{Shadow, Word};
use crate::detect::table::Table;
use crate::memory::arena::{self, BlockIdentity};
use crate::steps::identity;
use search::reduction::events::mix;
use traces::points::ModuleAddress;

/// Allocations of a task at one site have the same words from the 257th on, so that the learned words of a
/// program that allocates for long are limited.
const COUNTS: u64 = 256;

/// The learned words of blocks, a list for each block.
struct HeapWords {
    /// By the hash of a block: the first word of its list, plus 1.
    first: Table,
    /// By block and word: the next word of the list, plus 1; 0 at its end.
    next: Table,
}
// SAFETY: the fields are tables of cells, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for HeapWords {}
static WORDS: HeapWords = HeapWords { first: Table::new(), next: Table::new() };

pub(super) fn map() -> bool {
    WORDS.first.map(16) && WORDS.next.map(18)
}

pub(super) fn ranges() -> [(u64, u64); 2] {
    [WORDS.first.range(), WORDS.next.range()]
}

/// The hash of a block, the same in all executions in which its task made the same allocations before.
fn hash(block: &BlockIdentity) -> u64 {
    let (task, count) = block.task_and_count();
    let maker = mix((task << 8) | (count % COUNTS));
    ModuleAddress::block_hash(mix(maker ^ identity::of_code(block.site)))
}

/// The word at this address of a block that was allocated after main began. None for other memory.
pub(super) fn spot(address: u64) -> Option<ModuleAddress> {
    let block = arena::identity_of(address).filter(|block| block.is_from_main)?;
    ModuleAddress::in_block(hash(&block), address.wrapping_sub(block.origin) / 8)
}

/// Learns a word, given also by its [block and number](ModuleAddress::as_in_block). Returns whether there was
/// room for it.
pub(super) fn add(spot: ModuleAddress, (block, word): (u64, u64)) -> bool {
    if WORDS.next.get(spot.offset).is_some() {
        return true;
    }
    let first = WORDS.first.get(block).unwrap_or(0);
    WORDS.next.insert(spot.offset, first) && WORDS.first.insert(block, word + 1)
}

/// Marks the learned words of the block at this address, which was allocated or grew.
#[inline]
pub(super) fn mark(shadow: &Shadow, address: u64) {
    if !WORDS.first.is_empty()
        && let Some(block) = arena::identity_of(address)
    {
        mark_block(shadow, &block);
    }
}

/// Marks the learned words of all blocks that exist.
pub(super) fn mark_all(shadow: &Shadow) {
    arena::identities().for_each(|block| mark_block(shadow, &block));
}

fn mark_block(shadow: &Shadow, block: &BlockIdentity) {
    if !block.is_from_main {
        return;
    }
    let hash = hash(block);
    let mut next = WORDS.first.get(hash).unwrap_or(0);
    while next != 0 {
        let at = block.origin + (next - 1) * 8;
        // Another block with the same hash may be larger.
        if at < block.end {
            shadow.word(at).inspect(|word| word.mark_hot());
        }
        let key = ModuleAddress::in_block(hash, next - 1).map(|spot| spot.offset);
        next = key.and_then(|key| WORDS.next.get(key)).unwrap_or(0);
    }
}

/// Whether accesses to the word at this address are scheduling points at some sites.
#[inline]
pub(crate) fn is_hot(word: &Word, address: u64) -> bool {
    word.is_hot() || word.may_be_hot() && is_learned(address)
}

#[inline(never)]
fn is_learned(address: u64) -> bool {
    spot(address).is_some_and(|spot| WORDS.next.get(spot.offset).is_some())
}
