//! A worker process that runs executions, monitored by the controller.

use crate::control::channel::{Channel, Common};
use crate::control::ending::{Ending, KillerCounts};
use crate::launch::child::Child;
use crate::launch::own_files::OwnFiles;
use crate::launch::{leftovers, process};
use crate::{Error, Target};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};
use traces::wire::{Job, Reset, RuntimeMessage, fell_back, state};

/// How long to wait for a message before the clock is checked.
const TICK: Duration = Duration::from_millis(50);

/// How long an execution may continue after the user interrupted it.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// The result of waiting for a worker.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it is taken apart as soon as it is there")]
pub(crate) enum Event {
    /// The runtime sent a message.
    RuntimeMessage(RuntimeMessage),
    /// Nothing happened; time to report progress.
    Tick,
    /// An execution is over and its process is parked for inspection.
    Parked,
    /// The worker waits for work. The parcel contains the result of the last piece, if there was
    /// one.
    Idle,
    /// The search is over.
    Done,
    /// The process ended because an execution is about to change files: the next process will have its
    /// own, or share them. The execution has to be repeated.
    Held,
    /// The process died without a message.
    Died(Ending),
}

/// One worker.
pub(crate) struct Worker<'a> {
    target: &'a Target,
    job: Job,
    channel: Channel,
    child: Child,
    /// Its copy of the working directory.
    files: Option<OwnFiles>,
    pending: std::collections::VecDeque<RuntimeMessage>,
    /// The exit status of the process, once it has ended.
    status: Option<i32>,
    /// What the kernel's out-of-memory killer had done when the process was started.
    killer: KillerCounts,
    watchdog: Watchdog,
    /// Memory that all workers of a search share.
    common: Option<&'a Common>,
    /// When the worker was first asked to stop.
    stopping: Option<Instant>,
}

