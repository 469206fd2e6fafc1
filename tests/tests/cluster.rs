//! Searches on several machines, with a real NATS server: the answer is that of one machine.

use serde_json::Value;
use std::process::Stdio;
use tests::cluster::{Server, has_server, worker, worker_with};
use tests::debugging::compiled_text;
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_some, build};
use tests::targets::program;
use traces::report::{Bug, Report, Verdict};

/// The options of a search, with the program and its arguments.
fn arguments(name: &str, options: &[&str]) -> Vec<String> {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let words = ["explore", "--json"].iter().chain(options).map(|word| (*word).to_owned());
    words.chain(["--".to_owned(), path]).chain(program.args.iter().cloned()).collect()
}

/// The part of a report that must be that of one machine.
fn essence(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let bugs: Vec<Bug> = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let counts = (report.executions, report.distinct, report.learning, report.diverged);
    let found_by = report.found_by.clone();
    (report.verdict, report.complete, counts, report.bound, found_by, bugs, report.max_steps)
}

/// Each strategy that machines can share, once to an end or a limit and once with several rounds.
const CASES: [(&str, &[&str]); 19] = [
    ("account_fixed", &["--strategy", "auto"]),
    ("bank", &["--strategy", "auto", "--keep-going", "--max-executions", "9000"]),
    ("increment_locked", &["--strategy", "auto", "--max-executions", "20000"]),
    ("increment_locked", &["--strategy", "dfs"]),
    ("bank", &["--strategy", "dfs", "--keep-going", "--max-executions", "9000"]),
    ("increment_locked", &["--strategy", "delay"]),
    ("account_fixed", &["--strategy", "dpor"]),
    ("bank", &["--strategy", "dpor", "--keep-going"]),
    ("account_fixed", &["--strategy", "stateless"]),
    ("bank", &["--strategy", "stateless", "--keep-going"]),
    ("twostage", &["--strategy", "random", "--seed", "3"]),
    ("buffer_if", &["--strategy", "random", "--keep-going", "--max-executions", "20000"]),
    ("buffer_if", &["--strategy", "sticky:2", "--keep-going", "--max-executions", "9000"]),
    ("buffer_if", &["--strategy", "sparse", "--keep-going", "--max-executions", "9000"]),
    ("buffer_if", &["--strategy", "pct:3", "--keep-going", "--max-executions", "20000"]),
    ("buffer_if", &["--strategy", "pos", "--keep-going", "--max-executions", "9000"]),
    ("buffer_if", &["--strategy", "rapos", "--keep-going", "--max-executions", "9000"]),
    ("buffer_if", &["--strategy", "surw", "--keep-going", "--max-executions", "9000"]),
    ("buffer_if", &["--strategy", "feedback", "--keep-going", "--max-executions", "9000"]),
];

#[test]
fn two_machines_give_the_answer_of_one_for_every_strategy_that_they_can_share() {
    if !has_server("two_machines_give_the_answer_of_one") {
        return;
    }
    let home = Home::new();
    let server = Server::start();
    let _workers = [worker(&home, &server.url()), worker(&home, &server.url())];
    let mut covered = Vec::new();
    let url = server.url();
    for (name, options) in CASES {
        let alone = home.heddle(arguments(name, &[options, &["--workers", "2"]].concat())).report();
        let _ = std::fs::remove_dir_all(home.path().join("heddle-out"));
        let there = [options, &["--cluster", &url]].concat();
        let together = run(home.command(arguments(name, &there)), BOUND).report();
        assert_eq!(essence(&together), essence(&alone), "{name} {options:?}");
        covered.push(options[1].split(':').next().unwrap_or_default());
    }
    // Every other strategy is refused, before a server is asked.
    let refused = |name: &str| {
        let options = ["--strategy", name, "--cluster", "nats://127.0.0.1:1"];
        let run = home.heddle(arguments("bank", &options));
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{name}: {run:?}");
        let start = format!("heddle: machines cannot share a search with --strategy {name}: ");
        assert!(run.stderr.starts_with(&start) && run.stderr.lines().count() == 1, "{run:?}");
    };
    let listed = search::strategy::registry::listed();
    listed.map(|one| one.name).filter(|name| !covered.contains(name)).for_each(refused);
}

