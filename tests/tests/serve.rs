//! `heddle serve`: what a client gets, and what bad input gets.

use explorer_ui::serve::registry;
use explorer_ui::serve::schema::check_object;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use tests::heddle::{Home, binary, run};
use tests::rpc::{Client, descendants, wait_for_end};
use tests::terminal::{failing, target};

fn server(home: &Home) -> Client {
    Client::start(home, ["serve", "--workers", "1"])
}

/// Builds a program of `examples/c` in a directory.
fn example(home: &Home, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c").join(name);
    std::fs::copy(source.with_extension("c"), home.path().join(name).with_extension("c"))
        .expect("an example");
    let built = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o", name, &format!("{name}.c")])
        .current_dir(home.path())
        .status();
    assert!(built.expect("a compiler").success());
}

#[test]
fn the_python_client_finds_explains_and_saves_a_bug() {
    let home = Home::new();
    example(&home, "queue");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/python/heddle_client.py");
    let mut command = home.command([""; 0]);
    let variables: Vec<_> =
        command.get_envs().map(|(n, v)| (n.to_owned(), v.map(ToOwned::to_owned))).collect();
    command = Command::new("python3");
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .arg(client)
        .arg("./queue")
        .current_dir(home.path())
        .env("HEDDLE", binary())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = run(command, std::time::Duration::from_secs(300));
    assert_eq!(ran.status, 1, "{ran:?}");
    for part in ["deadlock: ", "\nwhy: ", "\nT0 ", "\nsaved: heddle-out/deadlock-"] {
        assert!(ran.stdout.contains(part), "{part:?}: {ran:?}");
    }
    let saved = ran.stdout.rsplit("saved: ").next().expect("a path").trim();
    let replayed = home.heddle(["replay", "--json", saved]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
}

/// Arguments with which each method succeeds, in an order in which they do.
fn walk(trace: &str, program: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("open_program", json!({ "command": [program] })),
        ("look_ahead", json!({})),
        ("search", json!({ "strategy": "random", "executions": 2000, "keep_going": true })),
        ("failures", json!({})),
        ("show_failure", json!({ "number": 1 })),
        ("undo", json!({})),
        ("redo", json!({})),
        ("reopen", json!({})),
        ("open_trace", json!({ "path": trace })),
        ("status", json!({})),
        ("tasks", json!({})),
        ("locks", json!({})),
        ("steps", json!({ "from": 2, "limit": 3 })),
        ("goto", json!({ "step": 1 })),
        ("step", json!({ "count": 3 })),
        ("back", json!({})),
        ("seek", json!({ "to": "next-switch" })),
        ("source", json!({ "context": 2 })),
        ("backtrace", json!({})),
        ("variables", json!({ "expressions": ["a", "nothing"] })),
        ("history", json!({ "expression": "a" })),
        ("history", json!({ "object": "a" })),
        ("origin", json!({ "expression": "a" })),
        ("pick", json!({ "task": "T0" })),
        ("open_trace", json!({ "path": trace })),
        ("explain", json!({})),
        ("no_return", json!({})),
        ("shrink", json!({})),
        ("output", json!({})),
        ("save", json!({ "path": "saved.heddle" })),
    ]
}

#[test]
fn every_result_is_as_the_schema_says() {
    let home = Home::new();
    let (trace, program) = (failing(&home, "abba"), target("abba"));
    let mut client = server(&home);
    let mut called: Vec<&str> = Vec::new();
    for (name, params) in walk(&trace, &program) {
        let method = registry::method(name).unwrap_or_else(|| panic!("no method {name}"));
        let mut answer = client.answer(name, params.clone());
        if name == "pick" && answer.get("error").is_some() {
            // T0 waits there: the other tasks do not.
            answer = client.answer(name, json!({ "task": "T1" }));
        }
        let result = answer.get("result").unwrap_or_else(|| panic!("{name} {params}: {answer}"));
        let map = result.as_object().expect("an object");
        if let Err(why) = check_object(method.result, map, "", false) {
            panic!("{name} {params}: {why}: {result}");
        }
        let known: Vec<&str> = method.result.iter().map(|field| field.name).collect();
        let unknown: Vec<&String> =
            map.keys().filter(|key| !known.contains(&key.as_str())).collect();
        assert!(unknown.is_empty(), "{name} {params}: {unknown:?} are not documented");
        called.push(name);
    }
    let missing: Vec<&str> =
        registry::METHODS.iter().map(|it| it.name).filter(|name| !called.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} were not called");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_walk_through_a_deadlock() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut client = server(&home);
    let opened = client.call("open_trace", json!({ "path": trace }));
    assert_eq!(opened["cannot_run"], Value::Null);
    assert_eq!(opened["position"]["failure"]["kind"], "deadlock");
    assert_eq!(opened["position"]["at_end"], true);
    let blocked = client.call("tasks", json!({}));
    let tasks = blocked["tasks"].as_array().expect("tasks");
    assert!(tasks.iter().all(|task| task["enabled"] == false), "{blocked}");
    let why = |task: &Value| task["why"].as_str().expect("a reason").to_owned();
    assert_eq!(tasks.iter().filter(|task| why(task).contains(" is held by T")).count(), 2);
    // No task may run here.
    let (code, text) = client.refusal("pick", json!({ "task": "T1" }));
    assert!(code == -32602 && text.contains("T1 is not enabled: "), "{code} {text}");
    let verdict = client.call("explain", json!({}))["verdict"].clone();
    assert_eq!(verdict["checked"], true);
    let step = verdict["step"].as_u64().expect("a step");
    let lost = client.call("no_return", json!({}));
    assert!(lost["no_return"]["lost_after"].as_u64().expect("a step") <= step, "{lost}");
    // Before the decisive step, another task can be chosen, and then it passes.
    let position = client.call("goto", json!({ "step": step }));
    let next = position["next"]["task"].as_str().expect("a task").to_owned();
    let tasks = client.call("tasks", json!({}));
    let other = tasks["tasks"].as_array().expect("tasks").iter();
    let mut other = other.filter(|task| task["enabled"] == true && task["task"] != next.as_str());
    let other = other.next().unwrap_or_else(|| panic!("{tasks}"))["task"].clone();
    let picked = client.call("pick", json!({ "task": other }));
    assert_eq!(picked["edited"], true);
    assert_eq!(picked["step"], step + 1);
    let undone = client.call("undo", json!({}));
    assert_eq!(
        (&undone["edited"], &undone["failure"]["kind"]),
        (&json!(false), &json!("deadlock"))
    );
    assert_eq!(client.end(), 0);
}

