//! Starts a program with the runtime preloaded.

use crate::control::channel::{Channel, Common};
use crate::error::remedy;
use crate::launch::child::Child;
use crate::launch::own_files::OwnFiles;
use crate::launch::{leftovers, priority, runtime};
use crate::{Error, Target};
use nix::sys::personality::{self, Persona};
use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use traces::wire::{ENV_CHANNEL, ENV_PADDING, ENV_SAVED};

/// Inherited descriptors start here, above the numbers that programs rely on.
const HIGH: i32 = 900;

/// Starts the program. The runtime takes control at the start of `main`.
pub(crate) fn start(
    target: &Target,
    channel: &Channel,
    common: Option<&Common>,
    files: Option<&OwnFiles>,
) -> Result<Child, Error> {
    let child = spawn(target, channel, common, files, false)?;
    leftovers::started(child.id());
    Ok(child)
}

/// Starts the program traced by this thread: it stops immediately.
pub(crate) fn start_traced(
    target: &Target,
    channel: &Channel,
    files: Option<&OwnFiles>,
) -> Result<Child, Error> {
    spawn(target, channel, None, files, true)
}

fn spawn(
    target: &Target,
    channel: &Channel,
    common: Option<&Common>,
    files: Option<&OwnFiles>,
    traced: bool,
) -> Result<Child, Error> {
    let inherited = high_copy(channel.borrow())?;
    let common = common.map(|common| high_copy(common.borrow())).transpose()?;
    channel.set_common(common.as_ref().map_or(-1, AsRawFd::as_raw_fd));
    channel.set_nice(priority::of_process());
    // `Command` sorts the environment, but programs can see its order.
    let program = c_string(target.program.as_os_str())?;
    let arguments = std::iter::once(&target.name).chain(&target.args);
    let arguments = Strings::new(arguments.map(|argument| c_string(argument)).collect())?;
    let variables = environment(target, inherited.as_raw_fd())?;
    let variables = Strings::new(variables.iter().map(variable).collect())?;
    let directory = c_string(target.cwd.as_os_str())?;
    let parent = std::process::id();
    let failed = io::Error::last_os_error;
    let prepare = || -> io::Result<Infallible> {
        // SAFETY: the calls take numbers, and strings that end with zero and outlive the closure. They change
        // the new process only, but for a local mask.
        unsafe {
            let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if nothing < 0 {
                return Err(failed());
            }
            for descriptor in 0..3 {
                if libc::dup2(nothing, descriptor) < 0 {
                    return Err(failed());
                }
            }
            if libc::chdir(directory.as_ptr()) != 0 {
                return Err(failed());
            }
            // A separate process group: Ctrl-C is for Heddle, which ends the program itself.
            libc::setpgid(0, 0);
            // Before the death signal, which a change of privileges removes.
            if let Some(files) = files {
                files.mount.enter()?;
            }
            // The program is killed when Heddle dies.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            // If this is refused, addresses differ from run to run; nothing depends on them.
            let _ = personality::get()
                .and_then(|persona| personality::set(persona | Persona::ADDR_NO_RANDOMIZE));
            let mut none = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            if traced && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                return Err(failed());
            }
            libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr());
            Err(failed())
        }
    };
    // SAFETY: the closure makes bare calls only, and changes no memory but its own locals.
    let child = unsafe { Child::start(&mut || prepare().unwrap_err()) };
    let child =
        child.map_err(|error| Error::Target(not_started(&target.program, traced, &error)))?;
    drop((inherited, common));
    Ok(child)
}

/// The least stack of main on which the runtime can prepare the program, and Heddle can read its
/// arguments. The runtime runs on main's stack until it has its own.
const LEAST_STACK: u64 = 512 << 10;

/// Refuses a limit on stacks below which Heddle's main or that of the program would overflow.
///
/// # Errors
/// The limit is too small.
pub fn check_stack_limit() -> Result<(), Error> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes a local of the type that it expects.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if done != 0 || limit.rlim_cur >= LEAST_STACK {
        return Ok(());
    }
    Err(Error::Target(format!(
        "the limit on stacks is {} kB, and Heddle needs {} kB; raise it with `ulimit -s 8192`",
        limit.rlim_cur >> 10,
        LEAST_STACK >> 10
    )))
}

/// Strings in the form that `execve` takes.
struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// The strings that the pointers refer to.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(strings: Result<Vec<CString>, Error>) -> Result<Strings, Error> {
        let owned = strings?;
        let pointers = owned.iter().map(|string| string.as_ptr());
        let pointers = pointers.chain([std::ptr::null()]).collect();
        Ok(Strings { pointers, _owned: owned })
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// The message for a program that could not be started. `traced`: for a debugger.
fn not_started(program: &Path, traced: bool, error: &std::io::Error) -> String {
    let program = program.display();
    match error.raw_os_error() {
        Some(libc::EPERM) if traced => format!(
            "{program} cannot be traced: {error}; set kernel.yama.ptrace_scope to 0 or 1, or in a \
             container allow ptrace (--cap-add SYS_PTRACE)"
        ),
        _ => format!("{program} cannot be started: {error}{}", remedy(error)),
    }
}

fn c_string(text: &OsStr) -> Result<CString, Error> {
    CString::new(text.as_bytes()).map_err(|_| {
        Error::Target(format!(
            "{}: the text has a zero byte, which no argument or variable of a program can have",
            text.display()
        ))
    })
}

