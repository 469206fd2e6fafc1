//! What protects the user's account and machine: the debugger's socket, what killed processes leave
//! behind, and messages about limits that are too small.

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tests::heddle::{Home, Run, binary, run};
use tests::hostile::{BOUND, await_some, build};
use traces::report::{Report, Verdict};

/// A running `heddle gdb --server` with its own directory for temporary files.
struct Server {
    child: Child,
    socket: PathBuf,
    /// Open as long as the server runs: it ends when it cannot print.
    _output: BufReader<ChildStdout>,
}

impl Server {
    fn start(home: &Home) -> Server {
        let mut command = home.command(["gdb", "--server", "--keep", "--", "./program"]);
        let mut child = command.env("TMPDIR", temporary(home)).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        let rest = line.split_once("extended-remote ").expect("an address").1;
        let socket = rest.split(['\'', ' ', '\n']).next().expect("an address").into();
        Server { child, socket, _output: output }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn temporary(home: &Home) -> PathBuf {
    let path = home.path().join("tmp");
    std::fs::create_dir_all(&path).expect("writable");
    path
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

/// What is used because it is there may have come with the files of a stranger: a link to a device, a
/// pipe, a file of gigabytes.
#[test]
fn a_file_without_an_end_is_refused() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let toml = home.path().join("heddle.toml");
    let explore = || {
        let mut command = home.command(["explore", "--max-executions", "5", "--", "./program"]);
        command.env("HOME", home.path());
        run(command, BOUND)
    };
    let refused = |what: &str, run: Run, says: &str| {
        assert_eq!(run.status, 2, "{what}: {run:?}");
        assert_eq!(run.stderr, format!("heddle: {says}\n"), "{what}");
    };
    std::os::unix::fs::symlink("/dev/zero", &toml).expect("writable");
    refused("a device", explore(), "cannot read heddle.toml: it is not a regular file");
    std::fs::remove_file(&toml).expect("there");
    nix::unistd::mkfifo(&toml, Mode::S_IRWXU).expect("writable");
    refused("a pipe", explore(), "cannot read heddle.toml: it is not a regular file");
    std::fs::remove_file(&toml).expect("there");
    let file = File::create(&toml).expect("writable");
    file.set_len(3 << 30).expect("a hole");
    refused("gigabytes", explore(), "cannot read heddle.toml: it is larger than 16 MB");
    std::fs::remove_file(&toml).expect("there");
    let named = |args: &[&str]| {
        let args = [&["explore"], args, &["--", "./program"]].concat();
        run(home.command(args), BOUND)
    };
    let says = "/dev/zero: cannot read the suppressions: it is larger than 64 MB";
    refused("suppressions", named(&["--suppressions", "/dev/zero"]), says);
    let says = "/dev/zero: cannot read the predicates: it is larger than 64 MB";
    refused("predicates", named(&["--when", "@/dev/zero"]), says);
    // A file of zeros is no program.
    let large = File::create(home.path().join("large")).expect("writable");
    large.set_len(64 << 30).expect("a hole");
    large.set_permissions(Permissions::from_mode(0o700)).expect("writable");
    let run = run(home.command(["explore", "--", "./large"]), BOUND);
    assert_eq!(run.status, 3, "{run:?}");
}

/// The first run of each test leaves its trace in a directory that a later process removes.
#[test]
fn what_a_killed_search_of_tests_leaves_is_removed() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let test = || {
        let mut command = home.command(["test", "./program", "--", "--max-executions", "20"]);
        command.env("TMPDIR", temporary(&home));
        command
    };
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut killed = test().spawn().expect("it starts");
    let base = await_some("a temporary directory", || entries(&temporary(&home)).pop());
    await_some("the first trace", || {
        let directories = entries(&base);
        let files = directories.iter().flat_map(|directory| entries(directory));
        files.into_iter().find(|file| file.extension().is_some_and(|name| name == "heddle"))
    });
    killed.kill().expect("it runs");
    killed.wait().expect("a child");
    assert_eq!(run(test(), BOUND).status, 0);
    assert_eq!(entries(&temporary(&home)), vec![base.clone()]);
    assert_eq!(entries(&base), Vec::<PathBuf>::new());
}

/// A debugger without its server would compete with the shell for the terminal.
#[test]
fn the_debugger_ends_with_heddle_however_that_ends() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGHUP] {
        let mut command = home.command(["gdb", "--", "./program"]);
        // It waits for commands.
        let mut heddle = command.stdin(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(heddle.stdout.take().expect("a pipe")).lines();
        let (to, from) = std::sync::mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|_| _ = to.send(())));
        from.recv_timeout(BOUND).expect("gdb's first line within a minute");
        let gdb = await_some("gdb", || {
            let children = format!("/proc/{0}/task/{0}/children", heddle.id());
            let children = std::fs::read_to_string(children).unwrap_or_default();
            let name = |pid: &&str| std::fs::read_to_string(format!("/proc/{pid}/comm"));
            let is_gdb = |pid: &&str| name(pid).is_ok_and(|name| name == "gdb\n");
            children.split_whitespace().find(is_gdb).map(str::to_owned)
        });
        kill(Pid::from_raw(heddle.id() as i32), signal).expect("it runs");
        heddle.wait().expect("a child");
        await_some(&format!("the end of gdb after {signal}"), || {
            let stat = std::fs::read_to_string(format!("/proc/{gdb}/stat")).unwrap_or_default();
            (!Path::new(&format!("/proc/{gdb}")).exists() || stat.contains(") Z ")).then_some(())
        });
    }
}

