//! Blocks that nobody freed and that nothing points to any more.
//!
//! Every word of the program's memory that could be an address in a block counts as a pointer to it,
//! as in any conservative collector: so nothing is called lost that is not, and something that is
//! lost may be missed while an old copy of its address lies around.

use super::misuse::{allocated, end};
use super::{Header, USED, headers};
use crate::manager::program_memory;
use crate::task::Life;
use crate::world::world;
use traces::FailureKind;

/// A block in use, and whether something points to it.
struct Candidate {
    header: &'static Header,
    start: u64,
    end: u64,
    reached: bool,
}

/// Ends the execution as failed if a block was lost.
pub(super) fn check() {
    let mut blocks: Vec<Candidate> = headers()
        .filter(|header| header.state == USED)
        .map(|header| {
            let start = &raw const *header as u64 + u64::from(header.distance);
            // The address behind a block may be one into it: an end, or an empty block's.
            Candidate { header, start, end: start + header.size + 1, reached: false }
        })
        .collect();
    let mut open: Vec<usize> = Vec::new();
    for (at, block) in blocks.iter_mut().enumerate() {
        // The runtime's own, and what came before main: not the program's to free.
        if block.header.site == 0 || u64::from(block.header.ordinal) < super::before_main() {
            block.reached = true;
            open.push(at);
        }
    }
    for (start, end) in roots() {
        reach(start, end, &mut blocks, &mut open);
    }
    while let Some(at) = open.pop() {
        let (start, end) = (blocks[at].start, blocks[at].end - 1);
        reach(start, end, &mut blocks, &mut open);
    }
    let lost: Vec<&Header> =
        blocks.iter().filter(|block| !block.reached).map(|block| block.header).collect();
    let Some(first) = lost.iter().min_by_key(|header| header.ordinal) else { return };
    let bytes: u64 = lost.iter().map(|header| header.size).sum();
    let what = match lost.len() {
        1 => format!("a block of {bytes} bytes was never freed, and nothing points to it any more"),
        n => format!(
            "{n} blocks of {bytes} bytes in all were never freed, and nothing points to them any \
             more"
        ),
    };
    end(FailureKind::Leak, what, first.site, Some(first), vec![allocated(first)])
}

/// Marks what the words of a range point to.
fn reach(start: u64, end: u64, blocks: &mut [Candidate], open: &mut Vec<usize>) {
    let mut at = start.next_multiple_of(8);
    while at + 8 <= end {
        // SAFETY: mapped and readable: a block, or a range of the program's memory map.
        let word = unsafe { (at as *const u64).read() };
        at += 8;
        let index = blocks.partition_point(|block| block.end <= word);
        if let Some(block) = blocks.get_mut(index)
            && block.start <= word
            && !block.reached
        {
            block.reached = true;
            open.push(index);
        }
    }
}

/// Where pointers may lie: the program's variables and mappings, the stacks of the tasks that are
/// alive from where they stand, and what the runtime keeps for them.
fn roots() -> Vec<(u64, u64)> {
    let world = world();
    let mut roots = program_memory();
    for number in world.alive() {
        let task = &world.tasks[usize::from(number)];
        let stack = task.stack.get();
        let low = match number == world.current.get() {
            true => here(),
            false => task.sp.get(),
        };
        roots.push((low, stack.high));
    }
    for task in &world.tasks[..usize::from(world.created.get())] {
        if task.life() != Life::Reaped {
            // What it returned, for whoever would join it; and all else that is kept of it.
            let start = &raw const *task as u64;
            roots.push((start, start + size_of_val(task) as u64));
        }
    }
    roots
}

/// An address on the running task's stack, below everything that the program has there.
#[inline(never)]
fn here() -> u64 {
    let local = 0u64;
    &raw const local as u64
}