#[test]
fn long_lists_come_in_pages() {
    let home = Home::new();
    let program = target("bank");
    let mut client = server(&home);
    client.call("open_program", json!({ "command": [program] }));
    let all = client.call("steps", json!({ "limit": 500 }));
    let steps = all["steps"].as_array().expect("steps");
    assert_eq!(all["total"], steps.len());
    let mut joined = Vec::new();
    while joined.len() < steps.len() {
        let page = client.call("steps", json!({ "from": joined.len(), "limit": 7 }));
        assert_eq!(page["total"], steps.len());
        let part = page["steps"].as_array().expect("steps");
        assert!((1..=7).contains(&part.len()));
        joined.extend(part.iter().cloned());
    }
    assert_eq!(&joined, steps);
    let beyond = client.call("steps", json!({ "from": 1u64 << 50 }));
    assert_eq!(beyond["steps"], json!([]));
    assert_eq!(client.refusal("steps", json!({ "limit": 501 })).0, -32602);
}

#[test]
fn after_bad_input_the_server_continues() {
    let home = Home::new();
    let mut client = server(&home);
    let mut code = |bytes: &[u8]| {
        client.send_bytes(bytes);
        let answer = client.receive();
        let text = answer["error"]["message"].as_str().expect("a message").to_owned();
        (answer["error"]["code"].as_i64().expect("a code"), text)
    };
    assert_eq!(code(b"{\"jsonrpc\": \"2.0\", \"id\"\n").0, -32700);
    assert_eq!(code(b"\xff\xfe{}\n").0, -32700);
    assert_eq!(code(b"[[[\n").0, -32700);
    assert_eq!(code(b"null\n").0, -32600);
    assert_eq!(code(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"fly\"}\n").0, -32601);
    let long = [vec![b'x'; 100 << 20], vec![b'\n']].concat();
    let (number, text) = code(&long);
    assert!(number == -32600 && text.contains("104857600 bytes"), "{number} {text}");
    let (number, text) =
        code(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"step\", \"params\": {\"count\": \"a\"}}\n");
    assert!(number == -32602 && text.starts_with("`count` must be: number"), "{number} {text}");
    let (number, text) = client.refusal("tasks", json!({}));
    assert!(number == -32000 && text.contains("open_trace"), "{number} {text}");
    for (method, params, expected) in [
        ("open_trace", json!({ "path": "missing.heddle" }), "missing.heddle"),
        ("open_trace", json!({ "path": "/dev/null" }), "/dev/null"),
        ("open_program", json!({ "command": [] }), "no program"),
        ("open_program", json!({ "command": ["./missing"] }), "missing"),
        ("open_program", json!({ "command": ["true"], "directory": "nowhere" }), "nowhere"),
    ] {
        let (number, text) = client.refusal(method, params.clone());
        assert!(number == -32000 && text.contains(expected), "{method} {params}: {number} {text}");
    }
    // The message was not kept.
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.process()));
    let status = status.expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 60 << 10, "{peak} kB");
    assert_eq!(client.end(), 0);
}

#[test]
fn half_a_message_is_answered_when_the_input_ends() {
    let home = Home::new();
    let mut client = server(&home);
    client.send_bytes(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth");
    assert_eq!(client.end(), 0);
    let rest = client.rest();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["error"]["code"], -32700);
}