/// Other users cannot reach the debugger's server.
#[test]
fn the_debuggers_server_is_a_private_socket_or_a_port_of_this_machine() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let server = Server::start(&home);
    assert_eq!(mode(&server.socket), 0o600);
    assert_eq!(mode(server.socket.parent().expect("a directory")), 0o700);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = run(home.command(["gdb", "--server", address, "--", "./program"]), BOUND);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains("loopback"), "{refused:?}");
    }
}

/// What a killed process leaves behind is removed by the next one, or by `clean`.
#[test]
fn directories_of_killed_processes_are_removed() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let killed = || {
        let mut server = Server::start(&home);
        server.child.kill().expect("it runs");
        server.child.wait().expect("it ended");
        let directory = server.socket.parent().expect("a directory").to_owned();
        assert!(directory.exists());
        directory
    };
    let first = killed();
    let next = Server::start(&home);
    assert!(!first.exists() && next.socket.exists());
    let second = killed();
    let clean = |args: &[&str]| {
        let mut command = home.command(args);
        // All of the user's directories are in this one: what is listed is removed.
        command.env("TMPDIR", temporary(&home)).env("HOME", home.path());
        run(command, BOUND)
    };
    let state = home.path().join("state/heddle");
    std::fs::create_dir_all(&state).expect("writable");
    std::fs::write(state.join("author-key"), [7; 32]).expect("writable");
    let shown = clean(&["clean"]);
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(shown.stdout.contains(&second.display().to_string()) && second.exists(), "{shown:?}");
    let removed = clean(&["clean", "--remove"]);
    assert_eq!(removed.status, 0, "{removed:?}");
    assert!(!second.exists() && next.socket.exists(), "{removed:?}");
    assert!(removed.stdout.contains("kept: --all removes it, too"), "{removed:?}");
    assert!(state.join("author-key").exists(), "{removed:?}");
}

/// A limit that is too small is named, with what to do.
#[test]
fn a_small_limit_on_stacks_is_named() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DFINE"]);
    let script = format!("ulimit -s 100; exec '{}' explore -- ./program", binary().display());
    let prepared = home.command([""]);
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(home.path());
    for (name, value) in prepared.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let refused = run(command, BOUND);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(refused.stderr.contains("ulimit -s 8192"), "{refused:?}");
    assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
}

/// A search that ends before its first execution says what may be the reason.
#[test]
fn a_search_without_any_execution_gives_a_hint() {
    let home = Home::new();
    let source = home.path().join("spins.c");
    let text = "int main(void) { volatile int x = 0; for (;;) x++; }\n";
    std::fs::write(&source, text).expect("writable");
    let mut gcc = Command::new("gcc");
    gcc.args(["-o", "spins", "spins.c"]).current_dir(home.path());
    let built = gcc.status().expect("gcc runs");
    assert!(built.success());
    let args = ["explore", "--json", "--max-time", "2s", "--", "./spins"];
    let ended = run(home.command(args), BOUND);
    let report: Report = ended.report();
    assert_eq!((report.verdict, report.executions), (Verdict::Incomplete, 0), "{report:?}");
    assert!(report.reason.contains("before the first execution ended"), "{report:?}");
    await_some("the end of the program", || {
        tests::hostile::processes(&home.path().join("spins")).is_empty().then_some(())
    });
}
