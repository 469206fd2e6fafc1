//! `heddle dap`: the requests that VS Code sends, and what bad input gets.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::rpc::wait_for_end;

/// The longest wait for a message.
const BOUND: Duration = Duration::from_secs(300);

/// An adapter with what was said to it and by it.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    last: u64,
    transcript: String,
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((_, value)) => length = value.parse().expect("a length"),
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    Some(serde_json::from_slice(&bytes).expect("JSON"))
}

impl Editor {
    fn start(home: &Home) -> Editor {
        let mut command = home.command(["dap", "--workers", "1"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Editor { child, input, messages, last: 0, transcript: String::new() }
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("it is open");
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    /// Sends a request and returns the response. Everything is recorded.
    fn request(&mut self, command: &str, arguments: Value) -> Value {
        self.last += 1;
        self.transcript += &format!("--> {command} {arguments}\n");
        let message = json!({
            "seq": self.last, "type": "request", "command": command, "arguments": arguments,
        });
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        loop {
            let message = self.receive();
            if message["type"] == "response" {
                assert_eq!(message["request_seq"], self.last);
                assert_eq!(message["command"], command);
                return message;
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut message = self.messages.recv_timeout(BOUND).expect("a message");
        let known = message.clone();
        own_frames(&mut message);
        let name = message["event"].as_str().unwrap_or("response").to_owned();
        let body = if message["body"].is_null() { &message["message"] } else { &message["body"] };
        self.transcript += &format!("<-- {name} {body}\n");
        known
    }

    fn event(&mut self, name: &str) -> Value {
        let message = self.receive();
        assert_eq!(message["event"], name, "{message}");
        message["body"].clone()
    }

    fn body(&mut self, command: &str, arguments: Value) -> Value {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], true, "{response}");
        response["body"].clone()
    }

    fn refusal(&mut self, command: &str, arguments: Value) -> String {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], false, "{response}");
        response["message"].as_str().expect("a message").to_owned()
    }

    fn wait(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < BOUND, "the adapter does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Leaves out the frames of the C library, which are others on another machine.
fn own_frames(message: &mut Value) {
    let Some(body) = message["body"].as_object_mut() else { return };
    if let Some(frames) = body.get_mut("stackFrames").and_then(Value::as_array_mut) {
        frames.retain(|frame| frame["source"]["name"] == "queue.c");
        body.insert("totalFrames".to_owned(), "TOTAL".into());
    }
}

fn build_queue(home: &Home) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c/queue.c");
    std::fs::copy(source, home.path().join("queue.c")).expect("the example");
    let built = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o", "queue", "queue.c"])
        .current_dir(home.path())
        .status();
    assert!(built.expect("a compiler").success());
    home.path().canonicalize().expect("it exists").display().to_string()
}

fn line_of(text: &str) -> u64 {
    let source = include_str!("../../examples/c/queue.c");
    let found = source.lines().position(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("no line has {text}")) as u64 + 1
}

#[test]
fn an_editor_debugs_the_failure_that_a_search_found() {
    let home = Home::new();
    let directory = build_queue(&home);
    let program = format!("{directory}/queue");
    let mut editor = Editor::start(&home);
    let can = editor.body("initialize", json!({ "clientID": "vscode", "adapterID": "heddle" }));
    assert_eq!(can["supportsStepBack"], true);
    editor.body("launch", json!({ "program": program, "cwd": directory }));
    editor.event("initialized");
    let (signal, comment) = (line_of("pthread_cond_signal(NOT_EMPTY"), 1);
    let set = editor.body(
        "setBreakpoints",
        json!({
            "source": { "path": format!("{directory}/queue.c") },
            "breakpoints": [{ "line": signal }, { "line": comment }],
        }),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["verified"], false);
    editor.body("setExceptionBreakpoints", json!({ "filters": [] }));
    editor.body("configurationDone", json!({}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["reason"], "exception");
    assert!(stopped["text"].as_str().expect("a text").contains("jobs.changed"));
    let threads = editor.body("threads", json!({}));
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(2), "{threads}");
    editor.body("exceptionInfo", json!({ "threadId": 1 }));
    let stack = editor.body("stackTrace", json!({ "threadId": 1, "startFrame": 0, "levels": 20 }));
    let top = stack["stackFrames"][0].clone();
    assert_eq!((&top["name"], &top["source"]["name"]), (&json!("put"), &json!("queue.c")));
    let scopes = editor.body("scopes", json!({ "frameId": top["id"] }));
    let reference = scopes["scopes"][1]["variablesReference"].clone();
    let variables = editor.body("variables", json!({ "variablesReference": reference }));
    assert!(variables["variables"].as_array().expect("variables").len() > 2);
    for (expression, part) in
        [("jobs.count", "0"), ("who", "has not been woken"), ("switches", "preemption")]
    {
        let seen = editor.body(
            "evaluate",
            json!({ "expression": expression, "frameId": top["id"], "context": "repl" }),
        );
        assert!(seen["result"].as_str().expect("a text").contains(part), "{seen}");
    }
    // T2 has this local variable, the selected frame's task has none.
    let other = json!({ "expression": "sum", "frameId": top["id"] });
    assert!(editor.refusal("evaluate", other).contains("T0 is in no function"));
    let mut steps = Vec::new();
    for command in ["reverseContinue", "stepBack", "stepIn", "next", "stepOut", "continue"] {
        editor.body(command, json!({ "threadId": 1 }));
        let stopped = editor.event("stopped");
        steps.push(stopped["reason"].as_str().expect("a reason").to_owned());
    }
    assert_eq!(steps[0], "breakpoint");
    // Back to the beginning, and to the preemption from there.
    editor.body(
        "setBreakpoints",
        json!({ "source": { "path": format!("{directory}/queue.c") }, "breakpoints": [] }),
    );
    editor.body("reverseContinue", json!({ "threadId": 1 }));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    editor.body("heddle/next-preemption", json!({}));
    editor.event("stopped");
    let who = editor.body("heddle/who", json!({}));
    let tasks = who["tasks"].as_array().expect("tasks");
    assert!(tasks.iter().any(|task| task["enabled"] == true), "{who}");
    // The task that was preempted runs on instead.
    editor.body("heddle/pick", json!({ "task": "T0" }));
    editor.event("stopped");
    editor.body("heddle/next-switch", json!({}));
    editor.event("stopped");
    editor.body("disconnect", json!({ "terminateDebuggee": true }));
    assert_eq!(editor.wait(), 0);
    let plain = home.path().display().to_string();
    let transcript =
        editor.transcript.replace(&directory, "DIRECTORY").replace(&plain, "DIRECTORY");
    insta::assert_snapshot!(transcript);
}

const LOST: &str = "#include <pthread.h>
int total;
static void *add(void *p) {
    int mine = total;
    mine += 5;
    total = mine;
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return total == 10 ? 0 : 7;
}
";

/// Continues to the end in one direction: the reasons of the stops, and the notes about writes.
fn stops(editor: &mut Editor, command: &str) -> (Vec<String>, Vec<String>) {
    let from = editor.transcript.len();
    let mut reasons = Vec::new();
    for _ in 0..10 {
        editor.body(command, json!({ "threadId": 1 }));
        let stopped = editor.event("stopped");
        reasons.push(stopped["reason"].as_str().expect("a reason").to_owned());
        if reasons.last().is_some_and(|reason| reason != "data breakpoint") {
            break;
        }
    }
    let written = editor.transcript[from..].lines().filter_map(|line| {
        let (_, text) = line.split_once("\"output\":\"")?;
        Some(text.split_once("\\n")?.0.to_owned())
    });
    (reasons, written.collect())
}

#[test]
fn an_editor_stops_at_writes_and_shows_local_variables() {
    let home = Home::new();
    let program = compiled_text(&home, "lost", LOST, &[]);
    let mut editor = Editor::start(&home);
    let can = editor.body("initialize", json!({ "clientID": "vscode", "adapterID": "heddle" }));
    assert_eq!(can["supportsDataBreakpoints"], true);
    editor.body("launch", json!({ "program": program, "cwd": home.path() }));
    editor.event("initialized");
    editor.body("configurationDone", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "exception");
    let info = editor.body("dataBreakpointInfo", json!({ "name": "total" }));
    assert_eq!((&info["accessTypes"], &info["canPersist"]), (&json!(["write"]), &json!(false)));
    let one = json!({ "dataId": info["dataId"], "accessType": "write" });
    let set = editor.body("setDataBreakpoints", json!({ "breakpoints": [one] }));
    assert_eq!(set["breakpoints"][0]["verified"], true);
    // Both threads read 0: each write is found, backwards and forwards.
    let (reasons, back) = stops(&mut editor, "reverseContinue");
    assert_eq!(reasons, ["data breakpoint", "data breakpoint", "entry"]);
    let (reasons, mut forward) = stops(&mut editor, "continue");
    assert_eq!(reasons, ["data breakpoint", "data breakpoint", "exception"]);
    forward.reverse();
    assert_eq!(back, forward);
    assert!(back[0].starts_with("total: 0x5 -> 0x5 by T"), "{back:?}");
    assert!(back[1].starts_with("total: 0x0 -> 0x5 by T"), "{back:?}");
    assert!(back.iter().all(|text| text.ends_with("at lost.c:6")), "{back:?}");
    // At the second write, a thread is in its function.
    editor.body("reverseContinue", json!({ "threadId": 1 }));
    let thread = editor.event("stopped")["threadId"].clone();
    let stack = editor.body("stackTrace", json!({ "threadId": thread }));
    let frame = stack["stackFrames"][0].clone();
    assert_eq!(frame["name"], "add", "{stack}");
    let scopes = editor.body("scopes", json!({ "frameId": frame["id"] }));
    let locals = scopes["scopes"][0]["variablesReference"].clone();
    let variables = editor.body("variables", json!({ "variablesReference": locals }));
    let mine = json!({ "name": "mine", "value": "5", "variablesReference": 0 });
    assert!(variables["variables"].as_array().expect("a list").contains(&mine), "{variables}");
    let info = json!({ "variablesReference": locals, "name": "mine" });
    let info = editor.body("dataBreakpointInfo", info);
    let name = info["description"].as_str().expect("a text");
    assert!(name.contains(":mine: ") && name.ends_with(" writes"), "{info}");
    for (arguments, why) in [
        (json!({ "name": "missing" }), "no such variable"),
        (json!({ "name": "total +" }), "cannot be parsed"),
        (scope_property(&scopes), "a property of the schedule"),
    ] {
        let response = editor.request("dataBreakpointInfo", arguments);
        assert!(response["body"]["dataId"].is_null(), "{response}");
        assert!(response.to_string().contains(why), "{response}");
    }
    for (one, why) in [
        (json!({ "dataId": "x" }), "not known"),
        (json!({ "dataId": info["dataId"], "accessType": "read" }), "only writes stop"),
        (json!({ "dataId": info["dataId"], "condition": "1" }), "conditions"),
    ] {
        let set = editor.body("setDataBreakpoints", json!({ "breakpoints": [one] }));
        assert_eq!(set["breakpoints"][0]["verified"], false, "{set}");
        assert!(set.to_string().contains(why), "{set}");
    }
    editor.body("disconnect", json!({}));
    assert_eq!(editor.wait(), 0);
}

#[test]
fn data_that_is_written_too_often_is_refused() {
    let text = "#include <pthread.h>
volatile long turns;
static void *run(void *p) {
    for (long i = 0; i < 1000000; i++) turns = i;
    return p;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 7;
}
";
    let home = Home::new();
    let program = compiled_text(&home, "often", text, &[]);
    let found = home.heddle(["explore", "--points", "api", "--json", "--", &program]);
    let trace = found.report().bugs[0].trace.clone().expect("a trace");
    let mut editor = Editor::start(&home);
    editor.body("initialize", json!({ "clientID": "vscode", "adapterID": "heddle" }));
    editor.body("launch", json!({ "trace": trace, "cwd": home.path() }));
    editor.event("initialized");
    editor.body("configurationDone", json!({}));
    editor.event("stopped");
    let info = editor.body("dataBreakpointInfo", json!({ "name": "turns" }));
    assert!(info["dataId"].is_null(), "{info}");
    let why = "it is written more than 10000 times: use gdb or lldb";
    assert_eq!(info["description"], why);
    editor.body("disconnect", json!({}));
    assert_eq!(editor.wait(), 0);
}

/// A request about something in the scope that is not the program's.
fn scope_property(scopes: &Value) -> Value {
    json!({ "variablesReference": scopes["scopes"][1]["variablesReference"], "name": "position" })
}

#[test]
fn wrong_requests_are_refused_and_the_adapter_continues() {
    let home = Home::new();
    let mut editor = Editor::start(&home);
    editor.send_bytes(b"Content-Length: 3\r\n\r\n{x}");
    assert!(editor.event("output")["output"].as_str().expect("a text").contains("not JSON"));
    editor.send_bytes(b"Content-Length: 104857600\r\n\r\n");
    editor.send_bytes(&vec![b' '; 100 << 20]);
    assert!(editor.event("output")["output"].as_str().expect("a text").contains("104857600"));
    for (command, arguments, part) in [
        ("threads", json!({}), "launch"),
        ("fly", json!({}), "`fly` is not supported"),
        ("launch", json!({}), "neither `trace` nor `program`"),
        ("launch", json!({ "trace": "missing.heddle" }), "missing.heddle"),
        ("launch", json!({ "program": "./missing" }), "missing"),
        ("continue", json!({ "threadId": "x" }), "nothing is debugged"),
    ] {
        let text = editor.refusal(command, arguments);
        assert!(text.contains(part), "{command}: {text}");
    }
    // The end of the input ends the adapter.
    editor.input = None;
    assert_eq!(editor.wait(), 0);
}

#[test]
fn an_editor_that_is_gone_leaves_no_process() {
    let home = Home::new();
    let directory = build_queue(&home);
    let mut editor = Editor::start(&home);
    editor.body("launch", json!({ "program": format!("{directory}/queue"), "search": false }));
    editor.event("initialized");
    editor.body("configurationDone", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    // It inspects a process of the program from now on.
    editor.body("stackTrace", json!({ "threadId": 1 }));
    let processes = tests::rpc::descendants(editor.child.id());
    assert!(!processes.is_empty());
    editor.input = None;
    assert_eq!(editor.wait(), 0);
    wait_for_end(&processes);
}
