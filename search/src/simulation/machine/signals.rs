//! The state of the timers of a small abstract program, and of the signal that they send.

/// A signal is to be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Alert {
    /// Whether the task could have taken its step when the signal arrived.
    pub(super) untouched: bool,
    /// Whether nothing delays that step.
    pub(super) before_step: bool,
}

/// What a task was about to do when it began to handle the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Interrupted {
    pub(super) at: usize,
    pub(super) deadline: Option<u64>,
    /// What the clocks need to continue after the handler ([`time::Clocks::begin_handler`]); none if the task had not
    /// begun.
    pub(super) before: Option<Option<u64>>,
    pub(super) ends_wait: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Timer {
    /// When it expires; 0 while it is disarmed.
    pub(super) due: u64,
    pub(super) interval: u64,
    /// How many times it was armed or disarmed: the task of an earlier arming does nothing any more.
    pub(super) times: u32,
    /// The task of the last arming.
    pub(super) task: Option<usize>,
}

/// The timers, and where the signal is pending.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Alarms {
    pub(super) timers: Vec<Timer>,
    /// By task: the timer that it expires, and the number of its arming.
    pub(super) expires: Vec<Option<(usize, u32)>>,
    pub(super) for_task: Vec<bool>,
    pub(super) for_process: bool,
}

impl Alarms {
    pub(super) fn new(timers: usize, tasks: usize) -> Alarms {
        Alarms {
            timers: vec![Timer::default(); timers],
            expires: vec![None; tasks],
            for_task: vec![false; tasks],
            for_process: false,
        }
    }

    /// The task of a timer, if it is one, exists now.
    pub(super) fn created(&mut self, task: usize) {
        if let Some((timer, _)) = self.expires[task] {
            self.timers[timer].task = Some(task);
        }
    }

    /// Whether the signal is there for a task that waits for it.
    pub(super) fn is_pending(&self, task: usize) -> bool {
        self.for_task[task] || self.for_process
    }

    /// The task takes the signal. Whether it was there.
    pub(super) fn take(&mut self, task: usize) -> bool {
        let was_there = self.is_pending(task);
        if !std::mem::take(&mut self.for_task[task]) {
            self.for_process = false;
        }
        was_there
    }

    pub(super) fn is_stale(&self, task: usize, timer: usize) -> bool {
        self.expires[task] != Some((timer, self.timers[timer].times))
    }
}
