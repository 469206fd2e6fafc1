//! Commands that start the program with threads: `env`, `timeout`, a shell, a script.
//!
//! Such a command has no threads itself, and a controlled process cannot execute another program. So
//! the command runs without control, under ptrace, until one of its processes executes a program that
//! can create threads. That process is killed before its first instruction, and the program, with the
//! arguments, environment and directory that the process had, is the target.

use super::elf_names::imports;
use crate::Error;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the command may run before it starts a program with threads.
const LIMIT: Duration = Duration::from_secs(10);
/// The most processes of the command at a time; more are as good as an endless number.
const MOST_PROCESSES: usize = 64;

/// The functions with which a program replaces itself or starts others.
const STARTS_PROGRAMS: [&[u8]; 16] = [
    b"execve",
    b"execv",
    b"execvp",
    b"execvpe",
    b"execl",
    b"execlp",
    b"execle",
    b"fexecve",
    b"execveat",
    b"posix_spawn",
    b"posix_spawnp",
    b"system",
    b"popen",
    b"fork",
    b"vfork",
    b"_Fork",
];
/// The functions with which a program or a library creates threads.
const CREATES_THREADS: [&[u8]; 2] = [b"pthread_create", b"thrd_create"];

/// Which of the programs with threads that a command starts is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowedChild {
    /// The one of this number, from 1, in the order in which they start.
    Number(usize),
    /// The first whose executable or `argv[0]` has this name, or this path.
    Name(OsString),
}

impl FollowedChild {
    fn is(&self, number: usize, started: &Started) -> bool {
        let names = |path: &Path, name: &OsStr| path == name || path.file_name() == Some(name);
        match self {
            FollowedChild::Number(wanted) => *wanted == number,
            FollowedChild::Name(name) => {
                names(&started.program, name)
                    || started.words.first().is_some_and(|word| names(Path::new(word), name))
            }
        }
    }
}

/// A program that a process of the command was about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Started {
    pub(super) program: PathBuf,
    /// The arguments with `argv[0]`.
    pub(super) words: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
}

/// Whether `program`, a file with this content, can create no thread, but starts other programs.
pub(super) fn is_wrapper(program: &Path, data: &[u8]) -> bool {
    data.starts_with(b"#!") || imports(data, &STARTS_PROGRAMS) && !can_create_threads(program, data)
}

/// Whether the program or a library that it is linked to imports a function that creates threads.
fn can_create_threads(program: &Path, data: &[u8]) -> bool {
    let imports_it =
        |path: &PathBuf| std::fs::read(path).is_ok_and(|data| imports(&data, &CREATES_THREADS));
    imports(data, &CREATES_THREADS) || libraries(program).iter().any(imports_it)
}

/// The libraries that the dynamic linker would load for the program, as it lists them itself. None of
/// the program's code runs.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let linker = "/lib64/ld-linux-x86-64.so.2";
    let mut command = Command::new(linker);
    command.arg("--list").arg(program).stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(output) = command.output() else { return Vec::new() };
    // `\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)`
    let path = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (_, rest) = line.split_once(" => ")?;
        let (path, _) = rest.rsplit_once(" (")?;
        Some(PathBuf::from(path))
    };
    output.stdout.split(|&byte| byte == b'\n').filter_map(path).collect()
}

/// Runs the command until one of its processes is about to run a program that can create threads, the one
/// that `wanted` means if it is given. Otherwise the programs of this kind that were run, if the command ends
/// before, takes too long, or starts too many processes; they are killed in any case.
///
/// # Errors
/// If the command cannot be started or traced.
pub(super) fn first_with_threads(
    program: &Path,
    name: &OsStr,
    args: &[OsString],
    wanted: Option<&FollowedChild>,
) -> Result<Result<Started, Vec<Started>>, Error> {
    let mut command = Command::new(program);
    command.arg0(name).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec, the closure only makes a system call.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn().map_err(Error::system(format!(
        "{} cannot be started to find the program that it starts",
        program.display()
    )))?;
    let mut processes = Processes::default();
    processes.all.insert(child.id() as i32, State::Attached);
    let mut others = Vec::new();
    let until = Instant::now() + LIMIT;
    while (1..=MOST_PROCESSES).contains(&processes.all.len()) && Instant::now() < until {
        match processes.next_event() {
            Some((pid, status)) => {
                let Some(started) = processes.handle(pid, status) else { continue };
                if wanted.is_none_or(|wanted| wanted.is(others.len() + 1, &started)) {
                    return Ok(Ok(started));
                }
                others.push(started);
                request(libc::PTRACE_CONT, pid, 0);
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    Ok(Err(others))
}

/// The state of a traced process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its first stop is still to come, at which its events are requested or it is released.
    Attached,
    /// It runs.
    Running,
}

/// The traced processes, which are killed when this is dropped.
#[derive(Debug, Default)]
struct Processes {
    all: BTreeMap<i32, State>,
}

impl Processes {
    /// A process that stopped or ended, and its wait status.
    fn next_event(&mut self) -> Option<(i32, i32)> {
        let wait = |pid: i32| {
            let mut status = 0;
            // SAFETY: `status` is a place to write to; the processes are our own children or
            // traced by this thread.
            let found =
                unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::__WALL) };
            match found {
                0 => None,
                found if found == pid => Some(Some(status)),
                // It is no longer ours.
                _ => Some(None),
            }
        };
        let pids: Vec<i32> = self.all.keys().copied().collect();
        for pid in pids {
            match wait(pid) {
                Some(Some(status)) => return Some((pid, status)),
                Some(None) => _ = self.all.remove(&pid),
                None => {}
            }
        }
        None
    }

    /// Handles an event. The program with threads, if the process is about to run one.
    fn handle(&mut self, pid: i32, status: i32) -> Option<Started> {
        if !libc::WIFSTOPPED(status) {
            self.all.remove(&pid);
            return None;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let first = self.all.insert(pid, State::Running) == Some(State::Attached);
        if first {
            let options = libc::PTRACE_O_EXITKILL
                | libc::PTRACE_O_TRACEEXEC
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACECLONE;
            request(libc::PTRACE_SETOPTIONS, pid, options as usize);
        }
        let of_fork = [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE];
        let mut pass_on = 0;
        if of_fork.contains(&event) {
            let mut new: libc::c_ulong = 0;
            // The kernel stores the new process's id.
            request(libc::PTRACE_GETEVENTMSG, pid, &raw mut new as usize);
            self.all.entry(new as i32).or_insert(State::Attached);
        } else if event == libc::PTRACE_EVENT_EXEC {
            let executed = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            let creates_threads = |program: &PathBuf| {
                std::fs::read(program).is_ok_and(|data| can_create_threads(program, &data))
            };
            let started =
                executed.filter(creates_threads).and_then(|program| about_to_run(pid, program));
            if started.is_some() {
                return started;
            }
        } else if !first && event == 0 {
            pass_on = signal;
        }
        request(libc::PTRACE_CONT, pid, pass_on as usize);
        None
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for &pid in self.all.keys() {
            // SAFETY: a traced process keeps its id until this thread has waited for it.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
            }
        }
    }
}

