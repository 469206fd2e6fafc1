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
use traces::wire::{
    CALLERS, CALLERS_OF, Header, Job, MAGIC, News, ObjectInfo, Record, Region, TaskInfo, VERSION,
    state,
};

const PAGE: u64 = 4096;
/// Address space for the runtime's heap, committed by use.
const HEAP: u64 = 1 << 30;
/// The same for pieces of work.
const PARCEL: u64 = 1 << 28;
const OUTPUT: u64 = 1 << 20;
const TASKS: u64 = 4096;
const OBJECTS: u64 = 1 << 16;

/// Memory that all workers of a search have in common: a table of words.
#[derive(Debug)]
pub(crate) struct Common {
    file: File,
}

/// The bytes of the table; those that are not used take no memory.
const TABLE: u64 = 1 << 25;

impl Common {
    /// An empty table.
    pub(crate) fn create() -> Result<Common, Error> {
        let failed = |error| Error::system("cannot make shared memory")(error);
        let file = memfd_create("heddle-common", MFdFlags::MFD_CLOEXEC)
            .map_err(|error| failed(error.into()))?;
        let common = Common { file: File::from(file) };
        common.clear()?;
        Ok(common)
    }

    /// Empties it.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        let file = &self.file;
        grow(file, TABLE)?;
        // Taking the pages away empties them, for those too who have them mapped.
        let mode = nix::fcntl::FallocateFlags::FALLOC_FL_PUNCH_HOLE
            | nix::fcntl::FallocateFlags::FALLOC_FL_KEEP_SIZE;
        nix::fcntl::fallocate(file, mode, 0, TABLE as i64)
            .map_err(|error| Error::system("cannot empty shared memory")(error.into()))
    }

    /// The descriptor that targets inherit.
    pub(crate) fn borrow(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Gives a file in memory its size.
fn grow(file: &File, bytes: u64) -> Result<(), Error> {
    file.set_len(bytes).map_err(|error| match error.raw_os_error() {
        Some(libc::EFBIG) => Error::Runtime(format!(
            "the limit on the size of files (ulimit -f) is below the {} MB of memory that are to be \
             shared with the program, most of which stay unused: raise it",
            bytes.div_ceil(1 << 20)
        )),
        _ => Error::system("cannot make shared memory")(error),
    })
}

/// One worker's shared memory.
///
/// A program that runs wild may overwrite any of it: what the controller relies on for its own
/// safety (where the regions are, how far it has read) is kept here and never read back.
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

/// Marks types that any bytes are a value of.
///
/// # Safety
/// The type has no padding that matters and no invalid values.
unsafe trait Plain: Copy {}
// SAFETY: structs of integers.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for TaskInfo {}
// SAFETY: as above.
unsafe impl Plain for ObjectInfo {}

impl Channel {
    /// Lays out the memory for a job.
    pub(crate) fn create(job: &Job) -> Result<Channel, Error> {
        let failed = |what: &str| Error::system(format!("cannot make shared memory: {what}"));
        let bytes = rmp_serde::to_vec(job)
            .map_err(|error| Error::Runtime(format!("the job cannot be written down: {error}")))?;
        let steps = job.max_steps.clamp(1 << 10, 1 << 26);
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
            region(OUTPUT),
            region(TASKS * size_of::<TaskInfo>() as u64),
            region(OBJECTS * size_of::<ObjectInfo>() as u64),
            region(HEAP),
            region(PARCEL),
        ];
        let file = memfd_create("heddle", MFdFlags::MFD_CLOEXEC)
            .map_err(|error| failed("memfd_create")(error.into()))?;
        let file = File::from(file);
        grow(&file, end)?;
        // SAFETY: a file of our own, whose other users are bound by the protocol.
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
        // SAFETY: nobody else has the memory yet, and it begins with room for a header.
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

    /// Whether what never changes is as it was written. Where it is not, the program has overwritten
    /// the memory, and nothing else in it means anything either.
    pub(crate) fn is_intact(&self) -> bool {
        let header = self.header();
        let layout = &self.layout;
        (header.magic, header.version, header.size) == (MAGIC, VERSION, self.map.len() as u64)
            && [header.records, header.outbox, header.output, header.tasks, header.objects]
                == [layout.records, layout.outbox, layout.output, layout.tasks, layout.objects]
            && header.parcel == layout.parcel
    }

    /// The records of the execution that runs or is parked.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.copies(self.layout.records, self.header().records_len.load(Acquire))
    }

    /// The tasks of the execution that is parked.
    pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
        self.copies(self.layout.tasks, self.header().tasks_len.load(Acquire))
    }

    /// The objects of the execution that is parked.
    pub(crate) fn objects(&self) -> Vec<ObjectInfo> {
        self.copies(self.layout.objects, self.header().objects_len.load(Acquire))
    }

    /// What the program printed, and whether there was more than could be kept.
    pub(crate) fn output(&self) -> (Vec<u8>, bool) {
        let len = self.header().output_len.load(Acquire);
        (self.bytes(self.layout.output, len), len > self.layout.output.len)
    }

    /// Why the runtime gave up.
    pub(crate) fn message(&self) -> String {
        let header = self.header();
        let len = (header.message_len.load(Acquire) as usize).min(header.message.len());
        String::from_utf8_lossy(&header.message[..len]).into_owned()
    }

    /// What the runtime has told since the last call.
    pub(crate) fn news(&self) -> Vec<News> {
        let header = self.header();
        let ring = self.layout.outbox.len;
        let mut tail = self.read.get();
        let head = header.outbox_head.load(Acquire);
        let mut news = Vec::new();
        if head < tail || head - tail > ring {
            // Overwritten by the program: nothing that follows would mean anything.
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
            // A frame that cannot be read was overwritten by the program: the rest is lost, too.
            match rmp_serde::from_slice(frame) {
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

    /// Waits until there is something to see, at most so long.
    pub(crate) fn wait(&self, seen: u32, at_most: Duration) {
        futex_wait(&self.header().news, seen, at_most);
    }

    /// The value of the news counter, to wait on.
    pub(crate) fn seen(&self) -> u32 {
        self.header().news.load(Acquire)
    }

    /// Lets a parked process go on.
    pub(crate) fn resume(&self) {
        self.header().resume.store(1, Release);
        futex_wake(&self.header().resume);
    }

    /// The number of the shared table's descriptor, for the process that is started next.
    pub(crate) fn set_common(&self, descriptor: i32) {
        self.header().common.store(descriptor, Relaxed);
    }

    /// Gives the idle worker a piece of work; false if there is no room for it.
    pub(crate) fn give(&mut self, work: &[u8]) -> bool {
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

    /// What the idle worker gives back.
    pub(crate) fn parcel(&self) -> Vec<u8> {
        self.bytes(self.layout.parcel, self.header().parcel_len.load(Acquire))
    }

    /// Asks the worker to give its piece of work back as it stands.
    pub(crate) fn pause(&self) {
        self.header().pause.store(1, Release);
    }

    /// Asks the worker to end after the execution that runs.
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
