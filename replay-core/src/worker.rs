//! A process that runs executions, watched from outside.

use crate::channel::{Channel, Common};
use crate::{Error, Target, launch};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};
use traces::wire::{Job, News, Reset, fell_back, state};

/// How long to wait for news before looking at the clock again.
const TICK: Duration = Duration::from_millis(50);

/// How long an execution may go on after the user has had enough.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a wait for a worker came to.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it is taken apart as soon as it is there")]
pub(crate) enum Event {
    /// The runtime told something.
    News(News),
    /// Nothing new; time for a progress line.
    Tick,
    /// An execution is over and its process waits to be looked at.
    Parked,
    /// It waits for a piece of work; the last one, if there was one, lies in the parcel.
    Idle,
    /// The search is over.
    Done,
    /// The process died before it could say why.
    Died(String),
}

/// One worker.
pub(crate) struct Worker<'a> {
    target: &'a Target,
    job: Job,
    channel: Channel,
    child: Child,
    pending: std::collections::VecDeque<News>,
    /// How the process ended that is gone.
    status: Option<i32>,
    watchdog: Watchdog,
    /// What all workers of a search share.
    common: Option<&'a Common>,
    /// When it was first asked to stop.
    stopping: Option<Instant>,
}

impl<'a> Worker<'a> {
    /// Starts the program on a job.
    pub(crate) fn start(
        target: &'a Target,
        job: Job,
        spin_after: Duration,
    ) -> Result<Worker<'a>, Error> {
        Worker::with(target, job, spin_after, None)
    }

    /// The same, with memory that several have in common.
    pub(crate) fn with(
        target: &'a Target,
        job: Job,
        spin_after: Duration,
        common: Option<&'a Common>,
    ) -> Result<Worker<'a>, Error> {
        let channel = Channel::create(&job)?;
        let child = launch::start(target, &channel, common)?;
        Ok(Worker {
            target,
            job,
            channel,
            child,
            common,
            pending: std::collections::VecDeque::new(),
            status: None,
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
    /// The number lies where a program that runs wild may overwrite it: no process but the worker
    /// and its descendants is ever looked into, or sent a signal.
    pub(crate) fn execution_pid(&self) -> Option<i32> {
        let pid = self.channel.header().execution_pid.load(Relaxed);
        let worker = self.child.id() as i32;
        let parent = |pid: &i32| stat(*pid).map(|stat| stat.parent).filter(|&pid| pid > 1);
        let mut line = std::iter::successors((pid > 1).then_some(pid), parent);
        line.any(|ancestor| ancestor == worker).then_some(pid)
    }

    /// Waits for the next thing that happens, or a while.
    pub(crate) fn wait(&mut self, interrupt: &AtomicBool) -> Result<Event, Error> {
        loop {
            let seen = self.channel.seen();
            let state = self.channel.header().state.load(Acquire);
            if !self.channel.is_intact() {
                self.end();
                return Err(Error::Runtime(format!(
                    "{} overwrote the memory that it shares with Heddle, so nothing can be said: it \
                     writes where it must not; look for that first, for instance with a sanitizer",
                    self.target.program.display()
                )));
            }
            self.pending.extend(self.channel.news());
            if let Some(news) = self.pending.pop_front() {
                return Ok(Event::News(news));
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
                state::AGAIN => {
                    self.reap();
                    self.channel.header().state.store(state::STARTING, Relaxed);
                    self.child = launch::start(self.target, &self.channel, self.common)?;
                    continue;
                }
                _ => {}
            }
            if let Some(status) = self.ended()? {
                // What it said last may have come after the look above.
                self.pending.extend(self.channel.news());
                let state = self.channel.header().state.load(Acquire);
                if !self.pending.is_empty()
                    || matches!(state, state::DONE | state::FAILED | state::AGAIN)
                {
                    continue;
                }
                if self.can_tell_itself() {
                    let how = self.status.unwrap_or_default();
                    self.channel.header().died.store(how as u32 + 1, Relaxed);
                    self.channel.header().state.store(state::STARTING, Relaxed);
                    self.child = launch::start(self.target, &self.channel, self.common)?;
                    continue;
                }
                return Ok(Event::Died(status));
            }
            if interrupt.load(Relaxed) {
                self.channel.stop();
                // An execution that does not end by itself must not hold the user up.
                let since = *self.stopping.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    self.end();
                    return Ok(Event::Died("it was interrupted".into()));
                }
            }
            self.watchdog.look(&self.channel, self.execution_pid());
            self.channel.wait(seen, TICK);
            if self.channel.seen() == seen {
                return Ok(Event::Tick);
            }
        }
    }

    /// Whether it was asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// How the process ended, if it did.
    fn ended(&mut self) -> Result<Option<String>, Error> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait().map_err(Error::system("cannot wait for the program"))?;
        self.status = status.map(ExitStatusExt::into_raw);
        Ok(status.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => format!("it ended by itself with status {code}"),
            (None, Some(signal)) => format!("it was killed by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        }))
    }

    /// Whether the process that is gone ran one execution alone, so that the next one can say what
    /// became of it: all that was known lies in the shared memory.
    fn can_tell_itself(&self) -> bool {
        let header = self.channel.header();
        self.job.shared
            && (self.job.reset == Reset::Exec || header.fell_back.load(Relaxed) == fell_back::EXEC)
            && header.in_task.load(Relaxed) != 0
            && self.stopping.is_none()
    }

    /// Gives the idle worker a piece of work.
    pub(crate) fn give(&mut self, work: &[u8]) -> Result<(), Error> {
        if self.channel.give(work) {
            return Ok(());
        }
        Err(Error::Runtime("what is left of the search is too much to be handed on".into()))
    }

    /// Waits for a process that has said its last word; kills it if it does not go.
    fn reap(&mut self) {
        let patience = Instant::now() + Duration::from_secs(2);
        while Instant::now() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::yield_now();
        }
        self.end();
    }

    /// Ends the process and everything it started.
    pub(crate) fn end(&mut self) {
        // Its children have a death signal of their own; the group catches what else there may be.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill(Pid::from_raw(-(self.child.id() as i32)), Signal::SIGKILL);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Notices a task that runs for ever without reaching a scheduling point.
///
/// It goes by the processor time of the process, so that a busy machine makes nobody a suspect; only
/// where none is used (a call that never returns) does it go by the clock. A task that takes ever more
/// memory does not spin: that comes to an end of its own, at the latest where there is no more.
struct Watchdog {
    spin_after: Duration,
    last: (u64, u64, i32),
    cpu: Duration,
    /// The most memory that the process was seen with since.
    most: u64,
    since: Instant,
    warned: bool,
}

impl Watchdog {
    fn new(spin_after: Duration) -> Watchdog {
        Watchdog {
            spin_after,
            last: (0, 0, 0),
            cpu: Duration::ZERO,
            most: 0,
            since: Instant::now(),
            warned: false,
        }
    }

    fn look(&mut self, channel: &Channel, pid: Option<i32>) {
        let header = channel.header();
        let pid = pid.unwrap_or_default();
        let now = (header.executions.load(Relaxed), header.heartbeat.load(Relaxed), pid);
        if now != self.last || header.in_task.load(Relaxed) == 0 || pid <= 0 {
            self.last = now;
            self.warned = false;
            self.begin(stat(pid).unwrap_or_default());
            return;
        }
        let silent = self.since.elapsed();
        if silent < self.spin_after {
            return;
        }
        let stat = stat(pid).unwrap_or_default();
        match self.judge(silent, &stat) {
            Opinion::Works => self.begin(stat),
            Opinion::Unknown => {}
            Opinion::Spins => self.accuse(pid),
        }
    }

    /// What is to be thought of a process that was silent for so long.
    fn judge(&self, silent: Duration, stat: &Stat) -> Opinion {
        if !self.warned && stat.memory > self.most + GROWTH {
            return Opinion::Works;
        }
        let patience = self.spin_after * if self.warned { 2 } else { 1 };
        let used = stat.cpu.saturating_sub(self.cpu);
        if used < patience && silent < patience * 10 {
            return Opinion::Unknown;
        }
        Opinion::Spins
    }

    fn accuse(&mut self, pid: i32) {
        let signal = if self.warned { Signal::SIGKILL } else { Signal::SIGSTKFLT };
        self.warned = true;
        let _ = kill(Pid::from_raw(pid), signal);
    }

    /// Something moved: patience begins anew.
    fn begin(&mut self, stat: Stat) {
        self.since = Instant::now();
        self.cpu = stat.cpu;
        self.most = stat.memory;
    }
}

/// What the watchdog thinks of a silent process.
#[derive(Debug, PartialEq, Eq)]
enum Opinion {
    Works,
    Unknown,
    Spins,
}

/// How much more memory is a sign of progress.
const GROWTH: u64 = 1 << 20;

/// What the kernel says of a process.
#[derive(Default)]
struct Stat {
    parent: i32,
    /// The processor time it has used.
    cpu: Duration,
    /// The memory that it has, in bytes.
    memory: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything. After it come the state and the parent; user and
    // system time are the 12th and 13th.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        // The kernel counts in hundredths of a second for programs (USER_HZ).
        cpu: Duration::from_millis((ticks(11)? + ticks(12)?) * 10),
        memory: ticks(21)? * 4096,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_ever_more_memory_does_not_spin() {
        let second = Duration::from_secs(1);
        let watchdog = Watchdog { cpu: second * 5, most: 7 << 20, ..Watchdog::new(second) };
        let check = |silent: f64, used: f64, memory: u64, opinion: Opinion| {
            let stat = Stat { cpu: second * 5 + second.mul_f64(used), memory, ..Stat::default() };
            let got = watchdog.judge(second.mul_f64(silent), &stat);
            assert_eq!(got, opinion, "silent {silent} s, used {used} s, {memory} bytes");
        };
        // Neither busy for long enough nor silent for very long.
        check(2.0, 0.5, 7 << 20, Opinion::Unknown);
        // Busy with nothing to show for it; or silent for very long.
        check(2.0, 1.5, 7 << 20, Opinion::Spins);
        check(11.0, 0.0, 7 << 20, Opinion::Spins);
        // A little more is no sign of anything, and neither is less.
        check(2.0, 1.5, (7 << 20) + 4096, Opinion::Spins);
        check(2.0, 1.5, 1 << 20, Opinion::Spins);
        // Busy with memory.
        check(2.0, 1.5, 9 << 20, Opinion::Works);
        check(11.0, 0.0, 9 << 20, Opinion::Works);
    }
}