/// A ptrace request; one that fails concerns a process that has ended, which the next wait reports.
fn request(request: libc::c_uint, pid: i32, data: usize) {
    // SAFETY: `data` is a number, or the address of a place of the size that the request writes.
    unsafe { libc::ptrace(request, pid, 0usize, data) };
}

/// What the process, which has just executed `program`, was given.
fn about_to_run(pid: i32, program: PathBuf) -> Option<Started> {
    let strings = |file: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).ok()?;
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        let words = bytes.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
        Some(words.collect::<Vec<_>>())
    };
    let variable = |word: OsString| {
        let at = word.as_bytes().iter().position(|&byte| byte == b'=')?;
        let (name, value) = (&word.as_bytes()[..at], &word.as_bytes()[at + 1..]);
        Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
    };
    Some(Started {
        program,
        words: strings("cmdline").filter(|words| !words.is_empty())?,
        env: strings("environ")?.into_iter().filter_map(variable).collect(),
        cwd: std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> PathBuf {
        Path::new("/usr/bin").join(name)
    }

    fn wraps(program: &Path) -> bool {
        is_wrapper(program, &std::fs::read(program).expect("it can be read"))
    }

    fn follow(words: &[&str]) -> Option<Started> {
        let program = file(words[0]);
        let args: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
        let found = first_with_threads(&program, OsStr::new(words[0]), &args, None);
        found.expect("it can be traced").ok()
    }

    #[test]
    fn a_later_program_with_threads_is_found_by_number_or_name() {
        let own = std::env::current_exe().expect("a path");
        let copy = tempfile::tempdir().expect("a directory");
        let second = copy.path().join("second");
        std::fs::copy(&own, &second).expect("it can be copied");
        // The test's own binary, which lists no test that has this name, and ends.
        let text = format!("{} none; {} none", own.display(), second.display());
        let args = ["-c".into(), text.into()];
        let follow = |wanted: FollowedChild| {
            first_with_threads(&file("sh"), OsStr::new("sh"), &args, Some(&wanted))
                .expect("it can be traced")
        };
        for wanted in [FollowedChild::Number(2), FollowedChild::Name("second".into())] {
            let started = follow(wanted).expect("it is started");
            assert_eq!(started.words, [second.as_os_str(), OsStr::new("none")]);
        }
        let others = follow(FollowedChild::Name("third".into())).expect_err("there is none");
        assert_eq!(others.len(), 2);
    }

    #[test]
    fn shells_and_env_start_programs_and_have_no_threads() {
        for name in ["env", "sh", "timeout", "nice"] {
            assert!(wraps(&file(name)), "{name}");
        }
        let own = std::env::current_exe().expect("a path");
        assert!(!wraps(&own), "this test creates threads");
        assert!(!wraps(&file("true")), "it starts nothing");
    }

    #[test]
    fn the_first_program_with_threads_is_found_with_arguments_and_environment() {
        let own = std::env::current_exe().expect("a path").to_string_lossy().into_owned();
        let commands: [&[&str]; 4] = [
            &["env", "COLOUR=red", &own, "one", "two words"],
            &["env", "COLOUR=red", "sh", "-c", "true; \"$0\" one 'two words'; true", &own],
            &["timeout", "5", "env", "COLOUR=red", &own, "one", "two words"],
            &["sh", "-c", "COLOUR=red exec \"$0\" one 'two words'", &own],
        ];
        for command in commands {
            let started = follow(command).expect("a program with threads");
            assert_eq!(started.words, [own.as_str(), "one", "two words"], "{command:?}");
            assert!(started.env.contains(&("COLOUR".into(), "red".into())), "{command:?}");
            assert_eq!(started.cwd, std::env::current_dir().expect("a directory"));
            let same = |path: &Path| path.canonicalize().expect("it exists");
            assert_eq!(same(&started.program), same(Path::new(&own)));
        }
    }

    #[test]
    fn a_command_that_starts_no_such_program_runs_to_its_end() {
        assert_eq!(follow(&["sh", "-c", "true; echo text; exit 3"]), None);
        assert_eq!(follow(&["env", "true"]), None);
    }
}
