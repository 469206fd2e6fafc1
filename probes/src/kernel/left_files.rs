//! Files that an execution leaves changed, where the next one finds them.
//!
//! A search that is complete ran every schedule from one beginning. A program that finds a file which an
//! earlier execution left does something else: it takes the other branch, and threads that it starts only
//! without the file run in the first execution alone. So each change of a file that outlives its execution
//! is named, and the search is not complete. Files below the working directory are restored
//! ([`changed_files`](crate::kernel::changed_files)), unless the user shares them (`--scratch=never`).
//!
//! An execution that does not run to its end, because the search gives it up or because it fails, cannot remove what
//! it created. The runtime removes that, so that the next execution finds the same files.
//!
//! A file that is written from its beginning (`O_TRUNC`, or the target of `rename`) is the same after each
//! execution, so it counts only if an execution read the path before that.

use crate::instrument::binary::calls;
use crate::kernel::changed_files;
use crate::state::end::End;
use crate::state::exclusive::Exclusive;
use crate::state::root::root;
use crate::state::world::world;
use crate::sys::raw;
use traces::wire::LEFT_FILE;

/// The most paths of one execution, and the most that executions read.
const MOST: usize = 256;
const MOST_READ: usize = 4096;

/// A path that the running execution changed.
#[derive(Debug)]
struct Changed {
    path: Vec<u8>,
    site: u64,
    /// Whether it was there before this execution changed it.
    existed: bool,
    /// Whether it is the same after each execution that does this.
    same: bool,
}

struct LeftFiles(Exclusive<Vec<Changed>>);
// SAFETY: `Exclusive` checks borrows, and the controlled process has one kernel thread.
unsafe impl Sync for LeftFiles {}
static CHANGED: LeftFiles = LeftFiles(Exclusive::new(Vec::new()));

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Absent,
    File,
    /// A device, a pipe, a directory.
    Other,
}

/// What a call does at its paths.
#[derive(Debug)]
enum Effect {
    /// Only asks what is there.
    Reads(Vec<u8>),
    Opens(Vec<u8>, i32),
    Creates(Vec<u8>),
    Removes(Vec<u8>),
    Renames(Vec<u8>, Vec<u8>, u64),
    Alters(Vec<u8>),
}

/// A call that is about to be made.
#[derive(Debug)]
pub(crate) struct Call {
    effect: Effect,
    /// What is at the path that it may replace.
    before: Entry,
}

/// An execution begins: what is there now is there for all of them.
pub(crate) fn begin() {
    CHANGED.0.borrow().clear();
}

/// Whether the running execution has changed no files so far.
pub(crate) fn is_clear() -> bool {
    CHANGED.0.borrow().is_empty()
}

/// An execution ended: names what it leaves, and removes what it created if it did not run to its end, unless
/// executions share the files that they leave.
pub(crate) fn end(end: &End) {
    let changed = std::mem::take(&mut *CHANGED.0.borrow());
    let is_cut_short = !matches!(end, End::Passed) && changed_files::are_restored();
    // A directory was created before what is in it.
    for one in changed.iter().rev() {
        let is_removed = is_cut_short && !one.existed && unlink(&one.path);
        if !is_removed && !one.same {
            report(&one.path, one.site);
        }
    }
}

/// Removes a file or an empty directory; false if that fails.
fn unlink(path: &[u8]) -> bool {
    let Ok(path) = std::ffi::CString::new(path) else { return false };
    // SAFETY: the kernel reads the path, which ends with a zero byte.
    [libc::SYS_unlink, libc::SYS_rmdir]
        .iter()
        .any(|&number| unsafe { raw::call!(number, path.as_ptr()) } == 0)
}

fn report(path: &[u8], site: u64) {
    let name = format!("{LEFT_FILE}{}", String::from_utf8_lossy(path));
    calls::report_unexplored(&name, "the kernel", site);
}

impl Call {
    /// Whether this holds for a path that the call uses.
    pub(crate) fn uses(&self, holds: impl Fn(&[u8]) -> bool) -> bool {
        match &self.effect {
            Effect::Renames(from, to, _) => holds(from) || holds(to),
            Effect::Reads(path)
            | Effect::Opens(path, _)
            | Effect::Creates(path)
            | Effect::Removes(path)
            | Effect::Alters(path) => holds(path),
        }
    }
}

/// What a call is about to do to files that executions share; none for other calls.
pub(crate) fn before(number: i64, args: [u64; 6]) -> Option<Call> {
    let effect = effect(number, args)?;
    let before = match &effect {
        Effect::Opens(path, _) | Effect::Renames(_, path, _) => entry(path),
        _ => Entry::Other,
    };
    Some(Call { effect, before })
}

/// The call returned `answer`.
pub(crate) fn after(call: Call, answer: i64) {
    let Call { effect, before } = call;
    let failed = answer < 0;
    match effect {
        Effect::Reads(path) => note_read(&path),
        _ if failed => {}
        Effect::Opens(path, flags) => opened(path, flags, before),
        Effect::Creates(path) => add(path, false, false),
        Effect::Removes(path) => remove(&path),
        Effect::Renames(from, to, flags) => {
            remove(&from);
            if flags == 0 {
                add(to, before != Entry::Absent, true);
            } else {
                add(to, true, false);
            }
        }
        Effect::Alters(path) => add(path, true, false),
    }
}

