//! `heddle serve --mcp`: the Model Context Protocol, as an agent speaks it.

use explorer_ui::serve::registry;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tests::heddle::Home;
use tests::rpc::Client;

/// A connection after its first exchange.
fn agent(home: &Home, revision: &str) -> (Client, Value) {
    let mut client = Client::start(home, ["serve", "--mcp", "--workers", "1"]);
    let hello = client.call(
        "initialize",
        json!({
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    (client, hello)
}

/// Leaves out the frames of the C library, which are others on another machine.
fn own_frames(result: &mut Value) {
    let stacks = result.get_mut("stacks").and_then(Value::as_array_mut);
    for stack in stacks.into_iter().flatten() {
        stack["depth"] = "DEPTH".into();
        let frames = stack["frames"].as_array_mut().expect("frames");
        frames.retain(|frame| frame["file"].as_str().is_some_and(|it| it.ends_with("queue.c")));
    }
}

fn build_queue(home: &Home) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c/queue.c");
    std::fs::copy(source, home.path().join("queue.c")).expect("the example");
    let built = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o", "queue", "queue.c"])
        .current_dir(home.path())
        .status();
    assert!(built.expect("a compiler").success());
}

#[test]
fn an_agent_finds_explains_and_saves_a_bug() {
    let home = Home::new();
    build_queue(&home);
    let (mut client, hello) = agent(&home, "2025-06-18");
    let mut transcript = String::new();
    let mut record = |method: &str, params: &Value, answer: &Value| {
        transcript += &format!("--> {method} {params}\n{answer:#}\n\n");
    };
    record("initialize", &json!({ "protocolVersion": "2025-06-18" }), &hello);
    let listed = client.call("tools/list", json!({}));
    let names: Vec<&Value> =
        listed["tools"].as_array().expect("tools").iter().map(|tool| &tool["name"]).collect();
    record("tools/list", &json!({}), &json!({ "tools": names }));
    for (tool, arguments) in [
        ("open_program", json!({ "command": ["./queue"] })),
        ("search", json!({})),
        ("shrink", json!({})),
        ("explain", json!({ "limit": 12 })),
        ("tasks", json!({})),
        ("pick", json!({ "task": "T1" })),
        ("backtrace", json!({ "task": "T0" })),
        ("variables", json!({ "expressions": ["jobs.count"] })),
        ("goto", json!({ "step": "first" })),
        ("save", json!({ "path": "found.heddle" })),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut answer = client.call("tools/call", params.clone());
        if let Some(structured) = answer.get("structuredContent").cloned() {
            // The text is the same value, for clients that do not know the structured one.
            let text = answer["content"][0]["text"].as_str().expect("a text");
            assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), structured);
            answer["content"][0]["text"] = "(the same as structuredContent)".into();
            own_frames(&mut answer["structuredContent"]);
        }
        record("tools/call", &params, &answer);
    }
    assert_eq!(client.end(), 0);
    let replayed = home.heddle(["replay", "found.heddle"]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    let directory = home.path().canonicalize().expect("it exists").display().to_string();
    let transcript = transcript
        .replace(&directory, "DIRECTORY")
        .replace(&home.path().display().to_string(), "DIRECTORY")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(transcript);
}

#[test]
fn revisions_are_negotiated() {
    let home = Home::new();
    for (wanted, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let (_, hello) = agent(&home, wanted);
        assert_eq!(hello["protocolVersion"], spoken);
        assert!(
            hello["capabilities"]["tools"].is_object() && hello["serverInfo"]["name"] == "heddle"
        );
    }
}

#[test]
fn tools_come_from_the_table_of_methods() {
    let home = Home::new();
    let (mut client, _) = agent(&home, "2025-06-18");
    let listed = client.call("tools/list", json!({}));
    let tools = listed["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), registry::METHODS.len());
    for (tool, method) in tools.iter().zip(registry::METHODS) {
        assert_eq!(tool["name"], method.name);
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["type"], "object");
    }
}

#[test]
fn errors_are_those_of_the_protocol() {
    let home = Home::new();
    let mut client = Client::start(&home, ["serve", "--mcp"]);
    assert_eq!(client.refusal("tools/list", json!({})).0, -32600);
    assert_eq!(client.refusal("initialize", json!({})).0, -32602);
    drop(client);
    let (mut client, _) = agent(&home, "2025-06-18");
    assert_eq!(client.call("ping", json!({})), json!({}));
    assert_eq!(client.refusal("resources/list", json!({})).0, -32601);
    assert_eq!(client.refusal("tools/call", json!({})).0, -32602);
    assert_eq!(client.refusal("tools/call", json!({ "name": "fly" })).0, -32602);
    assert_eq!(client.refusal("tools/list", json!({ "cursor": "2" })).0, -32602);
    // What a model can correct is a result.
    for (name, arguments) in [("step", json!({ "count": -1 })), ("tasks", json!({}))] {
        let answer = client.call("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(answer["content"][0]["text"].is_string(), "{answer}");
        assert!(answer.get("structuredContent").is_none(), "{answer}");
    }
}

#[test]
fn progress_goes_to_the_token_and_a_cancelled_call_has_no_answer() {
    let home = Home::new();
    let (mut client, _) = agent(&home, "2025-06-18");
    let program = tests::terminal::target("dinner");
    let open = json!({ "name": "open_program", "arguments": { "command": [program, "7"] } });
    client.call("tools/call", open);
    let arguments = json!({ "strategy": "random", "keep_going": true, "executions": 1u64 << 40 });
    let search = client.request(
        "tools/call",
        json!({ "name": "search", "arguments": arguments, "_meta": { "progressToken": "mine" } }),
    );
    let mut last = 0;
    while last < 3 {
        let news = client.receive();
        assert_eq!(news["method"], "notifications/progress");
        assert_eq!(news["params"]["progressToken"], "mine");
        let number = news["params"]["progress"].as_u64().expect("a number");
        assert!(number > last);
        last = number;
    }
    let params = json!({ "requestId": search, "reason": "enough" });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    let ping = client.request("ping", json!({}));
    loop {
        let message = client.receive();
        assert!(message["id"] != search || message.get("error").is_none(), "{message}");
        if message["id"] == ping {
            break;
        }
    }
    assert_eq!(client.end(), 0);
}
