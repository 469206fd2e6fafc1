//! The connection to a debugger: a socket and a thread that reads it.

use super::packet::{Incoming, PRINTED, Reader, escape, frame, hex};
use super::peer_user;
use crate::Error;
use crate::debug::execution::Interrupt;
use crate::private_socket;
use crate::scratch::Scratch;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::geteuid;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// How long to wait for a debugger before `expected` is checked again, in milliseconds.
const LOOK: u16 = 100;

/// The socket at which debuggers connect.
#[derive(Debug)]
pub(crate) enum Listener {
    /// A TCP port.
    Port(TcpListener),
    /// A socket that only its owner can use, and its directory if that was made for it.
    File {
        listener: UnixListener,
        path: PathBuf,
        /// Removed with the socket.
        _directory: Option<Scratch>,
    },
}

impl Listener {
    /// `PORT`, `HOST:PORT`, `:PORT` on this machine's loopback interface, `unix:PATH`, or nothing for
    /// a socket in a private directory.
    pub(crate) fn bind(address: &str) -> Result<Listener, Error> {
        let failed = |what: &str| {
            let what = format!("cannot wait for a debugger at {address}: {what}");
            move |error: io::Error| {
                let then = match error.kind() {
                    io::ErrorKind::AddrInUse => "; choose another, or port 0 for any free port",
                    _ => "",
                };
                Error::Usage(format!("{what}{error}{then}"))
            }
        };
        if address.is_empty() {
            let directory = Scratch::new().map_err(Error::system(
                "cannot create a private directory for the debugger's socket",
            ))?;
            let path = directory.path().join("debugger");
            let listener = private_socket::listen(&path).map_err(failed(""))?;
            return Ok(Listener::File { listener, path, _directory: Some(directory) });
        }
        if let Some(path) = address.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            let listener = private_socket::listen(&path).map_err(failed(""))?;
            return Ok(Listener::File { listener, path, _directory: None });
        }
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let port: u16 = port.parse().map_err(|_| {
            Error::Usage(format!("{address} is not an address: write PORT, HOST:PORT or unix:PATH"))
        })?;
        let resolved = (host, port).to_socket_addrs().map_err(failed(""))?;
        let loopback: Vec<SocketAddr> =
            resolved.filter(|address| address.ip().is_loopback()).collect();
        if loopback.is_empty() {
            return Err(Error::Usage(format!(
                "{address} is not on this machine's loopback interface, and who connects can run \
                 any code: use a port of 127.0.0.1, and ssh -L from another machine"
            )));
        }
        Ok(Listener::Port(TcpListener::bind(&loopback[..]).map_err(failed(""))?))
    }

    /// The address, in gdb's form.
    pub(crate) fn address(&self) -> String {
        match self {
            Listener::Port(listener) => {
                listener.local_addr().map_or_else(|_| String::new(), |address| address.to_string())
            }
            Listener::File { path, .. } => path.display().to_string(),
        }
    }

    /// Waits for the next debugger, as long as `expected` returns true.
    pub(crate) fn accept(
        &self,
        interrupt: Arc<Interrupt>,
        expected: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<Connection>> {
        let descriptor = match self {
            Listener::Port(listener) => listener.as_fd(),
            Listener::File { listener, .. } => listener.as_fd(),
        };
        loop {
            let mut wanted = [PollFd::new(descriptor, PollFlags::POLLIN)];
            match poll(&mut wanted, LOOK) {
                Ok(0) | Err(Errno::EINTR) if !expected() => return Ok(None),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => {
                    if let Some(connection) = self.connected(Arc::clone(&interrupt))? {
                        return Ok(Some(connection));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The debugger that has connected; none if it is another user's.
    fn connected(&self, interrupt: Arc<Interrupt>) -> io::Result<Option<Connection>> {
        let (stream, user) = match self {
            Listener::Port(listener) => {
                let (stream, peer) = listener.accept()?;
                // The protocol exchanges small packets.
                stream.set_nodelay(true)?;
                let user = peer_user::of_port(peer, stream.local_addr()?);
                (Stream::Port(stream), user)
            }
            Listener::File { listener, .. } => {
                let stream = listener.accept()?.0;
                let user = private_socket::user_of(&stream);
                (Stream::File(stream), user)
            }
        };
        if user != Some(geteuid().as_raw()) {
            stream.close();
            return Ok(None);
        }
        Connection::new(stream, interrupt).map(Some)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::File { path, .. } = self {
            let _ = std::fs::remove_file(Path::new(path));
        }
    }
}

#[derive(Debug)]
enum Stream {
    Port(TcpStream),
    File(UnixStream),
}

impl Stream {
    fn another(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Port(stream) => Stream::Port(stream.try_clone()?),
            Stream::File(stream) => Stream::File(stream.try_clone()?),
        })
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Port(stream) => stream.read(bytes),
            Stream::File(stream) => stream.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Port(stream) => stream.write_all(bytes),
            Stream::File(stream) => stream.write_all(bytes),
        }
    }

    fn close(&self) {
        let _ = match self {
            Stream::Port(stream) => stream.shutdown(Shutdown::Both),
            Stream::File(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// A connected debugger.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    incoming: Receiver<Incoming>,
    /// Whether packets are acknowledged.
    pub(crate) acknowledges: bool,
    last: Vec<u8>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Connection {
    fn new(stream: Stream, interrupt: Arc<Interrupt>) -> io::Result<Connection> {
        let mut from = stream.another()?;
        let (to, incoming) = channel();
        let reader = std::thread::Builder::new().spawn(move || {
            let mut reader = Reader::default();
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = from.read(&mut bytes) {
                for &byte in &bytes[..len] {
                    match reader.take(byte) {
                        Some(Incoming::Interrupt) => interrupt.request(),
                        Some(packet) => match to.send(packet) {
                            Ok(()) => {}
                            Err(_) => return,
                        },
                        None => {}
                    }
                }
            }
            // The debugger has disconnected: stop the running process.
            interrupt.request();
        })?;
        Ok(Connection {
            stream,
            incoming,
            acknowledges: true,
            last: Vec::new(),
            reader: Some(reader),
        })
    }

    /// The next packet, not unescaped; none if the debugger has disconnected.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.incoming.recv().ok()? {
                Incoming::Packet(packet) => {
                    if self.acknowledges {
                        self.stream.write(b"+").ok()?;
                    }
                    return Some(packet);
                }
                Incoming::Damaged if self.acknowledges => self.stream.write(b"-").ok()?,
                Incoming::Again => {
                    let last = self.last.clone();
                    self.stream.write(&last).ok()?;
                }
                Incoming::Damaged | Incoming::Interrupt => {}
            }
        }
    }

    /// Escapes and sends a packet.
    pub(crate) fn send(&mut self, payload: &[u8]) {
        self.send_framed(frame(&escape(payload)));
    }

    /// Sends packets that are framed and escaped already.
    pub(crate) fn send_framed(&mut self, packets: Vec<u8>) {
        self.last = packets;
        // A lost connection is detected when the next packet is read.
        let _ = self.stream.write(&self.last);
    }

    /// Sends text for the user.
    pub(crate) fn print(&mut self, text: &str) {
        for part in text.as_bytes().chunks(PRINTED) {
            self.send(format!("O{}", hex(part)).as_bytes());
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stream.close();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
