//! A client of the gdb remote protocol, as far as tests need it.

use crate::debugging::BOUND as SESSION;
use crate::heddle::{Home, Run, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The time limit for an answer.
const BOUND: Duration = Duration::from_secs(90);

/// A running `heddle gdb --server`.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: String,
    /// Its output: a command line for each debugger.
    pub lines: Vec<String>,
}

impl Server {
    /// Starts a server on a trace, at any free port of this machine.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(home: &Home, trace: &str, more: &[&str]) -> Server {
        let words = ["gdb", trace, "--server", "127.0.0.1:0"];
        Server::with(home, words.into_iter().chain(more.iter().copied()))
    }

    /// Starts a server on a program, under the schedule without preemptions.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start_on(home: &Home, program: &[&str], more: &[&str]) -> Server {
        let words = ["gdb", "--server", "127.0.0.1:0"].into_iter().chain(more.iter().copied());
        Server::with(home, words.chain(["--"]).chain(program.iter().copied()))
    }

    fn with<'a>(home: &Home, words: impl Iterator<Item = &'a str>) -> Server {
        let words: Vec<&str> = words.collect();
        let mut child = home.command(words).stderr(Stdio::inherit()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let lines: Vec<String> = stdout.lines().take(2).map(|line| line.expect("a line")).collect();
        let address = lines
            .first()
            .and_then(|line| line.split_once("extended-remote "))
            .and_then(|(_, rest)| rest.split(['\'', ' ']).next())
            .unwrap_or_else(|| panic!("no address: {lines:?}"))
            .to_owned();
        Server { child, address, lines }
    }

    /// A new connection.
    ///
    /// # Panics
    /// If the connection is refused.
    #[must_use]
    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(BOUND)).expect("a bound");
        stream.set_nodelay(true).expect("no delay");
        let mut client = Client { stream, said: String::new() };
        let features = client.ask("qSupported:multiprocess+;swbreak+;qRelocInsn+");
        assert!(features.contains("ReverseStep+"), "{features}");
        client
    }

    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The processes that it started.
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn children(&self) -> Vec<String> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid())).expect("it is there");
        let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
            let path = thread.ok()?.path().join("children");
            std::fs::read_to_string(path).ok()
        };
        let all: String = threads.filter_map(of_thread).collect();
        all.split_whitespace().map(str::to_owned).collect()
    }

    /// The output of a gdb that connects to it and executes these commands.
    #[must_use]
    pub fn gdb(&self, commands: &[&str]) -> Run {
        let mut gdb = Command::new("gdb");
        let connect = format!("target extended-remote {}", self.address);
        gdb.args(["-nx", "-batch", "-ex", "set sysroot /", "-ex", &connect]);
        gdb.args(commands.iter().flat_map(|command| ["-ex", command]));
        gdb.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run(gdb, SESSION)
    }

    /// Kills the server, without any cleanup.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Whether the server is still running.
    ///
    /// # Panics
    ///
    /// If its state cannot be queried.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    /// The text that the server printed for the user.
    pub said: String,
}

impl Client {
    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends a packet.
    pub fn packet(&mut self, payload: &[u8]) {
        let sum = payload.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        self.send(&[b"$", payload, format!("#{sum:02x}").as_bytes()].concat());
    }

    /// The next packet; none if the server closed the connection.
    ///
    /// # Panics
    /// If nothing comes within a minute.
    pub fn answer(&mut self) -> Option<String> {
        let mut body = Vec::new();
        let mut inside = false;
        loop {
            let byte = self.byte()?;
            match byte {
                b'$' => {
                    inside = true;
                    body.clear();
                }
                b'#' if inside => {
                    self.byte()?;
                    self.byte()?;
                    self.send(b"+");
                    return Some(String::from_utf8_lossy(&body).into_owned());
                }
                b'}' if inside => {
                    let next = self.byte()?;
                    body.push(next ^ 0x20);
                }
                _ if inside => body.push(byte),
                _ => {}
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(1) => Some(byte[0]),
            Ok(_) => None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// The answer to a packet; text printed in the meantime is appended to `said`.
    ///
    /// # Panics
    /// If the connection is closed instead.
    pub fn ask(&mut self, payload: &str) -> String {
        self.packet(payload.as_bytes());
        loop {
            let answer = self.answer().expect("an answer");
            match answer.strip_prefix('O') {
                Some(text) if answer != "OK" => self.said.push_str(&unhex(text)),
                _ => return answer,
            }
        }
    }

    /// Whether everything that was sent is processed: the server echoes a unique text. False if it
    /// closed the connection instead.
    pub fn is_answered_up_to(&mut self, round: u64) -> bool {
        let word = hex(&format!("word{round}."));
        self.packet(format!("qHeddle:{word}").as_bytes());
        while let Some(answer) = self.answer() {
            if answer.contains(&word) {
                return true;
            }
        }
        false
    }

    /// A `monitor` command's text.
    pub fn monitor(&mut self, command: &str) -> String {
        unhex(&self.ask(&format!("qHeddle:{}", hex(command))))
    }
}

/// Text in the encoding of the protocol.
#[must_use]
pub fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &str) -> String {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).unwrap_or(b'?');
    String::from_utf8_lossy(&pairs.map(byte).collect::<Vec<u8>>()).into_owned()
}