impl<'a> Worker<'a> {
    /// Starts the program with a job.
    pub(crate) fn start(
        target: &'a Target,
        job: Job,
        spin_after: Duration,
    ) -> Result<Worker<'a>, Error> {
        Worker::with(target, job, spin_after, None)
    }

    /// Starts the program with a job of this worker, and with memory that all workers share.
    pub(crate) fn with(
        target: &'a Target,
        job: Job,
        spin_after: Duration,
        common: Option<&'a Common>,
    ) -> Result<Worker<'a>, Error> {
        let channel = Channel::create(&job)?;
        let files = target.files.of_process(&target.cwd)?;
        channel.header().files.store(target.files.policy().code(), Relaxed);
        let child = process::start(target, &channel, common, files.as_ref())?;
        Ok(Worker {
            target,
            job,
            channel,
            child,
            files,
            common,
            pending: std::collections::VecDeque::new(),
            status: None,
            killer: KillerCounts::now(),
            watchdog: Watchdog::new(spin_after),
            stopping: None,
        })
    }

    /// The shared memory.
    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The process that runs the execution, if there is one.
    ///
    /// The process id is in memory that the program can overwrite, so only the worker and its
    /// descendants are ever inspected or signalled.
    pub(crate) fn execution_pid(&self) -> Option<i32> {
        let pid = self.channel.header().execution_pid.load(Relaxed);
        let worker = self.child.id();
        let parent = |pid: &i32| stat(*pid).map(|stat| stat.parent).filter(|&pid| pid > 1);
        let mut line = std::iter::successors((pid > 1).then_some(pid), parent);
        line.any(|ancestor| ancestor == worker).then_some(pid)
    }

    /// Waits for the next event, or for one tick.
    pub(crate) fn wait(&mut self, interrupt: &AtomicBool) -> Result<Event, Error> {
        loop {
            let seen = self.channel.seen();
            let state = self.channel.header().state.load(Acquire);
            if !self.channel.is_intact() {
                self.end();
                return Err(Error::Runtime(format!(
                    "{} overwrote the memory that it shares with Heddle, so there is no result: \
                     find the invalid write first, for instance with AddressSanitizer",
                    self.target.program.display()
                )));
            }
            self.pending.extend(self.channel.news());
            if let Some(news) = self.pending.pop_front() {
                return Ok(Event::RuntimeMessage(news));
            }
            match state {
                state::PARKED => return Ok(Event::Parked),
                state::IDLE => return Ok(Event::Idle),
                state::DONE => {
                    self.reap();
                    return Ok(Event::Done);
                }
                state::FAILED => {
                    self.reap();
                    return Err(Error::Runtime(format!(
                        "{} cannot be controlled: {}",
                        self.target.program.display(),
                        self.channel.message()
                    )));
                }
                state::HELD => {
                    self.reap();
                    self.target.files.begin_to_change(&self.target.cwd);
                    return Ok(Event::Held);
                }
                state::RESTORE => {
                    self.restore_files()?;
                    self.channel.header().state.store(state::RUNNING, Relaxed);
                    self.channel.resume();
                    continue;
                }
                state::DISTURBED => {
                    self.reap();
                    let status = self.channel.header().died.swap(0, Relaxed);
                    let status = status.saturating_sub(1) as i32;
                    return Ok(Event::Died(Ending::from_outside(status, &self.killer)));
                }
                state::AGAIN => {
                    self.reap();
                    self.start_process_again()?;
                    // With exec reset this is the only event between executions, and the caller
                    // has limits to check.
                    return Ok(Event::Tick);
                }
                _ => {}
            }
            if let Some(status) = self.ended()? {
                // The last message may have arrived after the check above.
                self.pending.extend(self.channel.news());
                let state = self.channel.header().state.load(Acquire);
                if !self.pending.is_empty() || state::is_last(state) {
                    continue;
                }
                let ending = self.ending(status);
                if self.next_process_can_report() && !ending.from_outside {
                    self.channel.header().died.store(status as u32 + 1, Relaxed);
                    self.start_process_again()?;
                    continue;
                }
                return Ok(Event::Died(ending));
            }
            if interrupt.load(Relaxed) {
                self.channel.stop();
                // An execution that does not end must not delay the interrupt.
                let since = *self.stopping.get_or_insert_with(Instant::now);
                if since.elapsed() > STOP_TIMEOUT {
                    self.end();
                    return Ok(Event::Died(Ending::own("it was interrupted")));
                }
            }
            // A check reads the state of several processes, and a piece of work has several messages.
            if self.watchdog.is_due() {
                self.watchdog.check(&self.channel, self.execution_pid());
            }
            self.channel.wait(seen, self.watchdog.tick());
            if self.channel.seen() == seen {
                return Ok(Event::Tick);
            }
        }
    }

    /// Starts the program again, in its initial state.
    fn start_process_again(&mut self) -> Result<(), Error> {
        self.restore_files()?;
        self.channel.header().state.store(state::STARTING, Relaxed);
        leftovers::ended(self.child.id());
        self.child = process::start(self.target, &self.channel, self.common, self.files.as_ref())?;
        Ok(())
    }

    /// Restores the files that executions changed.
    fn restore_files(&mut self) -> Result<(), Error> {
        if self.channel.header().files_changed.swap(0, Relaxed) == 0 {
            return Ok(());
        }
        self.files.as_mut().map_or(Ok(()), OwnFiles::restore)
    }

    /// Whether the worker was asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// The wait status of the process, if it has ended.
    fn ended(&mut self) -> Result<Option<i32>, Error> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait().map_err(Error::system("cannot wait for the program"))?;
        self.status = status.map(ExitStatusExt::into_raw);
        Ok(self.status)
    }

    /// How a process with this wait status ended.
    fn ending(&self, status: i32) -> Ending {
        let unresponsive = self.channel.header().unresponsive.load(Relaxed) != 0;
        Ending::of(status, unresponsive, &self.killer)
    }

    /// Whether the dead process ran a single execution, so that the next process can report its
    /// outcome from the shared memory.
    fn next_process_can_report(&self) -> bool {
        let header = self.channel.header();
        self.job.shared
            && (self.job.reset == Reset::Exec || header.fell_back.load(Relaxed) == fell_back::EXEC)
            && header.in_task.load(Relaxed) != 0
            && self.stopping.is_none()
    }

    /// Hands a piece of work to the idle worker.
    pub(crate) fn send_work(&mut self, work: &[u8]) -> Result<(), Error> {
        if self.channel.send_work(work) {
            return Ok(());
        }
        Err(Error::Runtime(
            "the remaining work of the search is too large to hand to a worker".into(),
        ))
    }

    /// Waits for a process that has sent its last message; kills it if it does not exit.
    fn reap(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::yield_now();
        }
        self.end();
    }

    /// Kills the process and everything it started.
    pub(crate) fn end(&mut self) {
        // Its children have a death signal; the process group covers everything else.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill(Pid::from_raw(-self.child.id()), Signal::SIGKILL);
            self.child.kill();
            let _ = self.child.wait();
        }
        leftovers::ended(self.child.id());
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Detects a task that runs without reaching a scheduling point.
///
/// It measures the processor time of the process, so that a busy machine causes no false alarm.
/// Only while the process sleeps (a call that never returns) does it measure wall time, from check to
/// check: a machine that was suspended causes no false alarm either. A process that is ready to run, is
/// stopped or waits for a disk is the machine's or the user's doing, and counts after a very long time
/// only. A task whose memory keeps growing does not count as spinning: it ends at the latest when memory
/// runs out.
struct Watchdog {
    spin_after: Duration,
    last: (u64, u64, i32),
    cpu: Duration,
    /// The largest memory size seen since the last progress.
    most: u64,
    /// How long the process slept without progress, and how long it was in another state.
    slept: Duration,
    stalled: Duration,
    warned: bool,
    /// When it was checked last.
    checked: Option<Instant>,
}

