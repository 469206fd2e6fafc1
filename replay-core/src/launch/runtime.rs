//! Installs the runtime: the library that is preloaded into targets, in a private directory.
//!
//! The library runs inside the user's programs, so no other user may be able to replace it. Every
//! directory on its path is checked to be writable only by this user or the system, and the hash of the
//! file's content is compared each time.

use crate::Error;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Makes the names of this process's temporary files unique.
static COUNTER: AtomicU32 = AtomicU32::new(0);
static INSTALLED: OnceLock<PathBuf> = OnceLock::new();

/// The path of the runtime that [`install`] wrote.
///
/// # Errors
/// If [`install`] was not called.
pub fn path() -> Result<&'static Path, Error> {
    INSTALLED.get().map(PathBuf::as_path).ok_or_else(|| {
        Error::Runtime("the runtime was not installed before the start of a program".into())
    })
}

/// The names under which programs built with `-fsanitize=thread` load the sanitizer's library. The
/// runtime implements all functions that compilers call, so these names are links to it: the loader
/// recognises a loaded library by its file, not by its name.
const SANITIZER_NAMES: [&str; 3] = ["libtsan.so.0", "libtsan.so.1", "libtsan.so.2"];

/// The directory that contains the runtime under the names of the sanitizer's library.
///
/// # Errors
/// If [`install`] was not called.
pub fn sanitizer_directory() -> Result<PathBuf, Error> {
    path().map(|path| path.with_extension("tsan"))
}

static LIBRARIES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Lets programs find libraries in this directory before others. The program itself does not see it in
/// its environment.
pub fn set_library_directory(directory: Option<PathBuf>) {
    *LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner) = directory;
}

