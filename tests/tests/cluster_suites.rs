//! The tests of a suite, searched on several machines: the results are those of one machine.

use serde_json::Value;
use tests::cluster::{Server, has_server, worker};
use tests::heddle::{Home, Run, run};
use tests::hostile::BOUND;
use tests::targets::program;

/// A file with the commands of some tests.
fn commands(home: &Home) {
    let command = |name: &str| {
        let program = program(name);
        let path = program.build().expect("targets compile").to_string_lossy().into_owned();
        [&[path][..], &program.args].concat().join(" ")
    };
    let names = ["bank", "account_fixed", "increment_locked", "buffer_if", "twostage", "unguarded"];
    let lines: Vec<String> = names.into_iter().map(command).collect();
    std::fs::write(home.path().join("commands"), lines.join("\n")).expect("it can be written");
}

const SUITE: [&str; 6] = ["test", "--commands", "commands", "--no-fail-fast", "--max-time", "60s"];

fn suite(home: &Home, options: &[&str], strategy: &str) -> Run {
    let words = [&SUITE, options, &["--", "--strategy", strategy, "--max-executions", "6000"]];
    run(home.command(words.concat()), BOUND)
}

/// Each test's name, verdict, counts and failures.
fn results(run: &Run) -> Vec<Value> {
    let object: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let tests = object["tests"].as_array().expect("tests");
    let result = |test: &Value| {
        let report = &test["report"];
        let bugs: Vec<Value> = report["bugs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|bug| {
                [&bug["signature"], &bug["found_at"], &bug["count"]]
                    .map(Value::clone)
                    .to_vec()
                    .into()
            })
            .collect();
        serde_json::json!([
            test["suite"],
            test["verdict"],
            report["executions"],
            report["distinct"],
            report["bound"],
            bugs
        ])
    };
    tests.iter().map(result).collect()
}

#[test]
fn a_suite_has_the_results_of_one_machine() {
    if !has_server("a_suite_has_the_results_of_one_machine") {
        return;
    }
    let home = Home::new();
    commands(&home);
    // With more tests at a time than machines, each machine serves several searches in turn.
    let cases: [(&str, &[&str]); 2] = [("dpor", &["--jobs", "5"]), ("random", &[])];
    for (strategy, jobs) in cases {
        let here = results(&suite(&home, &["--json", "--jobs", "2"], strategy));
        assert_eq!(here.len(), 6, "{here:?}");
        let server = Server::start();
        let _workers = [worker(&home, &server.url()), worker(&home, &server.url())];
        let url = server.url();
        let there = suite(&home, &[&["--json", "--cluster", &url], jobs].concat(), strategy);
        assert_eq!(results(&there), here, "{strategy}: {}", there.stderr);
    }
}

#[test]
fn a_private_server_serves_a_whole_suite() {
    if !has_server("a_private_server_serves_a_whole_suite") {
        return;
    }
    let home = Home::new();
    commands(&home);
    let here = suite(&home, &["--json", "--jobs", "2"], "dpor");
    let there = suite(&home, &["--json", "--jobs", "2", "--cluster", "embedded"], "dpor");
    assert_eq!((results(&there), there.status), (results(&here), here.status), "{there:?}");
}

#[test]
fn bad_options_of_a_suite_get_one_clear_line() {
    let home = Home::new();
    commands(&home);
    let cases: [(&[&str], &str, &str); 4] = [
        (
            &["--cluster", "nats://127.0.0.1:1"],
            "icb",
            "machines cannot share a search with --strategy icb: its workers share a table",
        ),
        (&["--cluster", "nats://127.0.0.1:1"], "dpor", "127.0.0.1:1"),
        (&["--cluster", "file:none"], "dpor", "none: cannot read the server's address"),
        (&["--cluster-name", "night"], "dpor", "--cluster"),
    ];
    for (options, strategy, expected) in cases {
        let run = suite(&home, options, strategy);
        assert!(run.status == 2 && run.stderr.contains(expected), "{run:?}");
        assert!(run.stderr.starts_with("heddle: ") || run.stderr.starts_with("error: "), "{run:?}");
    }
    let own = ["test", "--commands", "commands", "--", "--cluster", "nats://127.0.0.1:1"];
    let run = home.heddle(own);
    let expected = "heddle: --cluster is for the whole suite: write it before `--`\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, expected));
}
