//! Named semaphores, shared inside the process. They are in the program's heap, so that every reset
//! restores them and no execution finds what another left behind.
//!
//! One that exists in the system already may be used by other processes, which the runtime cannot
//! follow; opening it is unsupported.

use crate::state::outcome;
use crate::state::world::on_fiber;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// The longest name: that of a file, without `sem.`.
const LONGEST: usize = 251;
/// glibc refuses names from this length on as invalid, rather than as too long.
const TOO_LONG: usize = 256;

/// A named semaphore, in the program's heap. The semaphore itself comes first.
#[repr(C)]
struct Named {
    semaphore: [u64; 4],
    next: Cell<u64>,
    /// How often the semaphore is open.
    open: Cell<u32>,
    /// Its mode, without what the umask denied when it was made, and its owner, user and group.
    mode: u32,
    owner: (u32, u32),
    /// Whether the semaphore's name still exists.
    linked: Cell<bool>,
    len: usize,
    name: [u8; LONGEST],
}

struct First(Cell<u64>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for First {}
static FIRST: First = First(Cell::new(0));

/// The head of the list.
pub(crate) fn save() -> u64 {
    FIRST.0.get()
}

/// Restores what [`save`] returned.
pub(crate) fn restore(first: u64) {
    FIRST.0.set(first);
}

fn find(which: impl Fn(&Named) -> bool) -> Option<&'static Named> {
    let mut at = FIRST.0.get();
    while at != 0 {
        // SAFETY: `make` made the node, and `drop_if_unused` unlinks it before it frees it, after
        // which no caller uses it. What changes is in cells, and one kernel thread accesses it.
        let named = unsafe { &*(at as *const Named) };
        if which(named) {
            return Some(named);
        }
        at = named.next.get();
    }
    None
}

/// The effective user and group of the process.
fn caller() -> (u32, u32) {
    // SAFETY: passes no pointers.
    unsafe { (raw::call!(libc::SYS_geteuid) as u32, raw::call!(libc::SYS_getegid) as u32) }
}

/// The process's umask. The kernel has no call that only reads it.
fn umask() -> u32 {
    // SAFETY: passes no pointers, and no other thread of the kernel runs that could see the umask in between.
    unsafe {
        let mask = raw::call!(libc::SYS_umask, 0);
        raw::call!(libc::SYS_umask, mask);
        mask as u32
    }
}

/// Whether the process may open it, for reading and writing, as the C library does.
fn may_open(named: &Named) -> bool {
    const BOTH: u32 = 6;
    let (user, group) = caller();
    let shift = match named.owner {
        (owner, _) if owner == user => 6,
        (_, owner) if owner == group => 3,
        _ => 0,
    };
    user == 0 || named.mode >> shift & BOTH == BOTH
}

fn make(name: &[u8], mode: u32, value: u32) -> *mut Named {
    let named = crate::memory::arena::allocate(size_of::<Named>(), 16, 0).cast::<Named>();
    let mut padded = [0; LONGEST];
    padded[..name.len()].copy_from_slice(name);
    // SAFETY: the block is new, of this size and alignment, and nothing else points to it.
    unsafe {
        named.write(Named {
            semaphore: [u64::from(value), 0, 0, 0],
            next: Cell::new(FIRST.0.get()),
            open: Cell::new(1),
            mode: mode & !umask(),
            owner: caller(),
            linked: Cell::new(true),
            len: name.len(),
            name: padded,
        });
    }
    FIRST.0.set(named as u64);
    named
}

/// Frees a semaphore that is closed and unlinked.
fn drop_if_unused(named: &Named) {
    if named.open.get() > 0 || named.linked.get() {
        return;
    }
    let address = &raw const *named as u64;
    match find(|other| other.next.get() == address) {
        Some(before) => before.next.set(named.next.get()),
        None => FIRST.0.set(named.next.get()),
    }
    crate::memory::arena::free(address as *mut u8);
}

