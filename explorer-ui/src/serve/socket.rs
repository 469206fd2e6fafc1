//! A socket for clients of this user.

use super::connection::{Dialect, serve};
use super::state::Settings;
use crate::walk::opening::Opener;
use replay_core::private_socket::PrivateSocket;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most clients at a time.
const CLIENTS: usize = 16;

/// Serves clients, each with its own walk, until `stop` is set.
///
/// # Errors
/// If the socket cannot be used any more.
pub fn serve_socket(
    socket: &PrivateSocket,
    dialect: Dialect,
    with: (&dyn Opener, &Settings),
    stop: &Arc<AtomicBool>,
) -> io::Result<()> {
    let connected = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let mut streams: Vec<UnixStream> = Vec::new();
        let mut wait = || !stop.load(Ordering::Relaxed);
        while let Some(stream) = socket.accept(&mut wait)? {
            if connected.load(Ordering::Relaxed) >= CLIENTS {
                // The stream is closed, which the client sees.
                continue;
            }
            let (input, output) = (stream.try_clone()?, stream.try_clone()?);
            connected.fetch_add(1, Ordering::Relaxed);
            let (connected, last) = (&connected, stream.try_clone()?);
            std::thread::Builder::new().spawn_scoped(scope, move || {
                // The client is gone if it cannot be served.
                let _ = serve(input, output, (dialect, false), with, stop);
                let _ = last.shutdown(Shutdown::Both);
                connected.fetch_sub(1, Ordering::Relaxed);
            })?;
            streams.retain(|stream| stream.peer_addr().is_ok());
            streams.push(stream);
        }
        for stream in streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        Ok(())
    })
}
