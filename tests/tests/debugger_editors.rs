//! Editors: the debug adapters that they start, driven with the same messages.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tests::debugging::{built, failing};
use tests::heddle::Home;
use tests::rsp::Server;

/// The time limit for each message.
const BOUND: Duration = Duration::from_secs(180);

/// `lldb-dap` as an editor uses it: the Debug Adapter Protocol over its standard streams.
struct Adapter {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    sent: u64,
}

impl Adapter {
    fn start() -> Adapter {
        let mut child = Command::new("lldb-dap-19")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("lldb-dap-19 is installed");
        let to = child.stdin.take().expect("a pipe");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (messages, from) = channel();
        std::thread::spawn(move || {
            while let Some(message) = message(&mut stdout) {
                if messages.send(message).is_err() {
                    break;
                }
            }
        });
        Adapter { child, to, from, sent: 0 }
    }

    fn request(&mut self, command: &str, arguments: &Value) {
        self.sent += 1;
        let body = json!({
            "seq": self.sent, "type": "request", "command": command, "arguments": arguments
        });
        let body = body.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it listens");
        self.to.flush().expect("it listens");
    }

    /// The next message that satisfies the predicate.
    fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.from.recv_timeout(BOUND);
            let message = message.unwrap_or_else(|error| panic!("{what} does not come: {error}"));
            assert_ne!(message["success"], false, "instead of {what}: {message}");
            if wanted(&message) {
                return message;
            }
        }
    }

    fn answered(&mut self, command: &str, arguments: &Value) -> Value {
        self.request(command, arguments);
        let answer = self.wait(command, |message| message["command"] == command);
        assert_eq!(answer["success"], true, "{answer}");
        answer
    }

    fn event(&self, event: &str) -> Value {
        self.wait(event, |message| message["event"] == event)
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut len = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                len = value.parse().ok()?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; len];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// The messages that VS Code, Neovim and others send to lldb-dap.
#[test]
fn an_editor_is_served_by_lldb_dap() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let server = Server::start(&home, &trace, &["--at", "main"]);
    let mut adapter = Adapter::start();
    adapter.answered("initialize", &json!({ "adapterID": "heddle" }));
    // Otherwise lldb-dap 19 looks for the process before it has seen that it is there.
    let attach = [
        "script lldb.debugger.SetAsync(False)",
        &format!("gdb-remote {}", server.address()),
        "script lldb.debugger.SetAsync(True)",
    ];
    adapter.request("attach", &json!({ "program": built("debugged"), "attachCommands": attach }));
    adapter.event("initialized");
    adapter.answered("setFunctionBreakpoints", &json!({ "breakpoints": [{ "name": "bump" }] }));
    adapter.answered("configurationDone", &json!({}));
    let stopped = adapter.event("stopped");
    assert_eq!(stopped["body"]["reason"], "breakpoint", "{stopped}");
    let thread = &stopped["body"]["threadId"];
    let stack = adapter.answered("stackTrace", &json!({ "threadId": thread }));
    assert_eq!(stack["body"]["stackFrames"][0]["name"], "bump", "{stack}");
    assert_eq!(stack["body"]["stackFrames"][0]["line"], 12, "{stack}");
    adapter.answered("setFunctionBreakpoints", &json!({ "breakpoints": [] }));
    adapter.answered("next", &json!({ "threadId": thread }));
    let stopped = adapter.event("stopped");
    assert_eq!(stopped["body"]["reason"], "step", "{stopped}");
    let stack = adapter.answered("stackTrace", &json!({ "threadId": thread }));
    assert_eq!(stack["body"]["stackFrames"][0]["line"], 13, "{stack}");
}
