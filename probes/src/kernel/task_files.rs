//! Descriptors of files about one task below `/proc`, in which the kernel shows or takes the task's name.
//!
//! For the kernel, all of them are about its one thread. So that thread has the task's name while the
//! kernel serves a call on such a descriptor, and what the kernel made of a name that was written is the
//! task's name from then on.

use crate::kernel::pass::{is_second_name, pass};
use crate::state::outcome;
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

/// The most such descriptors that are open at a time.
const MOST: usize = 64;

/// A descriptor, and the task that it is about.
struct Files([Cell<Option<(u32, u16)>>; MOST]);

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Files {}

static FILES: Files = Files([const { Cell::new(None) }; MOST]);

/// An execution begins.
pub(crate) fn clear() {
    FILES.0.iter().for_each(|slot| slot.set(None));
}

/// Whether the execution has no such descriptors.
pub(crate) fn is_clear() -> bool {
    FILES.0.iter().all(|slot| slot.get().is_none())
}

/// The task that a descriptor is about.
pub(crate) fn task(descriptor: u64) -> Option<u16> {
    // The kernel uses the lower half of the argument.
    let is_it = |one: &(u32, u16)| one.0 == descriptor as u32;
    FILES.0.iter().filter_map(Cell::get).find(is_it).map(|one| one.1)
}

fn forget(descriptors: impl Fn(u32) -> bool) {
    let slots = FILES.0.iter();
    slots
        .filter(|slot| slot.get().is_some_and(|one| descriptors(one.0)))
        .for_each(|slot| slot.set(None));
}

fn note(descriptor: i64, task: u16, site: u64) {
    forget(|known| known == descriptor as u32);
    let Some(free) = FILES.0.iter().find(|slot| slot.get().is_none()) else {
        outcome::unsupported("more than 64 open files about threads in /proc", site);
    };
    free.set(Some((descriptor as u32, task)));
}

/// A call that opens, duplicates or closes descriptors returned this. `opened`: the task that the file is
/// about which it opened, if it is one.
pub(crate) fn returned(number: i64, args: [u64; 6], answer: i64, opened: Option<u16>, site: u64) {
    match number {
        libc::SYS_open | libc::SYS_openat if answer >= 0 => {
            if let Some(task) = opened {
                note(answer, task, site);
            }
        }
        libc::SYS_close => forget(|known| known == args[0] as u32),
        libc::SYS_close_range if answer == 0 && args[2] == 0 => {
            forget(|known| (args[0] as u32..=args[1] as u32).contains(&known));
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl
            if answer >= 0 && is_second_name(number, args) && answer as u32 != args[0] as u32 =>
        {
            match task(args[0]) {
                Some(task) => note(answer, task, site),
                None => forget(|known| known == answer as u32),
            }
        }
        _ => {}
    }
}

/// The task whose file a call reads or writes, and whether it writes.
pub(crate) fn transferred(number: i64, args: [u64; 6]) -> Option<(u16, bool)> {
    let writes = match number {
        libc::SYS_read
        | libc::SYS_pread64
        | libc::SYS_readv
        | libc::SYS_preadv
        | libc::SYS_preadv2 => false,
        libc::SYS_write
        | libc::SYS_pwrite64
        | libc::SYS_writev
        | libc::SYS_pwritev
        | libc::SYS_pwritev2 => true,
        _ => return None,
    };
    Some((task(args[0])?, writes))
}

/// Whether the kernel copies from the file of a task directly.
pub(crate) fn is_copied(number: i64, args: [u64; 6]) -> bool {
    let from = match number {
        libc::SYS_sendfile => args[1],
        libc::SYS_splice | libc::SYS_copy_file_range => args[0],
        _ => return false,
    };
    task(from).is_some()
}

/// Reads or writes the file of a task.
pub(crate) fn transfer(task: u16, writes: bool, number: i64, args: [u64; 6]) -> i64 {
    let task = &world().tasks[usize::from(task)];
    if task.life() != Lifecycle::Alive {
        return -i64::from(libc::ESRCH);
    }
    let mut name = task.system_name.get();
    let mut before = [0u8; 16];
    // SAFETY: the kernel reads and writes 16 bytes of the locals, which hold zero-terminated names.
    unsafe {
        raw::call!(libc::SYS_prctl, libc::PR_GET_NAME, before.as_mut_ptr());
        raw::call!(libc::SYS_prctl, libc::PR_SET_NAME, name.as_ptr());
    }
    let answer = match writes {
        // The name is in memory that is restored, so this leaves nothing behind.
        //
        // SAFETY: the program's own call, which only writes a name.
        true => unsafe { raw::syscall(number, args) },
        false => pass(number, args),
    };
    // SAFETY: as above.
    unsafe {
        raw::call!(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr());
        raw::call!(libc::SYS_prctl, libc::PR_SET_NAME, before.as_ptr());
    }
    if writes && answer >= 0 {
        task.set_name(name.split(|&byte| byte == 0).next().unwrap_or_default());
    }
    answer
}
