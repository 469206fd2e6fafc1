//! Streams (`FILE`) of the C library: what a call that uses one accesses, and uses without their locks.

use crate::detect::access::{Access, is_in_company, look, peek};
use crate::instrument::binary::open_files;
use crate::instrument::binary::operand::LOWEST;
use crate::state::world::world;

/// The size of a stream.
const STREAM: u64 = 216;
/// Where a stream has the pointer to the next one, and that to its lock.
const NEXT_STREAM: u64 = 104;
const LOCK: u64 = 136;
/// Where a lock has its owner: the address of the thread's control block.
const OWNER: u64 = 8;
/// Flags in the first word of a stream: not buffered, only for reading, buffered by lines, without its lock
/// (`__fsetlocking`).
const UNBUFFERED: u64 = 2;
const NO_WRITES: u64 = 8;
const LINE_BUFFERED: u64 = 0x200;
const USER_LOCKS: u64 = 0x8000;
/// How many streams are followed.
const MOST: usize = 1024;

unsafe extern "C" {
    fn fileno_unlocked(stream: *mut libc::FILE) -> i32;
    static stdout: *mut libc::FILE;
}

/// A call uses a stream and its open file. What the program prints is captured for each task.
pub(super) fn used(stream: u64, each: &mut dyn FnMut(u64, u64)) {
    if stream < LOWEST {
        return;
    }
    own_state(stream, each);
    // A read that has to fill the buffer of such a stream writes what standard output has collected.
    let reads = peek(stream, 4);
    if reads & NO_WRITES != 0 && reads & (UNBUFFERED | LINE_BUFFERED) != 0 {
        // SAFETY: the C library initialised the variable, which the program may have assigned another stream.
        let output = unsafe { stdout } as u64;
        if output >= LOWEST && peek(output, 4) & LINE_BUFFERED != 0 {
            own_state(output, each);
        }
    }
}

/// The stream and its open file, unless what it prints is captured.
fn own_state(stream: u64, each: &mut dyn FnMut(u64, u64)) {
    let Some(descriptor) = shared_descriptor(stream) else { return };
    each(stream, STREAM);
    if descriptor >= 0 {
        open_files::each_file(descriptor as u64, each);
    }
}

/// The descriptor of a stream, below 0 if it has none; none if what is printed there is captured.
fn shared_descriptor(stream: u64) -> Option<i32> {
    // SAFETY: the program is about to pass the stream to the library.
    let descriptor = unsafe { fileno_unlocked(stream as *mut libc::FILE) };
    let is_captured = descriptor >= 0 && world().is_captured(descriptor as u64);
    (!is_captured).then_some(descriptor)
}

/// The same for all streams, of which this is the first.
pub(super) fn all_used(first: u64, each: &mut dyn FnMut(u64, u64)) {
    let mut next = first;
    for _ in 0..MOST {
        if next < LOWEST {
            break;
        }
        used(next, each);
        next = peek(next + NEXT_STREAM, 8);
    }
}

/// The words that represent uses of streams without their locks; several streams may share one. Nothing is ever
/// written to them, and none is a scheduling point: unordered uses of one are reported.
static USES: [u64; WORDS] = [0; WORDS];
const WORDS: usize = 64;

/// Whether this is such a word.
pub(super) fn is_use(word: u64) -> bool {
    word.wrapping_sub(&raw const USES as u64) < size_of_val(&USES) as u64
}

/// A call uses a stream, in a program that may use streams without their locks. `locks` says whether the function
/// locks it.
pub(super) fn note_use(stream: u64, locks: bool, writes: bool, site: u64) {
    if stream < LOWEST || !is_in_company() || shared_descriptor(stream).is_none() {
        return;
    }
    let locks = locks && peek(stream, 4) & USER_LOCKS == 0;
    let owner = match peek(stream + LOCK, 8) {
        lock @ LOWEST.. => peek(lock + OWNER, 8),
        _ => 0,
    };
    let is_locked = locks || owner == world().task().block.get();
    look(&Access {
        address: &raw const USES[(stream >> 4 ^ stream >> 12) as usize % WORDS] as u64,
        size: 8,
        writes,
        atomic: is_locked,
        proven: false,
        site,
        in_parts: false,
    });
}
