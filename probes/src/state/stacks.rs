//! Stacks for fibers: mapped once, committed by use, with a guard below.
//!
//! The address of a stack follows from which other stacks are in use, and from nothing else: it must
//! be the same in a search, in a replay, and with each kind of reset, because learned points name
//! memory of stacks by its address, and because a program can see addresses.

use crate::state::stack::{Stack, unmap};
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The guard's size if the program asks for no other.
pub(crate) const GUARD: usize = 4096;
/// glibc's stack size for threads if the program sets none and the stack limit is the usual one.
pub(crate) const DEFAULT: usize = 8 << 20;

/// The most spare stacks of one size that are mapped before the first execution.
const MOST_OF_ONE_SIZE: usize = 16;

/// Address space for stacks, divided into equal parts. Stacks with the same size and guard have one
/// part, so that stacks of different sizes seldom compete for an address.
const ADDRESS: u64 = 0x1800_0000_0000;
const PARTS: u64 = 64;
const PART_LEN: u64 = 1 << 38;
/// The most stacks of one part: one more than there can be tasks.
const PLACES: usize = crate::state::world::MAX_TASKS + 64;

/// Whether code may run on stacks: the program or one of its libraries was built for that.
struct Executable(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Executable {}
static EXECUTABLE: Executable = Executable(Cell::new(false));

/// How the memory of stacks may be used.
fn protection() -> i32 {
    let execute = if EXECUTABLE.0.get() { libc::PROT_EXEC } else { 0 };
    libc::PROT_READ | libc::PROT_WRITE | execute
}

/// Lets code run on stacks if the loaded modules ask for that. No task but main exists.
pub(crate) fn find_protection() {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers, and
        // `found` is a `bool`.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let asks = |header: &libc::Elf64_Phdr| {
                header.p_type == libc::PT_GNU_STACK && header.p_flags & libc::PF_X != 0
            };
            *found.cast::<bool>() |= headers.iter().any(asks);
        }
        0
    }
    let mut found = false;
    // SAFETY: `look` has the type that the function expects, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    EXECUTABLE.0.set(found);
}

/// Lets code run on the stacks of all tasks, from here on.
pub(crate) fn make_executable() {
    EXECUTABLE.0.set(true);
    let world = world();
    let tasks = world.tasks[1..usize::from(world.created.get())].iter();
    let living = tasks.filter(|task| task.life() != Lifecycle::Reaped).map(|task| task.stack.get());
    for stack in living.chain(world.spare_stacks.each()) {
        let low = (stack.low + stack.guard).next_multiple_of(4096);
        if stack.low != 0 && stack.high > low {
            // SAFETY: the stack is a mapping of this size, and only becomes more usable.
            unsafe { raw::call!(libc::SYS_mprotect, low, stack.high - low, protection()) };
        }
    }
}

/// The places for stacks of one size and guard.
struct Places {
    base: u64,
    size: u64,
    guard: u64,
}

