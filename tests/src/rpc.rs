//! A client of `heddle serve`: JSON values, one on a line.

use crate::heddle::Home;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The longest wait for an answer.
const BOUND: Duration = Duration::from_secs(300);

/// A running server and its streams. Dropping it kills the server.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    last: u64,
}

impl Client {
    /// Starts the binary with these arguments.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start<S: AsRef<OsStr>>(home: &Home, args: impl IntoIterator<Item = S>) -> Client {
        let mut command = home.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                let value = serde_json::from_str(&line);
                let value = value.unwrap_or_else(|error| json!(format!("{error}: {line}")));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Client { child, input, lines, last: 0 }
    }

    /// The server's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are. The server may have ended.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    /// Sends a value.
    pub fn send(&mut self, value: &Value) {
        self.send_bytes(format!("{value}\n").as_bytes());
    }

    /// The next message of the server.
    ///
    /// # Panics
    /// If none arrives in time.
    pub fn receive(&mut self) -> Value {
        self.lines.recv_timeout(BOUND).unwrap_or_else(|error| panic!("no message: {error}"))
    }

    /// Sends a request and returns its number.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and returns the whole answer. Notifications are dropped.
    ///
    /// # Panics
    /// If no answer arrives in time.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and returns its result.
    ///
    /// # Panics
    /// If the request fails.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// The error of a request.
    ///
    /// # Panics
    /// If the request succeeds.
    pub fn refusal(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.answer(method, params);
        let error = answer.get("error").unwrap_or_else(|| panic!("{method}: {answer}"));
        let text = error["message"].as_str().expect("a message").to_owned();
        (error["code"].as_i64().expect("a code"), text)
    }

    /// Closes the server's input, and returns its exit status.
    ///
    /// # Panics
    /// If the server does not end in time.
    pub fn end(&mut self) -> i32 {
        self.input = None;
        self.wait()
    }

    /// Waits for the end of the server; -1 if a signal ended it.
    ///
    /// # Panics
    /// If the server does not end in time.
    pub fn wait(&mut self) -> i32 {
        let began = Instant::now();
        while began.elapsed() < BOUND {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Waits until the server has closed its output.
    ///
    /// # Panics
    /// If it does not close it in time.
    pub fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(BOUND) {
                Ok(value) => rest.push(value),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("the output stays open"),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that were started by this one, and those that they started.
#[must_use]
pub fn descendants(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
        for task in tasks.flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
    }
    found.remove(0);
    found
}

/// Waits until none of these processes runs.
///
/// # Panics
/// If one still runs after a minute.
pub fn wait_for_end(processes: &[u32]) {
    let began = Instant::now();
    let runs = |process: &&u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        // A zombie has ended.
        stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
    };
    while let Some(process) = processes.iter().find(runs) {
        assert!(began.elapsed() < Duration::from_secs(60), "process {process} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}
