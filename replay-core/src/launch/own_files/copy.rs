//! Copies of a directory, and what has changed in one since it was made.

use crate::scratch::Scratch;
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most files and directories that are copied.
const MOST_FILES: usize = 10_000;
/// The most bytes that are copied.
const MOST_BYTES: u64 = 256 << 20;

/// A copy of a directory that nothing changes.
#[derive(Debug)]
pub(super) struct Original {
    scratch: Scratch,
    /// Its entries by their path below it: directories come before what they contain.
    entries: BTreeMap<PathBuf, Kind>,
    /// The permissions of the directory itself.
    mode: u32,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Link,
    Pipe,
}

impl Kind {
    /// None for devices and sockets, which cannot be copied.
    fn of(metadata: &Metadata) -> Option<Kind> {
        let kind = metadata.file_type();
        match () {
            () if kind.is_dir() => Some(Kind::Directory),
            () if kind.is_file() => Some(Kind::File),
            () if kind.is_symlink() => Some(Kind::Link),
            () if kind.is_fifo() => Some(Kind::Pipe),
            () => None,
        }
    }
}

impl Original {
    /// Copies a directory, without the entry `except` at its top.
    pub(super) fn of(directory: &Path, except: &str) -> Result<Original, String> {
        let refused = |error| format!("{}: {error}", directory.display());
        let (mut entries, mut bytes) = (BTreeMap::new(), 0);
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in fs::read_dir(directory.join(&below)).map_err(refused)? {
                let entry = entry.map_err(refused)?;
                let path = below.join(entry.file_name());
                if path == Path::new(except) {
                    continue;
                }
                let metadata = entry.metadata().map_err(refused)?;
                let Some(kind) = Kind::of(&metadata) else { continue };
                if kind == Kind::Directory {
                    open.push(path.clone());
                } else {
                    bytes += metadata.len();
                }
                entries.insert(path, kind);
                if entries.len() > MOST_FILES || bytes > MOST_BYTES {
                    return Err(format!(
                        "{} has more than {MOST_FILES} files or {} MB: start the program in a smaller \
                         directory",
                        directory.display(),
                        MOST_BYTES >> 20
                    ));
                }
            }
        }
        let scratch = Scratch::new().map_err(|error| error.to_string())?;
        let mode = fs::metadata(directory).map_err(refused)?.mode();
        let original = Original { scratch, entries, mode };
        fs::create_dir(original.path()).map_err(|error| error.to_string())?;
        original.copy_all(directory, &original.path())?;
        Ok(original)
    }

    fn path(&self) -> PathBuf {
        self.scratch.path().join("files")
    }

    fn copy_all(&self, from: &Path, to: &Path) -> Result<(), String> {
        for (path, kind) in &self.entries {
            copy(*kind, &from.join(path), &to.join(path))
                .map_err(|error| format!("{}: {error}", from.join(path).display()))?;
        }
        fs::set_permissions(to, Permissions::from_mode(self.mode))
            .map_err(|error| format!("{}: {error}", to.display()))
    }
}

/// Copies one entry; of a directory only the directory itself.
fn copy(kind: Kind, from: &Path, to: &Path) -> io::Result<()> {
    match kind {
        Kind::Link => return std::os::unix::fs::symlink(fs::read_link(from)?, to),
        Kind::Directory => fs::create_dir(to)?,
        Kind::Pipe => nix::unistd::mkfifo(to, nix::sys::stat::Mode::S_IRWXU)?,
        Kind::File => copy_contents(from, to)?,
    }
    let metadata = fs::metadata(from)?;
    if kind == Kind::File {
        // Programs compare the times of files.
        let times = FileTimes::new().set_modified(metadata.modified()?);
        File::open(to)?.set_times(times.set_accessed(metadata.accessed()?))?;
    }
    fs::set_permissions(to, Permissions::from_mode(metadata.mode()))
}

/// Copies what a file contains now: a file to which another process appends all the time has no end.
fn copy_contents(from: &Path, to: &Path) -> io::Result<()> {
    let file = File::open(from)?;
    let len = file.metadata()?.len();
    io::copy(&mut file.take(len), &mut File::create(to)?)?;
    Ok(())
}

/// What identifies a version of an entry. Every change of a file's contents or properties sets the last
/// time, which a program cannot choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    kind: Kind,
    inode: u64,
    links: u64,
    mode: u32,
    changed: (i64, i64),
}

impl Version {
    fn of(path: &Path) -> Option<Version> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let kind = Kind::of(&metadata)?;
        let directory = kind == Kind::Directory;
        Some(Version {
            kind,
            inode: metadata.ino(),
            // A directory's number of links and its time change with its entries.
            links: if directory { 0 } else { metadata.nlink() },
            mode: metadata.mode(),
            changed: if directory { (0, 0) } else { (metadata.ctime(), metadata.ctime_nsec()) },
        })
    }
}

/// A copy in which a program runs.
#[derive(Debug)]
pub(super) struct View {
    original: Arc<Original>,
    scratch: Scratch,
    versions: BTreeMap<PathBuf, Version>,
}

impl View {
    pub(super) fn of(original: Arc<Original>) -> Result<View, String> {
        let scratch = Scratch::new().map_err(|error| error.to_string())?;
        let mut view = View { original, scratch, versions: BTreeMap::new() };
        fs::create_dir(view.path()).map_err(|error| error.to_string())?;
        view.original.copy_all(&view.original.path(), &view.path())?;
        for path in view.original.entries.keys() {
            view.versions.extend(Version::of(&view.path().join(path)).map(|it| (path.clone(), it)));
        }
        Ok(view)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.scratch.path().join("files")
    }