impl Watchdog {
    fn new(spin_after: Duration) -> Watchdog {
        Watchdog {
            spin_after,
            last: (0, 0, 0),
            cpu: Duration::ZERO,
            most: 0,
            slept: Duration::ZERO,
            stalled: Duration::ZERO,
            warned: false,
            checked: None,
        }
    }

    /// Whether the last check is a tick ago, however many messages came since.
    fn is_due(&self) -> bool {
        self.checked.is_none_or(|at| at.elapsed() >= self.tick())
    }

    /// How often to check.
    fn tick(&self) -> Duration {
        TICK.min(self.spin_after / HASTE)
    }

    fn check(&mut self, channel: &Channel, pid: Option<i32>) {
        let before = self.checked.replace(Instant::now());
        let passed = before.map_or(Duration::ZERO, |before| before.elapsed()).min(2 * self.tick());
        let header = channel.header();
        let pid = pid.unwrap_or_default();
        let now = (header.executions.load(Relaxed), header.heartbeat.load(Relaxed), pid);
        if now != self.last || header.in_task.load(Relaxed) == 0 || pid <= 0 {
            self.last = now;
            self.warned = false;
            self.begin(stat(pid).unwrap_or_default());
            return;
        }
        let limit = match header.interrupted.load(Relaxed) {
            0 => self.spin_after,
            _ => self.spin_after / HASTE,
        };
        let stat = stat(pid).unwrap_or_default();
        *(if stat.sleeps { &mut self.slept } else { &mut self.stalled }) += passed;
        match self.judge(limit, &stat) {
            Verdict::Works => self.begin(stat),
            Verdict::Unknown => {}
            Verdict::Spins => self.stop_spinning(channel, pid),
        }
    }

    /// Judges a process that made no progress since [`Watchdog::begin`].
    fn judge(&self, limit: Duration, stat: &Stat) -> Verdict {
        let limit = if self.warned { self.spin_after * 2 } else { limit };
        let used = stat.cpu.saturating_sub(self.cpu);
        // A call that sleeps in the kernel is not slow, but waits.
        if used < limit && self.slept < limit * 2 && self.stalled < limit * STALLED {
            return Verdict::Unknown;
        }
        let grows = !self.warned && stat.memory > self.most + GROWTH;
        if grows { Verdict::Works } else { Verdict::Spins }
    }

    fn stop_spinning(&mut self, channel: &Channel, pid: i32) {
        let signal = if self.warned { Signal::SIGKILL } else { Signal::SIGSTKFLT };
        if self.warned {
            channel.header().unresponsive.store(1, Relaxed);
        }
        self.warned = true;
        let _ = kill(Pid::from_raw(pid), signal);
    }

