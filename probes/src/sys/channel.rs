//! The memory shared with the controller ([`traces::wire`]).

use crate::sys::{raw, stops};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use traces::wire::{
    CHANNEL_ADDRESS, COMMON_ADDRESS, Header, MAGIC, MESSAGE_LEN, Region, VERSION, state, stopped,
};

static ATTACHED: AtomicBool = AtomicBool::new(false);
/// How many words all workers of the search share.
static COMMON: AtomicUsize = AtomicUsize::new(0);

/// Whether a controller started this process.
#[inline]
pub(crate) fn attached() -> bool {
    ATTACHED.load(Relaxed)
}

/// This process is a copy that the program made: it has no controller.
pub(crate) fn detach() {
    ATTACHED.store(false, Relaxed);
}

/// The header. Only valid after [`attach`] succeeded.
#[inline]
pub(crate) fn header() -> &'static Header {
    debug_assert!(attached());
    // SAFETY: `attach` mapped the header, and it is never unmapped; fields that change are atomics.
    unsafe { &*(CHANNEL_ADDRESS as *const Header) }
}

/// The address of a region.
#[inline]
pub(crate) fn address(region: Region) -> usize {
    CHANNEL_ADDRESS + region.offset as usize
}

/// Maps the shared memory and closes its descriptor, so that the program does not see that.
pub(crate) fn attach(descriptor: i32) -> Result<(), String> {
    map_at(descriptor, CHANNEL_ADDRESS)?;
    ATTACHED.store(true, Relaxed);
    if header().magic != MAGIC || header().version != VERSION {
        return Err("the channel is of another version".into());
    }
    let common = header().common.load(Relaxed);
    if common >= 0 {
        COMMON.store(map_at(common, COMMON_ADDRESS)? / size_of::<u64>(), Relaxed);
    }
    Ok(())
}

/// The cache of visited states that all workers of the search share
/// ([`search::AnyStrategy::share`]), if there is one.
pub(crate) fn common() -> Option<&'static [AtomicU64]> {
    let len = COMMON.load(Relaxed);
    // SAFETY: `attach` mapped the table, and it is never unmapped; all processes access it by
    // atomics only.
    (len > 0)
        .then(|| unsafe { std::slice::from_raw_parts(COMMON_ADDRESS as *const AtomicU64, len) })
}

/// Maps a shared file, closes its descriptor, and returns its length. After an error it is still open.
fn map_at(descriptor: i32, address: usize) -> Result<usize, String> {
    // SAFETY: the kernel writes to a local `stat`; the mapping replaces nothing (NOREPLACE), except
    // the mapping that was just made. If the file is shorter than the header, the read of
    // `debug.on` faults; the controller makes it long enough.
    let (mapped, size) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let known = raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        if known != 0 {
            return Err(unmapped(known));
        }
        let mapped = raw::call!(
            libc::SYS_mmap,
            address,
            stat.st_size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
            descriptor,
            0
        );
        // Under a debugger each process and each checkpoint has a private copy of the memory.
        let debugged = mapped == CHANNEL_ADDRESS as i64
            && (*(CHANNEL_ADDRESS as *const Header)).debug.on.load(Relaxed) != 0;
        let mapped = if debugged {
            raw::call!(
                libc::SYS_mmap,
                CHANNEL_ADDRESS,
                stat.st_size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE,
                descriptor,
                0
            )
        } else {
            mapped
        };
        (mapped, stat.st_size as usize)
    };
    if mapped != address as i64 {
        return Err(unmapped(mapped));
    }
    // SAFETY: nothing else uses the descriptor.
    unsafe { raw::call!(libc::SYS_close, descriptor) };
    Ok(size)
}

fn unmapped(answer: i64) -> String {
    format!(
        "the memory that it shares with Heddle cannot be mapped at its fixed address (error {}): is its \
         address space limited (ulimit -v)?",
        -answer
    )
}

/// Notifies the controller of news.
pub(crate) fn notify() {
    header().news.fetch_add(1, Release);
    raw::futex_wake(&header().news);
}

/// Sets the worker's state and notifies the controller.
pub(crate) fn set_state(state: u32) {
    header().state.store(state, Release);
    notify();
}

/// Stores a message for the controller.
pub(crate) fn note(message: &str) {
    let header = header();
    let bytes = &message.as_bytes()[..message.len().min(MESSAGE_LEN)];
    // SAFETY: the message area is written by this process only, the controller reads it after the
    // length was stored, and `bytes` fits.
    unsafe {
        let to = (&raw const header.message).cast::<u8>().cast_mut();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
    header.message_len.store(bytes.len() as u64, Release);
}

/// Ends the process: a signal from outside, with this wait status, ended an execution, whose outcome
/// is therefore unknown. The controller starts another worker, which repeats the piece of work.
pub(crate) fn disturbed(status: i32) -> ! {
    header().died.store(status as u32 + 1, Relaxed);
    set_state(state::DISTURBED);
    raw::exit_process(70)
}

/// Ends the process, after [`attach`] failed with this message. If the memory is not mapped, the controller
/// finds the message in its file.
pub(crate) fn fail_to_attach(descriptor: i32, message: &str) -> ! {
    if attached() {
        fail(message)
    }
    let write = |bytes: &[u8], at: usize| {
        // SAFETY: the kernel reads the bytes, which outlive the call.
        unsafe {
            raw::call!(libc::SYS_pwrite64, descriptor, bytes.as_ptr(), bytes.len(), at);
        }
    };
    let message = &message.as_bytes()[..message.len().min(MESSAGE_LEN)];
    write(message, offset_of!(Header, message));
    write(&(message.len() as u64).to_ne_bytes(), offset_of!(Header, message_len));
    write(&state::FAILED.to_ne_bytes(), offset_of!(Header, state));
    raw::exit_process(70)
}

/// Ends the process, after reporting the reason to the controller.
pub(crate) fn fail(message: &str) -> ! {
    if attached() {
        note(message);
        set_state(state::FAILED);
        // The memory of a process under a debugger is its own, and ends with it.
        let debug = &header().debug;
        if stops::is_there() && debug.stack.load(Relaxed) == 0 {
            stops::stop(stopped::FAILED);
        }
    } else {
        // SAFETY: the kernel reads the bytes, which outlive the calls.
        unsafe {
            raw::call!(libc::SYS_write, 2, b"heddle: ".as_ptr(), 8);
            raw::call!(libc::SYS_write, 2, message.as_ptr(), message.len());
            raw::call!(libc::SYS_write, 2, b"\n".as_ptr(), 1);
        }
    }
    raw::exit_process(70)
}

/// Reports progress to the watchdog where no scheduling point was reached.
pub(crate) fn beat() {
    header().heartbeat.store(beats() + 1, Relaxed);
}

/// The heartbeat that the watchdog sees.
pub(crate) fn beats() -> u64 {
    header().heartbeat.load(Relaxed)
}
