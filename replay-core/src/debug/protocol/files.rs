//! Lets the debugger read files of this machine (`vFile`), including the target's entries in
//! `/proc`. Nothing is ever written.

use super::debuggee::{Debuggee, PROCESS};
use super::memory_map;
use super::packet::MOST;
use gdbstub::target::ext::host_io::{
    FsKind, HostIo, HostIoClose, HostIoCloseOps, HostIoErrno, HostIoError, HostIoFstat,
    HostIoFstatOps, HostIoOpen, HostIoOpenFlags, HostIoOpenMode, HostIoOpenOps, HostIoPread,
    HostIoPreadOps, HostIoReadlink, HostIoReadlinkOps, HostIoResult, HostIoSetfs, HostIoSetfsOps,
    HostIoStat,
};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

impl Debuggee<'_> {
    fn path(&self, name: &[u8]) -> PathBuf {
        let pid = self.session.execution.live().tracee().pid();
        translated(Path::new(OsStr::from_bytes(name)), pid)
    }

    fn file(&self, number: u32) -> HostIoResult<&File, Self> {
        self.files.open.get(&number).ok_or(HostIoError::Errno(HostIoErrno::EBADF))
    }
}

impl HostIo for Debuggee<'_> {
    fn support_open(&mut self) -> Option<HostIoOpenOps<'_, Self>> {
        Some(self)
    }
    fn support_close(&mut self) -> Option<HostIoCloseOps<'_, Self>> {
        Some(self)
    }
    fn support_pread(&mut self) -> Option<HostIoPreadOps<'_, Self>> {
        Some(self)
    }
    fn support_fstat(&mut self) -> Option<HostIoFstatOps<'_, Self>> {
        Some(self)
    }
    fn support_readlink(&mut self) -> Option<HostIoReadlinkOps<'_, Self>> {
        Some(self)
    }
    fn support_setfs(&mut self) -> Option<HostIoSetfsOps<'_, Self>> {
        Some(self)
    }
}

impl HostIoOpen for Debuggee<'_> {
    fn open(
        &mut self,
        name: &[u8],
        flags: HostIoOpenFlags,
        _: HostIoOpenMode,
    ) -> HostIoResult<u32, Self> {
        if flags.intersects(HostIoOpenFlags::O_WRONLY | HostIoOpenFlags::O_RDWR) {
            return Err(HostIoError::Errno(HostIoErrno::EACCES));
        }
        let path = self.path(name);
        let pid = self.session.execution.live().tracee().pid();
        let file = match path == Path::new(&format!("/proc/{pid}/smaps")) {
            true => stored(&memory_map::mappings(pid)?)?,
            false => File::open(path)?,
        };
        self.files.next += 1;
        self.files.open.insert(self.files.next, file);
        Ok(self.files.next)
    }
}

/// A file without a name that has this text.
fn stored(text: &str) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

impl HostIoClose for Debuggee<'_> {
    fn close(&mut self, number: u32) -> HostIoResult<(), Self> {
        match self.files.open.remove(&number) {
            Some(_) => Ok(()),
            None => Err(HostIoError::Errno(HostIoErrno::EBADF)),
        }
    }
}

impl HostIoPread for Debuggee<'_> {
    fn pread(
        &mut self,
        number: u32,
        count: usize,
        offset: u64,
        buf: &mut [u8],
    ) -> HostIoResult<usize, Self> {
        // Each byte may take two in the escaped answer.
        let len = count.min(buf.len()).min(MOST / 4);
        Ok(self.file(number)?.read_at(&mut buf[..len], offset)?)
    }
}

impl HostIoFstat for Debuggee<'_> {
    fn fstat(&mut self, number: u32) -> HostIoResult<HostIoStat, Self> {
        let found = self.file(number)?.metadata()?;
        Ok(HostIoStat {
            st_dev: found.dev() as u32,
            st_ino: found.ino() as u32,
            st_mode: HostIoOpenMode::from_bits_truncate(found.mode()),
            st_nlink: found.nlink() as u32,
            st_uid: found.uid(),
            st_gid: found.gid(),
            st_rdev: found.rdev() as u32,
            st_size: found.size(),
            st_blksize: found.blksize(),
            st_blocks: found.blocks(),
            st_atime: found.atime() as u32,
            st_mtime: found.mtime() as u32,
            st_ctime: found.ctime() as u32,
        })
    }
}

impl HostIoReadlink for Debuggee<'_> {
    fn readlink(&mut self, name: &[u8], buf: &mut [u8]) -> HostIoResult<usize, Self> {
        let to = std::fs::read_link(self.path(name))?;
        let to = to.as_os_str().as_bytes();
        let slot = buf.get_mut(..to.len());
        slot.ok_or(HostIoError::Errno(HostIoErrno::ENAMETOOLONG))?.copy_from_slice(to);
        Ok(to.len())
    }
}

impl HostIoSetfs for Debuggee<'_> {
    fn setfs(&mut self, _: FsKind) -> HostIoResult<(), Self> {
        Ok(())
    }
}

/// `/proc/1/...` refers to the process that currently runs the target.
fn translated(path: &Path, pid: i32) -> PathBuf {
    let Ok(rest) = path.strip_prefix(format!("/proc/{PROCESS}")) else { return path.to_owned() };
    let target = PathBuf::from(format!("/proc/{pid}"));
    match rest.strip_prefix("task") {
        // There is only one kernel thread.
        Ok(thread) => {
            let rest: PathBuf = thread.components().skip(1).collect();
            target.join("task").join(pid.to_string()).join(rest)
        }
        Err(_) => target.join(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_paths_refer_to_the_target() {
        let to = |path: &str| translated(Path::new(path), 4711).display().to_string();
        assert_eq!(to("/proc/1/maps"), "/proc/4711/maps");
        assert_eq!(to("/proc/1/task/3/comm"), "/proc/4711/task/4711/comm");
        assert_eq!(to("/proc/12/maps"), "/proc/12/maps");
    }
}