fn opened(path: Vec<u8>, flags: i32, before: Entry) {
    let truncates = flags & libc::O_TRUNC != 0 && flags & libc::O_EXCL == 0;
    match before {
        Entry::Other => {}
        Entry::Absent => add(path, false, truncates),
        Entry::File => add(path, true, truncates),
    }
}

/// An execution read a path that it had not changed.
fn note_read(path: &[u8]) {
    let mut paths_read = root().paths_read.borrow();
    if paths_read.len() < MOST_READ && !is_changed(path) {
        paths_read.insert(hash(path));
    }
}

fn is_changed(path: &[u8]) -> bool {
    CHANGED.0.borrow().iter().any(|one| one.path == path)
}

fn add(path: Vec<u8>, existed: bool, same: bool) {
    let site = world().task().site.get();
    let mut changed = CHANGED.0.borrow();
    if changed.iter().any(|one| one.path == path) {
        return;
    }
    let same = same && !root().paths_read.borrow().contains(&hash(&path));
    if changed.len() < MOST {
        changed.push(Changed { path, site, existed, same });
    } else {
        report(&path, site);
    }
}

fn remove(path: &[u8]) {
    let mut changed = CHANGED.0.borrow();
    match changed.iter().position(|one| one.path == path) {
        Some(at) if !changed[at].existed => {
            changed.remove(at);
        }
        Some(at) => changed[at].same = false,
        None => {
            drop(changed);
            add(path.to_vec(), true, false);
        }
    }
}

fn hash(path: &[u8]) -> u64 {
    path.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn effect(number: i64, args: [u64; 6]) -> Option<Effect> {
    const HERE: u64 = libc::AT_FDCWD as u64;
    let at = |directory: u64, path: u64| changed_files::shared_path(directory, path);
    let opens = |directory: u64, path: u64, flags: u64| {
        let path = at(directory, path)?;
        let is_read_only = !changed_files::writes(flags);
        Some(if is_read_only { Effect::Reads(path) } else { Effect::Opens(path, flags as i32) })
    };
    match number {
        libc::SYS_open => opens(HERE, args[0], args[1]),
        libc::SYS_openat => opens(args[0], args[1], args[2]),
        libc::SYS_openat2 => {
            let mut flags = [0; 8];
            let is_read = raw::read(args[2], &mut flags);
            opens(args[0], args[1], if is_read { u64::from_le_bytes(flags) } else { 0 })
        }
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            opens(HERE, args[0], flags as u64)
        }
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_access | libc::SYS_readlink => {
            at(HERE, args[0]).map(Effect::Reads)
        }
        libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlinkat => at(args[0], args[1]).map(Effect::Reads),
        libc::SYS_mkdir | libc::SYS_mknod => at(HERE, args[0]).map(Effect::Creates),
        libc::SYS_mkdirat | libc::SYS_mknodat => at(args[0], args[1]).map(Effect::Creates),
        libc::SYS_symlink | libc::SYS_link => at(HERE, args[1]).map(Effect::Creates),
        libc::SYS_symlinkat => at(args[1], args[2]).map(Effect::Creates),
        libc::SYS_linkat => at(args[2], args[3]).map(Effect::Creates),
        libc::SYS_bind => {
            let path = changed_files::socket_path(args[1], args[2])?;
            at(HERE, path).map(Effect::Creates)
        }
        libc::SYS_unlink | libc::SYS_rmdir => at(HERE, args[0]).map(Effect::Removes),
        libc::SYS_unlinkat => at(args[0], args[1]).map(Effect::Removes),
        libc::SYS_rename => renames(at(HERE, args[0]), at(HERE, args[1]), 0),
        libc::SYS_renameat => renames(at(args[0], args[1]), at(args[2], args[3]), 0),
        libc::SYS_renameat2 => renames(at(args[0], args[1]), at(args[2], args[3]), args[4]),
        libc::SYS_truncate
        | libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utime
        | libc::SYS_utimes => at(HERE, args[0]).map(Effect::Alters),
        libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_futimesat | libc::SYS_utimensat => {
            at(args[0], args[1]).map(Effect::Alters)
        }
        _ => None,
    }
}

/// One of the two paths may be restored for each execution, and is not shared then.
fn renames(from: Option<Vec<u8>>, to: Option<Vec<u8>>, flags: u64) -> Option<Effect> {
    match (from, to) {
        (Some(from), Some(to)) => Some(Effect::Renames(from, to, flags)),
        (Some(from), None) => Some(Effect::Removes(from)),
        (None, Some(to)) => Some(Effect::Creates(to)),
        (None, None) => None,
    }
}

fn entry(path: &[u8]) -> Entry {
    let Ok(path) = std::ffi::CString::new(path) else { return Entry::Other };
    // SAFETY: the kernel reads the path, and writes the status to a local.
    let (answer, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_stat, path.as_ptr(), &raw mut status);
        (answer, status)
    };
    match status.st_mode & libc::S_IFMT {
        _ if answer < 0 => Entry::Absent,
        libc::S_IFREG => Entry::File,
        _ => Entry::Other,
    }
}