/// The directory of [`set_library_directory`].
pub(super) fn library_directory() -> Option<PathBuf> {
    LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Creates the links in [`sanitizer_directory`].
fn link_sanitizer(runtime: &Path) -> io::Result<()> {
    let directory = runtime.with_extension("tsan");
    private_directory(&directory)?;
    for name in SANITIZER_NAMES {
        let link = directory.join(name);
        if fs::read_link(&link).is_ok_and(|to| to == runtime) {
            continue;
        }
        // Create the link under a temporary name and rename it, so that other processes see the old
        // link or the new one.
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let fresh = directory.join(format!(".{name}.{}.{number}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        symlink(runtime, &fresh)?;
        fs::rename(&fresh, &link)?;
    }
    Ok(())
}

/// The runtime that a program carries.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// The BLAKE3 hash of its content in hexadecimal; empty in a build without it.
    pub hash: &'static str,
    /// Its content, which is needed only if it is not installed.
    pub bytes: fn() -> Vec<u8>,
}

/// Installs the runtime where programs can load it, once for each version, and returns its path.
///
/// # Errors
/// If no private directory can be used; the message names those that were tried.
pub fn install(library: Library) -> Result<PathBuf, Error> {
    if let Some(path) = INSTALLED.get() {
        return Ok(path.clone());
    }
    if library.hash.is_empty() {
        return Err(Error::Runtime(
            "this heddle was built without its runtime: build it with `cargo build --release`, or \
             set HEDDLE_EMBED_RUNTIME=1 for another profile"
                .into(),
        ));
    }
    let mut tried = Vec::new();
    for directory in candidates(|name| std::env::var_os(name)) {
        match install_in(&directory, library) {
            Ok(path) => return Ok(INSTALLED.get_or_init(|| path).clone()),
            Err(why) => tried.push(format!("{}: {why}", directory.display())),
        }
    }
    Err(no_directory(&tried))
}

/// The error if the runtime can be installed in none of the directories that were tried, each with its reason.
fn no_directory(tried: &[String]) -> Error {
    Error::Runtime(format!(
        "no private directory for the runtime ({}): set XDG_CACHE_HOME to a directory that only you can \
         write",
        tried.join("; ")
    ))
}

/// Creates a directory with mode 0700, or checks that an existing one is private.
///
/// # Errors
/// If the directory is a symbolic link, belongs to another user or is writable by others; or if
/// others control a parent directory and so could replace it.
pub fn private_directory(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        check_above(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(path)?;
    let user = geteuid().as_raw();
    not_private(found.is_dir(), found.uid(), found.mode(), user).map_or(Ok(()), refuse)
}

/// Why a file of this owner and mode is no private directory of the user, if it is none.
fn not_private(is_directory: bool, owner: u32, mode: u32, user: u32) -> Option<&'static str> {
    match () {
        () if !is_directory => Some("not a directory"),
        () if owner != user => Some("belongs to another user"),
        () if mode & 0o022 != 0 => Some("other users can write to it"),
        () => None,
    }
}

/// Checks that only this user and the system can rename entries below `directory`.
fn check_above(directory: &Path) -> io::Result<()> {
    for above in fs::canonicalize(directory)?.ancestors() {
        let found = fs::metadata(above)?;
        if found.uid() != geteuid().as_raw() && found.uid() != 0 {
            return refuse(&format!("{} belongs to another user", above.display()));
        }
        // In a sticky directory (/tmp) only a file's owner can rename it. A private group with a
        // group-writable umask is common.
        let others = found.mode() & 0o002 != 0;
        let group = found.mode() & 0o020 != 0 && found.gid() != getegid().as_raw();
        if (others || group) && found.mode() & 0o1000 == 0 {
            return refuse(&format!("other users can write to {}", above.display()));
        }
    }
    Ok(())
}

fn refuse(why: &str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Writes a file atomically: under a temporary name first, then renamed. Concurrent writers do not
/// interfere.
///
/// # Errors
/// If the directory cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.{number}", std::process::id()));
    let write = || {
        // A file of this name can only be a leftover of a dead process with the same process id.
        let _ = fs::remove_file(&temporary);
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// The directories in which the runtime may be installed.
#[must_use]
pub fn directories() -> Vec<PathBuf> {
    candidates(|name| std::env::var_os(name))
}

/// The directories for the library, in order of preference.
fn candidates(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut directories = Vec::new();
    directories.extend(absolute("XDG_RUNTIME_DIR").map(|path| path.join("heddle")));
    directories.extend(absolute("XDG_CACHE_HOME").map(|path| path.join("heddle")));
    directories.extend(absolute("HOME").map(|path| path.join(".cache/heddle")));
    directories.push(std::env::temp_dir().join(format!("heddle-{}", geteuid())));
    directories
}

/// Makes a directory for the library, and checks that programs can load a library from there.
///
/// # Errors
/// If it cannot be made, is not private, or is on a file system without executable files.
pub(super) fn loadable_directory(directory: &Path) -> io::Result<()> {
    private_directory(directory)?;
    let flags = statvfs(directory).map_err(io::Error::from)?.flags();
    if flags.contains(FsFlags::ST_NOEXEC) {
        return Err(io::Error::other("the file system is mounted noexec"));
    }
    Ok(())
}

fn install_in(directory: &Path, Library { hash, bytes }: Library) -> io::Result<PathBuf> {
    loadable_directory(directory)?;
    let path = directory.join(format!("heddle-runtime-{}.so", &hash[..32]));
    if !is_whole(&path, hash)? {
        write_whole(&path, &bytes(), 0o500)?;
        if !is_whole(&path, hash)? {
            return Err(io::Error::other("the file read back differs from what was written"));
        }
    }
    link_sanitizer(&path)?;
    Ok(path)
}

/// Whether the file is a plain file of this user whose content has this hash.
fn is_whole(path: &Path, hash: &str) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(found.is_file()
            && found.uid() == geteuid().as_raw()
            && found.mode() & 0o022 == 0
            && hash_of(path)? == hash),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn hash_of(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(path)?)?;
    Ok(hasher.finalize().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A library with this content.
    fn library(bytes: fn() -> Vec<u8>) -> Library {
        Library { hash: blake3::hash(&bytes()).to_string().leak(), bytes }
    }

    fn one() -> Library {
        library(|| b"one".to_vec())
    }

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("heddle-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a scratch directory");
        path
    }

    #[test]
    fn the_library_is_written_once_and_repaired() {
        let base = scratch("install");
        let directory = base.join("heddle");
        let path = install_in(&directory, one()).expect("installed");
        assert_eq!(fs::metadata(&directory).expect("there").mode() & 0o777, 0o700);
        let first = fs::metadata(&path).expect("there").ino();
        assert_eq!(install_in(&directory, one()).expect("again"), path);
        assert_eq!(fs::metadata(&path).expect("there").ino(), first, "not written twice");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("ours");
        fs::write(&path, b"bad").expect("writable");
        install_in(&directory, one()).expect("mended");
        assert_eq!(fs::read(&path).expect("readable"), b"one");
        assert_ne!(install_in(&directory, library(|| b"two".to_vec())).expect("another"), path);
        fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn directories_that_other_users_control_are_refused() {
        let base = scratch("refuse");
        let real = base.join("real");
        fs::create_dir(&real).expect("created");
        symlink(&real, base.join("link")).expect("linked");
        assert!(private_directory(&base.join("link")).is_err());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(private_directory(&real).is_err());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).expect("ours");
        assert!(private_directory(&real).is_ok());
        fs::write(base.join("file"), b"").expect("written");
        assert!(private_directory(&base.join("file")).is_err());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(private_directory(&real.join("below")).is_err(), "others could rename it");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o1777)).expect("ours");
        assert!(private_directory(&real.join("below")).is_ok());
        fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn concurrent_writers_leave_one_complete_file() {
        let base = scratch("race");
        let directory = base.join("heddle");
        let large = library(|| (0..1 << 20).map(|i| i as u8).collect());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| install_in(&directory, large).expect("installed"));
            }
        });
        let left: Vec<_> = fs::read_dir(&directory).expect("there").collect();
        // The library, and the directory of links to it.
        assert_eq!(left.len(), 2);
        fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn relative_directories_are_ignored() {
        let found = candidates(|name| match name {
            "XDG_RUNTIME_DIR" => Some("relative".into()),
            "XDG_CACHE_HOME" => Some("/cache".into()),
            _ => None,
        });
        assert_eq!(found[0], Path::new("/cache/heddle"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_directory_that_others_can_change_is_refused() {
        assert_eq!(not_private(true, 1000, 0o40700, 1000), None);
        for (is_directory, owner, mode, why) in [
            (false, 1000, 0o100700, "not a directory"),
            (true, 1001, 0o40700, "belongs to another user"),
            (true, 1000, 0o40770, "other users can write to it"),
            (true, 1000, 0o40702, "other users can write to it"),
        ] {
            assert_eq!(not_private(is_directory, owner, mode, 1000), Some(why));
        }
        let base = scratch("private");
        let (open, link) = (base.join("open"), base.join("link"));
        fs::create_dir(&open).expect("created");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("ours");
        std::os::unix::fs::symlink(&open, &link).expect("linked");
        let refused = |path: &Path| private_directory(path).expect_err("not private").to_string();
        assert_eq!(refused(&open), "other users can write to it");
        assert_eq!(refused(&link), "not a directory");
        let inside = format!("other users can write to {}", open.display());
        assert_eq!(refused(&open.join("inside")), inside);
        fs::remove_dir_all(base).expect("removed");
    }

    #[test]
    fn a_runtime_that_is_missing_or_has_no_directory_is_reported() {
        assert_eq!(
            install(Library { hash: "", bytes: Vec::new }).expect_err("no runtime").to_string(),
            "this heddle was built without its runtime: build it with `cargo build --release`, or set \
             HEDDLE_EMBED_RUNTIME=1 for another profile"
        );
        let tried = ["/run/heddle: not a directory", "/tmp/heddle: belongs to another user"];
        assert_eq!(
            no_directory(&tried.map(str::to_owned)).to_string(),
            "no private directory for the runtime (/run/heddle: not a directory; /tmp/heddle: belongs to \
             another user): set XDG_CACHE_HOME to a directory that only you can write"
        );
    }
}
