//! Limits of memory and processor time for reading and showing files of unknown origin.
//!
//! A few kilobytes can describe a trace whose views take gigabytes or hours. A command that only
//! reads files works within a [`Budget`]. Where it would exceed that, the process ends with one line
//! that names the option for a larger one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::time::Duration;

/// Bytes that are allocated at the moment.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
/// The most bytes that may be allocated.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The line for a request beyond the limit. It is made in advance, since nothing can be allocated
/// then.
static LINE: AtomicPtr<Vec<u8>> = AtomicPtr::new(std::ptr::null_mut());

/// Memory besides the allocated bytes: the binary, stacks, and what the allocator does not return.
const OVERHEAD: usize = 48 << 20;
/// How often the processor time is read.
const POLL: Duration = Duration::from_millis(20);

/// The limits of a command that reads files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The memory limit in bytes.
    pub memory: u64,
    /// The most processor time.
    pub time: Duration,
}

impl Limits {
    /// Without options: 1 GB and 10 s.
    pub const DEFAULT: Limits = Limits { memory: 1 << 30, time: Duration::from_secs(10) };
}

/// A budget in effect. It ends when this is dropped.
#[derive(Debug)]
pub struct Budget {
    is_over: Arc<AtomicBool>,
}

impl Budget {
    /// Limits what this process uses from now on. `what` names the work in the message, and `advice`
    /// says what else to do instead of raising a limit.
    #[must_use]
    pub fn begin(limits: Limits, what: &str, advice: &str) -> Budget {
        let line = too_much_memory(limits.memory, what, advice);
        // The line is needed until the end of the process: any thread may exceed the limit.
        LINE.store(Box::into_raw(Box::new(line.into_bytes())), Release);
        let memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        LIMIT.store(memory.saturating_sub(OVERHEAD).max(OVERHEAD), Relaxed);
        let late = too_much_time(limits.time, what, advice);
        let budget = Budget { is_over: Arc::default() };
        let is_over = Arc::clone(&budget.is_over);
        let end = processor_time() + limits.time;
        // Without the thread, the limit on time does not hold.
        let _ = std::thread::Builder::new().name("budget".into()).spawn(move || {
            while !is_over.load(Acquire) {
                if processor_time() > end {
                    refuse(late.as_bytes());
                }
                std::thread::sleep(POLL);
            }
        });
        budget
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.is_over.store(true, Release);
        LIMIT.store(usize::MAX, Relaxed);
    }
}

/// The processor time that this process has used.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes a local of the type that it expects.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Ends the process with a line on standard error and the status for an unusable file.
fn refuse(line: &[u8]) -> ! {
    // SAFETY: the kernel reads the bytes, which outlive the call; `_exit` runs no code of this
    // process, so it is safe within an allocation.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len());
        libc::_exit(2)
    }
}

/// The line for work that needs more memory than these bytes.
fn too_much_memory(most: u64, what: &str, advice: &str) -> String {
    let megabytes = most >> 20;
    format!(
        "heddle: {what}: this takes more than {megabytes} MB of memory; --max-memory {}M allows \
         more{advice}\n",
        megabytes.saturating_mul(4)
    )
}

/// The line for work that needs more time of a processor.
fn too_much_time(most: Duration, what: &str, advice: &str) -> String {
    let seconds = most.as_secs_f64();
    format!(
        "heddle: {what}: this takes more than {seconds} s of processor time; --max-time {}s allows \
         more{advice}\n",
        (seconds * 6.0).ceil()
    )
}

#[cold]
fn refuse_memory() -> ! {
    let line = LINE.load(Acquire);
    // SAFETY: `begin` stored a vector that is never freed, before it set a limit.
    let line = unsafe { line.as_ref() };
    refuse(line.map_or(b"heddle: out of memory\n", |line| line))
}

/// What a block takes in the system's allocator: a header, and a multiple of 16 bytes.
#[inline]
fn cost(size: usize) -> usize {
    (size.saturating_add(8 + 15) & !15).max(32)
}

/// Counts a block that is about to be allocated.
#[inline]
fn take(size: usize) {
    let bytes = cost(size);
    if ALLOCATED.fetch_add(bytes, Relaxed).saturating_add(bytes) > LIMIT.load(Relaxed) {
        refuse_memory();
    }
}

/// The system's allocator, with a count of the allocated bytes for [`Budget`].
#[derive(Debug)]
pub struct CountingAllocator;

// SAFETY: every call is passed on to the system's allocator as it is; the count has no influence on
// the memory.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(cost(layout.size()), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Where the block is moved, both exist for a moment.
        take(size);
        ALLOCATED.fetch_sub(cost(layout.size()), Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_work_and_the_option() {
        assert_eq!(
            too_much_memory(512 << 20, "a.heddle", ", or show a part (--steps)"),
            "heddle: a.heddle: this takes more than 512 MB of memory; --max-memory 2048M allows more, or \
             show a part (--steps)\n"
        );
        assert_eq!(
            too_much_time(Duration::from_millis(2500), "a.heddle", ""),
            "heddle: a.heddle: this takes more than 2.5 s of processor time; --max-time 15s allows more\n"
        );
    }
}