#[test]
fn a_private_server_ends_with_its_search() {
    if !has_server("a_private_server_ends_with_its_search") {
        return;
    }
    let home = Home::new();
    let options = ["--strategy", "dpor", "--workers", "2", "--cluster", "embedded"];
    let report = run(home.command(arguments("account_fixed", &options)), BOUND).report();
    assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
    // The processes of the private cluster end also where the search cannot begin.
    let lines = run(home.command(["explore", "--cluster", "embedded", "--", "./none"]), BOUND);
    let expected = "heddle: ./none does not exist: check the spelling, or build it\n";
    assert_eq!((lines.status, lines.stderr.as_str()), (3, expected), "{lines:?}");
}

/// Here another path of the program refers to other files, so that no worker runs its executions.
#[test]
fn a_search_that_all_workers_of_a_private_cluster_refuse_ends_with_their_reason() {
    if !has_server("a_search_that_all_workers_of_a_private_cluster_refuse") {
        return;
    }
    let home = Home::new();
    let source = "#include <pthread.h>\n#include <unistd.h>\n\
        static void *task(void *nothing) { return nothing; }\n\
        int main(void) {\n\
            pthread_t threads[3];\n\
            int number = access(\"here\", F_OK) == 0 ? 3 : 1;\n\
            for (int i = 0; i < number; i++) pthread_create(&threads[i], 0, task, 0);\n\
            for (int i = 0; i < number; i++) pthread_join(threads[i], 0);\n\
        }\n";
    let _ = compiled_text(&home, "program", source, &[]);
    std::fs::write(home.path().join("here"), "").expect("written");
    std::fs::write(home.path().join("commands"), "./program\n").expect("written");
    let why =
        "all workers of the private cluster refuse the search: an execution differs here from that";
    let options = ["--strategy", "dpor", "--workers", "2", "--cluster", "embedded"];
    let alone = [&["explore", "--json"], &options[..], &["--", "./program"]].concat();
    let ran = run(home.command(alone), BOUND);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(ran.status == 3 && last.starts_with(&format!("heddle: {why}")), "{ran:?}");
    let suite = ["test", "--commands", "commands", "--cluster", "embedded", "--jobs", "2"];
    let ran = run(home.command([&suite[..], &["--", "--strategy", "dpor"]].concat()), BOUND);
    assert!(ran.status == 3 && ran.stdout.contains(&format!("./program: {why}")), "{ran:?}");
}

