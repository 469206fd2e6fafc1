//! Starting a program with the runtime in it.

use crate::channel::{Channel, Common};
use crate::{Error, Target, runtime};
use nix::sys::personality::{self, Persona};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use traces::wire::{ENV_CHANNEL, ENV_SAVED};

/// Descriptors from here on are out of the way of those that programs count on.
const HIGH: i32 = 900;

/// Starts the program. It stops for nobody: the runtime takes control where `main` begins.
pub(crate) fn start(
    target: &Target,
    channel: &Channel,
    common: Option<&Common>,
) -> Result<Child, Error> {
    spawn(target, channel, common, false)
}

/// Starts the program under this thread's ptrace: it stops at once.
pub(crate) fn start_traced(target: &Target, channel: &Channel) -> Result<Child, Error> {
    spawn(target, channel, None, true)
}

fn spawn(
    target: &Target,
    channel: &Channel,
    common: Option<&Common>,
    traced: bool,
) -> Result<Child, Error> {
    let inherited = high_copy(channel.borrow())?;
    let common = common.map(|common| high_copy(common.borrow())).transpose()?;
    channel.set_common(common.as_ref().map_or(-1, AsRawFd::as_raw_fd));
    // `Command` would sort the environment, and programs may see in which order it is.
    let program = c_string(target.program.as_os_str())?;
    let arguments = std::iter::once(&target.name).chain(&target.args);
    let arguments = Strings::new(arguments.map(|argument| c_string(argument)).collect())?;
    let variables = environment(target, inherited.as_raw_fd())?;
    let variables = Strings::new(variables.iter().map(variable).collect())?;
    let mut command = Command::new(&target.program);
    command
        .current_dir(&target.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let parent = std::process::id();
    // SAFETY: between fork and exec only bare calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            // A group of its own: Ctrl-C is for Heddle, which ends the program itself.
            libc::setpgid(0, 0);
            // If Heddle is killed the program goes with it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            // Where it is refused addresses differ from run to run; nothing depends on them.
            let _ = personality::get()
                .and_then(|persona| personality::set(persona | Persona::ADDR_NO_RANDOMIZE));
            let mut none = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            if traced && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr());
            Err(std::io::Error::last_os_error())
        });
    }
    let child = command.spawn().map_err(|error| {
        let program = target.program.display();
        Error::Target(match error.raw_os_error() {
            Some(libc::EPERM) if traced => format!(
                "{program} cannot be traced: {error}; set kernel.yama.ptrace_scope to 0 or 1, or in \
                 a container allow ptrace (--cap-add SYS_PTRACE)"
            ),
            _ => format!("{program} cannot be started: {error}"),
        })
    })?;
    drop((inherited, common));
    Ok(child)
}

/// Strings as `execve` takes them.
struct Strings {
    pointers: Vec<*const libc::c_char>,
    /// What the pointers point to.
    _owned: Vec<CString>,
}

// SAFETY: the pointers are to what the value owns and nobody changes.
unsafe impl Send for Strings {}
// SAFETY: as above.
unsafe impl Sync for Strings {}

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

fn c_string(text: &OsStr) -> Result<CString, Error> {
    CString::new(text.as_bytes())
        .map_err(|_| Error::Target(format!("{}: has a zero byte in it", text.display())))
}

/// `NAME=value`.
fn variable((name, value): &(OsString, OsString)) -> Result<CString, Error> {
    let mut text = name.clone();
    text.push("=");
    text.push(value);
    c_string(&text)
}

/// A copy of a descriptor that a program inherits.
fn high_copy(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    use std::os::fd::FromRawFd;
    let failed = || Error::system("cannot pass the shared memory on");
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

/// Whether Rust prints a stack when it panics. To read the debug information for that takes it a tenth
/// of a second, hundreds of times what an execution takes; and the report of a failure has every stack.
const BACKTRACE: &str = "RUST_BACKTRACE";

/// The program's environment with what the loader and the runtime need, which the runtime takes
/// back before any of the program's code runs.
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
            Some(BACKTRACE) => (key.clone(), "0".into()),
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
    for (name, saved) in ENV_SAVED {
        let value = match name {
            "LD_PRELOAD" => joined(runtime.as_os_str(), old(name)),
            "LD_BIND_NOW" => OsString::from("1"),
            "LD_LIBRARY_PATH" => joined(runtime::sanitizer_directory()?.as_os_str(), old(name)),
            _ => joined(rseq, old(name)),
        };
        env.push((name.into(), value));
        if let Some(old) = old(name) {
            env.push((saved.into(), old.to_owned()));
        }
    }
    env.push((ENV_CHANNEL.into(), channel.to_string().into()));
    Ok(env)
}
