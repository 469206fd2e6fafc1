//! The debugger reads files of this machine through the server (`vFile`), the target's own entries
//! in `/proc` among them. Nothing is ever written.

use super::packet::{number, unhex};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// The process number that debuggers are told: it stays when the process does not.
pub(super) const PROCESS: u64 = 1;

/// The files that a debugger has open.
#[derive(Debug, Default)]
pub(super) struct Files {
    open: BTreeMap<u64, File>,
    next: u64,
}

const ENOENT: u32 = 2;
const EBADF: u32 = 9;
const EACCES: u32 = 13;
const EINVAL: u32 = 22;

fn failed(code: u32) -> Vec<u8> {
    format!("F-1,{code:x}").into_bytes()
}

impl Files {
    /// Answers the rest of a `vFile:` packet, for a target that is process `pid`.
    pub(super) fn answer(&mut self, rest: &str, pid: i32) -> Vec<u8> {
        let (what, arguments) = rest.split_once(':').unwrap_or((rest, ""));
        let fields: Vec<&str> = arguments.split(',').collect();
        let path = || {
            let bytes = unhex(fields.first()?)?;
            Some(translated(PathBuf::from(std::ffi::OsString::from_vec(bytes)), pid))
        };
        let field = |at: usize| fields.get(at).and_then(|field| number(field));
        match what {
            "setfs" => b"F0".to_vec(),
            "open" => match (path(), field(1)) {
                (Some(path), Some(flags)) if flags & 3 == 0 => match File::open(path) {
                    Ok(file) => {
                        self.next += 1;
                        self.open.insert(self.next, file);
                        format!("F{:x}", self.next).into_bytes()
                    }
                    Err(_) => failed(ENOENT),
                },
                (Some(_), _) => failed(EACCES),
                _ => failed(EINVAL),
            },
            "close" => match field(0).and_then(|file| self.open.remove(&file)) {
                Some(_) => b"F0".to_vec(),
                None => failed(EBADF),
            },
            "pread" => match (field(0).and_then(|file| self.open.get(&file)), field(1), field(2)) {
                (Some(file), Some(len), Some(offset)) => {
                    let mut bytes = vec![0; (len as usize).min(super::packet::MOST / 4)];
                    match file.read_at(&mut bytes, offset) {
                        Ok(len) => [format!("F{len:x};").as_bytes(), &bytes[..len]].concat(),
                        Err(error) => failed(error.raw_os_error().unwrap_or(5) as u32),
                    }
                }
                _ => failed(EBADF),
            },
            "fstat" => match field(0).and_then(|file| self.open.get(&file)?.metadata().ok()) {
                Some(found) => {
                    let mut bytes = Vec::new();
                    let word = |value: u64| (value as u32).to_be_bytes();
                    for value in [
                        found.dev(),
                        found.ino(),
                        u64::from(found.mode()),
                        found.nlink(),
                        u64::from(found.uid()),
                        u64::from(found.gid()),
                        found.rdev(),
                    ] {
                        bytes.extend(word(value));
                    }
                    for value in [found.size(), found.blksize(), found.blocks()] {
                        bytes.extend(value.to_be_bytes());
                    }
                    for value in [found.atime(), found.mtime(), found.ctime()] {
                        bytes.extend(word(value as u64));
                    }
                    [format!("F{:x};", bytes.len()).as_bytes(), &bytes].concat()
                }
                None => failed(EBADF),
            },
            "readlink" => match path().map(std::fs::read_link) {
                Some(Ok(to)) => {
                    let bytes = to.into_os_string().into_vec();
                    [format!("F{:x};", bytes.len()).as_bytes(), &bytes].concat()
                }
                Some(Err(_)) => failed(ENOENT),
                None => failed(EINVAL),
            },
            "pwrite" | "unlink" => failed(EACCES),
            _ => Vec::new(),
        }
    }
}

/// `/proc/1/...` is the target's, whichever process that is at the moment.
fn translated(path: PathBuf, pid: i32) -> PathBuf {
    let own = format!("/proc/{PROCESS}");
    let Ok(rest) = path.strip_prefix(&own) else { return path };
    let target = PathBuf::from(format!("/proc/{pid}"));
    match rest.strip_prefix("task") {
        // There is one kernel thread.
        Ok(thread) => {
            let rest: PathBuf = thread.components().skip(1).collect();
            target.join("task").join(pid.to_string()).join(rest)
        }
        Err(_) => target.join(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::hex;
    use super::*;

    fn ask(files: &mut Files, what: &str) -> String {
        String::from_utf8_lossy(&files.answer(what, 4711)).into_owned()
    }

    #[test]
    fn files_are_opened_read_and_closed_and_never_written() {
        let path = hex(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").as_bytes());
        let mut files = Files::default();
        assert_eq!(ask(&mut files, &format!("open:{path},0,0")), "F1");
        assert_eq!(ask(&mut files, "pread:1,9,0"), "F9;[package]");
        assert!(ask(&mut files, "fstat:1").starts_with("F40;"));
        assert_eq!(ask(&mut files, "close:1"), "F0");
        assert_eq!(ask(&mut files, "pread:1,9,0"), "F-1,9");
        assert_eq!(ask(&mut files, &format!("open:{path},1,0")), "F-1,d");
        assert_eq!(ask(&mut files, "open:zz"), "F-1,16");
        assert_eq!(ask(&mut files, "sing"), "");
    }

    #[test]
    fn the_targets_own_files_are_those_of_its_process() {
        let to = |path: &str| translated(PathBuf::from(path), 4711).display().to_string();
        assert_eq!(to("/proc/1/maps"), "/proc/4711/maps");
        assert_eq!(to("/proc/1/task/3/comm"), "/proc/4711/task/4711/comm");
        assert_eq!(to("/proc/12/maps"), "/proc/12/maps");
    }
}