#[test]
fn batches_are_answered_together() {
    let home = Home::new();
    let mut client = server(&home);
    client.send(&json!([
        { "jsonrpc": "2.0", "id": "a", "method": "status" },
        { "jsonrpc": "2.0", "method": "status" },
        { "jsonrpc": "2.0", "id": "b", "method": "fly" },
        7,
    ]));
    let answer = client.receive();
    let ids: Vec<Value> =
        answer.as_array().expect("a list").iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [json!("a"), json!("b"), Value::Null]);
}

#[test]
fn without_its_program_a_trace_can_be_read() {
    let home = Home::new();
    let copy = home.path().join("abba");
    std::fs::copy(target("abba"), &copy).expect("a copy");
    let report =
        home.heddle(["explore", "--strategy", "random", "--json", "--", "./abba"]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    std::fs::remove_file(&copy).expect("it was there");
    let mut client = server(&home);
    let opened = client.call("open_trace", json!({ "path": trace }));
    assert!(opened["cannot_run"].as_str().expect("a reason").contains("abba"), "{opened}");
    assert!(client.call("steps", json!({}))["total"].as_u64() > Some(0));
    assert_eq!(client.call("tasks", json!({}))["tasks"][0]["enabled"], false);
    assert_eq!(client.call("backtrace", json!({}))["total"], 3);
    for method in ["explain", "shrink", "no_return", "search"] {
        let (code, text) = client.refusal(method, json!({}));
        assert!(code == -32000 && text.contains("cannot be run"), "{method}: {code} {text}");
    }
    assert_eq!(client.end(), 0);
}

/// A program with more schedules than can be run.
fn endless(client: &mut Client) -> u64 {
    client.call("open_program", json!({ "command": [target("dinner"), "7"] }));
    let limits = json!({ "strategy": "random", "keep_going": true, "executions": 1u64 << 40, "seconds": 86400 });
    let search = client.request("search", limits);
    let news = client.receive();
    assert_eq!((&news["method"], &news["params"]["id"]), (&json!("progress"), &json!(search)));
    search
}

#[test]
fn a_search_reports_progress_and_can_be_cancelled() {
    let home = Home::new();
    let mut client = server(&home);
    let search = endless(&mut client);
    client.send(&json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "id": search } }));
    let answer = loop {
        let message = client.receive();
        if message["id"] == search {
            break message;
        }
        assert_eq!(message["method"], "progress");
    };
    assert_eq!(answer["result"]["cancelled"], true, "{answer}");
    assert_eq!(answer["result"]["complete"], false, "{answer}");
    // A request that waits is cancelled before it begins.
    let search = client.request(
        "search",
        json!({ "seconds": 2, "executions": 1u64 << 40, "keep_going": true, "strategy": "random" }),
    );
    let waits = client.request("steps", json!({}));
    for id in [waits, search] {
        client.send(&json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "id": id } }));
    }
    let answer = loop {
        let message = client.receive();
        if message["id"] == waits {
            break message;
        }
    };
    assert_eq!(answer["error"]["code"], -32800, "{answer}");
    assert_eq!(client.end(), 0);
}

#[test]
fn no_process_is_left() {
    for how in ["end", "TERM", "KILL"] {
        let home = Home::new();
        let mut client = server(&home);
        endless(&mut client);
        // Between the estimate and the search there are none.
        let processes = loop {
            let processes = descendants(client.process());
            if !processes.is_empty() {
                break processes;
            }
            assert_eq!(client.receive()["method"], "progress", "{how}: the search has ended");
        };
        if how == "end" {
            assert_eq!(client.end(), 0);
        } else {
            let id = client.process().to_string();
            let sent = Command::new("kill").args([&format!("-{how}"), &id]).status();
            assert!(sent.expect("kill runs").success());
            assert_eq!(client.wait(), if how == "TERM" { 0 } else { -1 });
        }
        wait_for_end(&processes);
    }
}

#[test]
fn a_socket_serves_several_clients_of_this_user() {
    let home = Home::new();
    let mut command = home.command(["serve", "--socket", "--workers", "1"]);
    let mut child = command.spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut path = String::new();
    output.read_line(&mut path).expect("a path");
    let path = Path::new(path.trim()).to_owned();
    let mode =
        |path: &Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().expect("a directory")), 0o700);
    assert_eq!(mode(&path), 0o600);
    let mut streams: Vec<UnixStream> =
        (0..3).map(|_| UnixStream::connect(&path).expect("it listens")).collect();
    for stream in &mut streams {
        writeln!(stream, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "status" }))
            .expect("sent");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["error"]["code"], -32000);
    }
    let sent = Command::new("kill").arg(child.id().to_string()).status();
    assert!(sent.expect("kill runs").success());
    assert!(child.wait().expect("it ends").success());
    assert!(!path.exists());
}
