//! The memory shared with the runtime, from the controller's side ([`traces::wire`]).

use crate::Error;
use memmap2::{MmapMut, MmapOptions};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;
use traces::compact;
use traces::wire::{
    CALLERS, CALLERS_OF, Header, Job, MAGIC, ObjectInfo, Record, Region, RuntimeMessage, TaskInfo,
    VERSION, state,
};

const PAGE: u64 = 4096;
/// Address space for the runtime's heap, committed by use.
const HEAP: u64 = 1 << 30;
/// Address space for the pieces of work that controller and worker exchange.
const PARCEL: u64 = 1 << 28;
/// The most bytes of output that a trace stores.
pub(crate) const OUTPUT: u64 = 1 << 20;
/// The most that a command prints which prints all of it. Most of the memory stays unused.
const WHOLE_OUTPUT: u64 = 1 << 30;
const TASKS: u64 = 4096;
const OBJECTS: u64 = 1 << 16;

/// Memory that all workers of a search share: a table of words.
#[derive(Debug)]
pub(crate) struct Common {
    file: File,
}

/// Size of the table in bytes. Pages that are never written take no memory.
const TABLE: u64 = 1 << 25;

impl Common {
    /// Creates an empty table.
    pub(crate) fn create() -> Result<Common, Error> {
        let failed = |error| Error::system("cannot create shared memory")(error);
        let file = memfd_create("heddle-common", MFdFlags::MFD_CLOEXEC)
            .map_err(|error| failed(error.into()))?;
        let common = Common { file: File::from(file) };
        common.clear()?;
        Ok(common)
    }

