//! The tasks that wait on an object: a futex word or a condition variable.
//!
//! The tasks are found by a key. As in the kernel, a call with `FUTEX_PRIVATE_FLAG` and one without it use
//! different keys. With the flag, the key is the address. Without it, the key is the same for all mappings of the
//! memory.

use crate::memory::shared_views::canonical;
use crate::schedule::scheduler::choose_data;
use crate::state::clock;
use crate::state::task::Task;
use crate::state::world::world;

/// One word of `futex_waitv` (`struct futex_waitv`).
#[repr(C)]
pub(crate) struct Waiter {
    pub(crate) value: u64,
    pub(crate) address: u64,
    pub(crate) flags: u32,
    pub(crate) reserved: u32,
}

impl Waiter {
    pub(crate) fn key(&self) -> u64 {
        key(self.address, u64::from(self.flags))
    }
}

/// The key of a word in a call with these flags.
pub(crate) fn key(address: u64, flags: u64) -> u64 {
    // No word has an odd address.
    const SHARED: u64 = 1;
    if flags & libc::FUTEX_PRIVATE_FLAG as u64 != 0 { address } else { canonical(address) | SHARED }
}

/// Whether a task waits on the object with this key, alone or among several.
pub(crate) fn waits_on(task: &Task, key: u64) -> bool {
    let (waiters, count) = task.several.get();
    if count == 0 || task.waits_on.get() != waiters {
        return task.waits_on.get() == key;
    }
    // SAFETY: the array that the program passed to `futex_waitv`, which read it already; the task
    // is parked in that call, so the program keeps the array alive.
    let waiters = unsafe { std::slice::from_raw_parts(waiters as *const Waiter, count as usize) };
    waiters.iter().any(|waiter| waiter.key() == key)
}

/// Wakes up to `most` of the tasks that wait on the object with this key and satisfy `also`; returns how many. If
/// more are waiting, the strategy selects which by a data choice; its outcome 0 is the task that has
/// waited longest.
pub(crate) fn wake(key: u64, most: u32, also: impl Fn(&Task) -> bool) -> u32 {
    let world = world();
    let mut woken = 0;
    while woken < most {
        let waits = |number: u16| {
            let task = &world.tasks[usize::from(number)];
            waits_on(task, key) && !task.woken.get() && also(task)
        };
        let count = world.alive().filter(|&number| waits(number)).count() as u32;
        if count == 0 {
            break;
        }
        let taken = if count <= most - woken { 0 } else { choose_data(count) };
        // The waiter with `taken` others before it in the order of waiting.
        let order = |number: u16| world.tasks[usize::from(number)].wait_order.get();
        let chosen = world.alive().filter(|&number| waits(number)).find(|&number| {
            let before =
                world.alive().filter(|&other| waits(other) && order(other) < order(number));
            before.count() as u32 == taken
        });
        if let Some(chosen) = chosen {
            world.tasks[usize::from(chosen)].woken.set(true);
            clock::enable(chosen);
            world.tasks[usize::from(chosen)].woken_by.set(key);
        }
        woken += 1;
    }
    woken
}