    /// The process made progress: measure from now on.
    fn begin(&mut self, stat: Stat) {
        self.slept = Duration::ZERO;
        self.stalled = Duration::ZERO;
        self.cpu = stat.cpu;
        self.most = stat.memory;
    }
}

/// The judgement on a process without progress.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Works,
    Unknown,
    Spins,
}

/// Where a task was interrupted once, further ones are after this fraction of the time: the same loop
/// may be in every execution.
const HASTE: u32 = 20;

/// A process that does not sleep, and does not get to run either, counts after so many times the limit.
const STALLED: u32 = 100;

/// Growth of memory that counts as progress.
const GROWTH: u64 = 1 << 20;

/// The parts of `/proc/PID/stat` that the watchdog uses.
#[derive(Default)]
struct Stat {
    parent: i32,
    /// The processor time it used.
    cpu: Duration,
    /// Its virtual memory, in bytes.
    memory: u64,
    /// Whether it waits in the kernel, for anything but a disk.
    sleeps: bool,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses can contain anything. The fields after it start with the state and
    // the parent; user and system time are the 12th and 13th.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        // The kernel reports hundredths of a second to programs (USER_HZ).
        cpu: Duration::from_millis((ticks(11)? + ticks(12)?) * 10),
        memory: ticks(21)? * 4096,
        sleeps: fields.first() == Some(&"S"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_with_growing_memory_does_not_spin() {
        let second = Duration::from_secs(1);
        let check = |stalled: f64, used: f64, memory: u64, opinion: Verdict| {
            let watchdog = Watchdog {
                cpu: second * 5,
                most: 7 << 20,
                stalled: second.mul_f64(stalled),
                ..Watchdog::new(second)
            };
            let stat = Stat { cpu: second * 5 + second.mul_f64(used), memory, ..Stat::default() };
            let got = watchdog.judge(second, &stat);
            assert_eq!(got, opinion, "stalled {stalled} s, used {used} s, {memory} bytes");
        };
        // Neither busy long enough nor without progress for very long.
        check(2.0, 0.5, 7 << 20, Verdict::Unknown);
        check(99.0, 0.0, 7 << 20, Verdict::Unknown);
        // Busy without progress, or without progress for very long.
        check(2.0, 1.5, 7 << 20, Verdict::Spins);
        check(101.0, 0.0, 7 << 20, Verdict::Spins);
        // A small change of the memory size is no progress.
        check(2.0, 1.5, (7 << 20) + 4096, Verdict::Spins);
        check(2.0, 1.5, 1 << 20, Verdict::Spins);
        // Busy, with growing memory.
        check(2.0, 1.5, 9 << 20, Verdict::Works);
        check(101.0, 0.0, 9 << 20, Verdict::Works);
    }

    #[test]
    fn messages_do_not_make_checks_more_frequent() {
        let mut watchdog = Watchdog::new(Duration::from_secs(3600));
        assert!(watchdog.is_due(), "nothing was checked yet");
        watchdog.checked = Some(Instant::now() + TICK);
        assert!(!watchdog.is_due(), "a check is not a tick ago");
        watchdog.checked = Instant::now().checked_sub(TICK);
        assert!(watchdog.is_due(), "the last check is a tick ago");
    }

    #[test]
    fn a_call_that_sleeps_is_stopped_earlier() {
        let second = Duration::from_secs(1);
        for (sleeps, seconds, opinion) in
            [(true, 3, Verdict::Spins), (true, 1, Verdict::Unknown), (false, 3, Verdict::Unknown)]
        {
            let mut watchdog = Watchdog { most: 7 << 20, ..Watchdog::new(second) };
            let long = if sleeps { &mut watchdog.slept } else { &mut watchdog.stalled };
            *long = second * seconds;
            let stat = Stat { memory: 7 << 20, sleeps, ..Stat::default() };
            assert_eq!(watchdog.judge(second, &stat), opinion, "{sleeps} {seconds} s");
        }
    }
}
