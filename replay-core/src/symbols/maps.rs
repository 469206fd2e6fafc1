//! The memory mappings of a process: `/proc/PID/maps`.

use std::ops::Range;

/// The name of the kernel's vDSO.
pub(super) const VDSO: &str = "[vdso]";

/// One line of `/proc/PID/maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The addresses it covers.
    pub range: Range<u64>,
    /// Whether the mapping is readable.
    pub readable: bool,
    /// Whether the mapping is writable.
    pub writable: bool,
    /// Whether the mapping is executable.
    pub executable: bool,
    /// Its offset in the file.
    pub offset: u64,
    /// The file's inode, 0 for none.
    pub inode: u64,
    /// The path, or a name in brackets, or empty.
    pub path: String,
    /// Whether the file is no longer at `path`.
    pub deleted: bool,
}

/// Parses the text of `/proc/PID/maps`. Invalid lines are skipped.
#[must_use]
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).collect()
}

/// The mappings of a process.
///
/// # Errors
/// If the process has ended or may not be inspected.
pub fn read(pid: i32) -> std::io::Result<Vec<Mapping>> {
    // Bytes, not a string: a path need not be UTF-8, and one such library must not hide the others.
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

fn line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        field
    };
    let (start, end) = field().split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    let rights = field().as_bytes();
    let right = |at: usize, letter: u8| rights.get(at) == Some(&letter);
    let (readable, writable, executable) = (right(0, b'r'), right(1, b'w'), right(2, b'x'));
    let offset = u64::from_str_radix(field(), 16).ok()?;
    let _device = field();
    let inode = field().parse().ok()?;
    // The kernel pads with spaces before the path, and no path begins with a space.
    let path = rest.trim_start_matches(' ');
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    // A newline is the only character that the kernel escapes here.
    let path = path.replace("\\012", "\n");
    (range.start < range.end).then_some(Mapping {
        range,
        readable,
        writable,
        executable,
        offset,
        inode,
        path,
        deleted,
    })
}
