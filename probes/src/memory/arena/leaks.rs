//! Leaked blocks: not freed, and no pointer to them exists any more.
//!
//! Every word of the program's memory that could be an address in a block counts as a pointer to
//! it, as in any conservative collector. So no block is reported that is still reachable, but a
//! leak may be missed while an old copy of its address exists.

use crate::memory::arena::misuse::{allocated, end};
use crate::memory::arena::{Header, USED, headers};
use crate::state::task::Lifecycle;
use crate::state::upcalls;
use crate::state::world::world;
use crate::sys::interpose::LiveFrames;
use traces::FailureKind;

/// A block in use, and whether a pointer to it was found.
struct Candidate {
    header: &'static Header,
    start: u64,
    end: u64,
    reached: bool,
}

/// Ends the execution as failed if a block was leaked. `live` is what the running task had not left.
pub(super) fn check(live: &LiveFrames) {
    let mut blocks: Vec<Candidate> = headers()
        .filter(|header| header.state.get() == USED)
        .map(|header| {
            let start = &raw const *header as u64 + u64::from(header.distance);
            // The address behind a block counts, too: it may be an end pointer, or that of an empty
            // block.
            Candidate { header, start, end: start + header.size.get() + 1, reached: false }
        })
        .collect();
    let mut open: Vec<usize> = Vec::new();
    for (at, block) in blocks.iter_mut().enumerate() {
        // Blocks of the runtime, and those from before main, are not the program's to free.
        if block.header.site == 0
            || u64::from(block.header.ordinal) < crate::memory::arena::before_main()
        {
            block.reached = true;
            open.push(at);
        }
    }
    for (start, end) in roots(live) {
        reach(start, end, &mut blocks, &mut open);
    }
    while let Some(at) = open.pop() {
        let (start, end) = (blocks[at].start, blocks[at].end - 1);
        reach(start, end, &mut blocks, &mut open);
    }
    let lost: Vec<&Header> =
        blocks.iter().filter(|block| !block.reached).map(|block| block.header).collect();
    let Some(first) = lost.iter().min_by_key(|header| header.ordinal) else { return };
    let bytes: u64 = lost.iter().map(|header| header.size.get()).sum();
    let what = match lost.len() {
        1 => format!("a block of {bytes} bytes was never freed, and nothing points to it any more"),
        n => format!(
            "{n} blocks of {bytes} bytes in all were never freed, and nothing points to them any \
             more"
        ),
    };
    end(FailureKind::Leak, what, first.site, Some(first), vec![allocated(first)])
}

/// Marks the blocks to which the words of a range point.
fn reach(start: u64, end: u64, blocks: &mut [Candidate], open: &mut Vec<usize>) {
    let mut at = start.next_multiple_of(8);
    while at + 8 <= end {
        // SAFETY: the range is a block in the used part of the arena, from the program's memory
        // map, or a local, so it is mapped and readable; no task runs.
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

/// Memory that may hold pointers: the program's variables and mappings, the used part of the stacks
/// of living tasks, the registers of the running one, and the runtime's table of tasks.
fn roots(live: &LiveFrames) -> Vec<(u64, u64)> {
    let world = world();
    let mut roots = upcalls::get().program_memory();
    let registers = &raw const live.registers as u64;
    roots.push((registers, registers + size_of_val(&live.registers) as u64));
    for number in world.alive() {
        let task = &world.tasks[usize::from(number)];
        let stack = task.stack.get();
        let low = match number == world.current.get() {
            true => live.low,
            false => task.sp.get(),
        };
        let alternate = task.on_alternate_stack.get();
        match alternate.has(low) {
            true => roots.extend([(low, alternate.high), (alternate.from, stack.high)]),
            false => roots.push((low, stack.high)),
        }
    }
    for task in &world.tasks[..usize::from(world.created.get())] {
        if task.life() != Lifecycle::Reaped {
            // The result of a task that may still be joined, and its other stored values.
            let start = &raw const *task as u64;
            roots.push((start, start + size_of_val(task) as u64));
        }
    }
    roots
}
