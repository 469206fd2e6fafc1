//! NATS servers and workers for one test, which end with it.

use crate::heddle::Home;
use crate::hostile::{BOUND, await_some};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Whether there is a NATS server program; otherwise says that the test is skipped.
#[must_use]
pub fn has_server(test: &str) -> bool {
    let found = crate::installed::is_installed("nats-server");
    if !found {
        println!("SKIPPED: {test}: needs nats-server");
    }
    found
}

/// A process that ends with this value.
#[derive(Debug)]
pub struct Guarded(pub Child);

impl Guarded {
    /// Kills the process, as a failing machine does.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A server on the loopback device, with its store.
#[derive(Debug)]
pub struct Server {
    directory: tempfile::TempDir,
    store: PathBuf,
    process: Guarded,
    host: String,
    port: u16,
    more: String,
}

impl Server {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start() -> Server {
        Server::with("")
    }

    /// Starts a server with further lines of configuration.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn with(more: &str) -> Server {
        Server::on("127.0.0.1", more)
    }

    /// Starts a server at an address of this machine.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn on(host: &str, more: &str) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let store = directory.path().join("store");
        Server::at(directory, host, more, store)
    }

    /// Starts a server that stores its files in this directory.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn storing_in(store: &Path) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        Server::at(directory, "127.0.0.1", "", store.to_owned())
    }

    fn at(directory: tempfile::TempDir, host: &str, more: &str, store: PathBuf) -> Server {
        let process = Server::process(&directory, &store, host, -1, more);
        let ports = directory.path().join(format!("nats-server_{}.ports", process.0.id()));
        let port = await_some("the port of the server", || {
            let text = std::fs::read(&ports).ok()?;
            let ports: serde_json::Value = serde_json::from_slice(&text).ok()?;
            ports["nats"][0].as_str()?.rsplit(':').next()?.parse().ok()
        });
        let (host, more) = (host.to_owned(), more.to_owned());
        let server = Server { directory, store, process, host, port, more };
        server.await_answer();
        server
    }

    fn process(
        directory: &tempfile::TempDir,
        store: &Path,
        host: &str,
        port: i32,
        more: &str,
    ) -> Guarded {
        let configuration = directory.path().join("server.conf");
        let text = format!(
            "listen: \"{host}:{port}\"\njetstream {{ store_dir: \"{}\" }}\n{more}\n",
            store.display()
        );
        std::fs::write(&configuration, text).expect("written");
        let mut command = Command::new("nats-server");
        command.arg("--config").arg(&configuration).arg("--ports_file_dir").arg(directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Guarded(command.spawn().expect("nats-server starts"))
    }

    fn await_answer(&self) {
        await_some("the server", || TcpStream::connect((self.host.as_str(), self.port)).ok());
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    /// Its host and port, as messages show them.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A connection that can publish and subscribe.
    ///
    /// # Panics
    /// If the server does not answer.
    #[must_use]
    pub fn connect(&self) -> Connection {
        let stream =
            TcpStream::connect((self.host.as_str(), self.port)).expect("the server answers");
        stream.set_read_timeout(Some(BOUND)).expect("a limit");
        let mut connection =
            Connection { reader: BufReader::new(stream.try_clone().expect("a copy")), stream };
        connection.send(b"CONNECT {\"verbose\":false}\r\n");
        connection.synchronise();
        connection
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts the server again with its store.
    pub fn start_again(&mut self) {
        let port = i32::from(self.port);
        self.process = Server::process(&self.directory, &self.store, &self.host, port, &self.more);
        self.await_answer();
    }
}

/// A connection to a server, in NATS's own text protocol.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Connection {
    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Waits until the server has handled everything that was sent.
    fn synchronise(&mut self) {
        self.send(b"PING\r\n");
        while self.line().is_some_and(|line| line.trim() != "PONG") {}
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok().filter(|&read| read > 0).map(|_| line)
    }

    /// Receives messages of this subject from now on.
    pub fn subscribe(&mut self, subject: &str) {
        self.send(format!("SUB {subject} 1\r\n").as_bytes());
        self.synchronise();
    }

    /// Publishes a message.
    pub fn publish(&mut self, subject: &str, payload: &[u8]) {
        let head = format!("PUB {subject} {}\r\n", payload.len());
        self.send(&[head.as_bytes(), payload, b"\r\n"].concat());
        self.send(b"PING\r\n");
    }

    /// The subject of the next message; none if there is none for a while.
    pub fn next_subject(&mut self) -> Option<String> {
        loop {
            let line = self.line()?;
            let mut words = line.split_ascii_whitespace();
            match words.next()? {
                "MSG" => {
                    let subject = words.next()?.to_owned();
                    let size: usize = words.next_back()?.parse().ok()?;
                    let mut payload = vec![0; size + 2];
                    self.reader.read_exact(&mut payload).ok()?;
                    return Some(subject);
                }
                "PING" => self.send(b"PONG\r\n"),
                _ => {}
            }
        }
    }
}

/// Starts a machine with one worker, which runs every program.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn worker(home: &Home, url: &str) -> Guarded {
    worker_with(home, url, &["--trust-cluster"]).0
}

/// Starts a machine with one worker and these options. Its messages go to the file.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn worker_with(home: &Home, url: &str, options: &[&str]) -> (Guarded, PathBuf) {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let messages = home.path().join(format!("worker-{number}.txt"));
    let file = std::fs::File::create(&messages).expect("writable");
    let mut command = home.command([&["worker", url, "--workers", "1"], options].concat());
    command.stdout(Stdio::null()).stderr(file);
    (Guarded(command.spawn().expect("it starts")), messages)
}
