//! Processes that `heddle test` starts: bounded in time and in what they print.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a process printed, and how it ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// `None` if it was killed because its time was up.
    pub(super) status: Option<ExitStatus>,
}

/// More output than this is read and dropped.
const MOST_OUTPUT: usize = 64 << 20;
const POLL: Duration = Duration::from_millis(2);
/// How long a search may take to finish after it was interrupted.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(10);

/// Runs a command without input for at most this time. When `interrupted` is set, the process gets
/// SIGINT once. It is in a separate process group, so that Ctrl-C reaches it in this way only.
pub(super) fn run(
    command: &mut Command,
    time: Duration,
    interrupted: &AtomicBool,
) -> std::io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait(&mut child, time, interrupted)?;
    // A process that the command left behind may hold the pipes open: they are not waited for.
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let reader = reader?;
        let until = Instant::now() + Duration::from_secs(1);
        while !reader.is_finished() && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        let bytes = if reader.is_finished() { reader.join().ok()? } else { Vec::new() };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Ended {
        stdout: text(stdout).unwrap_or_default(),
        stderr: text(stderr).unwrap_or_default(),
        status,
    })
}

fn wait(
    child: &mut Child,
    time: Duration,
    interrupted: &AtomicBool,
) -> std::io::Result<Option<ExitStatus>> {
    let mut until = Instant::now() + time;
    let mut is_interrupted = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupted.load(Relaxed) && !is_interrupted {
            is_interrupted = true;
            until = until.min(Instant::now() + AFTER_INTERRUPTION);
            interrupt(child);
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// Sends SIGINT to the process, which has not been waited for, so that the number is still its own.
fn interrupt(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    // If it has ended, the next wait reports that.
    let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let mut part = [0; 16 << 10];
        while let Ok(len @ 1..) = from.read(&mut part) {
            let room = MOST_OUTPUT.saturating_sub(all.len());
            all.extend_from_slice(&part[..len.min(room)]);
        }
        all
    })
}
