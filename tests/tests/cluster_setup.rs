//! The server of a search on several machines: the compose file of the examples, and a full disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::cluster::{Guarded, Server, has_server, worker, worker_with};
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, await_some, build};
use tests::targets::program;
use traces::report::Verdict;

/// The commands of a compose file, by service. They are JSON lists.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut service = "";
    for (at, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '#'])) {
            service = name.trim_end_matches(':');
        }
        if line.trim_start().starts_with("command: [") {
            let rest: Vec<&str> = text.lines().skip(at).collect();
            let rest = rest.join("\n");
            let list = &rest[rest.find('[').expect("a list")..=rest.find(']').expect("its end")];
            found.push((service.to_owned(), serde_json::from_str(list).expect("a list of words")));
        }
    }
    found
}

#[test]
fn the_commands_of_the_compose_file_work_without_containers() {
    if !has_server("the_commands_of_the_compose_file_work") {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/cluster/compose.yaml");
    let commands = commands(&std::fs::read_to_string(path).expect("the compose file"));
    let of = |service: &str| {
        let found = commands.iter().find(|(name, _)| name == service);
        found.expect("the service").1.clone()
    };
    let home = Home::new();
    // The server accepts its options.
    let store = home.path().join("data").to_string_lossy().into_owned();
    let options = of("nats").into_iter().map(|word| word.replace("/data", &store));
    let none = home.path().join("none.conf");
    std::fs::write(&none, "").expect("written");
    let mut check = Command::new("nats-server");
    let checked = check.args(options).arg("-t").arg("--config").arg(&none).output();
    let checked = checked.expect("it runs");
    assert!(checked.status.success(), "{checked:?}");
    let words = of("nats");
    assert!(words.ends_with(&["--user", "me", "--pass", "secret"].map(str::to_owned)), "{words:?}");
    let server = Server::with("authorization { user: me, password: secret }");
    let here = |service: &str| -> Vec<String> {
        let at = |word: String| match word.as_str() {
            "nats://me:secret@nats" => format!("nats://me:secret@{}", server.address()),
            "/key" | "/key.pub" | "/found" => word[1..].to_owned(),
            "/program/test" => "./program/test".to_owned(),
            _ => word,
        };
        of(service).into_iter().map(at).collect()
    };
    assert_eq!(run(home.command(["cluster", "key", "key"]), BOUND).status, 0);
    std::fs::create_dir(home.path().join("program")).expect("a directory");
    let fixed = program("account_fixed").build().expect("targets compile");
    std::fs::copy(fixed, home.path().join("program/test")).expect("a copy");
    let words = here("worker");
    let (verb, url, trust) = (words[0].as_str(), words[1].as_str(), &words[2..]);
    assert_eq!(verb, "worker");
    let trust: Vec<&str> = trust.iter().map(String::as_str).collect();
    let _worker = worker_with(&home, url, &trust);
    let mut search = here("search");
    search.insert(1, "--json".to_owned());
    let report = run(home.command(&search), BOUND).report();
    assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
}

/// How long a collector waits for a server that does not answer.
const LONGEST_ABSENCE: Duration = Duration::from_secs(120);

/// A file system of 64 MB, which is unmounted with this value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None if this user may not mount one.
    fn new(at: PathBuf) -> Option<SmallDisk> {
        std::fs::create_dir(&at).expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "heddle-test"]).arg(&at);
        let mounted = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(SmallDisk(at))
    }

    /// Fills the file system, with this file.
    fn fill(&self) -> PathBuf {
        use std::io::Write;
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).expect("a file");
        for size in [1 << 20, 1 << 12] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_a_search_with_one_line_and_the_search_can_be_continued() {
    if !has_server("a_full_disk_ends_a_search_with_one_line") {
        return;
    }
    let home = Home::new();
    let Some(disk) = SmallDisk::new(home.path().join("disk")) else {
        println!(
            "SKIPPED: a_full_disk_ends_a_search_with_one_line: needs the right to mount a tmpfs"
        );
        return;
    };
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let mut server = Server::storing_in(&disk.0.join("store"));
    let url = server.url();
    let _machine = worker(&home, &url);
    let search = |most: &str| {
        let words = ["explore", "--json", "--strategy", "random", "--max-executions", most];
        home.command([&words[..], &["--cluster", &url, "--", "./program"]].concat())
    };
    let messages = home.path().join("messages.txt");
    let mut command = search("0");
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&messages).expect("a file"));
    let mut first = Guarded(command.spawn().expect("it starts"));
    let state = home.path().join("heddle-out/search.heddle-state");
    await_some("a saved state", || state.exists().then_some(()));
    let filler = disk.fill();
    // Some versions of the server answer nothing any more, until they start again.
    let end = Instant::now() + LONGEST_ABSENCE + BOUND;
    while first.0.try_wait().expect("a child").is_none() {
        assert!(Instant::now() < end, "the search has not ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = std::fs::read_to_string(&messages).expect("messages");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("heddle: ")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    let is_clear =
        ["the server has no space left (", "look whether it runs and its disk has space"]
            .iter()
            .any(|what| errors[0].contains(what));
    let ends = errors[0].ends_with("the search can be continued under the same --cluster-name");
    assert!(is_clear && ends, "{said}");
    // With space again, what was done counts.
    std::fs::remove_file(filler).expect("removed");
    server.kill();
    server.start_again();
    let report = run(search("1"), BOUND).report();
    assert!(report.executions > 1, "it began anew: {report:?}");
}
