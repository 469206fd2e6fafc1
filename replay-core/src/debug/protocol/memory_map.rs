//! `/proc/PID/smaps` without what the runtime only reserves.
//!
//! gdb reads it to write a core file, and then reads all private memory that it lists. The runtime
//! reserves hundreds of gigabytes of addresses, of which few pages exist. A large mapping is
//! therefore listed as the parts of it that exist.

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Smaller mappings are listed as they are.
const LARGE: u64 = 64 << 20;
const PAGE: u64 = 4096;
/// Parts of a mapping that are not farther apart are one, so that the list stays short.
const GAP: u64 = 1 << 20;
/// The bits of an entry of `/proc/PID/pagemap` that say that the page exists: in memory, swapped
/// out (Linux, Documentation/admin-guide/mm/pagemap.rst).
const EXISTS: u64 = 3 << 62;

/// The mappings of a process.
pub(super) fn mappings(pid: i32) -> io::Result<String> {
    let all = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let pages = File::open(format!("/proc/{pid}/pagemap"))?;
    Ok(without_gaps(&all, |range| existing(&pages, range)))
}

/// The text with each large mapping replaced by its existing parts.
fn without_gaps(all: &str, existing: impl Fn(Range<u64>) -> Vec<Range<u64>>) -> String {
    let mut text = String::with_capacity(all.len());
    // The parts of the current mapping, each with the line that begins it, and its other lines.
    let mut parts: Vec<String> = Vec::new();
    let mut lines = String::new();
    for line in all.lines() {
        let Some((range, rest)) = mapping(line) else {
            let _ = writeln!(lines, "{line}");
            continue;
        };
        finish(&mut text, &mut parts, &mut lines);
        parts = match range.end - range.start {
            0..LARGE => vec![line.to_owned()],
            _ => existing(range)
                .into_iter()
                .map(|part| format!("{:x}-{:x} {rest}", part.start, part.end))
                .collect(),
        };
    }
    finish(&mut text, &mut parts, &mut lines);
    text
}

fn finish(text: &mut String, parts: &mut Vec<String>, lines: &mut String) {
    for part in parts.drain(..) {
        let _ = write!(text, "{part}\n{lines}");
    }
    lines.clear();
}

/// The addresses in a line that begins a mapping, and the rest of the line.
fn mapping(line: &str) -> Option<(Range<u64>, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    Some((number(start)?..number(end)?, rest))
}

/// The parts of a range whose pages exist.
fn existing(pages: &File, range: Range<u64>) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut bytes = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let wanted = ((range.end - at) / PAGE * 8).min(bytes.len() as u64) as usize;
        let read = pages.read_at(&mut bytes[..wanted], at / PAGE * 8).unwrap_or(0) & !7;
        if read == 0 {
            break;
        }
        for entry in bytes[..read].chunks_exact(8) {
            let entry = u64::from_le_bytes(entry.try_into().unwrap_or_default());
            if entry & EXISTS != 0 {
                match parts.last_mut().filter(|last| at - last.end <= GAP) {
                    Some(last) => last.end = at + PAGE,
                    None => parts.push(at..at + PAGE),
                }
            }
            at += PAGE;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_mapping_is_listed_as_its_existing_parts() {
        let all = "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nVmFlags: rd wr\n\
                   10000000-90000000 rw-p 00000000 00:00 0 [big]\nSize: 2097152 kB\n";
        let existing = |range: Range<u64>| {
            assert_eq!(range, 0x1000_0000..0x9000_0000);
            vec![0x1000_0000..0x1000_1000, 0x4000_0000..0x4000_2000]
        };
        let expected = "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nVmFlags: rd wr\n\
                        10000000-10001000 rw-p 00000000 00:00 0 [big]\nSize: 2097152 kB\n\
                        40000000-40002000 rw-p 00000000 00:00 0 [big]\nSize: 2097152 kB\n";
        assert_eq!(without_gaps(all, existing), expected);
        assert_eq!(without_gaps("", |_| Vec::new()), "");
    }

    #[test]
    fn the_pages_of_this_process_exist_where_they_were_written() {
        let len = 4 * GAP as usize;
        // Fresh memory of the allocator is mapped and not yet there.
        let mut memory: Vec<u8> = Vec::with_capacity(len);
        let start = (memory.as_ptr() as u64).next_multiple_of(PAGE);
        memory.resize(1, 1);
        let offset = (start - memory.as_ptr() as u64) as usize;
        for at in [0, 3 * GAP as usize] {
            memory.spare_capacity_mut()[offset + at].write(7);
        }
        let pages = File::open("/proc/self/pagemap").expect("this process's own");
        let parts = existing(&pages, start..start + 3 * GAP + PAGE);
        assert!(parts.iter().any(|part| part.contains(&start)), "{parts:x?}");
        assert!(parts.iter().any(|part| part.contains(&(start + 3 * GAP))), "{parts:x?}");
    }
}
