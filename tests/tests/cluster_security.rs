//! Servers that want TLS or credentials, that have no space, and machines in separate networks.

use nkeys::KeyPair;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::cluster::{Guarded, Server, has_server, worker_with};
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, build};

/// Runs a command quietly; whether it succeeded.
fn succeeds(program: &str, arguments: &[&str], directory: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn search(home: &Home, url: &str, more: &[&str]) -> Run {
    let words = ["explore", "--json", "--strategy", "random", "--max-executions", "3000"];
    let rest = ["--keep-going", "--max-time", "30s", "--cluster", url];
    run(home.command([&words[..], &rest, more, &["--", "./program"]].concat()), BOUND)
}

/// An authority, and a certificate that it signed for the loopback address.
fn certificates(directory: &Path) -> bool {
    let openssl = |line: &str| succeeds("openssl", &line.split(' ').collect::<Vec<_>>(), directory);
    std::fs::write(directory.join("san"), "subjectAltName=IP:127.0.0.1\n").expect("writable");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    ["ca", "other"].iter().all(|name| {
        openssl(&format!(
            "req -x509 {key} -keyout {name}.key -out {name}.pem -days 9 -subj /CN={name}"
        ))
    }) && openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server"))
        && openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 9 \
             -extfile san",
        )
}

#[test]
fn a_server_with_tls_is_reached_with_its_authority_only() {
    if !has_server("a_server_with_tls_is_reached") {
        return;
    }
    let home = Home::new();
    if !certificates(home.path()) {
        println!("SKIPPED: a_server_with_tls_is_reached: needs openssl");
        return;
    }
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let file = |name: &str| home.path().join(name).display().to_string();
    let server = Server::with(&format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}",
        file("server.pem"),
        file("server.key")
    ));
    let url = format!("tls://{}", server.address());
    let trusting = ["--trust-cluster", "--tls-ca", "ca.pem"];
    let (_machine, messages) = worker_with(&home, &url, &trusting);
    let ran = search(&home, &url, &["--tls-ca", "ca.pem"]);
    let said = std::fs::read_to_string(messages).unwrap_or_default();
    assert_eq!(ran.report().executions, 3_000, "{ran:?} {said}");
    let start = format!("heddle: the connection to {} is not secure (", server.address());
    for other in [&["--tls-ca", "other.pem"][..], &[]] {
        let ran = search(&home, &url, other);
        assert!(ran.status == 2 && ran.stderr.starts_with(&start), "{other:?}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    // A server without TLS is not used if TLS is asked for.
    let plain = Server::start();
    let ran = search(&home, &plain.url(), &["--tls-ca", "ca.pem"]);
    assert!(ran.status == 2 && ran.stderr.lines().count() == 1, "{ran:?}");
}

#[test]
fn an_account_that_stores_nothing_is_refused() {
    if !has_server("an_account_that_stores_nothing_is_refused") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let server = Server::with("accounts { plain { users: [ { user: me, password: secret } ] } }");
    let ran = search(&home, &format!("nats://me:secret@{}", server.address()), &[]);
    let says = "does not offer JetStream: start it with `nats-server -js`, or enable JetStream for this \
                account";
    assert!(ran.status == 2 && ran.stderr.contains(says), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
}

/// Subjects to which a user may not publish, and what a search cannot do then. Versions of the server differ in
/// the subjects.
const DENIED: [(&[&str], &str); 10] = [
    (&["$JS.API.STREAM.CREATE.KV_heddle-searches"], "cannot open the list of searches"),
    (
        &["$JS.API.DIRECT.GET.KV_heddle-searches.>", "$JS.API.STREAM.MSG.GET.KV_heddle-searches"],
        "cannot read the list of searches",
    ),
    (&["$KV.heddle-searches.>"], "cannot announce the search"),
    (&["$JS.API.STREAM.CREATE.OBJ_heddle-objects"], "cannot open the store of objects"),
    (&["$O.heddle-objects.>"], "cannot store an object"),
    (
        &[
            "$JS.API.CONSUMER.CREATE.OBJ_heddle-objects",
            "$JS.API.CONSUMER.CREATE.OBJ_heddle-objects.>",
        ],
        "cannot list the objects",
    ),
    (&["$JS.API.STREAM.CREATE.HEDDLE_PIECES_program"], "cannot create a stream"),
    (
        &[
            "$JS.API.CONSUMER.CREATE.HEDDLE_PIECES_program.>",
            "$JS.API.CONSUMER.DURABLE.CREATE.HEDDLE_PIECES_program.>",
        ],
        "cannot create the queue of pieces",
    ),
    (&["heddle.piece.>"], "cannot send pieces"),
    (
        &[
            "$JS.API.CONSUMER.CREATE.HEDDLE_RESULTS_program",
            "$JS.API.CONSUMER.CREATE.HEDDLE_RESULTS_program.>",
        ],
        "cannot receive results",
    ),
];

#[test]
fn missing_permissions_are_named_with_their_subjects() {
    if !has_server("missing_permissions_are_named") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    for (subjects, what) in DENIED {
        let server = Server::with(&format!(
            "authorization {{ users: [ {{ user: me, password: secret, permissions: {{ \
             publish: {{ deny: {subjects:?} }} }} }} ] }}"
        ));
        let ran = search(&home, &format!("nats://me:secret@{}", server.address()), &[]);
        let said = ran.stderr.lines().last().unwrap_or_default();
        let start = format!(
            "heddle: {what}: the server at {} does not permit it to this user (Permissions Violation for \
             Publish to \"",
            server.address()
        );
        let end = "\"): permit the subjects that Heddle needs (docs/cluster.md)";
        assert!(said.starts_with(&start) && said.ends_with(end), "{what}: {ran:?}");
        assert_eq!(ran.status, 3, "{ran:?}");
    }
}

/// A NATS token: `claims` as JSON, signed by `by` for `subject`.
fn token(by: &KeyPair, subject: &KeyPair, claims: &str) -> String {
    use base64::Engine;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let body = format!(
        "{{\"jti\":\"1\",\"iat\":1700000000,\"iss\":\"{}\",\"sub\":\"{}\",\"nats\":{claims}}}",
        by.public_key(),
        subject.public_key()
    );
    let head = encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let signed = format!("{head}.{}", encode(body.as_bytes()));
    let signature = by.sign(signed.as_bytes()).expect("it has the secret");
    format!("{signed}.{}", encode(&signature))
}

/// A credentials file of a user, whose token `account` signed.
fn credentials(home: &Home, name: &str, account: &KeyPair) -> PathBuf {
    let user = KeyPair::new_user();
    let claims = r#"{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1}"#;
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        token(account, &user, claims),
        user.seed().expect("it has the secret")
    );
    let path = home.path().join(name);
    std::fs::write(&path, text).expect("writable");
    path
}

#[test]
fn credentials_admit_the_users_of_an_account_only() {
    if !has_server("credentials_admit_the_users_of_an_account_only") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
    let (account, other) = (KeyPair::new_account(), KeyPair::new_account());
    let limits = r#""subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,
        "leaf":-1,"mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1"#;
    let of_account = format!("{{\"type\":\"account\",\"version\":2,\"limits\":{{{limits}}}}}");
    let of_operator = r#"{"type":"operator","version":2}"#;
    let server = Server::with(&format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        token(&operator, &operator, of_operator),
        system.public_key(),
        system.public_key(),
        token(&operator, &system, r#"{"type":"account","version":2}"#),
        account.public_key(),
        token(&operator, &account, &of_account)
    ));
    credentials(&home, "mine.creds", &account);
    credentials(&home, "other.creds", &other);
    let url = server.url();
    let (_machine, messages) =
        worker_with(&home, &url, &["--trust-cluster", "--creds", "mine.creds"]);
    let ran = search(&home, &url, &["--creds", "mine.creds"]);
    let said = std::fs::read_to_string(messages).unwrap_or_default();
    assert_eq!(ran.report().executions, 3_000, "{ran:?} {said}");
    let refused = format!(
        "heddle: the server at {} refuses this user: check the user and the password in the URL, or the \
         credentials (--creds)\n",
        server.address()
    );
    for other in [&["--creds", "other.creds"][..], &[]] {
        let ran = search(&home, &url, other);
        assert_eq!((ran.status, ran.stderr.as_str()), (2, refused.as_str()), "{other:?}: {ran:?}");
    }
}

#[test]
fn a_server_without_space_ends_the_search_with_one_line() {
    if !has_server("a_server_without_space_ends_the_search") {
        return;
    }
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    // Less than the program with its libraries.
    let store = tempfile::tempdir().expect("a directory");
    let limits = format!("store_dir: \"{}\", max_file_store: 100KB", store.path().display());
    let server = Server::with(&format!("jetstream {{ {limits} }}"));
    let ran = search(&home, &server.url(), &[]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(ran.status != 0 && lines.len() == 1, "{ran:?}");
    assert!(lines[0].starts_with("heddle: the server has no space left ("), "{ran:?}");
}

/// A network namespace with a virtual cable to a bridge, removed with this value.
struct Network {
    names: Vec<String>,
    bridge: String,
}

impl Network {
    /// A bridge with the address `10.213.X.1` and namespaces with `.2` and so on; none if this user may
    /// not create them.
    fn new(count: u8) -> Option<Network> {
        let id = std::process::id() % 10_000;
        let bridge = format!("hdl{id}");
        let mut network = Network { names: Vec::new(), bridge: bridge.clone() };
        let subnet = id % 250;
        let ip = |line: &str| succeeds("ip", &line.split(' ').collect::<Vec<_>>(), Path::new("/"));
        if !ip(&format!("link add {bridge} type bridge")) {
            return None;
        }
        let all = ip(&format!("addr add 10.213.{subnet}.1/24 dev {bridge}"))
            && ip(&format!("link set {bridge} up"))
            && (0..count).all(|number| {
                let (name, cable) = (format!("hdl{id}-{number}"), format!("hdl{id}v{number}"));
                network.names.push(name.clone());
                ip(&format!("netns add {name}"))
                    && ip(&format!("link add {cable} type veth peer name eth0 netns {name}"))
                    && ip(&format!("link set {cable} master {bridge} up"))
                    && ip(&format!("-n {name} addr add 10.213.{subnet}.{}/24 dev eth0", number + 2))
                    && ip(&format!("-n {name} link set eth0 up"))
                    && ip(&format!("-n {name} link set lo up"))
            });
        all.then_some(network)
    }

    fn address(&self) -> String {
        format!("10.213.{}.1", std::process::id() % 10_000 % 250)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = succeeds("ip", &["netns", "del", name], Path::new("/"));
        }
        let _ = succeeds("ip", &["link", "del", &self.bridge], Path::new("/"));
    }
}

#[test]
fn machines_in_separate_networks_search_together() {
    if !has_server("machines_in_separate_networks") {
        return;
    }
    let Some(network) = Network::new(2) else {
        println!("SKIPPED: machines_in_separate_networks: may not create network namespaces");
        return;
    };
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let server = Server::on(&network.address(), "authorization { user: me, password: secret }");
    let url = format!("nats://me:secret@{}", server.address());
    assert!(succeeds_heddle(&home, &["cluster", "key", "mine"]));
    let mut machines = Vec::new();
    for name in &network.names {
        let words = ["worker", &url, "--workers", "1", "--trust", "mine.pub"];
        let heddle = home.command(words);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name]).arg(heddle.get_program()).args(heddle.get_args());
        command
            .current_dir(home.path())
            .envs(heddle.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        machines.push(Guarded(command.spawn().expect("ip starts")));
    }
    let words = ["explore", "--json", "--strategy", "random", "--max-executions", "40000"];
    let rest = ["--sign", "mine", "--cluster", &url, "--", "./program"];
    let ran = run(home.command([&words[..], &rest].concat()), BOUND);
    assert_eq!(ran.report().executions, 40_000, "{ran:?}");
    let joined = ran.stderr.lines().filter(|line| line.contains("\"joined\"")).count();
    assert!((1..=2).contains(&joined), "{ran:?}");
}

fn succeeds_heddle(home: &Home, words: &[&str]) -> bool {
    run(home.command(words), BOUND).status == 0
}
