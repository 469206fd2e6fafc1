//! Random bytes for the program: the same ones in every execution.

use crate::kernel::descriptor_kind::target_of;
use crate::memory::thread_block;
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::interpose;
use crate::sys::raw;
use crate::sys::real::real;
use search::rng::Rng;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

/// Fills memory; returns the length.
pub(crate) fn fill(to: u64, len: u64) -> i64 {
    let drawn = &world().randomness;
    let mut at = 0;
    while at < len {
        drawn.set(drawn.get() + 1);
        let bytes = Rng::new(0x6865_6464_6c65, drawn.get()).next().to_le_bytes();
        let some = (len - at).min(8);
        // SAFETY: the caller of the interposed function passes a writable buffer of `len` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (to + at) as *mut u8, some as usize);
        }
        at += some;
    }
    len as i64
}

/// Fills the buffers of a vector.
pub(crate) fn fill_vector(vector: u64, count: u64) -> i64 {
    (0..count)
        .map(|at| {
            // SAFETY: the caller of `readv` passes an array of `count` elements.
            let piece = unsafe { *(vector as *const libc::iovec).add(at as usize) };
            fill(piece.iov_base as u64, piece.iov_len as u64)
        })
        .sum()
}

/// Whether any descriptor of the program may be a source of random numbers: each read would have to ask.
struct Sources(Cell<bool>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Sources {}

static SOURCES: Sources = Sources(Cell::new(false));

/// The program begins, with the descriptors that it has already.
pub(crate) fn prepare() {
    const DESCRIPTORS: u64 = 1024;
    (0..DESCRIPTORS).for_each(note_source);
}

/// The program opened a file by its path.
pub(crate) fn opened(descriptor: u64) {
    note_source(descriptor);
    if is_identifier(descriptor) {
        replace_identifier(descriptor);
    }
}

fn note_source(descriptor: u64) {
    if !SOURCES.0.get() && refers_to_source(descriptor) {
        SOURCES.0.set(true);
    }
}

/// Whether the descriptor is the file of the kernel that has another random identifier at each reading.
fn is_identifier(descriptor: u64) -> bool {
    const NAME: &[u8] = b"/proc/sys/kernel/random/uuid";
    let about = status(descriptor);
    // Files of the kernel have no size.
    if about.st_mode & libc::S_IFMT != libc::S_IFREG || about.st_size != 0 {
        return false;
    }
    target_of(descriptor, &mut [0; 64]) == NAME
}

/// Lets the descriptor lead to a file with an identifier that is the same in every run. (A second reading from
/// the beginning finds the same one, unlike the kernel's.)
fn replace_identifier(descriptor: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    /// Version 4, variant 1: in which bytes which bits remain, and which are set.
    const MARKS: [(usize, u8, u8); 2] = [(6, 0x0f, 0x40), (8, 0x3f, 0x80)];
    let mut bytes = [0u8; 16];
    fill(bytes.as_mut_ptr() as u64, bytes.len() as u64);
    for (at, kept, set) in MARKS {
        bytes[at] = bytes[at] & kept | set;
    }
    let (mut text, mut len) = ([b'\n'; 37], 0);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text[len] = b'-';
            len += 1;
        }
        text[len] = DIGITS[usize::from(byte >> 4)];
        text[len + 1] = DIGITS[usize::from(byte & 15)];
        len += 2;
    }
    // SAFETY: the kernel reads the name and the text, and `descriptor` is one that the program has just got.
    unsafe {
        let flags = raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFD);
        let file = raw::call!(libc::SYS_memfd_create, c"uuid".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return;
        }
        raw::call!(libc::SYS_pwrite64, file, text.as_ptr(), text.len(), 0);
        let flags = if flags & i64::from(libc::FD_CLOEXEC) != 0 { libc::O_CLOEXEC } else { 0 };
        raw::call!(libc::SYS_dup3, file, descriptor, flags);
        raw::call!(libc::SYS_close, file);
    }
}

/// The program may have got descriptors otherwise.
pub(crate) fn received() {
    SOURCES.0.set(true);
}

/// Whether a descriptor is a source of random numbers of the system, whichever name or duplicate
/// was opened.
pub(crate) fn is_source(descriptor: u64) -> bool {
    SOURCES.0.get() && refers_to_source(descriptor)
}

/// The status of a descriptor; all zeros if there is none.
fn status(descriptor: u64) -> libc::stat {
    let mut about = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel writes only to the local. If it writes nothing, all zeros are a valid
    // `stat`.
    unsafe {
        raw::call!(libc::SYS_fstat, descriptor, about.as_mut_ptr());
        about.assume_init()
    }
}

fn refers_to_source(descriptor: u64) -> bool {
    let about = status(descriptor);
    let sources = [libc::makedev(1, 8), libc::makedev(1, 9)];
    about.st_mode & libc::S_IFMT == libc::S_IFCHR && sources.contains(&about.st_rdev)
}

/// Overwrites the random bytes that the kernel gave the program at its start with the same ones in
/// every run. (The loader derived the guards from them before: see `settle_stack_guard`.)
pub(crate) fn settle_start() {
    const LEN: u64 = 16;
    // SAFETY: `getauxval` only reads the auxiliary vector. A nonzero `AT_RANDOM` is the address of
    // sixteen bytes above main's stack.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) };
    if bytes != 0 {
        fill(bytes, LEN);
    }
}

/// Sets the stack guard, which the loader derived from the kernel's random bytes, to the same value in
/// every run. Functions store it on their stacks, where it can be the value of a step: a task writes
/// it to memory that was a shared variable of an earlier call. Like the loader's, its first byte in
/// memory is zero.
///
/// The pointer guard stays random: the C library has mangled the addresses of exit handlers with it,
/// and no code of the program sees mangled addresses.
///
/// # Safety
/// No function that is active has stored the guard, or none of them returns.
pub(crate) unsafe fn settle_stack_guard() {
    let guard = Rng::new(0x67_7561_7264, 0).next() << 8;
    thread_block::set_stack_guard(guard);
}

interpose! {
    fn getrandom(to: *mut c_void, len: usize, flags: c_uint) -> isize {
        if !on_fiber() {
            return unsafe { real!(getrandom(to, len, flags)
                as fn(*mut c_void, usize, c_uint) -> isize) };
        }
        fill(to as u64, len as u64) as isize
    }

    fn getentropy(to: *mut c_void, len: usize) -> c_int {
        if !on_fiber() {
            return unsafe { real!(getentropy(to, len) as fn(*mut c_void, usize) -> c_int) };
        }
        if len > 256 {
            crate::sys::errno::set_errno(libc::EIO);
            return -1;
        }
        fill(to as u64, len as u64);
        0
    }
}