/// The lines of a run's standard error that are JSON objects.
fn events(run: &Run) -> Vec<Value> {
    run.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn machines_run_only_programs_that_they_may() {
    if !has_server("machines_run_only_programs_that_they_may") {
        return;
    }
    let home = Home::new();
    let server = Server::start();
    let heddle = |args: &[&str]| run(home.command(args), BOUND);
    assert_eq!(heddle(&["cluster", "key", "mine"]).status, 0);
    assert_eq!(heddle(&["cluster", "key", "other"]).status, 0);
    let again = heddle(&["cluster", "key", "mine"]);
    assert_eq!(
        again.stderr,
        "heddle: mine: the key cannot be written: File exists (os error 17)\n"
    );
    let (_refusing, messages) = worker_with(&home, &server.url(), &["--trust", "other.pub"]);
    let (_trusting, _) = worker_with(&home, &server.url(), &["--trust", "mine.pub"]);
    let url = server.url();
    let options = ["--strategy", "random", "--max-executions", "50000", "--keep-going"];
    let signed = [&options[..], &["--cluster", &url, "--sign", "mine"]].concat();
    let ran = run(home.command(arguments("bank", &signed)), BOUND);
    assert_eq!(ran.report().executions, 50_000);
    let events = events(&ran);
    let of = |event: &str| events.iter().filter(|one| one["event"] == event).count();
    assert_eq!((of("joined"), of("lost")), (1, 0), "{events:?}");
    let refusal = await_some("the refusal", || {
        let text = std::fs::read_to_string(&messages).ok()?;
        text.lines().find(|line| line.contains("refuses")).map(str::to_owned)
    });
    assert!(
        refusal.contains("which this worker does not trust: start it with --trust U"),
        "{refusal}"
    );
    // Neither runs a program that is not signed.
    let unsigned = [&options[..], &["--cluster", &url, "--max-time", "3s"]].concat();
    let ran = run(home.command(arguments("bank", &unsigned)), BOUND);
    assert_eq!(ran.report().executions, 0, "{ran:?}");
    let why = "its program is not signed: sign it (heddle explore --sign), or start the worker with \
               --trust-cluster";
    assert!(ran.stderr.contains(why), "{ran:?}");
}

#[test]
fn bad_input_gets_one_clear_line() {
    if !has_server("bad_input_gets_one_clear_line") {
        return;
    }
    let home = Home::new();
    let server = Server::with("authorization { user: me, password: secret }");
    let plain = Server::start();
    let at = server.address();
    let url = |who: &str| format!("nats://{who}{at}");
    let search = |url: &str, more: &[&str]| {
        let options = [&["--strategy", "random", "--cluster", url], more].concat();
        run(home.command(arguments("bank", &options)), BOUND)
    };
    let refused = format!(
        "heddle: the server at {at} refuses this user: check the user and the password in the URL, or the \
         credentials (--creds)\n"
    );
    let cases = [
        (
            search("nats://127.0.0.1:1", &[]),
            "heddle: no NATS server answers at 127.0.0.1:1: start one \
          there (nats-server -js), or check the URL\n"
                .to_owned(),
        ),
        (search(&url(""), &[]), refused.clone()),
        (search(&url("me:wrong@"), &[]), refused.clone()),
        (run(home.command(["worker", &url("me:wrong@"), "--trust-cluster"]), BOUND), refused),
        (
            search("http://somewhere", &[]),
            "heddle: http://somewhere: not the address of a NATS server: \
          write nats://HOST, nats://HOST:PORT or tls://HOST\n"
                .to_owned(),
        ),
        (
            search(&url("me:secret@"), &["--cluster-name", "a.b"]),
            "heddle: a.b: not a name for a search: \
          use at most 48 letters, digits and _ (--cluster-name)\n"
                .to_owned(),
        ),
        (
            search(&url("me:secret@"), &["--tls-ca", "none.pem"]),
            "heddle: none.pem: there is no such file \
          of certificates (--tls-ca)\n"
                .to_owned(),
        ),
        (
            search(&url("me:secret@"), &["--creds", "none.creds"]),
            "heddle: none.creds: the credentials \
          cannot be read: No such file or directory (os error 2)\n"
                .to_owned(),
        ),
        (
            run(home.command(["worker", &plain.url()]), BOUND),
            "heddle: a worker runs the programs that it \
          is sent: name the key whose programs it may run (--trust KEY), or allow all \
          (--trust-cluster)\n"
                .to_owned(),
        ),
        (
            run(home.command(["cluster", "cancel", &plain.url(), "none"]), BOUND),
            format!(
                "heddle: there is no search none at {}: `heddle cluster status` lists them\n",
                plain.address()
            ),
        ),
    ];
    for (ran, expected) in cases {
        assert_eq!((ran.status, ran.stderr.as_str()), (2, expected.as_str()), "{ran:?}");
    }
}

/// A search that does not end on its own, and the program's path.
fn endless(home: &Home, server: &Server, name: &str) -> tests::cluster::Guarded {
    let url = server.url();
    let mut command = home.command([
        "explore",
        "--json",
        "--strategy",
        "random",
        "--max-executions",
        "0",
        "--cluster",
        &url,
        "--cluster-name",
        name,
        "--",
        "./program",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    tests::cluster::Guarded(command.spawn().expect("it starts"))
}

fn status(home: &Home, server: &Server) -> Value {
    run(home.command(["cluster", "status", "--json", &server.url()]), BOUND).object()
}

#[test]
fn a_search_continues_without_its_collector_and_then_with_another() {
    if !has_server("a_search_continues_without_its_collector") {
        return;
    }
    let home = Home::new();
    let server = Server::start();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let _worker = worker(&home, &server.url());
    let mut first = endless(&home, &server, "long");
    let state = home.path().join("heddle-out/search.heddle-state");
    await_some("a saved state", || state.exists().then_some(()));
    let shown = await_some("a machine that runs the search", || {
        let shown = status(&home, &server);
        (shown["machines"][0]["search"] == "long").then_some(shown)
    });
    assert_eq!(shown["searches"][0]["state"], "running", "{shown}");
    // A second search of the name.
    let url = server.url();
    let words = ["explore", "--strategy", "random", "--cluster", &url, "--cluster-name", "long"];
    let second = run(home.command([&words[..], &["--", "./program"]].concat()), BOUND);
    let start =
        format!("heddle: the search long is running at {}, started by process ", server.address());
    assert!(second.status == 2 && second.stderr.starts_with(&start), "{second:?}");
    assert_eq!(second.stderr.lines().count(), 1);
    first.kill();
    // Another program under the name of a search that can be continued.
    let bank =
        arguments("bank", &["--strategy", "random", "--cluster", &url, "--cluster-name", "long"]);
    let other = run(home.command(&bank), BOUND);
    assert!(
        other.status == 2 && other.stderr.contains("has a search long of another program"),
        "{other:?}"
    );
    // Elsewhere, without the files of the first collector.
    std::fs::remove_dir_all(home.path().join("heddle-out")).expect("removed");
    let limited = ["explore", "--json", "--strategy", "random", "--max-executions", "1"];
    let rest = ["--cluster", &url, "--cluster-name", "long", "--", "./program"];
    let ran = run(home.command([&limited[..], &rest].concat()), BOUND);
    assert!(ran.report().executions > 1, "it began anew: {ran:?}");
    assert!(ran.stderr.contains("the search long continues"), "{ran:?}");
    assert_eq!(status(&home, &server)["searches"][0]["state"], "over");
}

#[test]
fn a_search_can_be_cancelled_and_its_traces_copied() {
    if !has_server("a_search_can_be_cancelled_and_its_traces_copied") {
        return;
    }
    let home = Home::new();
    let server = Server::start();
    let url = server.url();
    let _worker = worker(&home, &url);
    let options = ["--strategy", "random", "--cluster", &url, "--cluster-name", "found"];
    let report = run(home.command(arguments("bank", &options)), BOUND).report();
    assert_eq!(report.bugs.len(), 1);
    let copied = run(home.command(["cluster", "traces", &url, "found", "--out", "copy"]), BOUND);
    let path = copied.stdout.trim_end();
    assert!(path.starts_with("copy/assertion-"), "{copied:?}");
    let original =
        std::fs::read(home.path().join(report.bugs[0].trace.as_deref().expect("a trace")));
    assert_eq!(std::fs::read(home.path().join(path)).ok(), original.ok());
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let mut search = endless(&home, &server, "long");
    await_some("a machine that runs the search", || {
        let shown = status(&home, &server);
        (shown["machines"][0]["search"] == "long").then_some(())
    });
    let cancelled = run(home.command(["cluster", "cancel", &url, "long"]), BOUND);
    assert_eq!(cancelled.stdout, "the search long was cancelled\n");
    await_some("the end of the collector", || search.0.try_wait().expect("a child"));
    await_some("an idle machine", || {
        status(&home, &server)["machines"][0]["search"].is_null().then_some(())
    });
}

#[test]
fn a_machine_that_leaves_a_search_with_a_waiting_piece_serves_the_next() {
    if !has_server("a_machine_that_leaves_a_search_with_a_waiting_piece_serves_the_next") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let server = Server::start();
    let url = server.url();
    let _worker = worker(&home, &url);
    for number in 0..4 {
        let name = format!("long_{number}");
        let mut search = endless(&home, &server, &name);
        // The machine has one worker, so that another piece waits.
        await_some("results of the machine", || {
            let shown = status(&home, &server);
            let ran = shown["machines"][0]["executions"].as_u64().unwrap_or_default();
            (shown["machines"][0]["search"] == name.as_str() && ran > 0).then_some(())
        });
        let cancelled = run(home.command(["cluster", "cancel", &url, &name]), BOUND);
        assert_eq!(cancelled.status, 0, "{cancelled:?}");
        await_some("the end of the collector", || search.0.try_wait().expect("a child"));
    }
}

#[test]
fn a_program_behind_a_symbolic_link_is_searched() {
    if !has_server("a_program_behind_a_symbolic_link_is_searched") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    std::os::unix::fs::symlink(".", home.path().join("link")).expect("a link");
    let server = Server::start();
    let url = server.url();
    let _worker = worker(&home, &url);
    let options = ["explore", "--json", "--strategy", "random", "--max-executions", "50"];
    let command = [&options[..], &["--cluster", &url, "--", "link/program"]].concat();
    assert_eq!(run(home.command(command), BOUND).report().executions, 50);
}
