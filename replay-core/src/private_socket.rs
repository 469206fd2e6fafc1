//! A socket in the file system that only its owner can use: a client can run programs.

use crate::Error;
use crate::scratch::Scratch;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// How long to wait for a client before it is checked whether to wait on, in milliseconds.
const LOOK: u16 = 100;

/// A socket in its own directory. Both are removed when it is dropped.
#[derive(Debug)]
pub struct PrivateSocket {
    listener: UnixListener,
    path: PathBuf,
    _directory: Scratch,
}

impl PrivateSocket {
    /// Creates a socket of this name.
    ///
    /// # Errors
    /// If the directory or the socket cannot be created.
    pub fn bind(name: &str) -> Result<PrivateSocket, Error> {
        let failed = || Error::system("cannot create a private directory for the socket");
        let directory = Scratch::new().map_err(failed())?;
        let path = directory.path().join(name);
        let listener = listen(&path).map_err(failed())?;
        Ok(PrivateSocket { listener, path, _directory: directory })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next client of this user, as long as `expected` returns true. Other users are
    /// disconnected.
    ///
    /// # Errors
    /// If the socket cannot be used any more.
    pub fn accept(&self, expected: &mut dyn FnMut() -> bool) -> io::Result<Option<UnixStream>> {
        while expected() {
            match poll(&mut [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)], LOOK) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let stream = self.listener.accept()?.0;
            if user_of(&stream) == Some(geteuid().as_raw()) {
                return Ok(Some(stream));
            }
            let _ = stream.shutdown(Shutdown::Both);
        }
        Ok(None)
    }
}

/// A socket with mode 0600 from its creation on.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    // Other threads create their files with a smaller mode for a moment, which does no harm.
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

/// The user at the other end of a socket in the file system.
pub(crate) fn user_of(stream: &UnixStream) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call writes at most `len` bytes to a local of the type that it expects.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        )
    };
    (done == 0).then_some(peer.uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_directory_is_private_and_the_user_of_a_client_is_known() {
        let socket = PrivateSocket::bind("test").expect("a socket");
        let mode =
            |path: &Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        let directory = socket.path().parent().expect("a directory").to_owned();
        assert_eq!((mode(&directory), mode(socket.path())), (0o700, 0o600));
        let _client = UnixStream::connect(socket.path()).expect("it listens");
        let accepted = socket.accept(&mut || true).expect("no error").expect("a client");
        assert_eq!(user_of(&accepted), Some(geteuid().as_raw()));
        assert!(socket.accept(&mut || false).expect("no error").is_none());
        drop(socket);
        assert!(!directory.exists());
    }
}