/// `NAME=value`.
fn variable((name, value): &(OsString, OsString)) -> Result<CString, Error> {
    let mut text = name.clone();
    text.push("=");
    text.push(value);
    c_string(&text)
}

/// A copy of a descriptor that the program inherits, with a high number.
fn high_copy(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    use std::os::fd::FromRawFd;
    let failed = || Error::system("cannot pass the shared memory to the program");
    // SAFETY: plain fcntl calls on a descriptor that is open.
    unsafe {
        let mut copy = libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD, HIGH);
        if copy < 0 {
            copy = libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD, 3);
        }
        if copy < 0 {
            return Err(failed()(std::io::Error::last_os_error()));
        }
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// Whether Rust prints a backtrace when it panics. Reading the debug information for that takes a
/// tenth of a second, hundreds of times as long as an execution, and it is part of the steps. So only
/// an execution whose output alone is shown prints one.
pub(crate) const BACKTRACE: &str = "RUST_BACKTRACE";

impl Target {
    /// Whether the environment asks Rust to print backtraces.
    pub(crate) fn asks_for_backtraces(&self) -> bool {
        self.env.iter().any(|(name, value)| name == BACKTRACE && value != "0")
    }
}

/// The program's environment with the variables that the dynamic loader and the runtime need. The
/// runtime restores the original values before any of the program's code runs.
fn environment(target: &Target, channel: i32) -> Result<Vec<(OsString, OsString)>, Error> {
    let runtime = runtime::path()?;
    let old = |name: &str| {
        target.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    };
    let mut env: Vec<(OsString, OsString)> = target
        .env
        .iter()
        .filter(|(key, _)| {
            !ENV_SAVED.iter().any(|(name, _)| key == name)
                && !key.as_encoded_bytes().starts_with(b"HEDDLE_")
        })
        .map(|(key, value)| match key.to_str() {
            Some(BACKTRACE) if !target.prints_backtraces => (key.clone(), "0".into()),
            _ => (key.clone(), value.clone()),
        })
        .collect();
    let joined = |first: &OsStr, old: Option<&OsStr>| {
        let mut all = first.to_owned();
        if let Some(old) = old.filter(|old| !old.is_empty()) {
            all.push(":");
            all.push(old);
        }
        all
    };
    let rseq = OsStr::new("glibc.pthread.rseq=0");
    let own = env.len();
    for (name, saved) in ENV_SAVED {
        let value = match name {
            "LD_PRELOAD" => joined(runtime.as_os_str(), old(name)),
            "LD_BIND_NOW" => OsString::from("1"),
            "LD_LIBRARY_PATH" => {
                let mut first = runtime::sanitizer_directory()?.into_os_string();
                if let Some(directory) = runtime::library_directory() {
                    first = joined(&first, Some(directory.as_os_str()));
                }
                joined(&first, old(name))
            }
            _ => joined(rseq, old(name)),
        };
        env.push((name.into(), value));
        if let Some(old) = old(name) {
            env.push((saved.into(), old.to_owned()));
        }
    }
    env.push((ENV_CHANNEL.into(), channel.to_string().into()));
    let filled = padding(target.program.as_os_str(), &env[own..]);
    env.push((ENV_PADDING.into(), filled));
    Ok(env)
}

/// The space for the program's path and Heddle's own variables at the top of the initial stack.
const RESERVED: usize = 16 << 10;

/// The value of [`ENV_PADDING`]. The kernel copies the path given to `execve` (`AT_EXECFN`), then the
/// environment from its last string to its first, then the arguments, downwards from the top of the
/// stack. As the last variable, the padding lies next to the path: with both and Heddle's own variables
/// of the same total length in every run, all addresses below are the same. Stack addresses are values
/// that a program may store, compare, and print; a trace would not replay under a path of another length.
fn padding(program: &OsStr, own: &[(OsString, OsString)]) -> OsString {
    let own: usize = own.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let used = program.len() + own;
    "-".repeat(used.next_multiple_of(RESERVED) - used).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_makes_path_and_own_variables_equally_long_in_every_run() {
        let total = |program: &str, preload: &str| {
            let own = [("LD_PRELOAD".into(), preload.into()), (ENV_CHANNEL.into(), "900".into())];
            let filled = padding(OsStr::new(program), &own);
            let own: usize = own.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
            program.len() + own + filled.len()
        };
        let expected = total("/bin/x", "/r.so");
        for length in 1..300 {
            assert_eq!(total(&"p".repeat(length), &"r".repeat(length * 7)), expected);
        }
    }

    #[test]
    fn programs_that_cannot_be_started_are_named() {
        let error = std::io::Error::from_raw_os_error;
        let message = |traced, number| not_started(Path::new("/bin/x"), traced, &error(number));
        assert_eq!(
            message(true, libc::EPERM),
            "/bin/x cannot be traced: Operation not permitted (os error 1); set \
             kernel.yama.ptrace_scope to 0 or 1, or in a container allow ptrace (--cap-add SYS_PTRACE)"
        );
        assert_eq!(
            message(false, libc::EPERM),
            "/bin/x cannot be started: Operation not permitted (os error 1); the kernel or the container \
             refuses it: `heddle doctor` says what Heddle needs"
        );
        assert_eq!(
            c_string(OsStr::new("a\0b")).expect_err("a zero byte").to_string(),
            "a\0b: the text has a zero byte, which no argument or variable of a program can have"
        );
    }
}
