//! Repeating a search when the program changes, and schedules of rebuilt programs.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tests::heddle::Home;
use tests::targets::{program, sources};

/// The time limit for an expected line.
const TIMEOUT: Duration = Duration::from_secs(120);

fn compile(source: &Path, flags: &[&str], to: &Path) {
    let built = Command::new("gcc")
        .args(["-O1", "-g", "-pthread"])
        .args(flags)
        .arg("-o")
        .args([to, source])
        .status()
        .expect("gcc runs");
    assert!(built.success());
}

/// The lines of both output streams of a command.
struct Watched {
    child: Child,
    lines: Receiver<String>,
}

impl Watched {
    fn start(mut command: Command) -> Watched {
        let mut child = command.spawn().expect("it starts");
        let (sender, lines) = channel();
        let out: Box<dyn Read + Send> = Box::new(child.stdout.take().expect("a pipe"));
        let err: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("a pipe"));
        for stream in [out, err] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Watched { child, lines }
    }

    /// Reads up to a line that contains this text.
    fn until(&self, expected: &str) {
        self.until_all(&[expected]);
    }

    /// Reads until there was a line with each of these texts, in whatever order: the streams are read
    /// independently of each other.
    fn until_all(&self, expected: &[&str]) {
        let mut missing = expected.to_vec();
        let mut seen = Vec::new();
        while !missing.is_empty() {
            let Ok(line) = self.lines.recv_timeout(TIMEOUT) else {
                panic!("no line with {missing:?} came within {TIMEOUT:?}: {seen:#?}");
            };
            missing.retain(|text| !line.contains(text));
            seen.push(line);
        }
    }

    fn interrupt(mut self) -> i32 {
        let pid = Pid::from_raw(self.child.id() as i32);
        kill(pid, Signal::SIGINT).expect("it is there");
        let status = self.child.wait().expect("it ends");
        status.code().unwrap_or(-1)
    }
}

#[test]
fn a_rebuilt_program_is_searched_again() {
    let home = Home::new();
    let path = home.path().join("increment");
    let source = sources().join("increment.c");
    compile(&source, &[], &path);
    let shown = path.to_string_lossy().into_owned();
    // A search that can never be complete.
    let options = ["explore", "--watch", "--strategy", "random", "--", &shown, "2", "1"];
    let watched = Watched::start(home.command(options));
    watched.until("increment for changes; press Ctrl-C to stop");
    // The same bug at other addresses: the schedule is adapted to them.
    let next = home.path().join("next");
    compile(&source, &["-O2"], &next);
    std::fs::rename(&next, &path).expect("renamed");
    watched.until("still fails");
    watched.until("Next");
    // First half a file, then none, then all of it.
    compile(&source, &["-DLOCKED"], &next);
    let whole = std::fs::read(&next).expect("it was built");
    std::fs::remove_file(&path).expect("it was there");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("half of it");
    std::fs::remove_file(&path).expect("it was there");
    std::fs::rename(&next, &path).expect("renamed");
    watched.until("no longer applies");
    watched.until("no failure was found by the new search");
    assert_eq!(watched.interrupt(), 4);
}

#[test]
fn the_tests_of_a_rebuilt_program_are_searched_again() {
    let home = Home::new();
    let path = home.path().join("increment");
    let source = sources().join("increment.c");
    compile(&source, &[], &path);
    let shown = path.to_string_lossy().into_owned();
    let commands = home.path().join("commands");
    std::fs::write(&commands, format!("{shown} 2 1\n")).expect("a file");
    let commands = commands.to_string_lossy().into_owned();
    let watched = Watched::start(home.command(["test", "--watch", "--commands", &commands]));
    watched.until_all(&["1 test: 1 bug", "heddle: waiting for changes; press Ctrl-C to stop"]);
    let next = home.path().join("next");
    compile(&source, &["-DLOCKED"], &next);
    std::fs::rename(&next, &path).expect("renamed");
    watched.until("increment changed");
    watched.until("1 test: 1 clean");
    assert_eq!(watched.interrupt(), 0);
}

#[test]
fn a_package_is_built_and_its_tests_are_searched_again() {
    let home = Home::new();
    let package = home.path().join("again");
    std::fs::create_dir_all(package.join("src")).expect("a directory");
    let manifest =
        "[package]\nname = \"again\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(package.join("Cargo.toml"), manifest).expect("a file");
    let library = package.join("src/lib.rs");
    let text = |add: &str| {
        format!(
            "use std::sync::{{Arc, atomic::{{AtomicU32, Ordering::SeqCst}}}};\n\
             fn add(sum: &AtomicU32) {{ {add}; }}\n\
             #[test]\nfn adds() {{\n    let sum = Arc::new(AtomicU32::new(0));\n    \
             let shared = sum.clone();\n    let thread = std::thread::spawn(move || add(&shared));\n    \
             add(&sum);\n    thread.join().unwrap();\n    assert_eq!(sum.load(SeqCst), 2);\n}}\n"
        )
    };
    std::fs::write(&library, text("sum.store(sum.load(SeqCst) + 1, SeqCst)")).expect("a file");
    let mut command = home.command(["cargo"; 0]);
    let mut path = tests::heddle::binary().parent().expect("a directory").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command.env("PATH", path).env("CARGO_NET_OFFLINE", "true").env_remove("RUSTFLAGS");
    let mut cargo = Command::new("cargo");
    cargo.args(["heddle", "test", "--watch"]).current_dir(&package);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => cargo.env(name, value),
            None => cargo.env_remove(name),
        };
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let watched = Watched::start(cargo);
    watched.until("1 test: 1 bug");
    // What does not compile is reported, and the next change is waited for.
    std::fs::write(&library, "fn wrong( {}\n").expect("a file");
    watched.until("cargo did not build this");
    std::fs::write(&library, text("sum.fetch_add(1, SeqCst)")).expect("a file");
    watched.until("1 test: 1 clean");
    assert_eq!(watched.interrupt(), 0);
}

#[test]
fn a_schedule_is_replayed_again_on_a_rebuilt_program() {
    let home = Home::new();
    let path = home.path().join("abba");
    let source = sources().join("abba.c");
    compile(&source, &[], &path);
    let report = home.heddle(["explore", "--json", "--", &path.to_string_lossy()]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let watched = Watched::start(home.command(["replay", "--watch", &trace]));
    watched.until("heddle: watching the program and the trace for changes; press Ctrl-C to stop");
    let next = home.path().join("next");
    compile(&source, &["-O2"], &next);
    std::fs::rename(&next, &path).expect("renamed");
    watched.until("still fails: deadlock");
    assert_eq!(watched.interrupt(), 1);
    // Commands that need the recorded build refuse; those that can adapt the schedule do.
    assert_eq!(home.heddle(["replay", &trace]).status, 2);
    let small = home.heddle(["shrink", "--json", &trace]);
    assert_eq!(small.status, 0, "{small:?}");
    assert!(small.stderr.contains("the schedule was adapted"), "{small:?}");
    let page = home.heddle(["explain", &trace]);
    assert!(page.stdout.contains("the schedule was adapted"), "{page:?}");
    assert!(page.stdout.contains("lock-order deadlock"), "{page:?}");
    // A program without the bug.
    let other = program("increment_locked").build().expect("targets compile");
    std::fs::copy(other, &path).expect("a copy");
    let refused = home.heddle(["shrink", &trace]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not apply"), "{refused:?}");
}
