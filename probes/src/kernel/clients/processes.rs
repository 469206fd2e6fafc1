//! The processes of live clients. They are no children in the eyes of the program: waiting for its children does not
//! find them, and it gets no signal when they end.

use super::descriptors;
use crate::sys::raw;
use std::ffi::{CStr, c_char};

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// The variable with the number of the program's process, to send signals to.
const PROGRAM: &str = "HEDDLE_PID";

/// A process that runs a command.
pub(super) struct Process {
    /// The number of its process group.
    group: i64,
    /// The end of a pipe that gets the status.
    status: i32,
}

/// The command's exit status is added to this if a signal ended it.
const SIGNAL: i32 = 128;

impl Process {
    /// Starts the command in a shell, with the program's number in [`PROGRAM`]; none if that is impossible.
    pub(super) fn start(command: &str) -> Option<Process> {
        // SAFETY: passes no pointer.
        let own = unsafe { raw::call!(libc::SYS_getpid) };
        let variables = environment(&format!("{PROGRAM}={own}"))?;
        let command = private_copy(command)?;
        let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, std::ptr::null()];
        let mut pipe = [0i32; 2];
        // SAFETY: the kernel writes two descriptors to the local. The `clone` without flags copies the process, and the
        // copy continues here with its own memory; it makes only the calls below. With 0 as the signal at its end, no
        // wait for children finds it.
        unsafe {
            if raw::call!(libc::SYS_pipe2, pipe.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK)
                < 0
            {
                return None;
            }
            let copy = raw::call!(libc::SYS_clone, 0, 0, 0, 0, 0);
            if copy == 0 {
                run(&arguments, variables, pipe[1], own);
            }
            raw::call!(libc::SYS_close, pipe[1]);
            let status = descriptors::moved(pipe[0].into(), descriptors::RUNTIME) as i32;
            (copy > 0).then_some(Process { group: copy, status })
        }
    }

    /// The session of the command's processes.
    pub(super) fn session(&self) -> i64 {
        self.group
    }

    /// The descriptor at which the command's status arrives.
    pub(super) fn status(&self) -> i32 {
        self.status
    }

    /// The status with which the command ended, if it has.
    pub(super) fn ended(&self) -> Option<i32> {
        let mut status = 0i32;
        // SAFETY: the kernel writes only to the local.
        let answer = unsafe { raw::call!(libc::SYS_read, self.status, &raw mut status, 4) };
        match answer {
            4 => Some(status),
            // Its parent was killed.
            0 => Some(SIGNAL + libc::SIGKILL),
            _ => None,
        }
    }
}

/// The environment of a client's process: the program's, and this variable. It is in memory of which a copy of the process
/// has a copy.
fn environment(further: &str) -> Option<*const *const c_char> {
    // SAFETY: the C library's list ends with a null pointer.
    let inherited = unsafe {
        let count = (0..).take_while(|&at| !(*environ.add(at)).is_null()).count();
        std::slice::from_raw_parts(environ, count)
    };
    let prefix = format!("{PROGRAM}=");
    let mut all: Vec<*const c_char> = inherited.iter().map(|it| it.cast_const()).collect();
    // SAFETY: the variables are C strings.
    all.retain(|it| !unsafe { CStr::from_ptr(*it) }.to_bytes().starts_with(prefix.as_bytes()));
    all.extend([private_copy(further)?, std::ptr::null()]);
    let len = size_of_val(&all[..]);
    let to = raw::map(0, len, libc::PROT_READ | libc::PROT_WRITE, 0)? as *mut *const c_char;
    // SAFETY: the mapping was just made, and is as long as the list. It is never freed.
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), to, all.len()) };
    Some(to)
}

/// A C string in memory that a copy of the process has, too: the runtime's heap is shared, and this process may change it
/// before the copy executes the command. It is never freed.
fn private_copy(text: &str) -> Option<*const c_char> {
    let to = raw::map(0, text.len() + 1, libc::PROT_READ | libc::PROT_WRITE, 0)? as *mut u8;
    // SAFETY: the mapping was just made, is one byte longer than the text, and begins as zeros.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to, text.len()) };
    Some(to as *const c_char)
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: the calls pass no pointer; the descriptor and the group are this value's own.
        unsafe {
            raw::call!(libc::SYS_kill, -self.group, libc::SIGKILL);
            raw::call!(libc::SYS_close, self.status);
        }
    }
}

/// In the copy of process `parent`: starts the command as a child, waits for it, and writes its status to the pipe.
///
/// # Safety
/// This process is a copy that nothing else uses, and the arguments and variables are C strings, each followed by null.
unsafe fn run(
    arguments: &[*const c_char; 4],
    variables: *const *const c_char,
    pipe: i32,
    parent: i64,
) -> ! {
    let (none, mut status) = (0u64, 0i32);
    // SAFETY: the kernel reads and writes locals, and the caller's strings.
    unsafe {
        raw::die_with_parent(parent);
        raw::call!(libc::SYS_setsid);
        let own = raw::call!(libc::SYS_getpid);
        let child = raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0);
        if child == 0 {
            raw::die_with_parent(own);
            raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, 0, 8);
            let input = raw::call!(libc::SYS_open, c"/dev/null".as_ptr(), libc::O_RDONLY, 0);
            raw::call!(libc::SYS_dup2, input, 0);
            // The program's other descriptors are not the client's.
            raw::call!(libc::SYS_close_range, 3, u32::MAX, 0);
            raw::call!(libc::SYS_execve, c"/bin/sh".as_ptr(), arguments.as_ptr(), variables);
            raw::exit_process(127);
        }
        while raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) == -i64::from(libc::EINTR) {
        }
        let code = match libc::WIFEXITED(status) {
            true => libc::WEXITSTATUS(status),
            false => SIGNAL + libc::WTERMSIG(status),
        };
        raw::call!(libc::SYS_write, pipe, &raw const code, 4);
        raw::exit_process(0)
    }
}