/// The name without leading slashes, or an error number.
fn bare(name: &CStr) -> Result<&[u8], c_int> {
    let bytes = name.to_bytes();
    let start = bytes.iter().take_while(|&&byte| byte == b'/').count();
    let bare = &bytes[start..];
    match bare {
        _ if bare.is_empty() || bare.contains(&b'/') => Err(libc::EINVAL),
        _ if bare.len() >= TOO_LONG => Err(libc::EINVAL),
        _ if bare.len() > LONGEST => Err(libc::ENAMETOOLONG),
        _ => Ok(bare),
    }
}

/// The path of a semaphore's file without its name.
const DIRECTORY: &[u8] = b"/dev/shm/sem.";

/// Whether the file at this path would be that of a semaphore that the execution made, which has no file here.
pub(crate) fn has_file(path: &[u8]) -> bool {
    let name = path.strip_prefix(DIRECTORY);
    name.is_some_and(|name| {
        find(|named| named.linked.get() && named.name[..named.len] == *name).is_some()
    })
}

/// Whether the system has a semaphore of this name.
fn is_outside(name: &[u8]) -> bool {
    let mut path = [0u8; DIRECTORY.len() + LONGEST + 1];
    path[..DIRECTORY.len()].copy_from_slice(DIRECTORY);
    path[DIRECTORY.len()..][..name.len()].copy_from_slice(name);
    // SAFETY: the path is a local array that ends in a zero byte.
    unsafe { raw::call!(libc::SYS_access, path.as_ptr(), libc::F_OK) == 0 }
}

fn open(name: &CStr, flags: c_int, (mode, value): (u32, u32), site: u64) -> Result<u64, c_int> {
    let name = bare(name)?;
    let known = find(|named| named.linked.get() && named.name[..named.len] == *name);
    if known.is_none() && is_outside(name) {
        outcome::unsupported("a named semaphore that other processes may use, too", site);
    }
    match known {
        Some(_) if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => Err(libc::EEXIST),
        Some(named) if !may_open(named) => Err(libc::EACCES),
        Some(named) => {
            named.open.set(named.open.get() + 1);
            Ok(&raw const *named as u64)
        }
        None if flags & libc::O_CREAT == 0 => Err(libc::ENOENT),
        None if value > i32::MAX as u32 => Err(libc::EINVAL),
        None => Ok(make(name, mode, value) as u64),
    }
}

fn fail(code: c_int) -> c_int {
    set_errno(code);
    -1
}

interpose! {
    fn sem_open(name: *const c_char, flags: c_int, mode: c_uint, value: c_uint) -> u64 {
        unsafe {
            if !on_fiber() {
                return real!(sem_open(name, flags, mode, value)
                    as fn(*const c_char, c_int, c_uint, c_uint) -> u64);
            }
            match open(CStr::from_ptr(name), flags, (mode, value), site()) {
                Ok(semaphore) => semaphore,
                Err(code) => {
                    set_errno(code);
                    0
                }
            }
        }
    }

    fn sem_close(semaphore: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sem_close(semaphore) as fn(u64) -> c_int) };
        }
        match find(|named| &raw const *named as u64 == semaphore && named.open.get() > 0) {
            Some(named) => {
                named.open.set(named.open.get() - 1);
                drop_if_unused(named);
                0
            }
            None => fail(libc::EINVAL),
        }
    }

    fn sem_unlink(name: *const c_char) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_unlink(name) as fn(*const c_char) -> c_int);
            }
            let name = match bare(CStr::from_ptr(name)) {
                Ok(name) => name,
                Err(libc::EINVAL) => return fail(libc::ENOENT),
                Err(code) => return fail(code),
            };
            match find(|named| named.linked.get() && named.name[..named.len] == *name) {
                Some(named) => {
                    named.linked.set(false);
                    drop_if_unused(named);
                    0
                }
                None if is_outside(name) => outcome::unsupported(
                    "removing a named semaphore that other processes may use, too", site()),
                None => fail(libc::ENOENT),
            }
        }
    }
}
