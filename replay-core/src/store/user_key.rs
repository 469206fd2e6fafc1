//! The key that signs a user's traces: 32 random bytes in the user's state directory.
//!
//! If there is no such directory, or it cannot be written to, traces are not signed and a replay
//! asks before it starts a program. That is not an error.

use super::atomic_file::Pending;
use etcetera::BaseStrategy;
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use traces::file::Key;

const NAME: &str = "author-key";

/// The user's key, if it exists.
pub(super) fn key() -> Option<Key> {
    read(&dir()?.join(NAME)).ok().flatten()
}

/// The user's key, created if it does not exist.
pub(super) fn key_or_new() -> Option<Key> {
    key_in(&dir()?).ok()
}

/// `$XDG_STATE_HOME/heddle`, or its default in the home directory.
pub(super) fn dir() -> Option<PathBuf> {
    Some(etcetera::base_strategy::Xdg::new().ok()?.state_dir()?.join("heddle"))
}

/// The key in a directory; both are created if they do not exist.
pub(super) fn key_in(dir: &Path) -> io::Result<Key> {
    // If Heddle runs with another user's home directory (sudo), it neither uses that user's key nor
    // creates files there that the user could not read.
    let ours = |owner| owner == geteuid().as_raw();
    let above = dir.ancestors().find_map(|above| fs::metadata(above).ok());
    let foreign = || io::Error::new(ErrorKind::PermissionDenied, "its owner is another user");
    if above.is_none_or(|above| above.uid() != 0 && !ours(above.uid())) {
        return Err(foreign());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let found = fs::metadata(dir)?;
    if !ours(found.uid()) {
        return Err(foreign());
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    let path = dir.join(NAME);
    let unusable = match read(&path) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let mut key = Key::default();
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let pending = Pending::write(dir, &[&key], 0o600)?;
    if unusable {
        // The file is not a key, or others could read it. Traces signed with it are no longer
        // trusted.
        pending.replace(&path)?;
        return Ok(key);
    }
    match pending.publish_new(&path) {
        // Another process created the key meanwhile; use that one.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read(&path)?.ok_or_else(|| ErrorKind::InvalidData.into())
        }
        done => done.map(|()| key),
    }
}

/// The key in a file; none if the file is not private to this user or is not a key.
fn read(path: &Path) -> io::Result<Option<Key>> {
    // Do not follow a link, and do not wait for the other end of a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    let mut key = Key::default();
    let private = found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
    if !private || !found.is_file() || found.len() != key.len() as u64 {
        return Ok(None);
    }
    file.read_exact(&mut key)?;
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scratch;
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_key_is_created_once_and_is_private() {
        let scratch = Scratch::new();
        let dir = scratch.0.join("state/heddle");
        let path = dir.join(NAME);
        let key = key_in(&dir).unwrap();
        assert_ne!(key, Key::default());
        assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
        assert_eq!(key_in(&dir).unwrap(), key);
        assert_eq!(read(&path).unwrap(), Some(key));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing else is left there");

        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(key_in(&dir).unwrap(), key);
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn a_readable_key_is_replaced() {
        type Spoil = fn(&Path);
        let cases: [(&str, Spoil); 3] = [
            ("others may read it", |path| {
                fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
            }),
            ("too short", |path| fs::write(path, "short").unwrap()),
            ("too long", |path| fs::write(path, [1; 33]).unwrap()),
        ];
        for (what, spoil) in cases {
            let scratch = Scratch::new();
            let first = key_in(&scratch.0).unwrap();
            spoil(&scratch.0.join(NAME));
            assert_eq!(read(&scratch.0.join(NAME)).unwrap(), None, "{what}");
            let second = key_in(&scratch.0).unwrap();
            assert_ne!(first, second, "{what}");
            assert_eq!(key_in(&scratch.0).unwrap(), second, "{what}");
        }
    }

    #[test]
    fn concurrent_creations_yield_one_key() {
        let scratch = Scratch::new();
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| key_in(&scratch.0).unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn an_unwritable_directory_yields_no_key() {
        let scratch = Scratch::new();
        // A file in place of the directory stops even root, to which permissions do not apply.
        fs::write(scratch.0.join("file"), "").unwrap();
        assert!(key_in(&scratch.0.join("file/heddle")).is_err());
        std::os::unix::fs::symlink("/dev/zero", scratch.0.join(NAME)).unwrap();
        assert!(key_in(&scratch.0).is_err());
    }

    #[test]
    fn another_users_home_is_not_used() {
        let scratch = Scratch::new();
        let home = scratch.0.join("home");
        fs::create_dir_all(&home).unwrap();
        // Only root can give a directory away, and only root could write to it afterwards.
        if std::os::unix::fs::chown(&home, Some(geteuid().as_raw() + 1), None).is_ok() {
            let why = key_in(&home.join("state/heddle")).expect_err("it is another user's");
            assert_eq!(why.to_string(), "its owner is another user");
            assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
        }
    }
}
