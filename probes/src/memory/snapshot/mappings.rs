//! The memory map of the process: its ranges, and which of their pages are allocated.

use crate::sys::raw;
use std::ffi::CStr;

const PAGE: u64 = 4096;

/// A range of writable private memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether an unwritten page has the contents of a file, and not zeros.
    pub(super) of_file: bool,
}

/// A file that is open for reading.
struct File(i64);

impl File {
    fn open(path: &CStr) -> Option<File> {
        // SAFETY: the path is a C string.
        let file =
            unsafe { raw::call!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (file >= 0).then_some(File(file))
    }

    /// Reads at an offset; returns how much.
    fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        // SAFETY: the kernel writes at most `buffer.len()` bytes to the buffer.
        let len = unsafe {
            raw::call!(libc::SYS_pread64, self.0, buffer.as_mut_ptr(), buffer.len(), offset)
        };
        usize::try_from(len).unwrap_or(0)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor was opened by `open`, and is not used after this.
        unsafe {
            raw::call!(libc::SYS_close, self.0);
        }
    }
}

/// The memory map as text.
pub(super) fn read() -> Result<String, String> {
    let unreadable = || "the memory map cannot be read: is /proc mounted?".to_owned();
    let file = File::open(c"/proc/self/maps").ok_or_else(unreadable)?;
    let mut text = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        let len = file.read(&mut buffer, text.len() as u64);
        if len == 0 {
            break;
        }
        text.extend_from_slice(&buffer[..len]);
    }
    String::from_utf8(text).map_err(|_| "the memory map is not valid UTF-8".into())
}

/// The writable private ranges of a map, without those of the runtime.
pub(super) fn writable(text: &str, own: &[(u64, u64)]) -> Vec<Range> {
    let mut found = Vec::new();
    for line in text.lines() {
        // start-end flags offset device inode path
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(flags)) = (fields.next(), fields.next()) else { continue };
        let of_file = fields.nth(2).is_some_and(|inode| inode != "0");
        let Some((start, end)) = range.split_once('-') else { continue };
        let parse = |text| u64::from_str_radix(text, 16);
        let (Ok(start), Ok(end)) = (parse(start), parse(end)) else { continue };
        if !flags.starts_with("rw") || !flags.ends_with('p') {
            continue;
        }
        // Remove the runtime's ranges.
        let mut parts = vec![(start, end)];
        for &(low, high) in own {
            parts = parts
                .into_iter()
                .flat_map(|(a, b)| [(a, b.min(low)), (a.max(high), b)])
                .filter(|(a, b)| a < b)
                .collect();
        }
        found.extend(parts.into_iter().map(|(start, end)| Range { start, end, of_file }));
    }
    found
}

/// The file of a mapping that is writable and shared: no reset within the process can restore it, since
/// a forked child shares it, too. The runtime's own mappings, from `own.0` to `own.1`, do not count.
pub(super) fn shared(text: &str, own: (u64, u64)) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (range, flags) = (fields.next()?, fields.next()?);
        let start = u64::from_str_radix(range.split_once('-')?.0, 16).ok()?;
        let is_shared = flags.starts_with("rw") && flags.ends_with('s');
        (is_shared && !(own.0..own.1).contains(&start))
            .then(|| fields.nth(3).unwrap_or("anonymous memory").to_owned())
    })
}

/// A mapping of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedFile {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The offset of the start in the file.
    pub(crate) offset: u64,
    pub(crate) is_private: bool,
    is_code: bool,
}

/// The mappings of files, except the runtime's own, from `own.0` to `own.1`, and private mappings of
/// programs and libraries.
pub(super) fn mapped_files(text: &str, own: (u64, u64)) -> Vec<MappedFile> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let of_line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (number(start)?, number(end)?);
        let flags = fields.next()?;
        let is_private = flags.ends_with('p');
        let offset = number(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = libc::makedev(number(major)? as u32, number(minor)? as u32);
        let inode = fields.next()?.parse().ok()?;
        let is_code = flags.contains('x');
        let is_one = inode != 0 && !(own.0..own.1).contains(&start);
        is_one.then_some(MappedFile { start, end, device, inode, offset, is_private, is_code })
    };
    let all: Vec<MappedFile> = text.lines().filter_map(of_line).collect();
    let is_file = |one: &MappedFile, other: &MappedFile| {
        (one.device, one.inode) == (other.device, other.inode)
    };
    let has_code = |one: &MappedFile| all.iter().any(|other| other.is_code && is_file(one, other));
    all.iter().filter(|one| !one.is_private || !has_code(one)).copied().collect()
}

/// Calls `visit` with each page of a range that was ever touched; with all of them if that is
/// unknown.
pub(super) fn for_each_allocated(start: u64, end: u64, mut visit: impl FnMut(u64)) {
    /// The bits of a page map's entry for a page in memory, or swapped out.
    const THERE: u64 = 3 << 62;
    const ENTRIES: usize = 512;
    let Some(file) = File::open(c"/proc/self/pagemap") else {
        (start..end).step_by(PAGE as usize).for_each(visit);
        return;
    };
    let mut buffer = [0u8; ENTRIES * 8];
    let mut page = start;
    while page < end {
        let count = (((end - page) / PAGE) as usize).min(ENTRIES);
        let len = file.read(&mut buffer[..count * 8], page / PAGE * 8);
        if len == 0 {
            (page..end).step_by(PAGE as usize).for_each(visit);
            return;
        }
        for entry in buffer[..len / 8 * 8].chunks_exact(8) {
            let entry = u64::from_le_bytes(entry.try_into().unwrap_or_default());
            if entry & THERE != 0 {
                visit(page);
            }
            page += PAGE;
        }
    }
}