    /// Makes the copy equal to the original again.
    pub(super) fn restore(&mut self) -> Result<(), String> {
        let at = self.path();
        let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
        // The program may have removed its own access.
        fs::set_permissions(&at, Permissions::from_mode(self.original.mode | 0o700))
            .map_err(|error| failed(&at, error))?;
        // What is new or of another kind, and what differs: entries are removed, then copied again.
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let directory = at.join(&below);
            let entries = fs::read_dir(&directory).map_err(|error| failed(&directory, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| failed(&directory, error))?;
                let path = below.join(entry.file_name());
                let (known, now) = (self.versions.get(&path), Version::of(&entry.path()));
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if known == now.as_ref() && known.is_some() {
                    if is_directory {
                        open.push(path);
                    }
                    continue;
                }
                self.versions.remove(&path);
                let gone = if is_directory {
                    make_removable(&entry.path());
                    fs::remove_dir_all(entry.path())
                } else {
                    fs::remove_file(entry.path())
                };
                gone.map_err(|error| failed(&entry.path(), error))?;
            }
        }
        for (path, &kind) in &self.original.entries {
            let to = at.join(path);
            if self.versions.contains_key(path) && fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            let from = self.original.path().join(path);
            copy(kind, &from, &to).map_err(|error| failed(&to, error))?;
            self.versions.extend(Version::of(&to).map(|it| (path.clone(), it)));
        }
        fs::set_permissions(&at, Permissions::from_mode(self.original.mode))
            .map_err(|error| failed(&at, error))
    }
}

/// Gives the owner access to a directory and those in it, as far as possible.
fn make_removable(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_never_ends_is_copied_up_to_its_length() {
        let scratch = Scratch::new().expect("there is a directory");
        let to = scratch.path().join("copy");
        copy_contents(Path::new("/dev/zero"), &to).expect("it is copied");
        assert_eq!(fs::read(&to).expect("it is there"), b"");
    }

    /// Paths, kinds, permissions and contents below a directory.
    fn listing(directory: &Path) -> BTreeMap<PathBuf, (Option<Kind>, u32, Vec<u8>)> {
        let (mut found, mut open) = (BTreeMap::new(), vec![PathBuf::new()]);
        while let Some(below) = open.pop() {
            for entry in fs::read_dir(directory.join(&below)).expect("readable") {
                let entry = entry.expect("readable");
                let path = below.join(entry.file_name());
                let metadata = entry.metadata().expect("readable");
                let kind = Kind::of(&metadata);
                let content = match kind {
                    Some(Kind::File) => fs::read(entry.path()).expect("readable"),
                    Some(Kind::Directory) => {
                        open.push(path.clone());
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                found.insert(path, (kind, metadata.mode(), content));
            }
        }
        found
    }

    type Change<'a> = &'a dyn Fn(&Path);

    #[test]
    fn a_view_is_restored_after_any_change() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path();
        fs::create_dir_all(at.join("a/b")).expect("writable");
        fs::create_dir_all(at.join("heddle-out")).expect("writable");
        fs::write(at.join("heddle-out/trace"), "no part of it").expect("writable");
        for (path, text) in [("one", "1"), ("a/two", "22"), ("a/b/three", "333")] {
            fs::write(at.join(path), text).expect("writable");
        }
        std::os::unix::fs::symlink("one", at.join("link")).expect("writable");
        let original = Arc::new(Original::of(at, "heddle-out").expect("small enough"));
        let mut view = View::of(original).expect("a copy");
        let expected = listing(&view.path());
        assert_eq!(expected.len(), 6, "without the excluded directory");
        let changes: [(&str, Change<'_>); 9] = [
            ("nothing", &|_| {}),
            ("a new file", &|at| fs::write(at.join("new"), "x").expect("writable")),
            ("the same length", &|at| fs::write(at.join("one"), "2").expect("writable")),
            ("a file removed", &|at| fs::remove_file(at.join("a/two")).expect("there")),
            ("a directory removed", &|at| fs::remove_dir_all(at.join("a")).expect("there")),
            ("a file for a directory", &|at| {
                fs::remove_dir_all(at.join("a")).expect("there");
                fs::write(at.join("a"), "now a file").expect("writable");
            }),
            ("renamed", &|at| fs::rename(at.join("one"), at.join("a/one")).expect("there")),
            ("permissions", &|at| {
                let none = Permissions::from_mode(0o000);
                fs::set_permissions(at.join("a/b"), none.clone()).expect("there");
                fs::set_permissions(at.join("one"), none).expect("there");
            }),
            ("exchanged by links", &|at| {
                fs::hard_link(at.join("one"), at.join("hard")).expect("there");
                fs::remove_file(at.join("link")).expect("there");
                std::os::unix::fs::symlink("a/two", at.join("link")).expect("writable");
            }),
        ];
        for (what, change) in changes {
            change(&view.path());
            view.restore().unwrap_or_else(|why| panic!("{what}: {why}"));
            assert_eq!(listing(&view.path()), expected, "after: {what}");
            assert_eq!(fs::read_link(view.path().join("link")).expect("a link"), Path::new("one"));
        }
        assert_eq!(fs::read(at.join("one")).expect("there"), b"1", "the original is untouched");
    }
}