    /// Clears the table.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        let file = &self.file;
        grow(file, TABLE)?;
        // Punching a hole clears the pages for every process that has them mapped.
        let mode = nix::fcntl::FallocateFlags::FALLOC_FL_PUNCH_HOLE
            | nix::fcntl::FallocateFlags::FALLOC_FL_KEEP_SIZE;
        nix::fcntl::fallocate(file, mode, 0, TABLE as i64)
            .map_err(|error| Error::system("cannot clear shared memory")(error.into()))
    }

    /// The descriptor that the target inherits.
    pub(crate) fn borrow(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Sets the size of a memory file.
fn grow(file: &File, bytes: u64) -> Result<(), Error> {
    file.set_len(bytes).map_err(|error| match error.raw_os_error() {
        Some(libc::EFBIG) => Error::Runtime(format!(
            "the file size limit (ulimit -f) is below the {} MB of memory shared with the program, \
             most of which stays unused: raise it",
            bytes.div_ceil(1 << 20)
        )),
        _ => Error::system("cannot create shared memory")(error),
    })
}

/// One worker's shared memory.
///
/// A program with a wild write can overwrite any of it. Therefore the layout of the regions and the
/// read position, on which the controller's own safety depends, are stored here and are never read
/// back from the shared memory.
pub(crate) struct Channel {
    file: File,
    map: MmapMut,
    layout: Layout,
    read: Cell<u64>,
}

/// The regions that the controller reads.
struct Layout {
    records: Region,
    outbox: Region,
    output: Region,
    tasks: Region,
    objects: Region,
    parcel: Region,
}

/// Types for which any bit pattern is a valid value.
///
/// # Safety
/// The type has no invalid values and no padding that is read.
unsafe trait Plain: Copy {}
// SAFETY: structs of integers.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for TaskInfo {}
// SAFETY: as above.
unsafe impl Plain for ObjectInfo {}

impl Channel {
    /// Creates and lays out the memory for a job.
    pub(crate) fn create(job: &Job) -> Result<Channel, Error> {
        let failed = |what: &str| Error::system(format!("cannot create shared memory: {what}"));
        let bytes = compact::encode(job);
        let steps = job.most_steps.max(job.max_steps).clamp(1 << 10, 1 << 26);
        let callers = CALLERS_OF.min(steps) * CALLERS.div_ceil(3) as u64;
        let records = if job.full { 6 * steps + callers } else { 2 * steps };
        let records = records * size_of::<Record>() as u64;
        let mut end = (size_of::<Header>() as u64).next_multiple_of(PAGE);
        let mut region = |len: u64| {
            let region = Region { offset: end, len };
            end += len.next_multiple_of(PAGE);
            region
        };
        let header = [
            region(bytes.len() as u64),
            region(records),
            region((32 * steps).max(4 << 20).next_multiple_of(PAGE)),
            region(if job.whole_output { WHOLE_OUTPUT } else { OUTPUT }),
            region(TASKS * size_of::<TaskInfo>() as u64),
            region(OBJECTS * size_of::<ObjectInfo>() as u64),
            region(HEAP),
            region(PARCEL),
        ];
        let file = memfd_create("heddle", MFdFlags::MFD_CLOEXEC)
            .map_err(|error| failed("memfd_create")(error.into()))?;
        let file = File::from(file);
        grow(&file, end)?;
        // SAFETY: this process created the file, and its other users follow the protocol.
        let map = unsafe { MmapOptions::new().map_mut(&file) }.map_err(failed("mapping it"))?;
        let layout = Layout {
            records: header[1],
            outbox: header[2],
            output: header[3],
            tasks: header[4],
            objects: header[5],
            parcel: header[7],
        };
        let mut channel = Channel { file, map, layout, read: Cell::new(0) };
        // SAFETY: no other process has mapped the memory yet, and it is large enough for a header.
        unsafe {
            let to = channel.map.as_mut_ptr().cast::<Header>();
            (*to).magic = MAGIC;
            (*to).version = VERSION;
            (*to).controller = std::process::id();
            (*to).size = end;
            (*to).job = header[0];
            (*to).records = header[1];
            (*to).outbox = header[2];
            (*to).output = header[3];
            (*to).tasks = header[4];
            (*to).objects = header[5];
            (*to).heap = header[6];
            (*to).parcel = header[7];
            (*to).common = AtomicI32::new(-1);
        }
        let at = header[0].offset as usize;
        channel.map[at..at + bytes.len()].copy_from_slice(&bytes);
        Ok(channel)
    }

    /// The descriptor that the target inherits.
    pub(crate) fn borrow(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The header.
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the map begins with one, and both sides change it only through its atomics (and
        // the message before its length).
        unsafe { &*self.map.as_ptr().cast::<Header>() }
    }

    fn bytes(&self, region: Region, len: u64) -> Vec<u8> {
        let start = region.offset as usize;
        self.map[start..start + len.min(region.len) as usize].to_vec()
    }

    fn copies<T: Plain>(&self, region: Region, len: u64) -> Vec<T> {
        let len = len.min(region.len / size_of::<T>() as u64) as usize;
        // SAFETY: regions are page-aligned and within the map, and any bytes are a `T`.
        unsafe {
            let from = self.map.as_ptr().add(region.offset as usize).cast::<T>();
            std::slice::from_raw_parts(from, len).to_vec()
        }
    }

    /// Whether the constant part of the header is unchanged. If it has changed, the program has
    /// overwritten the shared memory and none of its content can be trusted.
    pub(crate) fn is_intact(&self) -> bool {
        let header = self.header();
        let layout = &self.layout;
        (header.magic, header.version, header.size) == (MAGIC, VERSION, self.map.len() as u64)
            && [header.records, header.outbox, header.output, header.tasks, header.objects]
                == [layout.records, layout.outbox, layout.output, layout.tasks, layout.objects]
            && header.parcel == layout.parcel
    }

    /// The records of the running or parked execution.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.copies(self.layout.records, self.header().records_len.load(Acquire))
    }

    /// The tasks of the parked execution.
    pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
        self.copies(self.layout.tasks, self.header().tasks_len.load(Acquire))
    }

    /// The objects of the parked execution.
    pub(crate) fn objects(&self) -> Vec<ObjectInfo> {
        self.copies(self.layout.objects, self.header().objects_len.load(Acquire))
    }

    /// The program's output, and whether it exceeded the region.
    pub(crate) fn output(&self) -> (Vec<u8>, bool) {
        let len = self.header().output_len.load(Acquire);
        (self.bytes(self.layout.output, len), len > self.layout.output.len)
    }

    /// The reason that the runtime reported for its failure.
    pub(crate) fn message(&self) -> String {
        let header = self.header();
        let len = (header.message_len.load(Acquire) as usize).min(header.message.len());
        String::from_utf8_lossy(&header.message[..len]).into_owned()
    }

    /// The runtime's messages since the last call.
    pub(crate) fn news(&self) -> Vec<RuntimeMessage> {
        let header = self.header();
        let ring = self.layout.outbox.len;
        let mut tail = self.read.get();
        let head = header.outbox_head.load(Acquire);
        let mut news = Vec::new();
        if head < tail || head - tail > ring {
            // The program has overwritten the indices: the ring's content is invalid.
            return news;
        }
        while tail < head {
            let at = (self.layout.outbox.offset + tail % ring) as usize;
            let mut len = [0; 4];
            len.copy_from_slice(&self.map[at..at + 4]);
            let len = u32::from_le_bytes(len);
            if len == u32::MAX {
                tail += ring - tail % ring;
                continue;
            }
            let Some(frame) = self.map.get(at + 4..at + 4 + len as usize) else { break };
            // The program has overwritten this frame: the rest of the ring is invalid too.
            match compact::decode(frame) {
                Ok(one) => news.push(one),
                Err(_) => {
                    tail = head;
                    break;
                }
            }
            tail += (4 + u64::from(len)).next_multiple_of(8);
        }
        self.read.set(tail);
        header.outbox_tail.store(tail, Release);
        news
    }

    /// Waits until the news counter changes from `seen`, for at most `at_most`.
    pub(crate) fn wait(&self, seen: u32, at_most: Duration) {
        futex_wait(&self.header().news, seen, at_most);
    }

    /// The value of the news counter, to wait on.
    pub(crate) fn seen(&self) -> u32 {
        self.header().news.load(Acquire)
    }

    /// Lets a parked process continue.
    pub(crate) fn resume(&self) {
        self.header().resume.store(1, Release);
        futex_wake(&self.header().resume);
    }

    /// Sets the descriptor of the shared table for the process that is started next.
    pub(crate) fn set_common(&self, descriptor: i32) {
        self.header().common.store(descriptor, Relaxed);
    }

    /// Sets the nice value that the runtime reports to the process that is started next.
    pub(crate) fn set_nice(&self, nice: i32) {
        self.header().nice.store(nice, Relaxed);
    }

    /// Hands a piece of work to the idle worker; false if the piece does not fit.
    pub(crate) fn send_work(&mut self, work: &[u8]) -> bool {
        if work.len() as u64 > self.layout.parcel.len {
            return false;
        }
        let at = self.layout.parcel.offset as usize;
        self.map[at..at + work.len()].copy_from_slice(work);
        let header = self.header();
        header.pause.store(0, Relaxed);
        header.parcel_len.store(work.len() as u64, Release);
        header.state.store(state::RUNNING, Release);
        self.resume();
        true
    }

    /// The result that the idle worker returned.
    pub(crate) fn parcel(&self) -> Vec<u8> {
        self.bytes(self.layout.parcel, self.header().parcel_len.load(Acquire))
    }

    /// Asks the worker to return its piece of work in its present state.
    pub(crate) fn pause(&self) {
        self.header().pause.store(1, Release);
    }

    /// Asks the worker to exit after the current execution.
    pub(crate) fn stop(&self) {
        self.header().stop.store(1, Ordering::Release);
    }
}

fn futex_wait(word: &AtomicU32, value: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs() as i64,
        tv_nsec: i64::from(at_most.subsec_nanos()),
    };
    // SAFETY: the word and the timeout live through the call. Not private: another process wakes.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout);
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word lives through the call.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}