impl Places {
    fn of(size: u64, guard: u64) -> Places {
        let hash = (size ^ guard.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Places { base: ADDRESS + (hash >> 32) % PARTS * PART_LEN, size, guard }
    }

    /// The distance of two places: stacks do not touch, even without guards.
    fn stride(&self) -> u64 {
        self.size + 4096
    }

    /// The address of the first place that is free.
    fn first_free(&self, is_taken: impl Fn(&Stack) -> bool) -> Option<u64> {
        let places = (PART_LEN / self.stride()).min(PLACES as u64);
        let mut taken = [0u64; PLACES.div_ceil(64)];
        let mut take = |stack: Stack| {
            let end = self.base + places * self.stride();
            if stack.high <= self.base || stack.low >= end {
                return;
            }
            let first = stack.low.saturating_sub(self.base) / self.stride();
            let last = (stack.high.min(end) - 1 - self.base) / self.stride();
            (first..=last).for_each(|at| taken[at as usize / 64] |= 1 << (at % 64));
        };
        let world = world();
        for task in &world.tasks[..usize::from(world.created.get())] {
            let stack = task.stack.get();
            if !stack.foreign && task.life() != Lifecycle::Reaped {
                take(stack);
            }
        }
        world.spare_stacks.each().filter(is_taken).for_each(take);
        let is_free = |at: &u64| taken[*at as usize / 64] >> (at % 64) & 1 == 0;
        (0..places).find(is_free).map(|at| self.base + at * self.stride())
    }

    /// Whether a spare stack fits its place.
    fn fits(&self, spare: &Stack) -> bool {
        spare.high - spare.low == self.size
            && spare.guard == self.guard
            && spare.low.wrapping_sub(self.base).is_multiple_of(self.stride())
            && (self.base..self.base + PART_LEN).contains(&spare.low)
    }

    /// Maps a stack at this address, or elsewhere if something else is there.
    fn map(&self, low: Option<u64>) -> Option<Stack> {
        let flags = libc::MAP_NORESERVE | libc::MAP_STACK;
        let access = protection();
        let len = self.size as usize;
        let at = low
            .and_then(|low| raw::map(low as usize, len, access, flags | libc::MAP_FIXED_NOREPLACE));
        let low = at.or_else(|| raw::map_anywhere(len, access, flags))? as u64;
        if self.guard > 0 {
            // SAFETY: the lowest pages of the mapping that was just made.
            unsafe {
                raw::call!(libc::SYS_mprotect, low, self.guard, libc::PROT_NONE);
            }
        }
        Some(Stack { low, high: low + self.size, guard: self.guard, foreign: false })
    }
}

/// The size of the mapping and of the guard, in whole pages.
fn whole_pages(size: usize, guard: usize) -> (u64, u64) {
    let guard = guard.next_multiple_of(4096) as u64;
    (size.next_multiple_of(4096) as u64 + guard, guard)
}

/// Returns a stack of at least `size` usable bytes, a spare one or a new mapping.
pub(crate) fn allocate(size: usize, guard: usize) -> Option<Stack> {
    let (size, guard) = whole_pages(size, guard);
    let places = Places::of(size, guard);
    let place = places.first_free(|spare| !places.fits(spare));
    let spare = place.and_then(|low| world().spare_stacks.take(low, size, guard));
    spare.or_else(|| places.map(place))
}

/// Makes spare stacks for this many threads with the same attributes.
pub(crate) fn prepare_alike(size: usize, guard: usize, count: usize) {
    prepare(&vec![whole_pages(size, guard); count]);
}

/// Makes spare stacks of these sizes and guards where there are too few, since later executions
/// will want the same. No task but main exists.
pub(crate) fn prepare(wanted: &[(u64, u64)]) {
    let spare = &world().spare_stacks;
    for (at, &(size, guard)) in wanted.iter().enumerate() {
        let same = |other: &&(u64, u64)| **other == (size, guard);
        let needed = wanted[..=at].iter().filter(same).count();
        let there = spare.each().filter(|s| (s.high - s.low, s.guard) == (size, guard)).count();
        if there >= needed.min(MOST_OF_ONE_SIZE) {
            continue;
        }
        let places = Places::of(size, guard);
        let Some(stack) = places.map(places.first_free(|_| true)) else { break };
        if !spare.put(stack) {
            unmap(stack);
            break;
        }
    }
}

/// The end of the memory of the process's first stack. The kernel's limit counts from there; above
/// what main uses are the program's arguments and its environment.
pub(crate) fn end_of_first() -> u64 {
    // SAFETY: the kernel's start-up vector has the address of a C string, or the answer is 0. The
    // string is the last thing on the stack but one word (Linux, `fs/exec.c`).
    unsafe {
        let name = libc::getauxval(libc::AT_EXECFN);
        let end = match name {
            0 => 0,
            _ => name + std::ffi::CStr::from_ptr(name as *const _).to_bytes_with_nul().len() as u64,
        };
        (end + 8).next_multiple_of(4096)
    }
}

/// Makes a stack spare. If there is no room for it, it stays mapped until the execution ends: it
/// may be one that was spare at the beginning, which the next execution needs.
pub(crate) fn free(stack: Stack) {
    if !stack.foreign && stack.low != 0 {
        world().spare_stacks.put(stack);
    }
}
